//! From a direction to a face of a cube.
//!
//! Owns which face, and where on it (CUDA Programming Guide, "Cubemap Textures"). Must not know: texels.

/// A face, and coordinates on it from 0 to 1.
pub(super) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let [ax, ay, az] = [x, y, z].map(f32::abs);
    let (face, s, t, m) = if ax >= ay && ax >= az {
        if x.is_sign_negative() { (1, z, -y, ax) } else { (0, -z, -y, ax) }
    } else if ay >= az {
        if y.is_sign_negative() { (3, x, -z, ay) } else { (2, x, z, ay) }
    } else if z.is_sign_negative() {
        (5, -x, -y, az)
    } else {
        (4, x, -y, az)
    };
    (face, [s, t].map(|v| (v / m + 1.0) / 2.0))
}
