//! PTX text -> checked IR -> execution of whole kernels.
//!
//! Owns the language: what PTX text means, instruction by instruction, as the
//! PTX ISA manual defines it. Virtual CUDA's `cpu` accelerator runs programs
//! with it, and whoever wants to know what a kernel does can read its IR.
//! It must not know any CUDA runtime or driver call, any container format, or
//! where device memory lies: memory and the host are traits.
//!
//! The way through:
//! 1. [`parse()`] turns text into a syntax tree ([`ast`]), with positions.
//! 2. [`check()`] resolves names, matches every instruction with the [`table`] and
//!    finds what it means ([`sem`]): the result is the [`ir`]. Instructions that are not run are
//!    noted, kernel by kernel.
//! 3. [`link()`] joins modules that refer to each other.
//! 4. [`interp::run`] runs a kernel of it, [`interp::run_blocks`] a part of its grid;
//!    [`exec`] is what any engine runs kernels with.

#![deny(unsafe_code)]
// `interp::versions` alone has some
// This code runs inside other people's processes, where whoever calls it catches what it panics of: that is a fault of
// the launch, or of the module. Registers and lanes are indexed, the rest does without.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod alu;
pub mod ast;
mod blocks;
mod check;
mod contract;
pub mod cooperative;
mod error;
pub mod exec;
pub mod fence;
pub mod interp;
pub mod ir;
pub mod level;
pub mod lex;
mod link;
pub mod matrix;
mod operand;
pub mod parse;
pub mod sem;
pub mod soft;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod source;
mod special;
pub mod table;
pub mod texts;
pub mod texture;
pub mod types;
mod unfused;
#[doc(hidden)]
pub mod work;

pub use check::check;
pub use contract::contract;
pub use error::{Error, Pos};
pub use level::Level;
pub use link::link;
pub use parse::parse;
pub use unfused::unfused;
