//! Operations on all lanes at once in vectors of 32 bytes, on processors with AVX2 and without AVX-512.
//!
//! Owns implementations of [`cushim_ptx::alu`] that a compiler does not find: coefficients by one load for each lane,
//! the special function unit's square by products of bytes, and roundings by the processor's control register. The
//! bits are the same.

use super::rows::Rows;
use super::singles::{Lanes, flushing, give, narrow, spread, take};
use crate::warp::task::{DOWN, UP};
use crate::warp::{SLOTS, Slot};
use cushim_ptx::alu::sfu::bytes::{FIRST_BITS, FIRST_KEPT, LAST_BITS, LAST_KEPT};
use cushim_ptx::alu::sfu::{self, Interpolated};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The inputs of each lane's polynomial, by intervals and offsets of 17 bits.
///
/// # Safety
/// Intervals are those of the table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn look_up(of: Interpolated, interval: &Lanes, place: &Lanes) -> Rows {
    let table = sfu::coefficients(of).both;
    debug_assert!(interval.iter().all(|n| (*n as usize) < table.len()), "{interval:?}");
    let table: *const f64 = table.as_ptr().cast();
    let mut rows = MaybeUninit::<Rows>::uninit();
    let out = rows.as_mut_ptr();
    // By memory: taking a number out of a register is two instructions, and stands in the way of the vectors.
    let interval = std::hint::black_box(interval);
    let (intervals, places) = (interval.as_chunks::<8>().0, place.as_chunks::<8>().0);
    for (k, (n, x)) in intervals.iter().zip(places).enumerate() {
        // SAFETY: the intervals of two lanes are in the table.
        let two = |l: usize| unsafe {
            let low = _mm_load_sd(table.add(n[l] as usize));
            _mm_castpd_ps(_mm_loadh_pd(low, table.add(n[l + 1] as usize)))
        };
        // In each half, the first coefficients of four lanes, and their factors.
        let low = _mm256_set_m128(two(4), two(0));
        let high = _mm256_set_m128(two(6), two(2));
        // SAFETY: 8 numbers, and places for 8 of 32 each.
        unsafe {
            let x = _mm256_loadu_si256(x.as_ptr().cast());
            let first = _mm256_shuffle_ps::<0x88>(low, high);
            let factors = _mm256_shuffle_ps::<0xdd>(low, high);
            let to = |lanes: *mut u32| lanes.add(8 * k);
            _mm256_storeu_ps(to((&raw mut (*out).first).cast()).cast(), first);
            _mm256_storeu_ps(to((&raw mut (*out).factors).cast()).cast(), factors);
            _mm256_storeu_si256(to((&raw mut (*out).square).cast()).cast(), square(x));
        }
    }
    // SAFETY: all 32 lanes of the three were written.
    unsafe { rows.assume_init() }
}

