//! The vector registers of memory instructions.

use super::state::{Stop, refused};
use crate::inst::Operand;
use crate::wave::Wave;

pub fn register(wave: &Wave, operand: Operand, more: usize, lane: usize) -> Result<u32, Stop> {
    let at = operand.register().map(|r| r + more).filter(|r| *r < wave.v.len());
    at.map(|r| wave.v[r][lane])
        .ok_or_else(|| refused("a vector register that a wave does not have"))
}

pub fn set_register(
    wave: &mut Wave,
    operand: Operand,
    more: usize,
    lane: usize,
    value: u32,
) -> Result<(), Stop> {
    let at = operand.register().map(|r| r + more).filter(|r| *r < wave.v.len());
    let at = at.ok_or_else(|| refused("a vector register that a wave does not have"))?;
    wave.v[at][lane] = value;
    Ok(())
}

/// The data of a lane, up to four words.
pub fn data(wave: &Wave, operand: Operand, words: usize, lane: usize) -> Result<[u32; 16], Stop> {
    let mut data = [0; 16];
    for (i, word) in data.iter_mut().enumerate().take(words) {
        *word = register(wave, operand, i, lane)?;
    }
    Ok(data)
}

/// A loaded value of 1 or 2 bytes as a word.
pub fn extend(value: u32, bytes: usize, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, true) => value as i8 as u32,
        (2, true) => value as i16 as u32,
        _ => value,
    }
}
