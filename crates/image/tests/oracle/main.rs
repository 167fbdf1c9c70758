//! The readers against NVIDIA's and LLVM's own tools, over what their compilers
//! write: listings, extracted bytes and resource numbers must agree exactly.
//!
//! Wants toolkits as `scripts/cuda-toolkits` puts them into `target/toolkits`
//! (or where `CUSHIM_TOOLKITS` says); a case whose tools are missing says so and
//! passes.

mod amd;
mod cuda;
mod llvm;
mod tools;
