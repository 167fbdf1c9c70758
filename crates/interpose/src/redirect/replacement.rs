//! Images from a user's files, in the form that CUDA accepts.
//!
//! Owns reading the files, and repacking the images that the backend can run into a container. Must not know: rules.

use std::path::PathBuf;

use cushim_abi::structs::{FAT_BINARY_WRAPPER_MAGIC, FatBinaryWrapper};
use cushim_image::inventory::{self, ImageKind};
use cushim_image::{Arch, Codec, Cubin, Limits, ptx};
use cushim_image::{fatbin, offload};

use crate::config;
use crate::layouts::{Code, Layout};

/// Images in memory that stay for ever (CUDA may read them at any time): the images of a rule's
/// files that this process's backend can run, in one fat binary.
pub struct Replacement {
    file: String,
    wrapper: &'static FatBinaryWrapper,
    code: Code,
    parts: Vec<Part>,
}

/// Why there is no [`Replacement`].
#[derive(Debug)]
pub enum Unusable {
    /// The files cannot be read, or hold no device code.
    Broken(String),
    /// They hold code that another backend runs.
    Foreign(String),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unusable::Broken(why) | Unusable::Foreign(why) => f.write_str(why),
        }
    }
}

/// What the backend of this process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// NVIDIA's driver: PTX and machine code.
    Nvidia,
    /// Our own compiler: PTX.
    Ptx,
    /// AMD's runtime: code objects, and PTX that is translated.
    Amd,
}

impl Runs {
    /// By the variable that the launcher sets.
    fn here() -> Runs {
        match config::variable(c"CUSHIM_BACKEND").as_deref() {
            Some(b"cpu") => Runs::Ptx,
            Some(b"hsa") => Runs::Amd,
            _ => Runs::Nvidia,
        }
    }
}

impl Replacement {
    /// Reads files: PTX, cubins, fat binaries, or any containers that hold such.
    ///
    /// # Errors
    /// Why none of them can be used, with their names.
    pub fn read(files: &[PathBuf]) -> Result<Replacement, Unusable> {
        let mut read = Vec::new();
        for file in files {
            let shown = file.display().to_string();
            let bytes = std::fs::read(file);
            let bytes = bytes.map_err(|e| Unusable::Broken(format!("{shown}: {e}")))?;
            read.push((bytes, shown));
        }
        Replacement::chosen(&read, Runs::here())
    }

    /// An image of these bytes, which messages call `shown`.
    ///
    /// # Errors
    /// As [`Replacement::read`].
    pub fn of(bytes: &[u8], shown: &str) -> Result<Replacement, Unusable> {
        Replacement::chosen(&[(bytes.to_vec(), shown.to_owned())], Runs::here())
    }

    /// The images of all files that this backend runs.
    fn chosen(files: &[(Vec<u8>, String)], runs: Runs) -> Result<Replacement, Unusable> {
        let (mut parts, mut shown, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        for (bytes, file) in files {
            match usable(bytes, runs) {
                Ok(found) => {
                    parts.extend(found);
                    shown.push(file.as_str());
                }
                Err(Unusable::Broken(why)) => {
                    return Err(Unusable::Broken(format!("{file}: {why}")));
                }
                Err(Unusable::Foreign(why)) => unusable.push(format!("{file}: {why}")),
            }
        }
        if parts.is_empty() {
            return Err(Unusable::Foreign(unusable.join("; ")));
        }
        let shown = shown.join(", ");
        Replacement::of_parts(parts, shown)
    }

    /// From images that the backend runs.
    ///
    /// # Errors
    /// Why they cannot be put into one container.
    pub fn of_parts(parts: Vec<Part>, shown: String) -> Result<Replacement, Unusable> {
        let fatbin = pack(&parts).map_err(|why| Unusable::Broken(format!("{shown}: {why}")))?;
        let data: &'static [u8] = fatbin.leak();
        let wrapper: &'static FatBinaryWrapper = Box::leak(Box::new(FatBinaryWrapper {
            magic: FAT_BINARY_WRAPPER_MAGIC,
            version: 1,
            data: data.as_ptr().addr(),
            filename_or_list: 0,
        }));
        // SAFETY: a fat binary that was just written, behind its wrapper.
        let code = unsafe { Code::from_pointer((&raw const *wrapper).addr()) }.of_file(&shown);
        Ok(Replacement { file: shown, wrapper, code, parts })
    }

    /// What `__cudaRegisterFatBinary` and `cuLibraryLoadData` take.
    pub fn wrapper(&self) -> usize {
        (&raw const *self.wrapper).addr()
    }

    /// What `cuModuleLoadData` takes.
    pub fn fatbin(&self) -> usize {
        self.wrapper.data
    }

    /// What a function of this kind takes.
    pub fn as_taken(&self, kind: super::kind::Kind) -> usize {
        match kind {
            super::kind::Kind::Module => self.fatbin(),
            super::kind::Kind::Library => self.wrapper(),
        }
    }

    /// Its images.
    pub fn parts(&self) -> &[Part] {
        &self.parts
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

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// NVIDIA's machine code.
    Cubin,
    /// An AMD code object.
    CodeObject,
}

/// An image of a file: its kind, architecture, version and bytes.
pub type Part = (Kind, Arch, (u16, u16), Vec<u8>);

