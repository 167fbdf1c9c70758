//! The 24-byte host-side wrappers that programs pass to registration functions.
//!
//! Owns their layout (`fatbinary_section.h` of CUDA 11.8 to 13.5, LLVM's `OffloadWrapper.cpp`); must not follow the
//! pointers in them: only the caller knows the address space.

use crate::bytes::Bytes;
use crate::error::Result;

/// Bytes of a wrapper.
pub const SIZE: usize = 24;
/// First word of NVIDIA's.
pub const CUDA_MAGIC: u32 = 0x4662_43B1;
/// First word of HIP's (`HIPF`).
pub const HIP_MAGIC: u32 = 0x4849_5046;

/// A wrapper, pointers as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// [`CUDA_MAGIC`] or [`HIP_MAGIC`].
    pub magic: u32,
    /// CUDA: 1 ordinary, 2 made by the device linker. HIP: 1.
    pub version: u32,
    /// Address of the fat binary (HIP: of the bundle).
    pub data: u64,
    /// CUDA v1: address of a file name, 0 in practice. v2: address of the array
    /// of prelinked fat binaries, which lies in `.bss` and is filled by
    /// `__cudaRegisterLinkedBinary_*`. HIP: unused.
    pub extra: u64,
}

impl Wrapper {
    /// Reads a wrapper from its 24 bytes.
    pub fn read(data: &[u8], base: u64) -> Result<Self> {
        let bytes = Bytes::new(data, base, "fatbin wrapper");
        let magic = bytes.u32(0)?;
        if magic != CUDA_MAGIC && magic != HIP_MAGIC {
            return Err(bytes.field(0, "magic", magic.into(), "0x466243b1 or 0x48495046"));
        }
        let version = bytes.u32(4)?;
        if !(1..=2).contains(&version) {
            return Err(bytes.field(4, "version", version.into(), "1 or 2"));
        }
        Ok(Self { magic, version, data: bytes.u64(8)?, extra: bytes.u64(16)? })
    }

    /// Whether it was made by the device linker and lists prelinked images.
    pub fn is_linked(&self) -> bool {
        self.magic == CUDA_MAGIC && self.version == 2
    }
}
