//! Memory instructions: SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF.
//!
//! Owns: their rows and what each moves. Must not know: how an address is found.

mod global;
mod lds;

use super::{Exec, Row, ScalarMemory, refused};

pub(super) use global::{FLAT, GLOBAL, MTBUF, MUBUF, SCRATCH, SMEM};
pub(super) use lds::DS;

/// Where an instruction's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// By the address: global memory, or the windows of LDS and scratch.
    Flat,
    /// Global memory.
    Global,
    /// The lane's own memory.
    Scratch,
    /// Through a descriptor of four scalar registers.
    Buffer,
    /// The workgroup's memory.
    Lds,
}

/// What an atomic operation makes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Atomic {
    Swap,
    Add,
    Sub,
    Rsub,
    Smin,
    Umin,
    Smax,
    Umax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    AddF,
    MinF,
    MaxF,
    PkAddF16,
    /// The new value comes first, then the one compared with.
    CmpSwap,
    /// As CmpSwap, the two the other way round, in two operands.
    CmpStore,
    CmpStoreF,
    Mskor,
    Wrap,
}

/// What is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// From memory to registers.
    Load {
        /// Bytes of a lane.
        bytes: u8,
        /// Whether it is sign-extended.
        signed: bool,
    },
    /// 16 bits into one half of a register, the other stays.
    LoadHalf {
        /// Bytes of a lane.
        bytes: u8,
        /// Whether it is sign-extended.
        signed: bool,
        /// Into the high half.
        high: bool,
    },
    /// From registers to memory.
    Store {
        /// Bytes of a lane.
        bytes: u8,
        /// From the high half.
        high: bool,
    },
    /// Read, computed, and written at once.
    Atomic {
        /// What is computed.
        what: Atomic,
        /// 64 bits.
        wide: bool,
        /// The former value is returned, for LDS; others say so by a bit.
        returns: bool,
    },
    /// Two words from two places of LDS.
    Read2 {
        /// Bytes of one.
        bytes: u8,
        /// What an offset is counted in, in units of `bytes`.
        stride: u8,
    },
    /// Two words to two places of LDS.
    Write2 {
        /// Bytes of one.
        bytes: u8,
        /// What an offset is counted in.
        stride: u8,
    },
    /// Two words exchanged.
    Exchange2 {
        /// Bytes of one.
        bytes: u8,
        /// What an offset is counted in.
        stride: u8,
    },
    /// Lanes of a register by a pattern.
    Swizzle,
    /// Lanes of a register, sent.
    Permute,
    /// Lanes of a register, fetched.
    Bpermute,
    /// A counter in LDS by the number of lanes that are on.
    Count {
        /// Up, or down.
        add: bool,
    },
    /// Nothing but order.
    Cache,
}

/// A memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub space: Space,
    /// What.
    pub op: Op,
}

const fn row(op: u16, name: &'static str, space: Space, what: Op) -> Row {
    Row { op, name, exec: Exec::Memory(Access { space, op: what }) }
}

const fn load(op: u16, name: &'static str, space: Space, bytes: u8, signed: bool) -> Row {
    row(op, name, space, Op::Load { bytes, signed })
}

const fn d16(
    op: u16,
    name: &'static str,
    space: Space,
    bytes: u8,
    signed: bool,
    high: bool,
) -> Row {
    row(op, name, space, Op::LoadHalf { bytes, signed, high })
}

const fn store(op: u16, name: &'static str, space: Space, bytes: u8, high: bool) -> Row {
    row(op, name, space, Op::Store { bytes, high })
}

const fn atomic(op: u16, name: &'static str, space: Space, what: Atomic, wide: bool) -> Row {
    row(op, name, space, Op::Atomic { what, wide, returns: false })
}

const fn cache(op: u16, name: &'static str, space: Space) -> Row {
    row(op, name, space, Op::Cache)
}

const fn lds(op: u16, name: &'static str, what: Op) -> Row {
    row(op, name, Space::Lds, what)
}

const fn lds_atomic(op: u16, name: &'static str, what: Atomic, wide: bool, returns: bool) -> Row {
    lds(op, name, Op::Atomic { what, wide, returns })
}
