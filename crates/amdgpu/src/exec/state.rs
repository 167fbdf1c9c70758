//! The outcome of an instruction, and the state that all waves of a workgroup share.

use crate::memory::{Checked, Fault, Memory};

/// Why a wave cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A memory fault.
    Memory(Fault),
    /// An unknown or unsupported instruction, the reason, and its address.
    Instruction {
        /// Its address.
        pc: u64,
        /// Its words.
        words: Vec<u32>,
        /// What is wrong.
        why: String,
    },
    /// s_trap by the program.
    Trap {
        /// Its number.
        number: u32,
        /// Where.
        pc: u64,
    },
    /// The machine is being stopped.
    Cancelled,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Memory(fault)
    }
}

/// What comes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next one.
    On,
    /// Another.
    Jump,
    /// The next one, after other waves have had their turn.
    Pause,
}

/// What all waves of a workgroup share.
#[derive(Debug)]
pub struct Group<'m, M: Memory + ?Sized> {
    /// Global memory.
    pub memory: Checked<'m, M>,
    /// LDS in words.
    pub lds: Vec<u32>,
    /// Instructions, each counted for all its active lanes.
    pub executed: u64,
}

/// An unsupported instruction.
pub fn refused(why: impl Into<String>) -> Stop {
    Stop::Instruction { pc: 0, words: Vec::new(), why: why.into() }
}
