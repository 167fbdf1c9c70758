//! Every device image of a file, in whatever container.
//!
//! Owns the walk from host files through containers to images, and the common form in which images of all formats are
//! listed. Must not know the formats' layouts: the readers do. A part that cannot be read becomes a [`Problem`]
//! beside the images that could be read.

mod found;
mod host;
mod llvm;
mod magics;
mod place;
mod pointers;
mod walk;

pub use found::{FoundWrapper, Image, ImageKind, Inventory, Problem, Step, Trail, kernels};
pub use place::{Blob, Data, Place, Space};

use crate::limits::Limits;
use crate::work::Work;

/// Lists the device images of `file`: an ELF file, an archive, or a bare
/// container or image. Reads headers and tables only, except for compressed
/// bundles, whose table must be unpacked.
pub fn read<'a>(file: &'a [u8], limits: &Limits) -> Inventory<'a> {
    walk::walk(file, limits)
}

/// As [`read`], with the work that it took: for tests and benchmarks.
pub fn measured<'a>(file: &'a [u8], limits: &Limits) -> (Inventory<'a>, Work) {
    walk::measured(file, limits)
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
