//! Calls of programs that use LLVM's offloading (OpenMP's target regions, rustc's, clang's `-foffload-via-llvm`) to
//! libomptarget.
//!
//! - [`register`]: descriptors of images, and the address of each region;
//! - [`region`]: launches; [`older`]: launches in the forms before LLVM 15; [`why`]: why a region ran on the host;
//! - [`data`]: mappings that begin, end and are updated;
//! - [`absent`](absent()): functions that the loaded libomptarget does not have;
//! - [`place`]: source strings that events refer to by number; [`construct`]: all strings of one construct;
//! - [`mapped`]: storing the events of regions and mappings.
//!
//! The calls that libomptarget itself makes (to itself, to CUDA's driver) reach cushim's hooks too, one level deeper.
//!
//! Must not know: which symbols are exported and how.

mod absent;
pub mod construct;
pub mod data;
pub mod mapped;
pub mod older;
pub mod place;
pub mod region;
pub mod register;
mod why;

pub use absent::absent;
pub use data::*;
pub use older::*;
pub use region::*;
pub use register::*;
