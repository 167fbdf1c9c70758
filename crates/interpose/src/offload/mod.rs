//! Programs of LLVM's offloading (OpenMP's target regions, rustc's, clang's `-foffload-via-llvm`): what they ask of
//! libomptarget.
//!
//! - [`register`]: descriptors of images, and which region is at which address;
//! - [`region`]: launches; [`older`]: those before LLVM 15; [`why`]: why one went to the host;
//! - [`data`]: mappings that begin, end and are updated;
//! - [`calls`]: what is forwarded with an event, or without one;
//! - [`absent`](absent()): functions that the loaded libomptarget does not have;
//! - [`place`]: texts of the source that events name by number; [`construct`]: all those of one construct;
//! - [`mapped`]: storing the events of regions and mappings.
//!
//! libomptarget's own calls inside (of itself, of CUDA's driver) come to our hooks too, one deeper.
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
