//! PTX text -> checked IR -> execution of whole kernels.
//!
//! Owns the language: the meaning of PTX text, instruction by instruction, as the PTX ISA manual defines it. Virtual
//! CUDA's `cpu` accelerator runs programs with it, and other tools can read a kernel's IR. Must not know any CUDA
//! runtime or driver call, any container format, or where device memory is: memory and the host are traits.
//!
//! The steps:
//! 1. [`parse()`] turns text into a syntax tree ([`ast`]), with positions.
//! 2. [`check()`] resolves names, finds every instruction in the [`table`] and its meaning ([`sem`]): the result is
//!    the [`ir`]. Unsupported instructions are noted, kernel by kernel.
//! 3. [`link()`] joins modules that refer to each other.
//! 4. [`interp::run`] runs one of its kernels, [`interp::run_blocks`] a part of its grid; [`exec`] has what every
//!    engine needs.

#![deny(unsafe_code)]
// Only `interp::versions` has unsafe code.
//
// This code runs inside other people's processes. Its callers catch a panic, which fails the launch or the module. No
// index comes from foreign text; modules that index registers, lanes or numbers that the checks assigned say so.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[allow(
    clippy::indexing_slicing,
    reason = "an operation has five operands at most, and tables are as long as the bits that choose their row"
)]
pub mod alu;
pub mod ast;
#[allow(
    clippy::indexing_slicing,
    reason = "a block and an instruction have the numbers that this file gave them"
)]
mod blocks;
#[allow(
    clippy::indexing_slicing,
    reason = "a function, variable or label has the number that the checks gave it"
)]
mod check;
#[allow(
    clippy::indexing_slicing,
    reason = "an instruction, register or product has the number that this module gave it"
)]
mod contract;
pub mod cooperative;
mod error;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 32, an axis below 3, and a variable has the number that the checks gave it"
)]
pub mod exec;
pub mod fence;
#[allow(
    clippy::indexing_slicing,
    reason = "a lane is below 32, and a register, instruction or block has the number that the checks gave it"
)]
pub mod interp;
pub mod ir;
pub mod level;
pub mod lex;
mod link;
#[allow(
    clippy::indexing_slicing,
    reason = "an element has the place that the table of fragments says"
)]
pub mod matrix;
mod operand;
pub mod origin;
pub mod parse;
pub mod sem;
pub mod soft;
pub mod source;
mod special;
pub mod table;
pub mod texts;
#[allow(
    clippy::indexing_slicing,
    reason = "an axis is below 3, a channel below 4, and a corner below 8"
)]
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
