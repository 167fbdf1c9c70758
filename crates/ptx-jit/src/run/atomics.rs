//! Atomic operations that the processor has.

use cushim_ptx::ir::Inst;
use cushim_ptx::table::Word;
use cushim_ptx::types::{Kind, Scalar};
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
