//! The boundary: every exported symbol of libcushim.so, and no logic.
//!
//! - [`runtime`]: libcudart's functions, each under the version node of every major that exports it;
//! - [`driver`]: libcuda's functions, unversioned as in libcuda;
//! - [`offload`]: the functions of LLVM's libomptarget, under its version node;
//! - [`hip`]: the functions of AMD's HIP runtime, each under the node of the release that introduced it;
//! - [`exports`]: all of these, and their table;
//! - [`loader`]: `dlsym`, `dlvsym`, `dlopen`;
//! - [`inject`]: what the driver and NVTX call if `CUDA_INJECTION64_PATH` or `NVTX_INJECTION64_PATH` names this
//!   library;
//! - [`counted`]: entry points by which the backend `cpu` reports launches whose work it counted;
//! - [`sanitizer`]: options for AddressSanitizer.
//!
//! The library does not use the C library's memory functions and system-call wrappers, which others may intercept; it
//! has its own (`cushim_apart`).
//!
//! `cushim_interpose` defines what an export does; the tables in `cushim_abi` define which exports there are.
//! `docs/exports.txt` lists the exports of the built library; a test compares it in both profiles.
//!
//! Start: nothing has to run first. Each entry point initialises what it needs. The constructor in this file stores
//! the time of loading, and binds references of the program again that this library must not satisfy: those to
//! variables, and weak ones to functions that nothing else has. Exit: nothing
//! is torn down; the destructor marks the trace as complete, and entry points still work. Fork: the operating system
//! clears the child's state (`cushim_interpose::lock`), and the child's first call creates a new one.

#[macro_use]
mod hook;
mod counted;
mod driver;
mod exports;
mod hip;
mod inject;
mod loader;
mod offload;
mod runtime;
mod sanitizer;

use cushim_apart::heap::Heap;
use cushim_interpose::{direct, life, redirect, shadow, weak};

#[global_allocator]
static HEAP: Heap = Heap::new();

extern "C" fn loaded() {
    life::loaded();
    shadow::look();
    weak::unbind(&exports::HOME);
}

extern "C" fn unloaded() {
    life::unloaded();
    redirect::finish();
    direct::finish();
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = unloaded;
