//! The instructions: one row each, by instruction set, encoding and opcode.
//!
//! Owns: names, opcode numbers, kinds of operands, and which function computes. Must not know: where an
//! operand's bits stand in an instruction, registers, memory. Names and numbers are those of AMD's "CDNA2
//! instruction set architecture"; of RDNA 2, `rdna2` says which differ.

mod access;
mod memory;
mod packed;
mod rdna2;
mod row;
mod scalar;
mod vop1;
mod vop2;
mod vop3;
mod vopc;

pub use access::{Access, Atomic, Op, Space};
pub use row::{Control, Cross, Exec, Kind, Row, ScalarMemory, Vector};

pub use crate::inst::Isa;

/// The formats of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Encoding {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vop3,
    Vop3p,
    Vopc,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
}

/// All encodings, in the order of their numbers.
pub const ENCODINGS: [Encoding; 17] = [
    Encoding::Sop2,
    Encoding::Sopk,
    Encoding::Sop1,
    Encoding::Sopc,
    Encoding::Sopp,
    Encoding::Smem,
    Encoding::Vop1,
    Encoding::Vop2,
    Encoding::Vop3,
    Encoding::Vop3p,
    Encoding::Vopc,
    Encoding::Ds,
    Encoding::Flat,
    Encoding::Global,
    Encoding::Scratch,
    Encoding::Mubuf,
    Encoding::Mtbuf,
];

/// All rows of an encoding; those of VOP3 are the ones that no other encoding has.
pub fn rows(isa: Isa, encoding: Encoding) -> &'static [Row] {
    match isa {
        Isa::Cdna2 => cdna2(encoding),
        Isa::Rdna2 => rdna2::rows(encoding),
    }
}

fn cdna2(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Sop2 => scalar::SOP2,
        Encoding::Sopk => scalar::SOPK,
        Encoding::Sop1 => scalar::SOP1,
        Encoding::Sopc => scalar::SOPC,
        Encoding::Sopp => scalar::SOPP,
        Encoding::Smem => memory::SMEM,
        Encoding::Vop1 => vop1::VOP1,
        Encoding::Vop2 => vop2::VOP2,
        Encoding::Vop3 => vop3::VOP3,
        Encoding::Vop3p => packed::VOP3P,
        Encoding::Vopc => vopc::VOPC,
        Encoding::Ds => memory::DS,
        Encoding::Flat => memory::FLAT,
        Encoding::Global => memory::GLOBAL,
        Encoding::Scratch => memory::SCRATCH,
        Encoding::Mubuf => memory::MUBUF,
        Encoding::Mtbuf => memory::MTBUF,
    }
}

/// The row of an opcode; VOP3's opcodes include those of VOPC, VOP2 and VOP1.
pub fn find(isa: Isa, encoding: Encoding, op: u16) -> Option<&'static Row> {
    // Where VOP1 begins, and how much room it has.
    let (first, end) = match isa {
        Isa::Cdna2 => (0x140, 0x1c0),
        Isa::Rdna2 => (0x180, 0x200),
    };
    let (encoding, op) = match (encoding, op) {
        (Encoding::Vop3, ..0x100) => (Encoding::Vopc, op),
        (Encoding::Vop3, 0x100..0x140) => (Encoding::Vop2, op - 0x100),
        (Encoding::Vop3, _) if op >= first && op < end => (Encoding::Vop1, op - first),
        other => other,
    };
    let table = rows(isa, encoding);
    table.binary_search_by_key(&op, |row| row.op).ok().and_then(|at| table.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order() {
        for (at, e) in ENCODINGS.into_iter().enumerate() {
            assert_eq!(e as usize, at);
            for isa in [Isa::Cdna2, Isa::Rdna2] {
                for pair in rows(isa, e).windows(2) {
                    let (a, b) = (&pair[0], &pair[1]);
                    assert!(a.op < b.op, "{isa:?}, {e:?}: {} and {}", a.name, b.name);
                }
            }
        }
    }
}
