//! Device code as programs hand it over, and the choice of what a device gets of it.
//!
//! Owns what an image pointer may be ([`Source`]: registration wrappers of both versions, fat binaries, cubins,
//! PTX text, containers of clang) and which image in it fits a device ([`choose`]). The runtime uses it for
//! what is registered, the driver for what is loaded. Must not know: modules, libraries, accelerators'
//! insides.

mod choose;
pub mod linked;
mod memory;

use std::fmt::Write as _;
use std::sync::{Mutex, OnceLock};

use cushim_image::arch::Arch;

pub use choose::{Chosen, Target, choose};
pub use memory::Source;

use cushim_accel::locks::lock;

/// How images of the accelerator's own kind begin.
static OWN: OnceLock<&[u8]> = OnceLock::new();

/// Has texts that begin so taken for the accelerator's own ([`cushim_accel::Accelerator::own_images`]).
pub fn recognise(magic: &'static [u8]) {
    let _ = OWN.set(magic);
}

/// Whether an image is the accelerator's own, which no container holds.
fn is_own(image: &[u8]) -> bool {
    OWN.get().is_some_and(|magic| image.starts_with(magic))
}

/// Why there is no code for a device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A null pointer.
    #[error("found a null pointer, expected a device image")]
    Null,
    /// The image says that it is longer than what is mapped.
    #[error("the image at {at:#x} should have {need} bytes, but that memory is not mapped")]
    Unreadable {
        /// Where it begins.
        at: usize,
        /// How long it says it is.
        need: u64,
    },
    /// Nothing that is known begins so.
    #[error(
        "the image at {at:#x} begins with {found:02x?}, expected a fat binary, a cubin, PTX text or a \
         clang offload container"
    )]
    Unknown {
        /// Where it begins.
        at: usize,
        /// Its first bytes.
        found: [u8; 4],
    },
    /// A container or image that cannot be read.
    #[error("the image cannot be read: {0}")]
    Image(#[from] cushim_image::Error),
    /// A result of our own linker that is damaged.
    #[error("the linked image is truncated")]
    Link,
    /// Nothing in it is for the device.
    #[error("{}", no_image(.0))]
    NoImage(Box<NoImage>),
}

/// What was looked for in vain.
#[derive(Debug)]
pub struct NoImage {
    /// What the container holds.
    pub holds: Vec<(cushim_image::inventory::ImageKind, Arch)>,
    /// What it was to be for.
    pub target: Target,
}

impl Error {
    /// What CUDA answers to it (`CUresult`; `cudaError_t` has the same numbers).
    pub fn status(&self) -> i32 {
        match self {
            Error::Null => 1,
            Error::Unreadable { .. } | Error::Unknown { .. } | Error::Image(_) | Error::Link => 200,
            Error::NoImage(_) => 209,
        }
    }
}

fn no_image(found: &NoImage) -> String {
    let mut text = String::from("the device code contains ");
    for (n, (kind, arch)) in found.holds.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{kind} for {arch}");
    }
    if found.holds.is_empty() {
        text.push_str("nothing");
    }
    if let Some(isa) = found.target.isas.first() {
        let ptx = if found.target.ptx { ", or PTX that can be translated" } else { "" };
        let _ = write!(text, "; a GPU of type {isa} needs an AMD code object for it{ptx}");
        return text;
    }
    let (major, minor) = found.target.capability;
    let virtually = found.target.number();
    let wanted = match (found.target.cubin, found.target.ptx) {
        (true, _) => "machine code or PTX for it",
        (false, true) => "PTX",
        (false, false) => "code of its own kind",
    };
    let _ = write!(
        text,
        "; a device of compute capability {major}.{minor} needs {wanted}. Rebuild with \
         -gencode arch=compute_{virtually},code=compute_{virtually}, or supply PTX with \
         `--replace` or `--redirect`"
    );
    text
}

/// Says on standard error what is wrong with an image, once for each text.
pub fn say_once(text: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = lock(&SAID);
    if !said.iter().any(|other| other == text) {
        said.push(text.to_owned());
        cushim_accel::say(text);
    }
}

/// The file that holds an address, for messages.
pub fn owner(address: usize) -> String {
    match cushim_process::elf::object_at(address) {
        Some(object) if !object.file_name().is_empty() => {
            object.file_name().to_string_lossy().into_owned()
        }
        Some(_) => String::from("the program"),
        None => String::from("an image in memory"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
