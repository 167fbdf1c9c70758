//! Results and their widths.

/// The results of an operation; most have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out(pub u64, pub u64);

/// The lowest `bits` bits.
pub const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
