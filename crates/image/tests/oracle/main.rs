//! Compares the readers with NVIDIA's and LLVM's own tools, on the output of their
//! compilers: listings, extracted bytes and resource numbers must agree exactly.
//!
//! Needs toolkits from `scripts/cuda-toolkits` in `target/toolkits` (or in
//! `CUSHIM_TOOLKITS`); a case without its tools passes and reports what it left
//! out.

mod amd;
mod cuda;
mod llvm;
mod tools;
