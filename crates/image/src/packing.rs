//! The compression methods of containers, by name. Must not know how to unpack them.

use std::fmt;

/// How bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not packed.
    None,
    /// One raw LZ4 block, without a frame.
    Lz4,
    /// Zstandard frames.
    Zstd,
    /// A zlib stream (RFC 1950).
    Zlib,
}

impl fmt::Display for Codec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Zlib => "zlib",
        })
    }
}
