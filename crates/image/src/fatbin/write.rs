//! Writes fat binaries that NVIDIA's own tools and driver read.

use super::entry::HEADER as ENTRY;
use super::{HEADER, Kind, MAGIC, flags};
use crate::arch::{Arch, SmVariant};
use crate::bytes::align_up;
use crate::codec::pack;
use crate::error::{Error, Result};
use crate::packing::Codec;

/// An image to be written.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// PTX, cubin or LTO-IR.
    pub kind: Kind,
    /// The target; must be an [`Arch::Sm`].
    pub arch: Arch,
    /// PTX ISA version, or for a cubin 1 and its ELF ABI (8 in CUDA 13).
    pub version: (u16, u16),
    /// How to pack it.
    pub codec: Codec,
    /// The bytes.
    pub data: &'a [u8],
}

/// Level for zstd: the knee between size and time for machine code.
const ZSTD_LEVEL: i32 = 9;

/// An options record without options, as fatbinary writes it: offset of the
/// text from the entry, its length, and eight zero bytes there.
const NO_OPTIONS: [u8; 16] = [0x48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// One container of `images`, in order. Fails where an image's target is not
/// an NVIDIA one or its packed size does not fit the format's 32 bits.
pub fn write(images: &[Image<'_>]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&(HEADER as u16).to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    for image in images {
        write_entry(&mut out, image)?;
    }
    let body = out.len() as u64 - HEADER;
    if let Some(size) = out.get_mut(8..16) {
        size.copy_from_slice(&body.to_le_bytes());
    }
    Ok(out)
}

fn write_entry(out: &mut Vec<u8>, image: &Image<'_>) -> Result<()> {
    let at = out.len() as u64;
    let Arch::Sm(sm, variant) = image.arch else {
        let (what, expected) = ("fatbin image target", "sm_NN");
        return Err(Error::Syntax { what, at, found: image.arch.to_string(), expected });
    };
    let mut flag = flags::ADDRESS_64 | flags::HOST_LINUX;
    flag |= match variant {
        SmVariant::Plain => 0,
        SmVariant::Specific => flags::SPECIFIC,
        SmVariant::Family => flags::FAMILY,
    };
    if image.kind == Kind::Cubin && sm >= 100 {
        flag |= flags::MERCURY;
    }
    // The driver expects PTX as a C string.
    let terminated;
    let data = if image.kind == Kind::Ptx && image.data.last() != Some(&0) {
        terminated = [image.data, &[0]].concat();
        &terminated
    } else {
        image.data
    };
    let stored = pack(image.codec, data, ZSTD_LEVEL)?;
    let (packed, unpacked) = match image.codec {
        Codec::None => (0, 0),
        _ => (stored.len(), data.len() as u64),
    };
    flag |= match image.codec {
        Codec::None => 0,
        Codec::Lz4 => flags::LZ4,
        Codec::Zstd => flags::ZSTD,
        Codec::Zlib => {
            let (what, expected) = ("fatbin image codec", "none, lz4 or zstd");
            return Err(Error::Syntax { what, at, found: image.codec.to_string(), expected });
        }
    };
    let packed = u32::try_from(packed).map_err(|_| Error::TooBig {
        what: "packed fatbin image",
        at,
        found: packed as u64,
        limit: u32::MAX.into(),
        name: "the format's 32-bit field",
    })?;
    let payload = align_up(stored.len() as u64, 8);

    out.extend_from_slice(&image.kind.raw().to_le_bytes());
    out.extend_from_slice(&0x0101u16.to_le_bytes());
    // cuobjdump 13.5 treats PTX without a record of ptxas options as damaged.
    let options: &[u8] = if image.kind == Kind::Ptx { &NO_OPTIONS } else { &[] };
    out.extend_from_slice(&(ENTRY as u32 + options.len() as u32).to_le_bytes());
    out.extend_from_slice(&payload.to_le_bytes());
    out.extend_from_slice(&packed.to_le_bytes());
    let options_at = if options.is_empty() { 0 } else { ENTRY as u32 };
    out.extend_from_slice(&options_at.to_le_bytes());
    out.extend_from_slice(&image.version.1.to_le_bytes());
    out.extend_from_slice(&image.version.0.to_le_bytes());
    out.extend_from_slice(&sm.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&flag.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&unpacked.to_le_bytes());
    out.extend_from_slice(options);
    out.extend_from_slice(&stored);
    out.resize(out.len() + (payload as usize - stored.len()), 0);
    Ok(())
}
