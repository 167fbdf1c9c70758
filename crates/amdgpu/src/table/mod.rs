//! The instructions of gfx90a: one row each, by encoding and opcode.
//!
//! Owns: names, opcode numbers, kinds of operands, and which function computes. Must not know: where an
//! operand's bits stand in an instruction, registers, memory. Names and numbers are those of AMD's "CDNA2
//! instruction set architecture".

mod access;
mod memory;
mod packed;
mod row;
mod scalar;
mod vop1;
mod vop2;
mod vop3;
mod vopc;

pub use access::{Access, Atomic, Op, Space};
pub use row::{Control, Cross, Exec, Kind, Row, ScalarMemory, Vector};

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

/// All rows of an encoding; those of VOP3 are the ones that no other encoding has.
pub fn rows(encoding: Encoding) -> &'static [Row] {
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
pub fn find(encoding: Encoding, op: u16) -> Option<&'static Row> {
    let (encoding, op) = match (encoding, op) {
        (Encoding::Vop3, ..0x100) => (Encoding::Vopc, op),
        (Encoding::Vop3, 0x100..0x140) => (Encoding::Vop2, op - 0x100),
        (Encoding::Vop3, 0x140..0x1c0) => (Encoding::Vop1, op - 0x140),
        other => other,
    };
    let table = rows(encoding);
    table.binary_search_by_key(&op, |row| row.op).ok().and_then(|at| table.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order() {
        use Encoding::*;
        for e in [
            Sop2, Sopk, Sop1, Sopc, Sopp, Smem, Vop1, Vop2, Vop3, Vop3p, Vopc, Ds, Flat, Global,
            Scratch, Mubuf, Mtbuf,
        ] {
            for pair in rows(e).windows(2) {
                assert!(pair[0].op < pair[1].op, "{e:?}: {} and {}", pair[0].name, pair[1].name);
            }
        }
    }
}
