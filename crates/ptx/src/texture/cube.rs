//! Converts a direction to a face of a cube.
//!
//! Owns the choice of the face, and the position on it (CUDA Programming Guide, "Cubemap Textures"; ties and NaNs as
//! on an H200). Must not know: texels.

/// A direction scaled so that its longest component is 1. A GPU's compiler divides by that component, so that
/// infinite, NaN and zero directions become NaN.
fn scaled(direction: [f32; 3]) -> [f64; 3] {
    let number = |v: f32| if v.is_subnormal() { 0.0 } else { f64::from(v) };
    let parts = direction.map(number);
    let most = parts.map(f64::abs).into_iter().fold(0.0, f64::max);
    if most == 0.0 || most.is_infinite() {
        let part = |v: f64| if most > 0.0 && v.is_finite() { 0.0 * v } else { f64::NAN };
        return parts.map(part);
    }
    parts.map(|v| v / most)
}

/// A face, and coordinates on it from 0 to 1. Of several longest components, the last counts.
pub(super) fn face(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let [x, y, z] = scaled(direction);
    let length = |v: f64| if v.is_nan() { -1.0 } else { v.abs() };
    let [ax, ay, az] = [x, y, z].map(length);
    let negative = |v: f64| v < 0.0;
    let (face, s, t) = if az >= ax && az >= ay {
        if negative(z) { (5, -x, -y) } else { (4, x, -y) }
    } else if ay >= ax {
        if negative(y) { (3, x, -z) } else { (2, x, z) }
    } else if negative(x) {
        (1, z, -y)
    } else {
        (0, -z, -y)
    };
    // NaN is in the middle (measured).
    (face, [s, t].map(|v| if v.is_nan() { 0.5 } else { ((v + 1.0) / 2.0) as f32 }))
}

#[cfg(test)]
mod tests {
    use super::face;

    #[test]
    fn the_longest_part_chooses_the_face() {
        assert_eq!(face([2.0, 1.0, 0.0]), (0, [0.5, 0.25]));
        assert_eq!(face([-1.0, 0.5, 0.0]).0, 1);
        assert_eq!(face([0.0, 3.0, 0.0]), (2, [0.5, 0.5]));
        assert_eq!(face([1.0, 1.0, 1.0]).0, 4, "the last of equal ones");
        assert_eq!(face([1.0, 1.0, 0.5]).0, 2);
        assert_eq!(face([0.0, f32::INFINITY, 0.0]).0, 4);
        assert_eq!(face([0.0, -0.0, -0.0]).0, 4);
    }
}
