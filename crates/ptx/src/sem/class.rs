//! Classes of operations: their names in messages and counts.
//!
//! Owns the names. Must not know what operations do.

use super::{Control, Operation};
use std::fmt;

macro_rules! classes {
    ($($(#[$meta:meta])* $name:ident $text:literal),* $(,)?) => {
        /// A class of operations.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Class { $($(#[$meta])* $name),* }

        impl Class {
            /// Every class, in the order of the enumeration.
            pub const ALL: &'static [Class] = &[$(Class::$name),*];

            /// What people call it.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$name => $text),* }
            }
        }
    };
}

classes! {
    /// Arithmetic of integers.
    Integer "integer arithmetic",
    /// Logic, shifts, fields of bits.
    Bits "bit operation",
    /// Arithmetic of floating-point numbers.
    Float "floating-point arithmetic",
    /// Conversions.
    Conversion "conversion",
    /// Comparisons, tests, and selections by them.
    Comparison "comparison",
    /// Video instructions.
    Video "video instruction",
    /// Moves, also of parts.
    Move "move",
    /// Conversions of addresses between state spaces.
    Address "address conversion",
    /// Loads.
    Load "load",
    /// Stores.
    Store "store",
    /// Atomics and reductions in memory.
    Atomic "atomic operation",
    /// Texture fetches, surface accesses, queries of both.
    Texture "texture or surface access",
    /// Asynchronous copies.
    Copy "asynchronous copy",
    /// What lanes of a warp do together.
    Collective "warp collective",
    /// Barriers of a block, and barrier objects.
    Barrier "barrier",
    /// Fences.
    Fence "fence",
    /// Branches and what ends lanes.
    Control "control flow",
    /// Calls of functions.
    Call "call",
    /// Hints, and what a kernel cannot see.
    Nothing "hint",
    /// What has no meaning here.
    Refused "refused instruction",
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Operation {
    /// The operation's class.
    pub const fn class(&self) -> Class {
        match self {
            Operation::Integer(_) => Class::Integer,
            Operation::Bits(_) => Class::Bits,
            Operation::Float(_) => Class::Float,
            Operation::Convert(_) => Class::Conversion,
            Operation::Compare(_)
            | Operation::Set(_)
            | Operation::Select(_)
            | Operation::SelectBySign { .. }
            | Operation::Test(_) => Class::Comparison,
            Operation::Video(_) => Class::Video,
            Operation::Move(_) => Class::Move,
            Operation::Address(_) => Class::Address,
            Operation::Load(_) => Class::Load,
            Operation::Store(_) => Class::Store,
            Operation::Atomic(_) => Class::Atomic,
            Operation::CopyAsync(_) | Operation::Asynchronous(_) => Class::Copy,
            Operation::ClusterAddress(_) => Class::Address,
            Operation::Texture(_) | Operation::Surface(_) | Operation::TextureQuery(_) => {
                Class::Texture
            }
            Operation::Collective(_) | Operation::ActiveMask => Class::Collective,
            Operation::Barrier(_) | Operation::Mbarrier(_) => Class::Barrier,
            Operation::Fence(_) => Class::Fence,
            Operation::Control(Control::Call) => Class::Call,
            Operation::Control(_) => Class::Control,
            Operation::Sleep | Operation::Nothing => Class::Nothing,
            Operation::Refused => Class::Refused,
        }
    }
}
