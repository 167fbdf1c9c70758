//! The instructions of gfx90a: one row each, by encoding and opcode.
//!
//! Owns: names, opcode numbers, kinds of operands, and which function computes. Must not know: where an
//! operand's bits stand in an instruction, registers, memory. Names and numbers are those of AMD's "CDNA2
//! instruction set architecture".

mod memory;
mod packed;
mod scalar;
mod vop1;
mod vop2;
mod vop3;
mod vopc;

use crate::lanes::Lanes;
use crate::scalar::Scalar;

pub use memory::{Access, Atomic, Op, Space};

/// What an operand is: its width, and how constants and modifiers apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is none.
    None,
    /// 16 bits.
    B16,
    /// A half.
    F16,
    /// 32 bits.
    B32,
    /// A float.
    F32,
    /// 32 bits that are moved, to which abs and neg apply.
    M32,
    /// 64 bits in two registers.
    B64,
    /// A double.
    F64,
    /// Two halves in a register.
    P16,
    /// Two 16-bit integers in a register.
    I16x2,
    /// Two floats in two registers.
    F32x2,
    /// Two words in two registers.
    B32x2,
    /// A float or one half of a register, as op_sel_hi says; a float by the time it is computed with.
    Mix,
    /// A mask of lanes in two scalar registers, written or read.
    Mask,
    /// A lone scalar register as destination.
    Scalar,
    /// Four registers.
    B128,
}

impl Kind {
    /// How many 32-bit registers it takes.
    pub fn registers(self) -> u32 {
        match self {
            Kind::None => 0,
            Kind::B64 | Kind::F64 | Kind::F32x2 | Kind::B32x2 | Kind::Mask => 2,
            Kind::B128 => 4,
            _ => 1,
        }
    }

    /// Whether abs and neg apply.
    pub fn float(self) -> bool {
        matches!(self, Kind::F16 | Kind::F32 | Kind::M32 | Kind::F64 | Kind::Mix)
    }

    /// Whether it is a 16-bit part of a register, of which op_sel chooses one.
    pub fn half(self) -> bool {
        matches!(self, Kind::B16 | Kind::F16)
    }
}

/// What a vector instruction that computes has.
#[derive(Debug)]
pub struct Vector {
    /// The destination.
    pub dst: Kind,
    /// The second destination, a mask, as of carries.
    pub mask: bool,
    /// The sources; the third may be a mask.
    pub src: [Kind; 3],
    /// What it computes.
    pub run: fn(&mut Lanes),
    /// The destination is a source, too: the last one.
    pub accumulates: bool,
    /// The unused half of the destination stays as it was.
    pub keeps: bool,
}

/// How an instruction is executed.
#[derive(Debug)]
pub enum Exec {
    /// Scalar registers in, scalar registers and SCC out.
    Scalar {
        /// Destination and sources.
        kinds: [Kind; 3],
        /// The function.
        run: fn(&mut Scalar),
    },
    /// Control flow and state of the wave.
    Control(Control),
    /// A vector instruction.
    Vector(Vector),
    /// A compare, whose result is a mask.
    Compare {
        /// The sources.
        src: [Kind; 2],
        /// EXEC gets the result, too.
        exec: bool,
        /// The function.
        run: fn(&mut Lanes),
    },
    /// Registers of other lanes.
    Cross(Cross),
    /// A scalar load: how many words; through a descriptor or not.
    ScalarLoad {
        /// Words.
        words: u8,
        /// The base is a descriptor of four registers.
        buffer: bool,
    },
    /// A scalar instruction of the memory pipe without memory.
    ScalarMemory(ScalarMemory),
    /// Vector memory, of whatever space.
    Memory(Access),
    /// Known by name; a kernel that comes to it is stopped.
    Refused,
}

/// Instructions of the wave's course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Control {
    Nop,
    End,
    Branch,
    BranchScc(bool),
    BranchVcc(bool),
    BranchExec(bool),
    Barrier,
    Wait,
    Sleep,
    Message,
    Halt,
    Trap,
    GetPc,
    SetPc,
    SwapPc,
    Call,
    GetReg,
    SetReg,
    SetRegImm,
    MoveRelS(bool),
    MoveRelD(bool),
    IndexOn,
    IndexOff,
    IndexMode,
    IndexSet,
}

/// Instructions that take registers of other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cross {
    ReadFirst,
    ReadLane,
    WriteLane,
    Swap,
    AccRead,
    AccWrite,
    AccMove,
}

/// Scalar instructions of the memory pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ScalarMemory {
    Cache,
    Time,
}

/// One instruction.
#[derive(Debug)]
pub struct Row {
    /// The opcode in its encoding.
    pub op: u16,
    /// As the assembler knows it, without _e32 and _e64.
    pub name: &'static str,
    /// What is done.
    pub exec: Exec,
}

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

const fn refused(op: u16, name: &'static str) -> Row {
    Row { op, name, exec: Exec::Refused }
}

const fn control(op: u16, name: &'static str, what: Control) -> Row {
    Row { op, name, exec: Exec::Control(what) }
}

const fn vector(dst: Kind, src: [Kind; 3], run: fn(&mut Lanes)) -> Vector {
    Vector { dst, mask: false, src, run, accumulates: false, keeps: false }
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
