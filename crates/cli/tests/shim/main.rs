//! The preloaded library under test, without a GPU: C programs from `c-tests/shim` run against the test-only CUDA of
//! `c-tests/stub`, with and without libcushim.so. Both runs must behave the same, the stub must receive the same
//! calls, and the trace must hold exactly the launches that the stub received.
//!
//! `cargo test` does not build libcushim.so (it is a cdylib that nothing may link): run `cargo build`
//! first.

mod built;
mod compare;
mod direct;
mod driver;
mod echo;
mod exports;
mod files;
mod gpuevents;
mod gputime;
mod handles;
mod headers;
mod hip;
mod imports;
mod inside;
mod lab;
mod load;
mod loader;
mod log;
mod memory;
mod native;
mod nvtx;
mod offload;
mod openmp;
mod processes;
mod record;
mod recorder;
mod redirect;
mod redirect_bound;
mod redirect_more;
mod redirect_nvcc;
mod redirect_variables;
mod runtime;
mod sandbox;
mod sanitized_cpu;
mod sanitizers;
mod stalled;
mod strange;
mod threads;
mod tools;
mod trace;
