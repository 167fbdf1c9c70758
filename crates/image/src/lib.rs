//! Device-image containers: bytes in, borrowed views out.
//!
//! Owns reading and writing everything that contains device code: NVIDIA fat binaries, cubins and PTX, LLVM's
//! OffloadBinary, clang's bundles, HIP fat binaries and AMDGPU code objects, and finding them in host files. It must
//! not know any CUDA call, process state or file system: every reader takes a byte slice. It never panics on its
//! input, and never allocates more than [`Limits`] allows.
//!
//! Entry points by question:
//! - [`sniff()`] and [`extent()`]: what do these bytes start with, how long is it?
//! - [`find_params`] and [`index`]: how are a kernel's parameters laid out?
//! - [`fatbin`], [`cubin`], [`ptx`]: the formats one by one.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]
#![forbid(unsafe_code)]

pub mod amdgpu;
pub mod arch;
pub mod bundle;
pub mod bytes;
pub mod codec;
pub mod cubin;
mod error;
pub mod fatbin;
pub mod inventory;
pub mod kernel;
mod limits;
pub mod linked;
pub mod offload;
mod packing;
pub mod params;
pub mod ptx;
pub mod sniff;
pub mod work;
pub mod wrapper;

pub use arch::Arch;
pub use cubin::Cubin;
pub use error::{Error, Result};
pub use limits::Limits;
pub use packing::Codec;
pub use params::{Param, ParamLayout, ParamType, find_params, index};
pub use sniff::{Extent, Format, extent, sniff};
pub use work::Work;
