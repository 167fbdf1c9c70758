//! What `ls` and `extract` share: finding files, listing their device images, choosing among them.
//!
//! Owns: selecting files, numbering images, filters and hashes. Must not know: how images are shown or written.

pub mod file;
pub mod record;
pub mod select;

use std::collections::HashSet;
use std::sync::Arc;

use cushim_image::inventory::{self, Blob, Image, Inventory, Space};
use cushim_image::{Codec, Error, Limits, Work};
use rayon::prelude::*;

pub use file::{HostFile, Source};
pub use select::{Filter, LimitArgs, SelectArgs};

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

/// Lists the images of `file` that `filter` accepts. Opens images only where the filter asks for
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
    let opened = each(listed, file.bytes().len(), Which::All, limits, |numbered, allowed| {
        let kernels = allowed.and_then(|()| numbered.image.kernels(limits));
        let found = kernels.map(|kernels| kernels.iter().any(|k| filter.names(&k.name)));
        (numbered, found)
    });
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

/// The accumulated cost of a file's images.
pub struct Cost {
    work: Work,
    /// Packed streams that were charged, by their address.
    streams: HashSet<usize>,
}

/// Which images are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that share a packed stream: their bytes are nowhere else.
    Shared,
    /// All.
    All,
}

impl Cost {
    /// Of a file of `length` bytes.
    pub fn new(length: usize, limits: &Limits) -> Self {
        Self { work: Work::new(length, limits), streams: HashSet::new() }
    }

    /// Charges an image that is about to be unpacked; a shared stream once.
    ///
    /// # Errors
    /// [`Error::TooBig`]: all images together are too much.
    pub fn charge(
        &mut self,
        image: &Image<'_>,
        which: Which,
        limits: &Limits,
    ) -> Result<(), Error> {
        let place = &image.place;
        let own = match place.codec {
            Codec::None if stream(image).is_none() => 0,
            _ if which == Which::Shared && stream(image).is_none() => 0,
            _ => place.unpacked,
        };
        let Some(blob) = stream(image) else {
            return self.work.unpack(own, place.start, limits);
        };
        let blob_at = Arc::as_ptr(blob) as usize;
        let whole = if self.streams.contains(&blob_at) { 0 } else { blob.packed().unpacked };
        self.work.unpack(own.saturating_add(whole), place.start, limits)?;
        self.streams.insert(blob_at);
        Ok(())
    }
}

/// The packed stream that an image shares with others.
fn stream<'i, 'a>(image: &'i Image<'a>) -> Option<&'i Arc<Blob<'a>>> {
    match &image.place.space {
        Space::Blob(blob) => Some(blob),
        Space::File(_) => None,
    }
}

/// Runs `work` on each image of a file of `length` bytes on all cores, and returns the results in
/// order. `work` gets whether the image may be unpacked. Images of one packed stream are handled
/// one after another, so that it is unpacked once.
pub fn each<'a, T: Send>(
    images: Vec<Numbered<'a>>,
    length: usize,
    which: Which,
    limits: &Limits,
    work: impl Fn(Numbered<'a>, Result<(), Error>) -> T + Sync,
) -> Vec<T> {
    let mut cost = Cost::new(length, limits);
    let mut groups: Vec<Vec<(Numbered<'a>, Result<(), Error>)>> = Vec::new();
    for numbered in images {
        let allowed = cost.charge(&numbered.image, which, limits);
        let here = stream(&numbered.image).map(Arc::as_ptr);
        match groups.last_mut() {
            Some(group)
                if here.is_some()
                    && group.last().and_then(|(n, _)| stream(&n.image)).map(Arc::as_ptr)
                        == here =>
            {
                group.push((numbered, allowed));
            }
            _ => groups.push(vec![(numbered, allowed)]),
        }
    }
    let done = groups.into_par_iter().flat_map_iter(|group| {
        let first = group.iter().find(|(_, allowed)| allowed.is_ok());
        let shared = first.and_then(|(numbered, _)| stream(&numbered.image)).cloned();
        let _held = shared.and_then(|blob| blob.bytes(limits).ok());
        group.into_iter().map(|(numbered, allowed)| work(numbered, allowed)).collect::<Vec<T>>()
    });
    done.collect()
}

/// Makes a pool of only this thread where the system allows no more threads: the default pool would
/// fail to start, and cannot be retried.
pub fn start_workers() {
    let probe = std::thread::Builder::new().spawn(|| ());
    if probe.map(std::thread::JoinHandle::join).is_err() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        // Fails only where there is a pool already.
        let _ = alone.build_global();
    }
}

/// The tool to inspect such an image further.
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
