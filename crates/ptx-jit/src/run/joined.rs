//! Operands of helpers, joined into the pieces in which vectors are loaded.
//!
//! Owns joining them. Generated code writes 16 bytes at a time, and a load that spans several such stores waits until
//! they have left the store buffer (no store forwarding). A load of what this code stores as a whole does not wait
//! (measured: 40 % of the time of `ex2`).

use crate::warp::Slot;
use std::arch::x86_64::*;

/// The 16 bytes that begin at a word of a slot.
///
/// # Safety
/// The slot is aligned to 16 bytes, as all of a warp are; `word` is even and below 32.
#[inline(always)]
unsafe fn piece(slot: &Slot, word: usize) -> __m128i {
    // SAFETY: 16 bytes of 256, aligned by the caller's promise. Volatile, so that loads are not made one.
    unsafe { slot.as_ptr().add(word).cast::<__m128i>().read_volatile() }
}

/// 32 lanes of 32 bits, in pieces of 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn by_32(slot: &mut Slot) {
    for word in (0..16).step_by(4) {
        // SAFETY: slots that helpers are given are a warp's; 32 bytes of 256.
        unsafe {
            let v = _mm256_set_m128i(piece(slot, word + 2), piece(slot, word));
            _mm256_storeu_si256(slot.as_mut_ptr().add(word).cast(), v);
        }
    }
}

/// Sixteen lanes of 32 bits, the first or the second half of a warp.
///
/// # Safety
/// The slot is aligned to 16 bytes, as all of a warp are.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn sixteen(slot: &Slot, half: usize) -> __m512i {
    // SAFETY: 64 bytes at 0 or 64 of a slot, aligned by the caller's promise.
    let [a, b, c, d] = [0, 2, 4, 6].map(|k: usize| unsafe { piece(slot, 8 * half + k) });
    let (low, high) = (_mm256_set_m128i(b, a), _mm256_set_m128i(d, c));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// Puts sixteen lanes where [`sixteen`] takes them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put_sixteen(slot: &mut Slot, half: usize, v: __m512i) {
    // SAFETY: 64 bytes at 0 or 64 of a slot, which has 256.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().add(8 * half).cast(), v) };
}

/// 32 lanes of 32 bits, in pieces of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn by_64(slot: &mut Slot) {
    for half in 0..2 {
        // SAFETY: slots that helpers are given are a warp's.
        let v = unsafe { sixteen(slot, half) };
        put_sixteen(slot, half, v);
    }
}
