//! The instructions: one row each, by instruction set, encoding and opcode.
//!
//! Owns: names, opcode numbers, kinds of operands, and the function that computes each instruction. Must not know: an
//! operand's bits in an instruction, registers, memory. Names and numbers are those of AMD's "CDNA2 instruction set
//! architecture"; `rdna2` lists where RDNA 2 differs.

mod access;
mod cdna2;
mod encoding;
mod memory;
mod packed;
mod rdna2;
mod row;
mod scalar;
mod vop1;
mod vop2;
mod vop3;
mod vopc;

use crate::target::Isa;
pub use access::{Access, Atomic, Op, Space};
pub use encoding::{ENCODINGS, Encoding};
pub use row::{Control, Cross, Exec, Kind, Row, ScalarMemory, Vector};

/// All rows of an encoding; those of VOP3 are the ones that no other encoding has.
pub fn rows(isa: Isa, encoding: Encoding) -> &'static [Row] {
    match isa {
        Isa::Cdna2 => cdna2::rows(encoding),
        Isa::Rdna2 => rdna2::rows(encoding),
    }
}

/// The row of an opcode; VOP3's opcodes include those of VOPC, VOP2 and VOP1.
pub fn find(isa: Isa, encoding: Encoding, op: u16) -> Option<&'static Row> {
    // The first opcode of VOP1, and its end.
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
