//! Target regions of LLVM's offloading, and calls that map data for them: a long form that holds every value, and a
//! short form for small values, which nearly all are.
//!
//! Must not know: other kinds of events.

/// The rest of [`super::EVENT_REGION`] and [`super::EVENT_MAP`]: bytes 32 to 104; its arguments follow at [`MAPPED_ARGS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MappedBody {
    /// Regions: number of the kernel; its record stands in the metadata.
    pub kernel: u32,
    /// Number of the [`crate::meta::META_NAME`] record that says where in the source it is
    /// (`;file;function;line;column;;`), 0 where that is not known.
    pub place: u32,
    /// The requested device; -1 is the default one.
    pub device: i64,
    /// Regions: how often the loop runs, 0 where that is not known.
    pub trip_count: u64,
    /// Regions: the flags of the arguments' structure (1: nowait; 2: a CUDA kernel).
    pub flags: u64,
    /// Regions: teams that were asked for, zeros where the runtime chooses.
    pub teams: [u32; 3],
    /// Regions: threads of a team that were asked for, zeros where the runtime chooses.
    pub threads: [u32; 3],
    /// Regions: dynamic memory of a team, bytes.
    pub shared: u32,
    /// Regions: the version of the arguments' structure, 0 where there is none.
    pub version: u16,
    /// `MAP_*`; 0 for regions.
    pub what: u8,
    /// Regions: `FALLBACK_*`, stored before `done`.
    pub fallback: u8,
    /// How many arguments there were.
    pub count: u32,
    /// How many of them follow, at most [`MAPPED_MOST`].
    pub kept: u16,
    /// `MAPPED_*` bits.
    pub bits: u16,
}

/// One argument of [`super::EVENT_REGION`] or [`super::EVENT_MAP`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappedArg {
    /// The host's address, or the value itself.
    pub pointer: u64,
    /// Bytes.
    pub size: i64,
    /// Bits of libomptarget's (`OMP_TGT_MAPTYPE_*`).
    pub kind: u64,
    /// Number of the [`crate::meta::META_NAME`] record with its name (`;name;file;line;column;;`), 0 for none.
    pub name: u32,
    /// Zero.
    pub reserved: u32,
}

/// The rest of [`super::EVENT_SHORT_REGION`] and [`super::EVENT_SHORT_MAP`]: bytes 32 to 60; its
/// arguments follow at [`SHORT_MAPPED_ARGS`]. A [`MappedBody`] with small values, as nearly all
/// have: half the bytes, so half the pages, which are most of an event's cost.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShortMappedBody {
    /// As in [`MappedBody`]; so are the fields below.
    pub kernel: u32,
    #[allow(missing_docs)]
    pub place: u32,
    #[allow(missing_docs)]
    pub trip_count: u32,
    /// The first of the three; the others are 1, or 0 where this one is 0.
    pub teams: u32,
    #[allow(missing_docs)]
    pub threads: u32,
    #[allow(missing_docs)]
    pub device: i16,
    /// How many arguments there were; all of them follow.
    pub count: u8,
    #[allow(missing_docs)]
    pub flags: u8,
    #[allow(missing_docs)]
    pub version: u8,
    #[allow(missing_docs)]
    pub what: u8,
    #[allow(missing_docs)]
    pub fallback: u8,
    #[allow(missing_docs)]
    pub bits: u8,
}

/// One argument of [`super::EVENT_SHORT_REGION`] or [`super::EVENT_SHORT_MAP`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortMappedArg {
    /// As in [`MappedArg`], the lower half first.
    pub pointer: [u32; 2],
    #[allow(missing_docs)]
    pub size: u32,
    /// Its type by [`short_kind`].
    pub kind: u32,
    #[allow(missing_docs)]
    pub name: u32,
}

/// Known bits of a mapping's type: the lower 15, one for non-contiguous memory, and the number of
/// the argument that it is a member of.
const KIND_LOW: u64 = 0x7fff;
const KIND_PIECES: u64 = 1 << 44;
const KIND_MEMBER: u64 = 0xffff << 48;

