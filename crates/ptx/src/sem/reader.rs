//! The words of one instruction, while it is lowered.
//!
//! Owns that the lowering takes every word, and the error if it does not. Must not know what words mean.

use crate::error::Pos;
use crate::operand::Src;
use crate::table::{Op, Word, Words};
use crate::types::Scalar;

/// A checked instruction as written, before it has a meaning.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// Its row of the table.
    pub op: Op,
    /// Its modifiers that are no types.
    pub words: Words,
    /// Its types, slot by slot.
    pub types: [Scalar; 4],
    /// How many results it has.
    pub results: usize,
    /// Its operands.
    pub src: &'a [Src],
    /// Where in the text.
    pub pos: Pos,
}

/// What the meaning of an instruction depends on beside itself.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// It is in a kernel. A function keeps its parameters in local memory.
    pub entry: bool,
    /// The function's registers.
    pub registers: &'a [Scalar],
}

/// An instruction whose words or types have no meaning together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The instruction.
    pub op: Op,
    /// Where in the text.
    pub pos: Pos,
    /// What was found.
    pub found: String,
    /// What should.
    pub expected: &'static str,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

/// The words that were not taken yet.
pub(super) struct Reader<'a> {
    pub(super) inst: &'a Statement<'a>,
    left: Words,
}

impl<'a> Reader<'a> {
    pub(super) fn new(inst: &'a Statement<'a>) -> Reader<'a> {
        Reader { inst, left: inst.words }
    }

    /// Whether a word is there.
    pub(super) fn take(&mut self, word: Word) -> bool {
        let has = self.left.has(word);
        self.left.remove(word);
        has
    }

    /// The value of the first word of a table that is present.
    pub(super) fn choice<T: Copy>(&mut self, table: &[(Word, T)]) -> Option<T> {
        table.iter().find(|(word, _)| self.take(*word)).map(|(_, meaning)| *meaning)
    }

    /// As [`Reader::choice`], where one of them must be there.
    pub(super) fn need<T: Copy>(
        &mut self,
        table: &[(Word, T)],
        expected: &'static str,
    ) -> Result<T, Unsupported> {
        self.choice(table).ok_or_else(|| self.wrong("no such modifier".into(), expected))
    }

    /// Type `n` of the instruction, if it is one of those asked for.
    pub(super) fn ty(
        &self,
        n: usize,
        fits: impl Fn(Scalar) -> bool,
        expected: &'static str,
    ) -> Result<Scalar, Unsupported> {
        let ty = self.inst.types.get(n).copied().unwrap_or(Scalar::B32);
        if fits(ty) { Ok(ty) } else { Err(self.wrong(format!("`.{}`", ty.name()), expected)) }
    }

    pub(super) fn wrong(&self, found: String, expected: &'static str) -> Unsupported {
        Unsupported { op: self.inst.op, pos: self.inst.pos, found, expected }
    }

    /// That each word was taken.
    pub(super) fn end(&self) -> Result<(), Unsupported> {
        match self.left.first(Word::ALL) {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("`.{}`", word.text()), "no such modifier")),
        }
    }
}
