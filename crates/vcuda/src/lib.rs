//! Virtual CUDA: cushim's CUDA runtime, over the driver API, and cushim's driver API, over an accelerator.
//!
//! ```text
//!   libcudart.so.11.0 / .12 / .13 (thin)          libcuda.so.1 (thin)
//!            │ vcuda_runtime                             │ vcuda_driver
//!            ▼                                           │
//!   [runtime]: libcudart of our own ────── [api] ────────┤
//!                                                        ▼
//!                        backend `driver`: NVIDIA's libcuda, as it is
//!                        backend `cpu`: [driver], ours, over an [accelerator]
//! ```
//!
//! The interface between the two is the driver API, as in NVIDIA's own stack, and not the accelerator: over a real
//! libcuda every handle (context, stream, event, graph, array) is the driver's own, so programs that use both APIs,
//! and libraries with a runtime of their own (cuBLAS), keep working. Devices with only queues and memory (a CPU, an
//! HSA agent) are below cushim's own driver.
//!
//! This crate connects the parts: it owns the choice of a driver, NVIDIA's driver as one choice, the list of
//! accelerators, and the exports of libvcuda.so, which are two tables of functions and nothing else. libvcuda.so has
//! all state of virtual CUDA in a process; the thin libraries (`crates/fronts`) have none. Must not know: tracing,
//! the preloaded library.

/// The library's own heap, as in `cushim_apart`: a sanitizer inside the program sees what cushim's threads request
/// from the C library, and reports it as the program's races.
// Fuzz targets count allocations by an allocator of their own; a program has one allocator.
#[cfg(not(fuzzing))]
#[global_allocator]
static HEAP: cushim_apart::heap::Heap = cushim_apart::heap::Heap::new();

pub mod choose;
mod nvidia;
mod table;

pub use cushim_accel as accelerator;
pub use cushim_vbase::{api, code, unsupported};
pub use cushim_vdriver as driver;
pub use cushim_vruntime as runtime;
