//! All tests of the translation: one program, because linking takes longer than most of them.

#[path = "../../../ptx/tests/cases/mod.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../exact/mod.rs"]
mod exact;

mod fuzzed;
mod kept;
mod kernels;
mod recorded;
mod rounding;
