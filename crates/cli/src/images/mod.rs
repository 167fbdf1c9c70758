//! What `ls` and `extract` share: finding files, listing their device images, choosing among them.
//!
//! Owns: which files are meant, the numbering of images, filters and hashes. Must not know: how images
//! are shown or written.

pub mod file;
pub mod record;
pub mod select;

use cushim_image::inventory::{self, Image, Inventory};
use cushim_image::{Error, Limits};
use rayon::prelude::*;

pub use file::{HostFile, Source};
pub use select::{Filter, SelectArgs};

/// An image and its number in the file, from 1, which filters do not change.
pub struct Numbered<'a> {
    /// The number that `ls` shows and `extract` names files by.
    pub number: usize,
    /// The image.
    pub image: Image<'a>,
}

/// The chosen images of a file, and everything else that was found in it.
pub struct Chosen<'a> {
    /// In file order.
    pub images: Vec<Numbered<'a>>,
    /// Wrappers and problems; its `images` were moved out.
    pub rest: Inventory<'a>,
}

/// Lists the images of `file` that `filter` lets pass. Opens images only where the filter asks for
/// kernels by name; one that cannot be opened then is a problem, and not chosen.
pub fn choose<'a>(file: &'a HostFile, filter: &Filter, limits: &Limits) -> Chosen<'a> {
    let mut rest = inventory::read(file.bytes(), limits);
    let numbered = std::mem::take(&mut rest.images).into_iter().enumerate();
    let listed: Vec<Numbered<'a>> = numbered
        .map(|(index, image)| Numbered { number: index + 1, image })
        .filter(|numbered| filter.passes(&numbered.image))
        .collect();
    if !filter.wants_kernels() {
        return Chosen { images: listed, rest };
    }
    let opened: Vec<(Numbered<'a>, Result<bool, Error>)> = listed
        .into_par_iter()
        .map(|numbered| {
            let kernels = numbered.image.kernels(limits);
            let found = kernels.map(|kernels| kernels.iter().any(|k| filter.names(&k.name)));
            (numbered, found)
        })
        .collect();
    let mut images = Vec::new();
    for (numbered, found) in opened {
        match found {
            Ok(true) => images.push(numbered),
            Ok(false) => {}
            Err(error) => {
                let trail = numbered.image.trail;
                rest.problems.push(inventory::Problem { trail, error });
            }
        }
    }
    Chosen { images, rest }
}

/// Sees to it that work is done where the system allows no more threads: this one then works alone.
/// The pool would not start, and cannot be asked twice.
pub fn start_workers() {
    let probe = std::thread::Builder::new().spawn(|| ());
    if probe.map(std::thread::JoinHandle::join).is_err() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        // Fails only where there is a pool already.
        let _ = alone.build_global();
    }
}

/// The tool that shows what is inside an image, for a person to go on with.
pub fn tool(kind: inventory::ImageKind) -> Option<&'static str> {
    use inventory::ImageKind as K;
    match kind {
        K::Cubin => Some("nvdisasm"),
        K::Ptx => Some("ptxas"),
        K::LtoIr => Some("nvlink"),
        K::AmdgpuObject => Some("llvm-objdump"),
        K::Bitcode => Some("llvm-dis"),
        K::SpirV => Some("spirv-dis"),
        K::Object => Some("objdump"),
        _ => None,
    }
}
