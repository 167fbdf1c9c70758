//! Operations on all lanes at once, for which the code generator has no
//! instructions: functions with an error bound, and directed roundings.
//!
//! Owns loops over 32 lanes of [`cushim_ptx::alu::approx`] that the compiler
//! turns into the widest vectors this machine has. Operands are 32-bit values in
//! the first scratch slots, the result goes to slot 0; every lane is computed,
//! whatever it holds, and NaNs come out canonical. Where the processor has an
//! instruction that gives the same bits, that does it. The number that a helper is
//! called with is a set of flags: [`FTZ`], and which rounding.

use super::helpers::warp;
use super::warp::{Slot, Warp};
use crate::level::Level;
use cushim_ptx::alu::approx;
use cushim_ptx::table::Op;
use std::arch::x86_64::{
    _CMP_UNORD_Q, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF,
    _MM_FROUND_TO_ZERO, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask,
    _mm512_fmadd_round_ps, _mm512_loadu_si512, _mm512_mask_and_epi32, _mm512_mask_mov_epi32,
    _mm512_set1_epi32, _mm512_storeu_si512, _mm512_testn_epi32_mask,
};

/// Subnormal operands and results are zeros.
pub(crate) const FTZ: u32 = 1;
/// Towards minus infinity.
pub(crate) const DOWN: u32 = 2;
/// Towards plus infinity.
pub(crate) const UP: u32 = 4;

type Lanes = [u32; 32];

/// A slot as 32-bit numbers.
fn narrow(slot: &mut Slot) -> &mut Lanes {
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
fn flushing(flags: u32) -> u32 {
    if flags & FTZ != 0 { u32::MAX } else { 0 }
}

#[inline(always)]
fn each(x: &mut Lanes, flags: u32, f: impl Fn(f32) -> f32) {
    let flush = flushing(flags);
    for v in x {
        *v = give(f(take(*v, flush)), flush);
    }
}

#[inline(always)]
fn each_of_three(slots: &mut [Slot; 10], flags: u32, f: impl Fn(f32, f32, f32) -> f32) {
    let flush = flushing(flags);
    let [x, y, z, ..] = slots;
    let (x, y, z) = (narrow(x), narrow(y), narrow(z));
    for l in 0..32 {
        x[l] = give(f(take(x[l], flush), take(y[l], flush), take(z[l], flush)), flush);
    }
}

/// Defines a helper: the loop, compiled for several kinds of processor.
macro_rules! wide {
    ($($name:ident: |$slots:ident, $flags:ident| $body:expr;)*) => {$(
        pub(super) unsafe extern "C" fn $name(w: *mut Warp, $flags: u32, _: u32) -> u32 {
            #[inline(always)]
            fn any($slots: &mut [Slot; 10], $flags: u32) {
                $body
            }
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn widest(slots: &mut [Slot; 10], flags: u32) {
                any(slots, flags);
            }
            #[target_feature(enable = "avx2,fma")]
            fn wider(slots: &mut [Slot; 10], flags: u32) {
                any(slots, flags);
            }
            // SAFETY: called by generated code.
            let w = unsafe { warp(w) };
            if Level::V4.is_there() {
                // SAFETY: the processor has them.
                unsafe { widest(&mut w.scratch, $flags) }
            } else if Level::V3.is_there() {
                // SAFETY: the processor has them.
                unsafe { wider(&mut w.scratch, $flags) }
            } else {
                any(&mut w.scratch, $flags);
            }
            0
        }
    )*};
}

wide! {
    ex2: |slots, flags| each(narrow(&mut slots[0]), flags, approx::ex2);
    lg2: |slots, flags| each(narrow(&mut slots[0]), flags, approx::lg2);
    tanh: |slots, flags| each(narrow(&mut slots[0]), flags, approx::tanh);
    sin: |slots, flags| wave(narrow(&mut slots[0]), flags, Op::Sin, approx::sin);
    cos: |slots, flags| wave(narrow(&mut slots[0]), flags, Op::Cos, approx::cos);
    emulated: |slots, flags| by_definition(slots, flags);
    fused: |slots, flags| each_of_three(slots, flags, approx::fma_nearest);
}

#[inline(always)]
fn by_definition(slots: &mut [Slot; 10], flags: u32) {
    match flags & (DOWN | UP) {
        DOWN => each_of_three(slots, flags, approx::fma_down),
        UP => each_of_three(slots, flags, approx::fma_up),
        _ => each_of_three(slots, flags, approx::fma_zero),
    }
}

/// Multiply-add in a directed rounding: an instruction where the processor has the rounding in its code, else the
/// definition of [`approx`], which gives the same bits.
pub(super) unsafe extern "C" fn directed(w: *mut Warp, flags: u32, mask: u32) -> u32 {
    if !Level::V4.is_there() {
        // SAFETY: called by generated code, as this is.
        return unsafe { emulated(w, flags, mask) };
    }
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    // SAFETY: the processor has it.
    unsafe { by_instruction(&mut w.scratch, flags) };
    0
}

#[target_feature(enable = "avx512f")]
fn by_instruction(slots: &mut [Slot; 10], flags: u32) {
    match flags & (DOWN | UP) {
        DOWN => rounded::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(slots, flags),
        UP => rounded::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(slots, flags),
        _ => rounded::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(slots, flags),
    }
}

/// The same as [`each_of_three`].
#[target_feature(enable = "avx512f")]
fn rounded<const ROUND: i32>(slots: &mut [Slot; 10], flags: u32) {
    let exponent = _mm512_set1_epi32(0x7f80_0000);
    let kept = _mm512_set1_epi32((0x8000_0000 | !flushing(flags)).cast_signed());
    let take = |v| {
        let small = _mm512_testn_epi32_mask(v, exponent);
        _mm512_mask_and_epi32(v, small, v, kept)
    };
    for half in [0, 8] {
        let [x, y, z] = [0, 1, 2].map(|k: usize| {
            // SAFETY: 64 bytes at 0 or 64 of a slot, which has 256.
            let v = unsafe { _mm512_loadu_si512(slots[k].as_ptr().add(half).cast()) };
            _mm512_castsi512_ps(take(v))
        });
        let v = _mm512_fmadd_round_ps::<ROUND>(x, y, z);
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
        let v = take(_mm512_castps_si512(v));
        let v = _mm512_mask_mov_epi32(v, nan, _mm512_set1_epi32(0x7fff_ffff));
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(slots[0].as_mut_ptr().add(half).cast(), v) };
    }
}