/// Whether [`short_kind`] keeps all of a mapping's type.
#[inline(always)]
pub const fn is_short_kind(kind: u64) -> bool {
    kind & !(KIND_LOW | KIND_PIECES | KIND_MEMBER) == 0
}

/// A mapping's type in 32 bits.
#[inline(always)]
pub const fn short_kind(kind: u64) -> u32 {
    (kind & KIND_LOW) as u32
        | ((kind & KIND_PIECES) >> 29) as u32
        | (kind >> 32) as u32 & 0xffff_0000
}

/// The inverse of [`short_kind`].
pub const fn long_kind(short: u32) -> u64 {
    let short = short as u64;
    short & KIND_LOW | (short & 0x8000) << 29 | (short & 0xffff_0000) << 32
}

/// Whether the first of three numbers tells the others: all are 0, or the others are 1.
#[inline(always)]
fn is_short_shape(of: [u32; 3]) -> bool {
    let rest = (of[0] != 0) as u32;
    of[1] == rest && of[2] == rest
}

impl MappedBody {
    /// Whether [`MappedBody::short`] keeps all of it.
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        // Each term is 0 where its field fits.
        let device = (self.device.wrapping_add(1 << 15) as u64) >> 16;
        let trips = self.trip_count >> 32;
        let small = self.flags | u64::from(self.version) | u64::from(self.bits);
        let all = u32::from(self.kept) == self.count && self.count < 256;
        device | trips | (small >> 8) | u64::from(self.shared) == 0
            && all
            && is_short_shape(self.teams)
            && is_short_shape(self.threads)
    }

    /// The short form; what does not fit is cut ([`MappedBody::is_short`]).
    #[inline(always)]
    pub fn short(&self) -> ShortMappedBody {
        ShortMappedBody {
            kernel: self.kernel,
            place: self.place,
            trip_count: self.trip_count as u32,
            teams: self.teams[0],
            threads: self.threads[0],
            device: self.device as i16,
            count: self.count as u8,
            flags: self.flags as u8,
            version: self.version as u8,
            what: self.what,
            fallback: self.fallback,
            bits: self.bits as u8,
        }
    }
}

impl ShortMappedBody {
    /// In the long form.
    pub fn long(&self) -> MappedBody {
        let shape = |first: u32| [first, first.min(1), first.min(1)];
        MappedBody {
            kernel: self.kernel,
            place: self.place,
            device: self.device.into(),
            trip_count: self.trip_count.into(),
            flags: self.flags.into(),
            teams: shape(self.teams),
            threads: shape(self.threads),
            shared: 0,
            version: self.version.into(),
            what: self.what,
            fallback: self.fallback,
            count: self.count.into(),
            kept: self.count.into(),
            bits: self.bits.into(),
        }
    }
}

impl MappedArg {
    /// Whether [`MappedArg::short`] keeps all of it.
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        self.size as u64 >> 32 == 0 && is_short_kind(self.kind)
    }

    /// The short form; what does not fit is cut.
    #[inline(always)]
    pub fn short(&self) -> ShortMappedArg {
        ShortMappedArg {
            pointer: [self.pointer as u32, (self.pointer >> 32) as u32],
            size: self.size as u32,
            kind: short_kind(self.kind),
            name: self.name,
        }
    }
}

impl ShortMappedArg {
    /// In the long form.
    pub fn long(&self) -> MappedArg {
        let [low, high] = self.pointer.map(u64::from);
        MappedArg {
            pointer: low | high << 32,
            size: self.size.into(),
            kind: long_kind(self.kind),
            name: self.name,
            reserved: 0,
        }
    }
}

/// `MappedBody::what`: data begins, ends, is updated.
pub const MAP_BEGIN: u8 = 1;
#[allow(missing_docs)]
pub const MAP_END: u8 = 2;
#[allow(missing_docs)]
pub const MAP_UPDATE: u8 = 3;

/// `MappedBody::bits`: the structure with the arguments has a version that is not known.
pub const MAPPED_UNKNOWN: u16 = 1;
/// `MappedBody::bits`: the program does not wait for its end (`nowait`).
pub const MAPPED_NOWAIT: u16 = 2;

