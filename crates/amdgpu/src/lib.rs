//! A GPU's compute units in software: the instruction sets of gfx90a (AMD's CDNA 2) and gfx1030 (RDNA 2).
//!
//! Owns: decoding, execution of waves, what a code object's kernel descriptor says. Must not know: queues,
//! packets, the kernel driver, who allocates memory: that is behind [`memory::Memory`].

#![warn(missing_docs)]
// A lane is the index of several arrays at once; an iterator over one of them would hide that.
#![allow(clippy::needless_range_loop)]

pub mod decode;
mod division;
pub mod exec;
pub mod inst;
pub mod kernel;
pub mod lanes;
pub mod launch;
pub mod memory;
pub mod num;
pub mod print;
pub mod scalar;
pub mod table;
pub mod target;
pub mod wave;
