//! Queries of textures and surfaces.
//!
//! Owns the results of `txq`, `suq`, `istypep`. Must not know: texels.

use super::descriptor::Descriptor;
use super::format::Kind;
use crate::sem::texture::Query;

/// The result of a query; `level` is the operand of those that have one.
pub(super) fn answer(what: Query, found: &Descriptor, level: u32) -> u32 {
    let size = |level: u32| found.size(level as usize);
    let [w, h, d] = size(0);
    let inside = (level as usize) < found.levels.len();
    match what {
        Query::Width => w,
        Query::Height => h,
        Query::Depth => d,
        Query::ArraySize => d,
        Query::Levels => found.levels.len() as u32,
        Query::Samples => 1,
        Query::NormalizedCoordinates => found.sampler.normalized.into(),
        Query::ChannelDataType => data_type(found),
        Query::ChannelOrder => match found.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Query::MemoryLayout => 1,
        Query::LevelWidth if inside => size(level)[0],
        Query::LevelHeight if inside => size(level)[1],
        Query::LevelDepth if inside => size(level)[2],
        _ => 0,
    }
}

/// OpenCL's numbers of channel types (PTX ISA, "Channel Data Type and Channel Order Fields").
fn data_type(found: &Descriptor) -> u32 {
    let format = found.format;
    let size = match format.bits {
        8 => 0,
        16 => 1,
        _ => 2,
    };
    match format.kind {
        Kind::SignedNormalized => 0x10d0 + size,
        Kind::UnsignedNormalized => 0x10d2 + size,
        Kind::Signed => 0x10d7 + size,
        Kind::Unsigned => 0x10da + size,
        Kind::Float => 0x10dd - 1 + size,
    }
}

/// Whether a reference is of the kind that `istypep` asks for.
pub(super) fn kind(what: Query, found: Option<&Descriptor>) -> bool {
    match what {
        Query::IsTexture => found.is_some_and(|found| !found.surface),
        Query::IsSurface => found.is_some_and(|found| found.surface),
        _ => false,
    }
}
