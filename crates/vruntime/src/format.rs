//! Channel descriptors, and the driver's equivalent: a format and a number of channels.
//!
//! Owns both tables. Must not know: arrays, textures.

use cushim_abi::types::{ChannelDesc, Status};

use super::error::code;

/// `cudaChannelFormatKind` of the plain kinds.
mod kind {
    pub const SIGNED: i32 = 0;
    pub const UNSIGNED: i32 = 1;
    pub const FLOAT: i32 = 2;
}

/// `CUarray_format` of the plain kinds, with kind and bits of a channel; 1, 2 or 4 channels (cuda.h;
/// driver_types.h).
const PLAIN: [(u32, i32, i32); 8] = [
    (0x01, kind::UNSIGNED, 8),
    (0x02, kind::UNSIGNED, 16),
    (0x03, kind::UNSIGNED, 32),
    (0x08, kind::SIGNED, 8),
    (0x09, kind::SIGNED, 16),
    (0x0a, kind::SIGNED, 32),
    (0x10, kind::FLOAT, 16),
    (0x20, kind::FLOAT, 32),
];

/// A format that names its channels itself: `CUarray_format`, `cudaChannelFormatKind`, bits of the
/// channels, and whether a texel is their sum (block-compressed and planar ones have no texel).
type Whole = (u32, i32, [i32; 4], bool);

/// Formats of 11.5 and later (cuda.h; driver_types.h; channel_descriptor.h).
#[rustfmt::skip]
const WHOLE: [Whole; 42] = [
    (0xb0, 4, [8, 8, 8, 0], false),
    (0xc0, 5, [8, 0, 0, 0], true), (0xc1, 6, [8, 8, 0, 0], true), (0xc2, 7, [8, 8, 8, 8], true),
    (0xc3, 8, [16, 0, 0, 0], true), (0xc4, 9, [16, 16, 0, 0], true), (0xc5, 10, [16, 16, 16, 16], true),
    (0xc6, 11, [8, 0, 0, 0], true), (0xc7, 12, [8, 8, 0, 0], true), (0xc8, 13, [8, 8, 8, 8], true),
    (0xc9, 14, [16, 0, 0, 0], true), (0xca, 15, [16, 16, 0, 0], true), (0xcb, 16, [16, 16, 16, 16], true),
    (0x91, 17, [8, 8, 8, 8], false), (0x92, 18, [8, 8, 8, 8], false),
    (0x93, 19, [8, 8, 8, 8], false), (0x94, 20, [8, 8, 8, 8], false),
    (0x95, 21, [8, 8, 8, 8], false), (0x96, 22, [8, 8, 8, 8], false),
    (0x97, 23, [8, 0, 0, 0], false), (0x98, 24, [8, 0, 0, 0], false),
    (0x99, 25, [8, 8, 0, 0], false), (0x9a, 26, [8, 8, 0, 0], false),
    (0x9b, 27, [16, 16, 16, 0], false), (0x9c, 28, [16, 16, 16, 0], false),
    (0x9d, 29, [8, 8, 8, 8], false), (0x9e, 30, [8, 8, 8, 8], false),
    (0x50, 31, [10, 10, 10, 2], true),
    (0x51, 32, [8, 8, 8, 8], false), (0x52, 33, [8, 8, 8, 8], false),
    (0x53, 34, [8, 8, 8, 0], false), (0x54, 35, [16, 16, 16, 0], false),
    (0x55, 36, [8, 8, 8, 0], false), (0x56, 37, [16, 16, 16, 0], false),
    (0x57, 38, [8, 8, 8, 0], false), (0x58, 39, [16, 16, 16, 0], false),
    (0x59, 40, [8, 8, 8, 0], false), (0x5a, 41, [16, 16, 16, 0], false),
    (0x5b, 42, [8, 8, 8, 0], false), (0x5c, 43, [16, 16, 16, 0], false),
    (0x5d, 44, [8, 8, 8, 0], false), (0x5e, 45, [16, 16, 16, 0], false),
];

