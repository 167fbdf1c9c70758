//! Finds the layout of a kernel's parameters, in any kind of image.
//!
//! Owns the choice among the images of a container; must not know formats.

use crate::cubin::Cubin;
use crate::error::{Error, Result};
use crate::fatbin::{self, Entry, Kind};
use crate::limits::Limits;
use crate::packing::Codec;
use crate::sniff::{Format, sniff};
use crate::work::Work;
use crate::{linked, ptx};
use std::borrow::Cow;

pub(crate) mod layout;

pub use layout::{Param, ParamLayout, ParamType};

/// The parameter layout of `kernel` (its mangled name), from a fat binary
/// container (or several back to back), a bare cubin, or PTX text.
///
/// Unpacks as little as it can: the uncompressed cubins first, then compressed
/// ones from the smallest on, then PTX, then groups, until one knows the kernel.
/// `None`: none does (or the image holds LTO-IR alone, which is opaque). Where
/// no image knows the kernel and one could not be read, that error.
pub fn find_params(image: &[u8], kernel: &str, limits: &Limits) -> Result<Option<ParamLayout>> {
    let mut failed = None;
    let mut work = Work::new(image.len(), limits);
    for candidate in candidates(image, limits)? {
        let found = candidate
            .each(limits, &mut work, &mut |kind, bytes| match kind {
                Kind::Cubin => Cubin::read(bytes, limits)?.params(kernel.as_bytes(), limits),
                _ => {
                    let ptx = ptx::scan(bytes, limits)?;
                    let entry = ptx.entries.iter().find(|entry| entry.name == kernel);
                    Ok(entry.map(ptx::Entry::layout))
                }
            })
            .transpose();
        match found {
            Some(Ok(layout)) => return Ok(Some(layout)),
            Some(Err(error)) => failed = failed.or(Some(error)),
            None => {}
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Name and parameter layout of every kernel, from the first usable image (in
/// the order of [`find_params`]) and all others of the same kind and target:
/// those are modules of the same program, not alternatives.
pub fn index(image: &[u8], limits: &Limits) -> Result<Vec<(String, ParamLayout)>> {
    let mut failed = None;
    let mut chosen = None;
    let mut work = Work::new(image.len(), limits);
    let mut out: Vec<(String, ParamLayout)> = Vec::new();
    for candidate in candidates(image, limits)? {
        if chosen.is_some_and(|chosen| chosen != candidate.target()) {
            continue;
        }
        let mut found = Vec::new();
        let read = candidate.each(limits, &mut work, &mut |kind, bytes| {
            match kind {
                Kind::Cubin => found.extend(Cubin::read(bytes, limits)?.all_params(limits)?),
                _ => found.extend(ptx::scan(bytes, limits)?.entries.into_iter().map(|entry| {
                    let layout = entry.layout();
                    (entry.name, layout)
                })),
            }
            Ok(None::<()>)
        });
        match read {
            Err(error) => failed = failed.or(Some(error)),
            Ok(_) if found.is_empty() => {}
            Ok(_) => {
                chosen = Some(candidate.target());
                out.append(&mut found);
            }
        }
    }
    match failed {
        Some(error) if out.is_empty() => Err(error),
        _ => {
            // Members of a group repeat their kernels for each target.
            let mut seen = std::collections::HashSet::new();
            out.retain(|(name, _)| seen.insert(name.clone()));
            Ok(out)
        }
    }
}

/// Examines one cubin or PTX; a result ends the search.
type See<'s, T> = dyn FnMut(Kind, &[u8]) -> Result<Option<T>> + 's;

/// An image that may know kernels.
enum Candidate<'a> {
    Bare(Kind, &'a [u8]),
    Entry(Entry<'a>),
}

impl Candidate<'_> {
    /// Smaller is cheaper to read.
    fn cost(&self) -> (u8, u64) {
        match self {
            Self::Bare(..) => (0, 0),
            Self::Entry(entry) => match (entry.kind, entry.codec()) {
                (Kind::Cubin, Codec::None) => (0, 0),
                (Kind::Cubin, _) => (1, entry.unpacked_size()),
                (Kind::Ptx, _) => (2, entry.unpacked_size()),
                _ => (3, entry.unpacked_size()),
            },
        }
    }

    /// The key that modules of one program share.
    fn target(&self) -> (Kind, u32, u64) {
        const VARIANT: u64 = fatbin::flags::SPECIFIC | fatbin::flags::FAMILY;
        match self {
            Self::Bare(kind, _) => (*kind, 0, 0),
            Self::Entry(entry) => (entry.kind, entry.sm, entry.flags & VARIANT),
        }
    }

    /// Unpacks and passes each cubin or PTX to `see` until it returns a result. Charges `work`,
    /// which all candidates share.
    fn each<T>(&self, limits: &Limits, work: &mut Work, see: &mut See<'_, T>) -> Result<Option<T>> {
        let entry = match self {
            Self::Bare(kind, bytes) => return see(*kind, bytes),
            Self::Entry(entry) => entry,
        };
        let inside = |error: Error| error.inside("fatbin image", entry.payload_offset);
        if entry.codec() != Codec::None {
            work.unpack(entry.unpacked_size(), entry.payload_offset, limits)?;
        }
        let bytes: Cow<'_, [u8]> = entry.unpack(limits)?;
        if entry.kind != Kind::Group {
            return see(entry.kind, &bytes).map_err(inside);
        }
        let mut failed = None;
        for member in entry.members(limits)? {
            if !matches!(member.kind, Kind::Cubin | Kind::Ptx) {
                continue;
            }
            work.look(member.size, member.offset)?;
            match see(member.kind, member.slice(&bytes)) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => failed = failed.or(Some(inside(error))),
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

/// The images in `image`, cheapest first.
fn candidates<'a>(image: &'a [u8], limits: &Limits) -> Result<Vec<Candidate<'a>>> {
    match sniff(image) {
        Format::Cubin => return Ok(vec![Candidate::Bare(Kind::Cubin, image)]),
        Format::Ptx => return Ok(vec![Candidate::Bare(Kind::Ptx, image)]),
        Format::LinkedPtx => {
            let texts = linked::read(image).unwrap_or_default().into_iter();
            return Ok(texts.map(|text| Candidate::Bare(Kind::Ptx, text)).collect());
        }
        _ => {}
    }
    let mut out = Vec::new();
    let mut failed = None;
    for container in fatbin::containers(image, 0) {
        let entries = match container {
            Ok(container) => container.entries(limits),
            Err(error) => {
                failed = failed.or(Some(error));
                continue;
            }
        };
        for entry in entries {
            match entry {
                Ok(entry) if matches!(entry.kind, Kind::Cubin | Kind::Ptx | Kind::Group) => {
                    out.push(Candidate::Entry(entry));
                }
                Ok(_) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }
    if let (true, Some(error)) = (out.is_empty(), failed) {
        return Err(error);
    }
    // Stable: images of equal cost stay in the container's order.
    out.sort_by_key(Candidate::cost);
    Ok(out)
}

#[cfg(test)]
mod tests;
