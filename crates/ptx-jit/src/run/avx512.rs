//! Operations on all lanes at once in vectors of 64 bytes, where the processor has them.
//!
//! Owns ways to the bits that [`cushim_ptx::alu::fused`] defines that a compiler does not find: instructions
//! with a rounding of their own.

use super::joined::{put_sixteen, sixteen};
use super::lane::warp;
use super::vector_float::{self, flushing};
use crate::warp::task::{DOWN, SAME, UP};
use crate::warp::{SLOTS, Slot, Warp};
use cushim_ptx::alu::sfu::{self, Interpolated};
use std::arch::x86_64::*;

/// Multiply-add in a directed rounding: an instruction where the processor has the rounding in its code, else the
/// definition, which gives the same bits.
pub(super) unsafe fn directed(w: *mut Warp, flags: u32, mask: u32) -> u32 {
    if !cushim_ptx::Level::V4.is_there() {
        // SAFETY: called by generated code, as this is.
        return unsafe { vector_float::emulated(w, flags, mask) };
    }
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    // SAFETY: the processor has it; a warp is aligned.
    unsafe { fused(&mut w.scratch, flags) };
    0
}

/// Of each lane's interval the coefficients: by an instruction that looks 16 numbers up in two registers, as a table has
/// 64 or 128 rows. Loads by lane take four times as long.
///
/// # Safety
/// As for [`sixteen`]; intervals are those of the table.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn look_up(of: Interpolated, interval: &[u32; 32]) -> ([u32; 32], [i32; 32]) {
    let (first, factors) = sfu::coefficients(of);
    let mut out = ([0; 32], [0; 32]);
    for half in [0, 16] {
        // SAFETY: 16 of 32 numbers.
        let n = unsafe { _mm512_loadu_si512(interval.as_ptr().add(half).cast()) };
        let (a, b) = (
            of_table(first.as_ptr().cast(), first.len(), n),
            of_table(factors.as_ptr(), factors.len(), n),
        );
        // SAFETY: 16 of 32 numbers each.
        unsafe {
            _mm512_storeu_si512(out.0.as_mut_ptr().add(half).cast(), a);
            _mm512_storeu_si512(out.1.as_mut_ptr().add(half).cast(), b);
        }
    }
    out
}

/// The numbers of a table of 64 or 128 that lanes ask for.
#[inline]
#[target_feature(enable = "avx512f")]
fn of_table(table: *const i32, rows: usize, n: __m512i) -> __m512i {
    // SAFETY: 32 numbers of a table that has as many from there on.
    let part = |k: usize| unsafe {
        let low = _mm512_loadu_si512(table.add(32 * k).cast());
        let high = _mm512_loadu_si512(table.add(32 * k + 16).cast());
        _mm512_permutex2var_epi32(low, n, high)
    };
    let bit = |b: i32| _mm512_test_epi32_mask(n, _mm512_set1_epi32(b));
    let odd = bit(32);
    let low = _mm512_mask_mov_epi32(part(0), odd, part(1));
    if rows <= 64 {
        return low;
    }
    let high = _mm512_mask_mov_epi32(part(2), odd, part(3));
    _mm512_mask_mov_epi32(low, bit(64), high)
}

/// Subnormal numbers as zeros, if the flags say so.
#[inline]
#[target_feature(enable = "avx512f")]
fn take(v: __m512i, flags: u32) -> __m512i {
    let small = _mm512_testn_epi32_mask(v, _mm512_set1_epi32(0x7f80_0000));
    let kept = _mm512_set1_epi32((0x8000_0000 | !flushing(flags)).cast_signed());
    _mm512_mask_and_epi32(v, small, v, kept)
}

/// The same of a result, with the canonical NaN.
#[inline]
#[target_feature(enable = "avx512f")]
fn give(v: __m512, flags: u32) -> __m512i {
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
    let v = take(_mm512_castps_si512(v), flags);
    _mm512_mask_mov_epi32(v, nan, _mm512_set1_epi32(0x7fff_ffff))
}

/// Multiply-add in the rounding that the flags say.
///
/// # Safety
/// As for [`sixteen`].
#[target_feature(enable = "avx512f")]
unsafe fn fused(slots: &mut [Slot; SLOTS], flags: u32) {
    // SAFETY: whoever calls this looked for AVX-512 before ([`sixteen`]), which is all that `rounded` asks.
    unsafe {
        match flags & (DOWN | UP) {
            DOWN => rounded::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(slots, flags),
            UP => rounded::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(slots, flags),
            _ => rounded::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(slots, flags),
        }
    }
}

/// The same as `vector_float::by_definition`.
///
/// # Safety
/// As for [`sixteen`].
#[target_feature(enable = "avx512f")]
unsafe fn rounded<const ROUND: i32>(slots: &mut [Slot; SLOTS], flags: u32) {
    let mut out = [_mm512_setzero_si512(); 2];
    for (half, out) in out.iter_mut().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|k: usize| {
            let v = if flags & SAME << k != 0 {
                _mm512_set1_epi32(slots[k][0] as i32)
            } else {
                // SAFETY: `half` is 0 or 1, and the processor has AVX-512, as whoever calls this found.
                unsafe { sixteen(&slots[k], half) }
            };
            _mm512_castsi512_ps(take(v, flags))
        });
        *out = give(_mm512_fmadd_round_ps::<ROUND>(x, y, z), flags);
    }
    put_sixteen(&mut slots[0], 0, out[0]);
    put_sixteen(&mut slots[0], 1, out[1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::vector_float::{by_definition, narrow};
    use crate::warp::task::FTZ;

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Slots([Slot; SLOTS]);

    /// The processor's instruction and the definition give the same bits: for edge values, numbers that cancel, and
    /// random numbers.
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
            let mut slots = Slots([[0; 32]; SLOTS]);
            for l in 0..32 {
                let [a, b, c] = [0, 1, 2].map(|_| next(round | 1));
                let product = -(f32::from_bits(a) * f32::from_bits(b));
                let c = if l % 3 == 0 { product.to_bits() } else { c };
                for (slot, v) in slots.0.iter_mut().zip([a, b, c]) {
                    narrow(slot)[l] = v;
                }
            }
            let same = [0, SAME, SAME << 1, SAME << 2][round as usize % 4];
            for flags in [0, DOWN, UP].into_iter().flat_map(|r| [r | same, r | FTZ | same]) {
                let (mut ours, mut defined) = (slots, slots);
                // SAFETY: the processor has the instruction.
                unsafe { fused(&mut ours.0, flags) };
                by_definition(&mut defined.0, flags);
                for l in 0..32 {
                    let [a, b, c] = [0, 1, 2].map(|k: usize| narrow(&mut slots.0[k])[l]);
                    let (x, y) = (narrow(&mut ours.0[0])[l], narrow(&mut defined.0[0])[l]);
                    assert_eq!(x, y, "{a:#x} * {b:#x} + {c:#x}, flags {flags}: {x:#x}, {y:#x}");
                }
            }
        }
    }
}