/// `MappedBody::fallback`: it ran on the device, or has not come back.
pub const FALLBACK_NONE: u8 = 0;
/// `MappedBody::fallback`: on the host, as offloading is disabled (`OMP_TARGET_OFFLOAD`).
pub const FALLBACK_DISABLED: u8 = 1;
/// `MappedBody::fallback`: on the host, as the runtime has no device.
pub const FALLBACK_NO_DEVICE: u8 = 2;
/// `MappedBody::fallback`: on the host, which is the device that was asked for.
pub const FALLBACK_HOST: u8 = 3;
/// `MappedBody::fallback`: on the host, as there is no device of that number.
pub const FALLBACK_NO_SUCH_DEVICE: u8 = 4;
/// `MappedBody::fallback`: on the host, as no image was registered for the region.
pub const FALLBACK_NO_IMAGE: u8 = 5;
/// `MappedBody::fallback`: on the host, as libomptarget refused it without giving a reason.
pub const FALLBACK_REFUSED: u8 = 6;

/// Where the arguments begin, from the event's start.
pub const MAPPED_ARGS: usize = 32 + size_of::<MappedBody>();
/// Where the arguments of the short form begin.
pub const SHORT_MAPPED_ARGS: usize = 32 + size_of::<ShortMappedBody>();
/// At most this many arguments are kept.
pub const MAPPED_MOST: usize = 64;

const _: () = {
    assert!(MAPPED_ARGS == 104 && size_of::<MappedArg>() == 32);
    assert!(SHORT_MAPPED_ARGS == 60 && size_of::<ShortMappedArg>() == 20);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_comes_back_whole() {
        let body = MappedBody {
            kernel: 7,
            place: u32::MAX,
            device: -1,
            trip_count: u32::MAX.into(),
            flags: 3,
            teams: [u32::MAX, 1, 1],
            version: 5,
            what: MAP_END,
            fallback: FALLBACK_REFUSED,
            count: 64,
            kept: 64,
            bits: MAPPED_NOWAIT,
            ..MappedBody::default()
        };
        for short in [
            body,
            MappedBody::default(),
            MappedBody { device: i16::MIN.into(), ..body },
            MappedBody { device: i16::MAX.into(), ..body },
            MappedBody { threads: [1; 3], ..body },
        ] {
            assert!(short.is_short(), "{short:?}");
            assert_eq!(short.short().long(), short);
        }
        for long in [
            MappedBody { device: i64::from(i16::MAX) + 1, ..body },
            MappedBody { device: i64::from(i16::MIN) - 1, ..body },
            MappedBody { device: i64::MIN, ..body },
            MappedBody { device: i64::MAX, ..body },
            MappedBody { trip_count: 1 << 32, ..body },
            MappedBody { flags: 256, ..body },
            MappedBody { flags: 1 << 63, ..body },
            MappedBody { teams: [8, 2, 1], ..body },
            MappedBody { teams: [0, 1, 1], ..body },
            MappedBody { threads: [8, 1, 0], ..body },
            MappedBody { shared: 1, ..body },
            MappedBody { version: 256, ..body },
            MappedBody { bits: 256, ..body },
            MappedBody { count: 65, ..body },
            MappedBody { count: 256, kept: 256, ..body },
        ] {
            assert!(!long.is_short(), "{long:?}");
        }
    }

    #[test]
    fn arguments_too() {
        let arg = MappedArg { pointer: u64::MAX - 5, size: 4, kind: 0x23, name: 9, reserved: 0 };
        let large = i64::from(u32::MAX);
        let pieces = 1 << 44;
        for short in [
            arg,
            MappedArg { size: large, ..arg },
            MappedArg { kind: 0x7fff | pieces | 0xfedc << 48, ..arg },
        ] {
            assert!(short.is_short(), "{short:?}");
            assert_eq!(short.short().long(), short);
        }
        let others =
            (15..48).filter(|bit| *bit != 44).map(|bit| MappedArg { kind: 1 << bit, ..arg });
        for long in [MappedArg { size: large + 1, ..arg }, MappedArg { size: -1, ..arg }]
            .into_iter()
            .chain(others)
        {
            assert!(!long.is_short(), "{long:?}");
        }
    }
}
