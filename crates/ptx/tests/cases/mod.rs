//! Test cases for single instructions: generated kernels and inputs, a GPU's
//! results, and the comparison of results.
//!
//! Owns the list of cases. They come from the table of instructions
//! ([`cushim_ptx::table`]), so that a new form there gets cases automatically.
//! Must not know who runs them: the interpreter, compiled code or a GPU.

#![allow(dead_code, unused_imports)] // each user needs a part

pub mod forms;
pub mod inputs;
pub mod judge;
pub mod kernels;
mod legal;
pub mod matrix;
pub mod needs;
pub mod results;
pub mod sequences;
mod special;
pub mod tally;
pub mod video;
pub mod warpgroup;
