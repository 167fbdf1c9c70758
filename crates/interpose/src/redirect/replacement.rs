//! An image from a user's file, as CUDA takes it.
//!
//! Owns reading the file and repacking what is for NVIDIA into a fat binary. Must not know: rules.

use std::path::Path;

use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper};
use cushim_image::fatbin::{self, Kind};
use cushim_image::inventory::{self, ImageKind};
use cushim_image::{Arch, Codec, Cubin, Limits, ptx};

use crate::layouts::{Code, Layout};

/// An image in memory that stays for ever: CUDA may read it at any time.
pub struct Replacement {
    file: String,
    wrapper: &'static FatBinaryWrapper,
    code: Code,
}

impl Replacement {
    /// Reads a file: PTX, cubin, fat binary, or any container that holds such.
    ///
    /// # Errors
    /// Why it cannot be used, with the file's name.
    pub fn read(file: &Path) -> Result<Replacement, String> {
        let shown = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|e| format!("{shown}: {e}"))?;
        Replacement::of(&bytes, &shown)
    }

    /// An image of these bytes, which messages call `shown`.
    ///
    /// # Errors
    /// As [`Replacement::read`].
    pub fn of(bytes: &[u8], shown: &str) -> Result<Replacement, String> {
        let fatbin = repack(bytes).map_err(|why| format!("{shown}: {why}"))?;
        let data: &'static [u8] = fatbin.leak();
        let wrapper: &'static FatBinaryWrapper = Box::leak(Box::new(FatBinaryWrapper {
            magic: FAT_BINARY_WRAPPER_MAGIC,
            version: 1,
            data: data.as_ptr().addr(),
            filename_or_list: 0,
        }));
        // SAFETY: a fat binary that was just written, behind its wrapper.
        let code = unsafe { Code::from_pointer((&raw const *wrapper).addr()) }.of_file(shown);
        Ok(Replacement { file: shown.to_owned(), wrapper, code })
    }

    /// What `__cudaRegisterFatBinary` and `cuLibraryLoadData` take.
    pub fn wrapper(&self) -> usize {
        (&raw const *self.wrapper).addr()
    }

    /// What `cuModuleLoadData` takes.
    pub fn fatbin(&self) -> usize {
        self.wrapper.data
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The layout of one of its kernels.
    pub fn layout(&self, kernel: &str) -> Option<Layout> {
        self.code.layout(kernel).ok()
    }

    /// The names of its kernels, for a message.
    pub fn kernels(&self) -> String {
        match self.code.kernels() {
            names if names.is_empty() => "none that can be read".to_owned(),
            names => names.join(", "),
        }
    }

    /// Its code, for the registry.
    pub fn code(&self) -> Code {
        // SAFETY: the wrapper that `read` made, which stays.
        unsafe { Code::from_pointer(self.wrapper()) }.of_file(&self.file)
    }

    /// Whether `address` is where this image lies.
    pub fn is(&self, address: usize) -> bool {
        address == self.wrapper.data || address == self.wrapper()
    }
}

/// A fat binary of everything in `bytes` that NVIDIA's driver takes.
fn repack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let limits = &Limits::DEFAULT;
    let found = inventory::read(bytes, limits);
    let mut parts = Vec::new();
    for image in &found.images {
        let kind = match image.kind {
            ImageKind::Ptx => Kind::Ptx,
            ImageKind::Cubin => Kind::Cubin,
            _ => continue,
        };
        let data = image.with_bytes(limits, <[u8]>::to_vec).map_err(|e| e.to_string())?;
        parts.push((kind, image.arch.clone(), version(kind, &data, image.version), data));
    }
    if parts.is_empty() {
        let kinds: Vec<String> =
            found.images.iter().map(|i| format!("{} for {}", i.kind, i.arch)).collect();
        return Err(match (kinds.is_empty(), found.problems.first()) {
            (true, Some(problem)) => format!("no image is found: {}", problem.error),
            (true, None) => "no PTX, cubin, fat binary or other device image".to_owned(),
            _ if found.images.iter().any(|i| !matches!(i.arch, Arch::Sm(..))) => {
                format!("it holds {}: to launch that needs the hsa backend", kinds.join(", "))
            }
            _ => format!("it holds {}; expected PTX or a cubin", kinds.join(", ")),
        });
    }
    let images: Vec<fatbin::Image<'_>> = parts
        .iter()
        .map(|(kind, arch, version, data)| fatbin::Image {
            kind: *kind,
            arch: arch.clone(),
            version: *version,
            codec: Codec::None,
            data,
        })
        .collect();
    fatbin::write(&images).map_err(|e| e.to_string())
}

/// The version that the container's entry states: PTX ISA, or 1 and the ELF ABI.
fn version(kind: Kind, data: &[u8], stated: Option<(u16, u16)>) -> (u16, u16) {
    let limits = &Limits::DEFAULT;
    let own = match kind {
        Kind::Ptx => ptx::scan(data, limits).ok().map(|ptx| ptx.version),
        _ => Cubin::read(data, limits).ok().map(|cubin| (1, u16::from(cubin.abi().1))),
    };
    stated.or(own).unwrap_or((1, 7))
}
