//! Words of an instruction and the fields in them.

use crate::inst::{Inst, Operand};
use crate::table::{Encoding, find};
use crate::target::Target;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// They end within it.
    Short,
    /// No format, or no opcode of the format.
    Unknown,
    /// A field has an invalid value: which.
    Field(&'static str),
}

/// Bits `low` to `high` of a word.
pub fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & (u32::MAX >> (31 - (high - low)))
}

pub fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 == 1
}

/// The instruction of an opcode, without operands.
pub fn inst(target: Target, encoding: Encoding, op: u32) -> Result<Inst, Error> {
    let row = find(target.isa, encoding, op as u16).ok_or(Error::Unknown)?;
    Ok(Inst::new(target, row, encoding))
}

/// The words of an instruction that is being decoded.
pub struct Words<'a> {
    pub target: Target,
    pub rest: &'a [u32],
    pub taken: u8,
}

impl Words<'_> {
    pub fn next(&mut self) -> Result<u32, Error> {
        let (first, rest) = self.rest.split_first().ok_or(Error::Short)?;
        self.rest = rest;
        self.taken += 1;
        Ok(*first)
    }

    /// Reads a literal where an operand needs one.
    pub fn literal(&mut self, inst: &mut Inst) -> Result<(), Error> {
        if inst.src.contains(&Operand(255)) {
            inst.literal = self.next()?;
        }
        Ok(())
    }
}

/// A valid scalar source.
pub fn scalar_source(number: u32) -> Result<Operand, Error> {
    match number {
        0..=208 | 235..=239 | 240..=248 | 251..=253 | 255 => Ok(Operand(number as u16)),
        _ => Err(Error::Field("a scalar source")),
    }
}
