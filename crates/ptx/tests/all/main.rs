//! All tests of the interpreter and of parsing PTX that can share a process. They are one program, because linking
//! takes longer than most of them.

#[path = "../cases/mod.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../contraction/mod.rs"]
mod contraction;

mod boxes;
mod broken;
mod check;
mod constants;
mod contraction_gpu;
mod corpus;
mod fences;
mod fixtures;
mod hints;
mod instructions;
mod link;
mod needs;
mod parse;
mod programs;
mod recorded;
mod soft;
mod video;
mod warpgroup;
