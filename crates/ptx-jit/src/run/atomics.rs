//! Atomic operations that the processor has.

use cushim_ptx::ir::Inst;
use cushim_ptx::table::Word;
use cushim_ptx::types::{Kind, Scalar};
use std::arch::x86_64::__m128i;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What an atomic instruction does.
pub(crate) fn word(inst: &Inst) -> Word {
    let kinds = [
        Word::Add,
        Word::Min,
        Word::Max,
        Word::And,
        Word::Or,
        Word::Xor,
        Word::Exch,
        Word::Inc,
        Word::Dec,
        Word::Cas,
    ];
    inst.words.first(&kinds).unwrap_or(Word::Add)
}

/// Whether a load or store of so many parts is to be one access, of 8 or 16 bytes. PTX leaves the order of a vector's
/// parts open (8.2, "Vector Data-types"), yet GPUs move up to 16 bytes at once, and CUB's scans hand state and value
/// from block to block that way.
pub(crate) fn at_once(inst: &Inst, parts: usize) -> bool {
    const OTHERS_LOOK: [Word; 7] = [
        Word::Volatile,
        Word::Relaxed,
        Word::Acquire,
        Word::Release,
        Word::Mmio,
        Word::Cg,
        Word::Cv,
    ];
    let bytes = inst.types[0].bytes() as usize * parts;
    parts > 1 && matches!(bytes, 8 | 16) && inst.words.first(&OTHERS_LOOK).is_some()
}

/// Reads 8 or 16 bytes, aligned to as many, none of them before another is changed: 16 of them are one access of all processors with AVX (Intel's
/// manual, volume 3, 10.1.1; AMD's, volume 2, 7.3.2).
///
/// # Safety
/// `at` is mapped for that many bytes.
pub(super) unsafe fn read_at_once(at: *const u8, bytes: usize) -> [u64; 2] {
    // SAFETY: the caller's promise. Volatile, so that it stays one access.
    unsafe {
        if bytes == 8 {
            return [at.cast::<u64>().read_unaligned(), 0];
        }
        // A block's own memory may begin anywhere, and nobody else looks at it.
        if !at.cast::<__m128i>().is_aligned() {
            return at.cast::<[u64; 2]>().read_unaligned();
        }
        std::mem::transmute::<__m128i, [u64; 2]>(at.cast::<__m128i>().read_volatile())
    }
}

/// Writes what [`read_at_once`] reads.
///
/// # Safety
/// As there, and writable.
pub(super) unsafe fn write_at_once(at: *mut u8, bytes: usize, v: [u64; 2]) {
    // SAFETY: as above.
    unsafe {
        if bytes == 8 {
            return at.cast::<u64>().write_unaligned(v[0]);
        }
        if !at.cast::<__m128i>().is_aligned() {
            return at.cast::<[u64; 2]>().write_unaligned(v);
        }
        at.cast::<__m128i>().write_volatile(std::mem::transmute::<[u64; 2], __m128i>(v));
    }
}

/// One instruction of the processor, if there is one; the old value.
///
/// # Safety
/// `at` is mapped, writable and aligned to the type's size.
pub(super) unsafe fn fast(at: *mut u8, word: Word, ty: Scalar, b: u64) -> Option<u64> {
    if matches!(ty.kind(), Kind::Float | Kind::Packed) {
        return None;
    }
    let order = Ordering::SeqCst;
    macro_rules! with {
        ($atomic:ident, $int:ident) => {{
            // SAFETY: the caller's promise.
            let cell = unsafe { $atomic::from_ptr(at.cast()) };
            let b = b as $int;
            u64::from(match word {
                Word::Add => cell.fetch_add(b, order),
                Word::And => cell.fetch_and(b, order),
                Word::Or => cell.fetch_or(b, order),
                Word::Xor => cell.fetch_xor(b, order),
                Word::Exch => cell.swap(b, order),
                _ => return None,
            })
        }};
    }
    match ty.bytes() {
        4 => Some(with!(AtomicU32, u32)),
        8 => Some(with!(AtomicU64, u64)),
        _ => None,
    }
}
