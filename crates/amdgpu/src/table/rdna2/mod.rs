//! The instructions of gfx1030 (RDNA 2): the name of each opcode, and what executes it.
//!
//! Owns: opcode numbers, and the rows that only RDNA has (`own`). Must not know: an operand's bits in an instruction.
//! An instruction that CDNA 2 has under the same name uses CDNA 2's row. Numbers and names are those of AMD's "RDNA 2
//! instruction set architecture"; `tests/disassembly.rs` compares all of them with LLVM's disassembler.
//!
//! In a list of names, opcodes count up; a number sets the next one. `name=other` executes what CDNA 2 calls `other`;
//! `!name` is decoded but not executed.

mod memory;
mod own;
mod scalar;
mod vector;

use std::sync::LazyLock;

use super::cdna2;
use super::encoding::{ENCODINGS, Encoding};
use super::row::{Exec, Row, Vector, refused};

/// The text of an encoding.
fn text(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Sop2 => scalar::SOP2,
        Encoding::Sopk => scalar::SOPK,
        Encoding::Sop1 => scalar::SOP1,
        Encoding::Sopc => scalar::SOPC,
        Encoding::Sopp => scalar::SOPP,
        Encoding::Smem => scalar::SMEM,
        Encoding::Vop1 => vector::VOP1,
        Encoding::Vop2 => vector::VOP2,
        Encoding::Vop3 => vector::VOP3,
        Encoding::Vop3p => vector::VOP3P,
        Encoding::Vopc => vector::VOPC,
        Encoding::Ds => memory::DS,
        Encoding::Flat => memory::FLAT,
        Encoding::Global => memory::GLOBAL,
        Encoding::Scratch => memory::SCRATCH,
        Encoding::Mubuf => memory::MUBUF,
        Encoding::Mtbuf => "",
    }
}

/// The execution of the instruction with a name.
fn exec(name: &str) -> Option<Exec> {
    let mut all =
        own::ROWS.iter().chain(ENCODINGS.iter().flat_map(|encoding| cdna2::rows(*encoding)));
    all.find(|row| row.name == name).map(|row| row.exec)
}

/// RDNA keeps the other half of a destination of 16 bits, whatever the instruction.
fn keeping(exec: Exec) -> Exec {
    match exec {
        Exec::Vector(vector) if vector.dst.half() => Exec::Vector(Vector { keeps: true, ..vector }),
        other => other,
    }
}

/// Parses a table. An unknown name is refused when it is executed; the tests find it.
fn read(text: &'static str) -> Vec<Row> {
    let mut table = Vec::new();
    let mut op = 0;
    for word in text.split_ascii_whitespace() {
        if let Ok(number) = word.parse() {
            op = number;
            continue;
        }
        let row = match word.strip_prefix('!') {
            Some(name) => refused(op, name),
            None => {
                let (name, other) = word.split_once('=').unwrap_or((word, word));
                Row { op, name, exec: exec(other).map_or(Exec::Refused, keeping) }
            }
        };
        table.push(row);
        op += 1;
    }
    table
}

static TABLES: LazyLock<Vec<Vec<Row>>> =
    LazyLock::new(|| ENCODINGS.iter().map(|encoding| read(text(*encoding))).collect());

/// All rows of an encoding; those of VOP3 are the ones that no other encoding has.
pub fn rows(encoding: Encoding) -> &'static [Row] {
    TABLES.get(encoding as usize).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_that_is_executed() {
        for encoding in ENCODINGS {
            for word in text(encoding).split_ascii_whitespace() {
                if word.starts_with('!') || word.parse::<u16>().is_ok() {
                    continue;
                }
                let name = word.split_once('=').map_or(word, |(_, other)| other);
                assert!(exec(name).is_some(), "{encoding:?}: {name}");
            }
        }
    }
}
