//! The fields of a table row.
//!
//! Must not know: which rows there are.

use super::access::Access;
use crate::lanes::Lanes;
use crate::scalar::Scalar;

/// The kind of an operand: its width, and how constants and modifiers apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No operand.
    None,
    /// 16 bits.
    B16,
    /// A half.
    F16,
    /// 32 bits.
    B32,
    /// A float.
    F32,
    /// 32-bit moves, to which abs and neg apply.
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
    /// A float or one half of a register, as op_sel_hi says; converted to a float before use.
    Mix,
    /// A mask of lanes in two scalar registers, written or read.
    Mask,
    /// A single scalar register as destination.
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

/// The properties of a computing vector instruction.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// The destination.
    pub dst: Kind,
    /// The second destination, a mask, such as carries.
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
#[derive(Clone, Copy, Debug)]
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
    /// Known by name only; a kernel that reaches it is stopped.
    Refused,
}

/// Instructions of control flow and of the wave's state.
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
    /// Four bits of MODE.
    Mode {
        /// The first.
        first: u8,
    },
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
    /// A register whose number M0 adds to.
    MoveRelative {
        from: bool,
        to: bool,
    },
    /// Any lane of the row, or of the other row of 32.
    PermLane {
        other: bool,
    },
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

/// An instruction that is decoded but not executed.
pub const fn refused(op: u16, name: &'static str) -> Row {
    Row { op, name, exec: Exec::Refused }
}

/// An instruction of control flow or of the wave's state.
pub const fn control(op: u16, name: &'static str, what: Control) -> Row {
    Row { op, name, exec: Exec::Control(what) }
}

/// A vector instruction without anything special.
pub const fn vector(dst: Kind, src: [Kind; 3], run: fn(&mut Lanes)) -> Vector {
    Vector { dst, mask: false, src, run, accumulates: false, keeps: false }
}
