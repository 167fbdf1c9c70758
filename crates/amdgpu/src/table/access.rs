//! The data that a memory instruction moves, and its kind of memory.

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

/// The kind of an atomic operation.
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
    /// As CmpSwap, with the two in reverse order, in two operands.
    CmpStore,
    CmpStoreF,
    Mskor,
    Wrap,
}

/// The kind of access.
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
        /// The former value is returned, for LDS; other spaces have a bit for it.
        returns: bool,
    },
    /// Two words from two addresses of LDS.
    Read2 {
        /// Bytes of one.
        bytes: u8,
        /// The unit of offsets, in units of `bytes`.
        stride: u8,
    },
    /// Two words to two addresses of LDS.
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
    /// A counter in LDS by the number of active lanes.
    Count {
        /// Up, or down.
        add: bool,
    },
    /// Only orders accesses.
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
