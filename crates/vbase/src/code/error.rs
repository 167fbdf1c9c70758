//! The reason why there is no code for a device, as text and as CUDA's error code.

use std::fmt::Write as _;

use cushim_image::arch::Arch;
use cushim_image::cubin::Maker;
use cushim_image::inventory::ImageKind;

use super::target::Target;

/// Why there is no code for a device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A null pointer.
    #[error("found a null pointer, expected a device image")]
    Null,
    /// The image claims to be longer than its mapped memory.
    #[error("the image at {at:#x} should have {need} bytes, but that memory is not mapped")]
    Unreadable {
        /// Where it begins.
        at: usize,
        /// Its claimed length.
        need: u64,
    },
    /// Unknown first bytes.
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
    /// A damaged result of cushim's own linker.
    #[error("the linked image is truncated")]
    Link,
    /// Nothing in it is for the device.
    #[error("{}", no_image(.0))]
    NoImage(Box<NoImage>),
}

/// Why no image suits.
#[derive(Debug)]
pub struct NoImage {
    /// The images in the container.
    pub holds: Vec<Held>,
    /// The image is a bare cubin: a tool made it while the program ran, or as a separate file.
    pub is_cubin: bool,
    /// The device's target.
    pub target: Target,
}

/// An image that does not suit.
#[derive(Debug, PartialEq, Eq)]
pub struct Held {
    /// Its kind.
    pub kind: ImageKind,
    /// Its architecture.
    pub arch: Arch,
    /// The tool that made it, where it is machine code that names one.
    pub maker: Option<Maker>,
}

impl Error {
    /// CUDA's error for it (`CUresult`; `cudaError_t` has the same numbers).
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
    for (n, Held { kind, arch, maker }) in found.holds.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{kind} for {arch}");
        if let Some(maker) = maker {
            let _ = write!(text, " (made by {maker})");
        }
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
    let _ = write!(text, "; a device of compute capability {major}.{minor} needs {wanted}. ");
    let cure = match found.is_cubin && found.target.ptx {
        true => format!(
            "If a program stored it on a machine with a GPU, delete its cache (PyCUDA's is ~/.cache/pycuda): here it stores PTX. \
             Else load the PTX that it was made of: `nvcc -ptx`, NVRTC with \
             --gpu-architecture=compute_{virtually}, nvJitLink with -ptx"
        ),
        false => {
            format!("Rebuild with -gencode arch=compute_{virtually},code=compute_{virtually}")
        }
    };
    let _ = write!(text, "{cure}, or supply PTX with `--replace` or `--redirect`");
    text
}