/// The unit's square of offsets of 17 bits, by [`bytes`](cushim_ptx::alu::sfu::bytes).
#[inline]
#[target_feature(enable = "avx2")]
fn square(place: __m256i) -> __m256i {
    let upper = _mm256_srli_epi32::<9>(place);
    let bytes = _mm256_set_epi32(
        0x0c0c_0c0c,
        0x0808_0808,
        0x0404_0404,
        0,
        0x0c0c_0c0c,
        0x0808_0808,
        0x0404_0404,
        0,
    );
    let all = |v: __m256i| _mm256_shuffle_epi8(v, bytes);
    let lower = all(_mm256_and_si256(_mm256_srli_epi32::<2>(place), _mm256_set1_epi32(0x7f)));
    let bits = all(_mm256_srli_epi32::<10>(place));
    let part = |of: i32, kept: i32| {
        let of = _mm256_and_si256(bits, _mm256_set1_epi32(of));
        _mm256_maddubs_epi16(of, _mm256_and_si256(lower, _mm256_set1_epi32(kept)))
    };
    let sum = _mm256_add_epi16(part(FIRST_BITS, FIRST_KEPT), part(LAST_BITS, LAST_KEPT));
    let sum = _mm256_srli_epi32::<6>(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
    _mm256_add_epi32(_mm256_srli_epi32::<1>(_mm256_madd_epi16(upper, upper)), sum)
}

/// Multiply-add in the rounding that the flags say.
///
/// # Safety
/// The processor has AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn fused(slots: &mut [Slot; SLOTS], flags: u32) {
    for slot in slots.iter_mut().take(3) {
        super::joined::by_32(slot);
    }
    spread(slots, flags);
    let flush = flushing(flags);
    let [x, y, z, ..] = slots;
    let (x, y, z) = (narrow(x), narrow(y), narrow(z));
    for lanes in [&mut *x, y, z] {
        for v in lanes {
            *v = take(*v, flush).to_bits();
        }
    }
    // Bits 13 and 14 of MXCSR say the rounding (Intel SDM, volume 1, 10.2.3); no exception is taken, nothing is flushed.
    let rounding: u32 = match flags & (DOWN | UP) {
        DOWN => 0x1f80 | 1 << 13,
        UP => 0x1f80 | 2 << 13,
        _ => 0x1f80 | 3 << 13,
    };
    let mut before = 0u32;
    // SAFETY: 32 numbers behind each pointer; the control register is as before at the end, and only these lines
    // run with another.
    unsafe {
        std::arch::asm!(
            "stmxcsr [{before}]",
            "ldmxcsr [{rounding}]",
            ".irp k,0,1,2,3",
            "vmovups {a}, [{x} + 32 * \\k]",
            "vmovups {b}, [{y} + 32 * \\k]",
            "vfmadd213ps {a}, {b}, [{z} + 32 * \\k]",
            "vmovups [{x} + 32 * \\k], {a}",
            ".endr",
            "ldmxcsr [{before}]",
            before = in(reg) &raw mut before,
            rounding = in(reg) &raw const rounding,
            x = in(reg) x.as_mut_ptr(),
            y = in(reg) y.as_ptr(),
            z = in(reg) z.as_ptr(),
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            options(nostack),
        );
    }
    for v in x {
        *v = give(f32::from_bits(*v), flush);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::avx512;
    use crate::run::singles::by_definition;
    use crate::warp::task::{FTZ, SAME};
    use cushim_ptx::Level;

    /// Every offset, in every interval of tables of both sizes.
    #[test]
    fn all_lanes_get_the_rows_of_the_unit() {
        type LookUp = fn(Interpolated, &Lanes, &Lanes) -> Rows;
        let of_level: [(Level, LookUp); 2] = [
            // SAFETY: the processor has the level, see below, and intervals are those of the table.
            (Level::V3, |of, n, x| unsafe { look_up(of, n, x) }),
            // SAFETY: likewise.
            (Level::V4, |of, n, x| unsafe { avx512::look_up(of, n, x) }),
        ];
        for (_, look_up) in of_level.into_iter().filter(|(level, _)| level.is_there()) {
            for of in [Interpolated::Ex2, Interpolated::Rcp] {
                let intervals = sfu::coefficients(of).first.len() as u32;
                for first in (0..1 << 17).step_by(32) {
                    let place: Lanes = std::array::from_fn(|l| first + l as u32);
                    let interval = place.map(|p| (p / 3) % intervals);
                    let rows = look_up(of, &interval, &place);
                    for l in 0..32 {
                        assert_eq!(rows.row(l), sfu::row(of, interval[l], place[l]), "{of:?}");
                    }
                }
            }
        }
    }

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Slots([Slot; SLOTS]);

    /// The processor's instructions and the definition give the same bits: for edge values, numbers that cancel, and
    /// random numbers.
    #[test]
    fn directed_roundings_by_instruction_are_the_defined_ones() {
        type Fused = fn(&mut [Slot; SLOTS], u32);
        let of_level: [(Level, Fused); 2] = [
            // SAFETY: the processor has the level, see below.
            (Level::V3, |slots, flags| unsafe { fused(slots, flags) }),
            // SAFETY: likewise.
            (Level::V4, |slots, flags| unsafe { avx512::fused(slots, flags) }),
        ];
        for (_, fused) in of_level.into_iter().filter(|(level, _)| level.is_there()) {
            directed_roundings(fused);
        }
    }

    fn directed_roundings(fused: fn(&mut [Slot; SLOTS], u32)) {
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
                fused(&mut ours.0, flags);
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
