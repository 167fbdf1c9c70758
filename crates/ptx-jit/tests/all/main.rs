//! All tests of compiled kernels that can share a process: one program, because each links the whole compiler.

#![allow(clippy::unwrap_used)]

#[path = "../../../ptx/tests/cases/mod.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../ptx/tests/contraction/mod.rs"]
mod contraction;
#[path = "../shapes/mod.rs"]
mod shapes;

mod arguments;
mod blame;
mod calls;
mod carry;
mod clusters;
mod contraction_gpu;
mod corpus;
mod counts;
mod faults;
mod generic;
mod grid;
mod instructions;
mod joins;
mod kernels;
mod lanes;
mod layers;
mod loops;
mod matrix;
mod meetings;
mod old;
mod pointers;
mod random;
mod recorded;
mod shaped;
mod shown;
mod steps;
mod warpgroup;
mod wide;
