//! Asynchronous copies (PTX ISA 9, `cp.async`).
//!
//! Owns a copy's size, and the limit on the bytes that are read. It is the engine's choice that all execute
//! immediately and that waiting for them does nothing.

use super::reader::{Context, Reader, Unsupported};
use crate::operand::Src;
use crate::table::Word;
use crate::types::Scalar;

/// A copy from global memory, operand 1, to shared memory, operand 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyAsync {
    /// Bytes to write: at most 16.
    pub bytes: u8,
    /// Bytes to read; the rest is zero.
    pub source: Source,
}

/// How many bytes of a copy's source are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// All.
    Whole,
    /// As many as operand 3 says.
    Bytes,
    /// None where operand 3, a predicate, is true.
    Ignored,
}

/// Operands: to, from, the bytes, and two that may be left out: what limits the source, a cache policy.
pub(super) fn lower(
    words: &mut Reader<'_>,
    context: Context<'_>,
) -> Result<CopyAsync, Unsupported> {
    words.need(&[(Word::Async, ())], "`.async`")?;
    words.need(&[(Word::Ca, ()), (Word::Cg, ())], "`.ca` or `.cg`")?;
    words.need(&[(Word::Shared, ()), (Word::SharedCta, ())], "`.shared`")?;
    words.need(&[(Word::Global, ())], "`.global`")?;
    let policy = words.take(Word::CacheHint);
    let src = &words.inst.src;
    let Some(Src::Imm(bytes)) = src.get(2) else {
        return Err(words.wrong("no number of bytes".into(), "a constant"));
    };
    let given = |n: usize| src.get(n).filter(|s| !matches!(s, Src::None));
    let source = match given(3) {
        None => Source::Whole,
        Some(Src::Reg(r) | Src::Not(r))
            if context.registers.get(*r as usize) == Some(&Scalar::Pred) =>
        {
            Source::Ignored
        }
        // It is the policy.
        Some(_) if policy && given(4).is_none() => Source::Whole,
        Some(_) => Source::Bytes,
    };
    Ok(CopyAsync { bytes: (*bytes).min(16) as u8, source })
}
