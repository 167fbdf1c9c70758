//! Operations on all lanes at once, for which the code generator has no
//! instructions: functions with an error bound, and directed roundings.
//!
//! Owns loops over 32 lanes of [`cushim_ptx::alu::approx`] that the compiler
//! turns into the widest vectors this machine has. Operands are 32-bit values in
//! the first scratch slots, the result goes to slot 0; every lane is computed,
//! whatever it holds, and NaNs come out canonical. What processors with vectors of 64
//! bytes do in another way is in [`super::avx512`]. The number that a helper is called
//! with is a set of flags: [`FTZ`], which rounding, and which operands have one value for
//! all lanes, that of lane 0.

use crate::warp::task::{DOWN, FTZ, SAME, UP};
use crate::warp::{SLOTS, Slot, Warp};
use cushim_ptx::alu::approx;
use cushim_ptx::sem::FloatOp;

pub(super) type Lanes = [u32; 32];

/// A slot as 32-bit numbers.
pub(super) fn narrow(slot: &mut Slot) -> &mut Lanes {
    // SAFETY: a slot is 256 bytes, of which the first 128 are taken; 32-bit numbers want less alignment.
    unsafe { &mut *std::ptr::from_mut(slot).cast::<Lanes>() }
}

/// A single, flushed if the flag says so.
#[inline(always)]
fn take(bits: u32, flush: u32) -> f32 {
    let small = bits & 0x7f80_0000 == 0;
    f32::from_bits(if small { bits & (0x8000_0000 | !flush) } else { bits })
}

#[inline(always)]
fn give(v: f32, flush: u32) -> u32 {
    let bits = take(v.to_bits(), flush).to_bits();
    if v.is_nan() { 0x7fff_ffff } else { bits }
}

/// All ones if subnormals are flushed.
#[inline(always)]
pub(super) fn flushing(flags: u32) -> u32 {
    if flags & FTZ != 0 { u32::MAX } else { 0 }
}

#[inline(always)]
pub(super) fn each(x: &mut Lanes, flags: u32, f: impl Fn(f32) -> f32) {
    let flush = flushing(flags);
    for v in x {
        *v = give(f(take(*v, flush)), flush);
    }
}

#[inline(always)]
fn each_of_three(slots: &mut [Slot; SLOTS], flags: u32, f: impl Fn(f32, f32, f32) -> f32) {
    for (n, slot) in slots.iter_mut().enumerate().take(3) {
        if flags & SAME << n != 0 {
            let slot = narrow(slot);
            *slot = [slot[0]; 32];
        }
    }
    let flush = flushing(flags);
    let [x, y, z, ..] = slots;
    let (x, y, z) = (narrow(x), narrow(y), narrow(z));
    for l in 0..32 {
        x[l] = give(f(take(x[l], flush), take(y[l], flush), take(z[l], flush)), flush);
    }
}

/// Defines a helper: the loop, compiled for several kinds of processor.
macro_rules! vector_helpers {
    ($($name:ident: |$slots:ident, $flags:ident| $body:expr;)*) => {$(
        pub(super) unsafe fn $name(w: *mut Warp, $flags: u32, _: u32) -> u32 {
            #[inline(always)]
            fn any($slots: &mut [Slot; SLOTS], $flags: u32) {
                $body
            }
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn avx512(slots: &mut [Slot; SLOTS], flags: u32) {
                any(slots, flags);
            }
            #[target_feature(enable = "avx2,fma")]
            fn avx2(slots: &mut [Slot; SLOTS], flags: u32) {
                any(slots, flags);
            }
            // SAFETY: called by generated code.
            let w = unsafe { $crate::run::lane::warp(w) };
            if cushim_ptx::Level::V4.is_there() {
                // SAFETY: the processor has them.
                unsafe { avx512(&mut w.scratch, $flags) }
            } else if cushim_ptx::Level::V3.is_there() {
                // SAFETY: the processor has them.
                unsafe { avx2(&mut w.scratch, $flags) }
            } else {
                any(&mut w.scratch, $flags);
            }
            0
        }
    )*};
}
pub(super) use vector_helpers;

vector_helpers! {
    power: |slots, flags| each(narrow(&mut slots[0]), flags, approx::ex2);
    lg2: |slots, flags| each(narrow(&mut slots[0]), flags, approx::lg2);
    tanh: |slots, flags| each(narrow(&mut slots[0]), flags, approx::tanh);
    sin: |slots, flags| wave(narrow(&mut slots[0]), flags, FloatOp::Sin, approx::sin);
    cos: |slots, flags| wave(narrow(&mut slots[0]), flags, FloatOp::Cos, approx::cos);
    emulated: |slots, flags| by_definition(slots, flags);
    fused: |slots, flags| each_of_three(slots, flags, approx::fma_nearest);
}

#[inline(always)]
pub(super) fn by_definition(slots: &mut [Slot; SLOTS], flags: u32) {
    match flags & (DOWN | UP) {
        DOWN => each_of_three(slots, flags, approx::fma_down),
        UP => each_of_three(slots, flags, approx::fma_up),
        _ => each_of_three(slots, flags, approx::fma_zero),
    }
}

/// Angles, of which the large ones go one by one.
#[inline(always)]
fn wave(x: &mut Lanes, flags: u32, op: FloatOp, f: impl Fn(f32) -> f32) {
    let most = approx::MOST_ANGLE.to_bits();
    let large = x.iter().fold(0, |n, v| n | u32::from(v & 0x7fff_ffff > most));
    if large != 0 {
        each(x, flags, |v| cushim_ptx::alu::bounded(op, v));
    } else {
        each(x, flags, f);
    }
}