/// Angles, of which the large ones go one by one.
#[inline(always)]
fn wave(x: &mut Lanes, flags: u32, op: Op, f: impl Fn(f32) -> f32) {
    let most = approx::MOST_ANGLE.to_bits();
    let large = x.iter().fold(0, |n, v| n | u32::from(v & 0x7fff_ffff > most));
    if large != 0 {
        each(x, flags, |v| cushim_ptx::alu::bounded(op, v));
    } else {
        each(x, flags, f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The processor's instruction and the definition give the same bits: of edges, numbers that cancel each
    /// other, and all sorts.
    #[test]
    fn directed_roundings_by_instruction_are_the_defined_ones() {
        if !is_x86_feature_detected!("avx512f") {
            return;
        }
        let edges = [
            0u32,
            1,
            0x7f_ffff,
            0x80_0000,
            0x3f80_0000,
            0x3f80_0001,
            0x7f7f_ffff,
            0x7f80_0000,
            0x7fc0_0000,
            0x0c00_0001,
            0x1f80_0001,
        ];
        let mut seed = 1u32;
        let mut next = |spread: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v = seed >> 7;
            match v % 4 {
                0 => edges[v as usize / 4 % edges.len()] | v << 31,
                1 => 0x3f80_0000 ^ (v << 9 >> 9) ^ v << 31,
                _ => (v << 7).wrapping_mul(spread) ^ v,
            }
        };
        for round in 0..4000u32 {
            let mut slots: [Slot; 10] = [[0; 32]; 10];
            for l in 0..32 {
                let [a, b, c] = [0, 1, 2].map(|_| next(round | 1));
                let product = -(f32::from_bits(a) * f32::from_bits(b));
                let c = if l % 3 == 0 { product.to_bits() } else { c };
                for (slot, v) in slots.iter_mut().zip([a, b, c]) {
                    narrow(slot)[l] = v;
                }
            }
            for flags in [0, DOWN, UP].into_iter().flat_map(|r| [r, r | FTZ]) {
                let (mut ours, mut defined) = (slots, slots);
                // SAFETY: the processor has it.
                unsafe { by_instruction(&mut ours, flags) };
                by_definition(&mut defined, flags);
                for l in 0..32 {
                    let [a, b, c] = [0, 1, 2].map(|k: usize| narrow(&mut slots[k])[l]);
                    let (x, y) = (narrow(&mut ours[0])[l], narrow(&mut defined[0])[l]);
                    assert_eq!(x, y, "{a:#x} * {b:#x} + {c:#x}, flags {flags}: {x:#x}, {y:#x}");
                }
            }
        }
    }
}
