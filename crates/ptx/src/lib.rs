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

#![forbid(unsafe_code)]

pub mod ast;
mod error;
pub mod lex;
pub mod parse;
pub mod types;

pub use error::{Error, Pos};
pub use parse::parse;
