//! Singles of all lanes, in slots of the scratch.
//!
//! Owns reading and writing them, flushed or not, and the definition of multiply-add. Must not know which operation
//! is computed, or the processor's instructions for it.

use crate::warp::task::{DOWN, FTZ, SAME, UP};
use crate::warp::{SLOTS, Slot};
use cushim_ptx::alu::fused;

pub(super) type Lanes = [u32; 32];

/// A slot as 32-bit numbers.
pub(super) fn narrow(slot: &mut Slot) -> &mut Lanes {
    // SAFETY: a slot is 256 bytes, of which the first 128 are taken; 32-bit numbers want less alignment.
    unsafe { &mut *std::ptr::from_mut(slot).cast::<Lanes>() }
}

/// A single, flushed if the flag says so.
#[inline(always)]
pub(super) fn take(bits: u32, flush: u32) -> f32 {
    let small = bits & 0x7f80_0000 == 0;
    f32::from_bits(if small { bits & (0x8000_0000 | !flush) } else { bits })
}

#[inline(always)]
pub(super) fn give(v: f32, flush: u32) -> u32 {
    let bits = take(v.to_bits(), flush).to_bits();
    if v.is_nan() { 0x7fff_ffff } else { bits }
}

/// All ones if subnormals are flushed.
#[inline(always)]
pub(super) fn flushing(flags: u32) -> u32 {
    if flags & FTZ != 0 { u32::MAX } else { 0 }
}

/// Copies uniform operands to every lane.
#[inline(always)]
pub(super) fn spread(slots: &mut [Slot; SLOTS], flags: u32) {
    for (n, slot) in slots.iter_mut().enumerate().take(3) {
        if flags & SAME << n != 0 {
            let slot = narrow(slot);
            *slot = [slot[0]; 32];
        }
    }
}

#[inline(always)]
pub(super) fn each_of_three(
    slots: &mut [Slot; SLOTS],
    flags: u32,
    f: impl Fn(f32, f32, f32) -> f32,
) {
    spread(slots, flags);
    let flush = flushing(flags);
    let [x, y, z, ..] = slots;
    let (x, y, z) = (narrow(x), narrow(y), narrow(z));
    for l in 0..32 {
        x[l] = give(f(take(x[l], flush), take(y[l], flush), take(z[l], flush)), flush);
    }
}

/// Multiply-add in a directed rounding.
#[inline(always)]
pub(super) fn by_definition(slots: &mut [Slot; SLOTS], flags: u32) {
    match flags & (DOWN | UP) {
        DOWN => each_of_three(slots, flags, fused::fma_down),
        UP => each_of_three(slots, flags, fused::fma_up),
        _ => each_of_three(slots, flags, fused::fma_zero),
    }
}
