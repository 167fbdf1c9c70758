//! The boundary: every exported symbol of libcushim.so, and no logic.
//!
//! - [`runtime`]: the functions of libcudart, each under the version node of every major it serves;
//! - [`driver`]: the functions of libcuda, unversioned as there;
//! - [`offload`]: the functions of LLVM's libomptarget, under its version node;
//! - [`hip`]: the functions of AMD's HIP runtime, each under the node of the release that brought it;
//! - [`exports`]: all of these, and their table;
//! - [`loader`]: `dlsym`, `dlvsym`, `dlopen`;
//! - [`inject`]: what the driver and NVTX call where they were told to (`CUDA_INJECTION64_PATH`,
//!   `NVTX_INJECTION64_PATH`);
//! - [`counted`]: what the backend `cpu` tells of launches that it counts;
//! - [`sanitizer`]: what AddressSanitizer asks.
//!
//! What the library needs of the C library without anybody noticing is its own (`cushim_apart`): memory, system calls.
//!
//! What an export does is in `cushim_interpose`; which ones there are is in `cushim_abi`'s tables. The
//! golden list of what the built library exports is `docs/exports.txt`, compared in both profiles.
//!
//! Start-up: there is nothing that must have run. Each entry point initialises what it needs; the
//! constructor here keeps the time of loading, and sets weak references
//! to CUDA functions back that nothing but us satisfies. Exit: nothing is torn down; the destructor marks the
//! trace as complete, and entry points go on answering. Fork: the child's state is wiped by the kernel
//! (`cushim_interpose::lock`) and made anew on its first call.

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
use cushim_interpose::{direct, life, redirect, weak};

#[global_allocator]
static HEAP: Heap = Heap::new();

extern "C" fn loaded() {
    life::loaded();
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
