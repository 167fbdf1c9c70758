//! Memory that other threads use at the same time, read and written in the largest aligned units: each is one access
//! of the processor.
//!
//! Owns that no other thread sees a lane's value half-written, or written twice, as byte-wise copying may do: an
//! access of up to 16 bytes that is aligned to its size is a single access. Must not know what the bytes are, or
//! whether they are accessible.
//!
//! An aligned access of up to 8 bytes is atomic on all processors, one of 16 bytes on those with AVX (Intel's manual,
//! volume 3, 10.1.1; AMD's, volume 2, 7.3.2). Loads acquire and stores release, as all x86 accesses do.

use std::arch::x86_64::__m128i;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The largest of 16, 8, 4, 2 and 1 to which the address is aligned and which fits; `left` is not 0.
fn unit(address: usize, left: usize) -> usize {
    let aligned = 1usize << (address | 16).trailing_zeros();
    aligned.min(1 << left.ilog2())
}

/// Reads bytes.
///
/// # Safety
/// As many bytes are mapped at `at`, for as long as this runs, and `out` is elsewhere.
pub unsafe fn read(at: *const u8, out: &mut [u8]) {
    let (mut at, mut rest) = (at.cast_mut(), out);
    while !rest.is_empty() {
        let n = unit(at.addr(), rest.len());
        let (now, later) = rest.split_at_mut(n);
        macro_rules! with {
            ($atomic:ident) => {
                // SAFETY: the caller's promise, and aligned.
                now.copy_from_slice(&unsafe {
                    $atomic::from_ptr(at.cast()).load(Ordering::Acquire).to_ne_bytes()
                })
            };
        }
        match n {
            // SAFETY: the caller's promise, and aligned; volatile, so that it stays one access.
            16 => now.copy_from_slice(&unsafe {
                std::mem::transmute::<__m128i, [u8; 16]>(at.cast::<__m128i>().read_volatile())
            }),
            8 => with!(AtomicU64),
            4 => with!(AtomicU32),
            2 => with!(AtomicU16),
            _ => with!(AtomicU8),
        }
        (at, rest) = (at.wrapping_add(n), later);
    }
}

/// Replaces a pair of 8 bytes each atomically, in one order with all atomic operations; the old one.
///
/// # Safety
/// `at` is mapped, writable and aligned to 16 bytes.
pub unsafe fn update_pair(at: *mut u8, new: &mut dyn FnMut([u64; 2]) -> [u64; 2]) -> [u64; 2] {
    if std::arch::is_x86_feature_detected!("cmpxchg16b") {
        // SAFETY: the caller's promise; the processor has the instruction.
        return unsafe { exchange(at, new) };
    }
    // The first x86-64 processors, of before 2006: their pairs are atomic among themselves.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's promise; other threads that write pairs wait.
    unsafe {
        let old = at.cast::<[u64; 2]>().read_volatile();
        at.cast::<[u64; 2]>().write_volatile(new(old));
        old
    }
}

/// The same by the processor's instruction.
///
/// # Safety
/// As for [`update_pair`], and the processor has `cmpxchg16b`.
unsafe fn exchange(at: *mut u8, new: &mut dyn FnMut([u64; 2]) -> [u64; 2]) -> [u64; 2] {
    // SAFETY: the caller's promise. If the halves are of two values, the exchange fails and returns one value.
    let mut old = unsafe { at.cast::<[u64; 2]>().read_volatile() };
    loop {
        let [low, high] = new(old);
        let mut found = old;
        // The intrinsic calls a function of libatomic where the whole crate is not compiled for such processors.
        // SAFETY: the caller's promise. rbx, which is the compiler's own, is as before.
        unsafe {
            std::arch::asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b xmmword ptr [rdi]",
                "mov rbx, rsi",
                in("rdi") at,
                inout("rsi") low => _,
                in("rcx") high,
                inout("rax") found[0],
                inout("rdx") found[1],
                options(nostack),
            );
        }
        if found == old {
            return old;
        }
        old = found;
    }
}

