//! Operations on all lanes at once in vectors of 64 bytes, on processors with AVX-512.
//!
//! Owns implementations of [`cushim_ptx::alu::fused`] that a compiler does not find: instructions with an embedded
//! rounding mode. The bits are the same.

use super::joined::{put_sixteen, sixteen};
use super::rows::Rows;
use super::singles::{Lanes, flushing};
use crate::warp::task::{DOWN, SAME, UP};
use crate::warp::{SLOTS, Slot};
use cushim_ptx::alu::sfu::bytes::{FIRST_BITS, FIRST_KEPT, LAST_BITS, LAST_KEPT};
use cushim_ptx::alu::sfu::{self, Interpolated};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The inputs of each lane's polynomial, by intervals and offsets of 17 bits. An instruction looks up 16 coefficients
/// in two registers at a time, because a table has 64 or 128 rows: loads by lane take four times as long.
///
/// # Safety
/// As for [`sixteen`]; intervals are those of the table.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn look_up(of: Interpolated, interval: &Lanes, place: &Lanes) -> Rows {
    let table = sfu::coefficients(of);
    let mut rows = MaybeUninit::<Rows>::uninit();
    let out = rows.as_mut_ptr();
    for half in [0, 16] {
        // SAFETY: 16 of 32 numbers.
        let (n, x) = unsafe {
            (
                _mm512_loadu_si512(interval.as_ptr().add(half).cast()),
                _mm512_loadu_si512(place.as_ptr().add(half).cast()),
            )
        };
        let (a, b) = (
            of_table(table.first.as_ptr().cast(), table.first.len(), n),
            of_table(table.factors.as_ptr(), table.factors.len(), n),
        );
        // SAFETY: 16 of 32 numbers each.
        unsafe {
            let to = |lanes: *mut u32| lanes.add(half);
            _mm512_storeu_si512(to((&raw mut (*out).first).cast()).cast(), a);
            _mm512_storeu_si512(to((&raw mut (*out).factors).cast()).cast(), b);
            _mm512_storeu_si512(to((&raw mut (*out).square).cast()).cast(), square(x));
        }
    }
    // SAFETY: all 32 lanes of the three were written.
    unsafe { rows.assume_init() }
}

/// The unit's square of offsets, by [`bytes`](cushim_ptx::alu::sfu::bytes).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn square(place: __m512i) -> __m512i {
    let upper = _mm512_srli_epi32::<9>(place);
    let bytes = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
    let all = |v: __m512i| _mm512_shuffle_epi8(v, bytes);
    let lower = all(_mm512_and_si512(_mm512_srli_epi32::<2>(place), _mm512_set1_epi32(0x7f)));
    let bits = all(_mm512_srli_epi32::<10>(place));
    let part = |of: i32, kept: i32| {
        let of = _mm512_and_si512(bits, _mm512_set1_epi32(of));
        _mm512_maddubs_epi16(of, _mm512_and_si512(lower, _mm512_set1_epi32(kept)))
    };
    let sum = _mm512_add_epi16(part(FIRST_BITS, FIRST_KEPT), part(LAST_BITS, LAST_KEPT));
    let sum = _mm512_srli_epi32::<6>(_mm512_madd_epi16(sum, _mm512_set1_epi16(1)));
    _mm512_add_epi32(_mm512_srli_epi32::<1>(_mm512_madd_epi16(upper, upper)), sum)
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

/// Flushes subnormal numbers to zero, if the flags say so.
#[inline]
#[target_feature(enable = "avx512f")]
fn take(v: __m512i, flags: u32) -> __m512i {
    let small = _mm512_testn_epi32_mask(v, _mm512_set1_epi32(0x7f80_0000));
    let kept = _mm512_set1_epi32((0x8000_0000 | !flushing(flags)).cast_signed());
    _mm512_mask_and_epi32(v, small, v, kept)
}

/// The same for a result, with the canonical NaN.
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
pub(super) unsafe fn fused(slots: &mut [Slot; SLOTS], flags: u32) {
    // SAFETY: whoever calls this looked for AVX-512 before ([`sixteen`]), which is all that `rounded` asks.
    unsafe {
        match flags & (DOWN | UP) {
            DOWN => rounded::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(slots, flags),
            UP => rounded::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(slots, flags),
            _ => rounded::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(slots, flags),
        }
    }
}

/// The same as `singles::by_definition`.
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
