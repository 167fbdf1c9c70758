//! Virtual CUDA: the CUDA runtime, implemented by us over the driver API, and the driver API,
//! implemented by us over an accelerator.
//!
//! ```text
//!   libcudart.so.11.0 / .12 / .13 (thin)          libcuda.so.1 (thin)
//!            │ vcuda_runtime                             │ vcuda_driver
//!            ▼                                           │
//!   [runtime]: libcudart of our own ────── [api] ────────┤
//!                                                        ▼
//!                        backend `driver`: NVIDIA's libcuda, as it is
//!                        backend `cpu`, `mock`: [driver], ours, over an [accelerator]
//! ```
//!
//! The seam is the driver API, as in NVIDIA's own stack, and not the accelerator: over a real libcuda
//! every handle (context, stream, event, graph, array) is the driver's own, so that what links both
//! faces, and libraries that carry a runtime of their own (cuBLAS), keep working. What only has queues
//! and memory (a CPU, an HSA agent) stands below our own driver.
//!
//! Owns all state of virtual CUDA in a process; the thin libraries (`crates/fronts`) hold none. Must not
//! know: tracing, the preloaded library. It exports two tables of functions and nothing else.

/// Memory of our own, and in `cushim_apart` more: a sanitizer inside the program sees what is asked of the C library by
/// our threads, and takes it for the program's races.
#[global_allocator]
static HEAP: cushim_apart::heap::Heap = cushim_apart::heap::Heap::new();

pub mod accelerator;
pub mod api;
pub mod backend;
pub mod code;
pub mod driver;
mod error_text;
mod front;
mod locks;
pub mod nvidia;
pub mod runtime;
mod sync;
pub mod unsupported;

/// One function of an exported table; null where a major has none.
#[repr(transparent)]
#[derive(Debug)]
pub struct Slot(pub *const ());

// SAFETY: the address of a function, never written.
unsafe impl Sync for Slot {}
