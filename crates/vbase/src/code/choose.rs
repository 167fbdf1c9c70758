//! The choice of a container's image for a device.
//!
//! Owns CUDA's rules of compatibility (CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility",
//! "Architecture-Specific" and "Family-Specific Features"): machine code of the same major and of a minor not above
//! the device's, before PTX of any architecture not above it; code with suffix `a` for exactly that device, with `f`
//! for its family. Of several, the highest. An AMD GPU takes a code object of its processor before PTX. Must not
//! know: where images come from.

use std::borrow::Cow;

use cushim_image::arch::{Arch, SmVariant};
use cushim_image::cubin::{Cubin, is_cubin};
use cushim_image::inventory::{self, ImageKind as Kind};
use cushim_image::{Limits, sniff};

use super::error::{Error, Held, NoImage};
use super::memory::Source;
use super::own::is_own;
use super::target::Target;
use cushim_accel::ImageKind;
use cushim_image::linked;

impl Target {
    /// How well it suits (the highest is taken); `None` where it does not run.
    fn rank(&self, kind: Kind, arch: &Arch) -> Option<(u8, u32, u8)> {
        let (of, here) = (|n: u32| n / 10, self.number());
        let known = match arch {
            Arch::Sm(number, variant) => Some((*number, *variant)),
            Arch::Unknown => None,
            Arch::Named(name) if kind == Kind::AmdgpuObject => return self.amd(name),
            Arch::Named(_) => return None,
        };
        let variant = |v| match v {
            SmVariant::Plain => 0,
            SmVariant::Family => 1,
            SmVariant::Specific => 2,
        };
        let below = |n: u32, v| match v {
            SmVariant::Plain => n <= here,
            SmVariant::Family => n <= here && of(n) == of(here),
            SmVariant::Specific => n == here,
        };
        match (kind, known) {
            (Kind::Cubin, Some((n, v))) if self.cubin && of(n) == of(here) && below(n, v) => {
                Some((3, n, variant(v)))
            }
            (Kind::Ptx, None) if self.ptx => Some((2, 0, 0)),
            (Kind::Ptx, Some((n, v))) if self.ptx && below(n, v) => Some((2, n, variant(v))),
            // The earliest of the later ones uses the fewest new features.
            (Kind::Ptx, Some((n, v))) if self.ptx && self.later => {
                Some((1, u32::MAX - n, u8::MAX - variant(v)))
            }
            _ => None,
        }
    }
}

impl Target {
    /// How well a code object of AMD's suits: by the index of its processor in the list, then by
    /// how many features it was compiled for.
    fn amd(&self, name: &str) -> Option<(u8, u32, u8)> {
        let place = self.isas.iter().position(|isa| runs(isa, name))?;
        let features = name.split(':').skip(1).count();
        Some((3, u32::MAX - place as u32, u8::try_from(features).unwrap_or(u8::MAX)))
    }
}

/// Whether code for the target ID `code` runs on `isa`: the same processor, and no feature set
/// differently. Features that the code does not name may be on or off (LLVM, "User Guide for AMDGPU
/// Backend", "Target ID").
fn runs(isa: &str, code: &str) -> bool {
    let (mut here, mut wanted) = (isa.split(':'), code.split(':'));
    if here.next() != wanted.next() {
        return false;
    }
    let here: Vec<&str> = here.collect();
    wanted.all(|feature| here.contains(&feature))
}

/// The image chosen for a device.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// Its kind.
    pub kind: ImageKind,
    /// Its architecture.
    pub arch: Arch,
    /// The image, unpacked. Several are PTX texts to be linked. Texts have no NUL.
    pub parts: Vec<Cow<'a, [u8]>>,
}

/// Chooses for a device: the best image of the container, else the best PTX of each one that was linked.
///
/// # Errors
/// [`Error::NoImage`], which lists the images; [`Error::Image`] where it cannot be read.
pub fn choose<'a>(source: &'a Source<'_>, target: &Target) -> Result<Chosen<'a>, Error> {
    if is_own(&source.whole) {
        let parts = vec![Cow::Borrowed(&*source.whole)];
        return Ok(Chosen { kind: ImageKind::Own, arch: Arch::Unknown, parts });
    }
    if source.whole.starts_with(&linked::MAGIC) {
        let parts = linked::read(&source.whole).ok_or(Error::Link)?;
        let parts = parts.into_iter().map(Cow::Borrowed).collect();
        return Ok(Chosen { kind: ImageKind::Ptx, arch: Arch::Unknown, parts });
    }
    let mut holds = Vec::new();
    if let Some(best) = best(&source.whole, target, &mut holds)? {
        return Ok(best);
    }
    let mut chosen = Chosen { kind: ImageKind::Ptx, arch: Arch::Unknown, parts: Vec::new() };
    // Machine code of one unit lacks the others: only texts can be linked here.
    let texts = Target { cubin: false, ..*target };
    for part in &source.linked {
        let before = holds.len();
        match best(part, &texts, &mut holds)? {
            Some(mut found) => {
                chosen.arch = found.arch;
                chosen.parts.append(&mut found.parts);
            }
            // A unit without device code.
            None if holds.len() == before => {}
            None => return Err(none(source, holds, target)),
        }
    }
    match chosen.parts.is_empty() {
        true => Err(none(source, holds, target)),
        false => Ok(chosen),
    }
}

fn none(source: &Source<'_>, mut holds: Vec<Held>, target: &Target) -> Error {
    holds.sort_by_cached_key(|held| (held.kind.extension(), held.arch.clone(), held.maker.clone()));
    holds.dedup();
    let is_cubin = is_cubin(&source.whole);
    Error::NoImage(Box::new(NoImage { holds, is_cubin, target: *target }))
}

/// An image that does not suit, for a message.
fn held(image: &inventory::Image<'_>, limits: &Limits) -> Held {
    let read = |bytes: &[u8]| Cubin::read(bytes, limits).ok().and_then(|cubin| cubin.maker());
    let is_cubin = image.kind == Kind::Cubin;
    let maker = is_cubin.then(|| image.with_bytes(limits, read).ok().flatten()).flatten();
    Held { kind: image.kind, arch: image.arch.clone(), maker }
}

/// The best image of one container; if none suits, its images are added to `holds`.
fn best<'a>(
    bytes: &'a [u8],
    target: &Target,
    holds: &mut Vec<Held>,
) -> Result<Option<Chosen<'a>>, Error> {
    let limits = Limits::DEFAULT;
    let found = inventory::read(bytes, &limits);
    if found.images.is_empty()
        && let Some(problem) = found.problems.into_iter().next()
    {
        return Err(problem.error.into());
    }
    let images = found.images;
    let ranked = images.iter().filter_map(|image| {
        let rank = target.rank(image.kind, &image.arch)?;
        Some((rank, image))
    });
    // Of equals, the first one in the container.
    let best = ranked.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let Some((_, image)) = best else {
        holds.extend(images.iter().map(|image| held(image, &limits)));
        return Ok(None);
    };
    let kind = match image.kind {
        Kind::Ptx => ImageKind::Ptx,
        Kind::AmdgpuObject => ImageKind::CodeObject,
        _ => ImageKind::Cubin,
    };
    let data = match image.place.unpack(&limits)? {
        inventory::Data::Borrowed(bytes) => Cow::Borrowed(sniff::trim(bytes)),
        other => {
            let mut bytes = other.into_vec();
            let length = sniff::trim(&bytes).len();
            bytes.truncate(length);
            Cow::Owned(bytes)
        }
    };
    Ok(Some(Chosen { kind, arch: image.arch.clone(), parts: vec![data] }))
}
