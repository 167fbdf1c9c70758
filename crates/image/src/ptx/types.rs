//! Sizes of PTX types (PTX ISA, 5.2 and 5.3).

/// Bytes of one element of `ty` (`u64`, `f16x2`, …, without the dot); for the
/// opaque texture types a handle of 64 bits. `None`: no such type.
pub fn type_size(ty: &str, address_size: u32) -> Option<u64> {
    Some(match ty {
        "b8" | "u8" | "s8" | "pred" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" | "u16x2" | "s16x2" => 4,
        "b64" | "u64" | "s64" | "f64" | "f32x2" => 8,
        "b128" => 16,
        "texref" | "samplerref" | "surfref" => u64::from(address_size.max(64) / 8),
        _ => return None,
    })
}

/// Element size of a type name as it stands in a variable: `u64`, `v4.f32`.
pub(super) fn element(ty: &str) -> Option<u64> {
    match ty.split_once('.') {
        None => type_size(ty, 64),
        Some((lanes, ty)) => Some(type_size(ty, 64)? * lanes[1..].parse::<u64>().ok()?),
    }
}