fn used(bits: &[i32; 4]) -> u32 {
    bits.iter().take_while(|&&bits| bits != 0).count() as u32
}

/// Format and channels of a descriptor.
///
/// # Errors
/// cudaErrorInvalidChannelDescriptor: channels of different sizes, gaps, unknown kinds.
pub fn of_channels(desc: ChannelDesc) -> Result<(u32, u32), Status> {
    let bits = [desc.x, desc.y, desc.z, desc.w];
    let channels = used(&bits);
    if let Some((format, ..)) =
        WHOLE.iter().find(|(_, kind, wanted, _)| *kind == desc.f && *wanted == bits)
    {
        return Ok((*format, channels));
    }
    let same = bits.iter().take(channels as usize).all(|&bits| bits == desc.x);
    let gap = bits.iter().skip(channels as usize).any(|&bits| bits != 0);
    if !same || gap || !matches!(channels, 1 | 2 | 4) {
        return Err(code::INVALID_CHANNEL_DESCRIPTOR);
    }
    let found = PLAIN.iter().find(|(_, kind, bits)| (*kind, *bits) == (desc.f, desc.x));
    found.map(|(format, ..)| (*format, channels)).ok_or(code::INVALID_CHANNEL_DESCRIPTOR)
}

/// The descriptor of a format; none where the runtime has no descriptor for it here.
pub fn channels(format: u32, channels: u32) -> Option<ChannelDesc> {
    if let Some((_, f, [x, y, z, w], _)) = WHOLE.into_iter().find(|(found, ..)| *found == format) {
        return Some(ChannelDesc { x, y, z, w, f });
    }
    let (_, f, bits) = PLAIN.into_iter().find(|(found, ..)| *found == format)?;
    let channel = |index: u32| if index < channels { bits } else { 0 };
    Some(ChannelDesc { x: channel(0), y: channel(1), z: channel(2), w: channel(3), f })
}

/// Bytes of an element with these channels; 0 for formats without elements.
pub fn element(format: u32, channels: u32) -> usize {
    if let Some((_, _, bits, whole)) = WHOLE.iter().find(|(found, ..)| *found == format) {
        return if *whole { bits.iter().sum::<i32>() as usize / 8 } else { 0 };
    }
    let found = PLAIN.iter().find(|(found, ..)| *found == format);
    found.map_or(0, |(_, _, bits)| *bits as usize / 8) * channels as usize
}

/// Whether values of the format are integers, which a texture may return unchanged.
pub fn is_integer(format: u32) -> bool {
    matches!(format, 0x01..=0x03 | 0x08..=0x0a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_its_descriptor() {
        for (format, _, bits, _) in WHOLE {
            let found = channels(format, used(&bits));
            assert_eq!(found.map(of_channels), Some(Ok((format, used(&bits)))), "{format:#x}");
        }
        for (format, ..) in PLAIN {
            for wanted in [1, 2, 4] {
                let found = channels(format, wanted);
                assert_eq!(found.map(of_channels), Some(Ok((format, wanted))), "{format:#x}");
            }
        }
        assert_eq!(
            (element(0x20, 4), element(0xcb, 4), element(0x50, 4), element(0x91, 4)),
            (16, 8, 4, 0)
        );
        assert_eq!(channels(0x9f, 3), None);
    }

    #[test]
    fn gaps_and_mixtures_are_no_descriptors() {
        let no = Err(code::INVALID_CHANNEL_DESCRIPTOR);
        let desc = |x, y, z, w, f| of_channels(ChannelDesc { x, y, z, w, f });
        assert_eq!(desc(8, 0, 8, 0, kind::UNSIGNED), no);
        assert_eq!(desc(8, 16, 0, 0, kind::UNSIGNED), no);
        assert_eq!(desc(8, 8, 8, 0, kind::UNSIGNED), no);
        assert_eq!(desc(8, 0, 0, 0, kind::FLOAT), no);
        assert_eq!(desc(8, 8, 0, 0, 5), no);
        assert_eq!(desc(0, 0, 0, 0, 0), no);
    }
}
