//! The results of the walk: images, wrappers, and parts that could not be read.
//!
//! Must not know: the walk.

use super::place::{Place, Space};
use crate::arch::Arch;
use crate::cubin::Cubin;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::packing::Codec;
use crate::sniff::{Format, trim};
use crate::wrapper::Wrapper;
use crate::{amdgpu, ptx};
use std::fmt;
use std::sync::Arc;

/// The kind of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// NVIDIA machine code.
    Cubin,
    /// PTX text.
    Ptx,
    /// NVIDIA's code for link-time optimisation.
    LtoIr,
    /// NVIDIA's cubin format before CUDA 4.
    OldCubin,
    /// AMD machine code.
    AmdgpuObject,
    /// LLVM bitcode.
    Bitcode,
    /// SPIR-V.
    SpirV,
    /// An ELF of some other machine (offloading to the host's CPU).
    Object,
    /// A number that this crate has no name for.
    Unknown(u16),
}

impl ImageKind {
    /// The usual suffix of a file that holds such an image.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "ltoir",
            Self::OldCubin => "old.cubin",
            Self::AmdgpuObject => "hsaco",
            Self::Bitcode => "bc",
            Self::SpirV => "spv",
            Self::Object => "o",
            Self::Unknown(_) => "bin",
        }
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(raw) => out.pad(&format!("kind-{raw:#x}")),
            Self::OldCubin => out.pad("old-cubin"),
            Self::Object => out.pad("object"),
            Self::AmdgpuObject => out.pad("hsaco"),
            Self::Bitcode => out.pad("bitcode"),
            Self::SpirV => out.pad("spirv"),
            Self::LtoIr => out.pad("lto-ir"),
            other => out.pad(other.extension()),
        }
    }
}

/// A container on the path to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The container's format.
    pub format: Format,
    /// Its index among those of its format in the file, from 0.
    pub ordinal: u32,
    /// Offset of its first byte in its space.
    pub offset: u64,
}

/// The path to an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// Member of an archive.
    pub member: Option<Arc<str>>,
    /// Section of an ELF host file.
    pub section: Option<Arc<str>>,
    /// Containers, outermost first.
    pub containers: Vec<Step>,
    /// Index of the entry in the innermost container, from 0.
    pub entry: u32,
}

impl fmt::Display for Trail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        if let Some(member) = &self.member {
            write!(out, "({member})")?;
            space = " ";
        }
        if let Some(section) = &self.section {
            write!(out, "{space}{section}")?;
            space = " ";
        }
        for step in &self.containers {
            write!(out, "{space}{} {}", step.format, step.ordinal)?;
            space = " ";
        }
        if !self.containers.is_empty() {
            write!(out, " entry {}", self.entry)?;
        }
        Ok(())
    }
}

/// One device image.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// Its kind.
    pub kind: ImageKind,
    /// Its architecture.
    pub arch: Arch,
    /// Its bytes.
    pub place: Place<'a>,
    /// The path to it.
    pub trail: Trail,
    /// Version that the container states: PTX ISA, or 1 and the ELF ABI.
    pub version: Option<(u16, u16)>,
    /// Flags of a fat binary entry: [`crate::fatbin::flags`].
    pub flags: u64,
    /// Target triple, where the container states one.
    pub triple: Option<String>,
    /// The producer (`openmp`, `hip`, …), where the container states it.
    pub producer: Option<String>,
    /// Source file, where the container names it.
    pub identifier: Option<String>,
    /// Options record of a fat binary entry.
    pub options: Option<Vec<u8>>,
    /// Further strings of an OffloadBinary entry.
    pub strings: Vec<(String, String)>,
}

impl Image<'_> {
    /// How it is packed, and whether it shares the packed stream with others (then
    /// [`Place::stored`] is this image's unpacked size).
    pub fn packing(&self) -> (Codec, bool) {
        match &self.place.space {
            Space::Blob(blob) if self.place.codec == Codec::None => (blob.packed().codec, true),
            _ => (self.place.codec, false),
        }
    }

    /// The image without what its container added (padding, PTX's NUL).
    pub fn with_bytes<T>(&self, limits: &Limits, see: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let data = self.place.unpack(limits)?;
        Ok(see(trim(&data)))
    }

    /// The kernels it defines; none for kinds that are not opened.
    pub fn kernels(&self, limits: &Limits) -> Result<Vec<Kernel>> {
        let inside = |error: Error| error.inside("image", self.place.start);
        self.with_bytes(limits, |bytes| kernels(self.kind, bytes, limits))?.map_err(inside)
    }
}

/// The kernels that an image of `kind` defines.
pub fn kernels(kind: ImageKind, bytes: &[u8], limits: &Limits) -> Result<Vec<Kernel>> {
    match kind {
        ImageKind::Cubin => Cubin::read(bytes, limits)?.kernels(limits),
        ImageKind::Ptx => Ok(ptx::scan(bytes, limits)?
            .entries
            .into_iter()
            .map(|entry| Kernel {
                params: entry.layout(),
                name: entry.name,
                max_threads: entry.max_threads,
                required_threads: entry.required_threads,
                cluster: entry.cluster,
                max_registers: entry.max_registers,
                ..Kernel::default()
            })
            .collect()),
        ImageKind::AmdgpuObject => {
            let object = amdgpu::read(bytes, limits)?;
            Ok(object.kernels.into_iter().map(|kernel| kernel.kernel).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// A host-side wrapper found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundWrapper {
    /// Where it lies.
    pub trail: Trail,
    /// Offset in the file.
    pub offset: u64,
    /// Its fields as stored; in position-independent files the pointers are relocated.
    pub wrapper: Wrapper,
    /// File offset of the container that it points to, where it can be told.
    pub target: Option<u64>,
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub trail: Trail,
    /// Why.
    pub error: Error,
}

/// The device code in a file.
#[derive(Debug, Clone, Default)]
pub struct Inventory<'a> {
    /// The images in file order.
    pub images: Vec<Image<'a>>,
    /// Registration wrappers in file order.
    pub wrappers: Vec<FoundWrapper>,
    /// What could not be read, in the order of discovery.
    pub problems: Vec<Problem>,
}