/// Everything in `bytes` that the backend runs.
fn usable(bytes: &[u8], runs: Runs) -> Result<Vec<Part>, Unusable> {
    let limits = &Limits::DEFAULT;
    let broken = |why: cushim_image::Error| Unusable::Broken(why.to_string());
    let found = inventory::read(bytes, limits);
    let mut parts = Vec::new();
    for image in &found.images {
        let kind = match image.kind {
            ImageKind::Ptx => Kind::Ptx,
            ImageKind::Cubin if runs == Runs::Nvidia => Kind::Cubin,
            ImageKind::AmdgpuObject if runs == Runs::Amd => Kind::CodeObject,
            _ => continue,
        };
        let data = image.with_bytes(limits, <[u8]>::to_vec).map_err(broken)?;
        parts.push((kind, image.arch.clone(), version(kind, &data, image.version), data));
    }
    if !parts.is_empty() {
        return Ok(parts);
    }
    let kinds = found.images.iter().map(|i| format!("{} for {}", i.kind, i.arch));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    Err(match (found.images.is_empty(), found.problems.first()) {
        (true, Some(problem)) => {
            Unusable::Broken(format!("no device image can be read: {}", problem.error))
        }
        (true, None) => {
            Unusable::Broken("no PTX, cubin, fat binary or other device image".to_owned())
        }
        _ if runs != Runs::Amd && found.images.iter().any(|i| !matches!(i.arch, Arch::Sm(..))) => {
            Unusable::Foreign(format!("it contains {kinds}, which only backend hsa can launch"))
        }
        _ if found.images.iter().any(|i| i.kind == ImageKind::Cubin) => Unusable::Foreign(format!(
            "it contains {kinds}, which needs NVIDIA's driver; backend {} needs PTX",
            if runs == Runs::Amd { "hsa" } else { "cpu" }
        )),
        _ => Unusable::Broken(format!("it contains {kinds}; expected PTX or a cubin")),
    })
}

/// A container of these images: a fat binary, or clang's where one is AMD's.
fn pack(parts: &[Part]) -> Result<Vec<u8>, String> {
    if parts.iter().any(|(kind, ..)| *kind == Kind::CodeObject) {
        return Ok(pack_amd(parts));
    }
    let images: Vec<fatbin::Image<'_>> = parts
        .iter()
        .map(|(kind, arch, version, data)| fatbin::Image {
            kind: if *kind == Kind::Ptx { fatbin::Kind::Ptx } else { fatbin::Kind::Cubin },
            arch: arch.clone(),
            version: *version,
            codec: Codec::None,
            data,
        })
        .collect();
    fatbin::write(&images).map_err(|e| e.to_string())
}

/// An OffloadBinary of these images, as HIP's.
fn pack_amd(parts: &[Part]) -> Vec<u8> {
    const HIP: u16 = 4;
    let archs: Vec<String> = parts.iter().map(|(_, arch, ..)| arch.to_string()).collect();
    let images = parts.iter().zip(&archs).map(|((kind, _, _, data), arch)| {
        let (kind, triple) = match kind {
            Kind::Ptx => (offload::ImageKind::Ptx, "nvptx64-nvidia-cuda"),
            Kind::Cubin => (offload::ImageKind::Cubin, "nvptx64-nvidia-cuda"),
            Kind::CodeObject => (offload::ImageKind::Object, "amdgcn-amd-amdhsa"),
        };
        let strings = vec![("arch", arch.as_str()), ("triple", triple)];
        offload::Image { kind, producer: HIP, strings, data }
    });
    offload::write(&images.collect::<Vec<_>>())
}

/// The version that the container's entry states: PTX ISA, or 1 and the ELF ABI.
fn version(kind: Kind, data: &[u8], stated: Option<(u16, u16)>) -> (u16, u16) {
    let limits = &Limits::DEFAULT;
    let own = match kind {
        Kind::Ptx => ptx::scan(data, limits).ok().map(|ptx| ptx.version),
        Kind::CodeObject => None,
        Kind::Cubin => Cubin::read(data, limits).ok().map(|cubin| (1, u16::from(cubin.abi().1))),
    };
    stated.or(own).unwrap_or((1, 7))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(files: &[(&[u8], &str)], runs: Runs) -> Result<Replacement, String> {
        let files = files.iter().map(|(bytes, file)| (bytes.to_vec(), (*file).to_owned()));
        Replacement::chosen(&files.collect::<Vec<_>>(), runs).map_err(|why| format!("{why:?}"))
    }

    /// A fat binary with one image of this kind.
    fn fat(kind: fatbin::Kind) -> Vec<u8> {
        let arch = Arch::parse("sm_80");
        let (version, codec, data) = ((8, 0), Codec::None, &b"of some kind"[..]);
        fatbin::write(&[fatbin::Image { kind, arch, version, codec, data }]).unwrap()
    }

    const PTX: &[u8] =
        b".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k()\n{ ret; }\n";

    /// Messages name the files whose images are used, and only those.
    #[test]
    fn it_is_called_by_its_files() {
        let cubin = fat(fatbin::Kind::Cubin);
        let files = [(PTX, "one.ptx"), (&cubin, "two.cubin"), (PTX, "three.ptx")];
        let image = read(&files, Runs::Ptx).unwrap();
        assert_eq!(image.file(), "one.ptx, three.ptx");
        assert_eq!(image.code().owner(), "one.ptx, three.ptx");
    }

    /// What only another backend runs is foreign; what no backend runs is broken.
    #[test]
    fn why_there_is_none() {
        let why = |kind, runs| read(&[(&fat(kind), "new")], runs).err().unwrap();
        let cubin = why(fatbin::Kind::Cubin, Runs::Ptx);
        assert!(cubin.starts_with("Foreign(\"new: ") && cubin.contains("backend cpu"), "{cubin}");
        for runs in [Runs::Nvidia, Runs::Ptx, Runs::Amd] {
            let other = why(fatbin::Kind::LtoIr, runs);
            let expected = other.ends_with("; expected PTX or a cubin\")");
            assert!(other.starts_with("Broken(\"new: ") && expected, "{runs:?}: {other}");
        }
    }
}