/// Writes bytes.
///
/// # Safety
/// As for [`read`], and they may be written.
pub unsafe fn write(at: *mut u8, bytes: &[u8]) {
    let (mut at, mut rest) = (at, bytes);
    while !rest.is_empty() {
        let n = unit(at.addr(), rest.len());
        let (now, later) = rest.split_at(n);
        macro_rules! with {
            ($atomic:ident, $int:ident) => {{
                let value = $int::from_ne_bytes(array(now));
                // SAFETY: the caller's promise, and aligned.
                unsafe { $atomic::from_ptr(at.cast()).store(value, Ordering::Release) };
            }};
        }
        match n {
            16 => {
                // SAFETY: as many bytes.
                let value = unsafe { std::mem::transmute::<[u8; 16], __m128i>(array(now)) };
                // SAFETY: the caller's promise, and aligned; volatile, so that it stays one access.
                unsafe { at.cast::<__m128i>().write_volatile(value) };
            }
            8 => with!(AtomicU64, u64),
            4 => with!(AtomicU32, u32),
            2 => with!(AtomicU16, u16),
            _ => with!(AtomicU8, u8),
        }
        (at, rest) = (at.wrapping_add(n), later);
    }
}

/// The bytes of a unit.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

/// Reads a value of 1, 2, 4 or 8 bytes; one access where it is aligned, as all are that others see.
///
/// # Safety
/// `at` is mapped for that many bytes.
pub(super) unsafe fn get(at: *const u8, bytes: usize) -> u64 {
    macro_rules! with {
        ($atomic:ident, $int:ident) => {
            // SAFETY: `at` is mapped for `bytes` bytes, which is the size of what is read; each branch reads by what
            // it is aligned to.
            unsafe {
                match at.cast::<$int>().is_aligned() {
                    true => $atomic::from_ptr(at.cast_mut().cast()).load(Ordering::Relaxed).into(),
                    false => at.cast::<$int>().read_unaligned().into(),
                }
            }
        };
    }
    match bytes {
        1 => with!(AtomicU8, u8),
        2 => with!(AtomicU16, u16),
        4 => with!(AtomicU32, u32),
        _ => with!(AtomicU64, u64),
    }
}

/// Writes what [`get`] reads.
///
/// # Safety
/// As there, and writable.
pub(super) unsafe fn put(at: *mut u8, bytes: usize, v: u64) {
    macro_rules! with {
        ($atomic:ident, $int:ident) => {
            // SAFETY: `at` is mapped and writable for `bytes` bytes, which is the size of what is written; each
            // branch writes by what it is aligned to.
            unsafe {
                match at.cast::<$int>().is_aligned() {
                    true => $atomic::from_ptr(at.cast()).store(v as $int, Ordering::Relaxed),
                    false => at.cast::<$int>().write_unaligned(v as $int),
                }
            }
        };
    }
    match bytes {
        1 => with!(AtomicU8, u8),
        2 => with!(AtomicU16, u16),
        4 => with!(AtomicU32, u32),
        _ => with!(AtomicU64, u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[repr(align(64))]
    struct Line([u8; 96]);

    #[test]
    fn any_place_and_length_is_copied() {
        let from = Line(std::array::from_fn(|i| i as u8));
        for start in 0..20 {
            for length in 0..60 {
                let mut out = vec![0xee; length];
                // SAFETY: inside the array.
                unsafe { read(from.0.as_ptr().add(start), &mut out) };
                assert_eq!(out, &from.0[start..start + length]);
                let mut to = Line([0xdd; 96]);
                // SAFETY: `to` has `length` bytes from `start` on.
                unsafe { write(to.0.as_mut_ptr().add(start), &out) };
                assert_eq!(to.0[start..start + length], out);
                assert!(to.0[..start].iter().all(|b| *b == 0xdd));
                assert!(to.0[start + length..].iter().all(|b| *b == 0xdd));
            }
        }
    }

    /// Copies byte by byte, and copies that write a value twice, fail this test.
    #[test]
    fn values_are_seen_whole_and_written_once() {
        let place = Line([0; 96]);
        let at = place.0.as_ptr().expose_provenance();
        let end = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                let at = std::ptr::with_exposed_provenance_mut::<u8>(at);
                for n in 1..400_000u32 {
                    let value: Vec<u8> = n.to_ne_bytes().repeat(5);
                    // SAFETY: inside the array, which nothing borrows meanwhile.
                    unsafe { write(at, &value[..20]) };
                }
                end.store(true, Ordering::Release);
            });
            let at = std::ptr::with_exposed_provenance::<u8>(at);
            let mut last = 0;
            while !end.load(Ordering::Acquire) {
                let mut bytes = [0; 16];
                // SAFETY: 16 bytes that live until the threads have ended; only these functions access them.
                unsafe { read(at, &mut bytes) };
                let parts: Vec<u32> =
                    bytes.chunks(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap())).collect();
                assert!(parts.iter().all(|p| *p == parts[0]), "{parts:?}");
                assert!(parts[0] >= last, "{parts:?} behind {last}");
                last = parts[0];
            }
        });
    }
}
