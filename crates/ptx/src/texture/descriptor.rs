//! The description of a texture or surface: where its texels are, their format, how they are sampled.
//!
//! Owns the descriptor and its bytes. A handle is the address of such bytes in memory that kernels can access, as on
//! a GPU; a reference of CUDA 11 is a variable that holds a handle. A kernel may have overwritten the bytes: they are
//! checked when they are read, and texels are read through [`Memory`], which refuses invalid addresses. Must not
//! know: who writes descriptors, how texels are sampled.

use super::format::Format;
use crate::exec::Memory;

/// How many levels a mipmapped array can have: of 2^17 texels down to one.
pub const LEVELS: usize = 18;
/// Words of a descriptor.
const WORDS: usize = 15 + LEVELS;
/// Bytes of a descriptor.
pub const BYTES: usize = WORDS * 8;
/// What a descriptor begins with.
const MAGIC: u64 = 0x7465_7875_7265_2e31;

/// A texture or surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    /// It is a surface, and has no sampler.
    pub surface: bool,
    /// Address of each level's first byte.
    pub levels: Vec<u64>,
    /// Width, rows, planes or layers of the first level, in texels; 0 for missing axes.
    pub extent: [u32; 3],
    /// Planes are layers (faces of cubes among them): they do not get fewer from level to level.
    pub layered: bool,
    /// Six layers are the faces of a cube.
    pub cube: bool,
    /// It is linear memory without rows: no filter, no address mode.
    pub linear: bool,
    /// Bytes from row to row; 0 where rows lie close together.
    pub pitch: u64,
    /// What a texel is.
    pub format: Format,
    /// How it is sampled.
    pub sampler: Sampler,
}

/// How a texture is sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// The treatment of coordinates outside, by axis.
    pub address: [Address; 3],
    /// The weighted mean of neighbours, and not the nearest texel.
    pub linear: bool,
    /// The same between levels.
    pub mip_linear: bool,
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// Integers are returned unchanged.
    pub integers: bool,
    /// Colours are in sRGB.
    pub srgb: bool,
    /// Filters of cubes continue across a face's edges.
    pub seamless: bool,
    /// Blending between levels takes the nearest weight (`CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION` is not set).
    pub trilinear_optimized: bool,
    /// The most samples of an anisotropic filter; at most 1 for none.
    pub anisotropy: u32,
    /// Added to the level.
    pub bias: f32,
    /// The least and the greatest level.
    pub clamp: [f32; 2],
    /// The colour outside, for [`Address::Border`].
    pub border: [u32; 4],
}

/// The treatment of coordinates outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// They begin again.
    Wrap,
    /// The nearest texel inside.
    Clamp,
    /// They go back.
    Mirror,
    /// A border colour.
    Border,
}

impl Address {
    const ALL: [Address; 4] = [Address::Wrap, Address::Clamp, Address::Mirror, Address::Border];

    /// By CUDA's number (`CUaddress_mode`).
    pub fn from_number(n: u32) -> Option<Address> {
        Address::ALL.get(n as usize).copied()
    }

    const fn number(self) -> u64 {
        match self {
            Address::Wrap => 0,
            Address::Clamp => 1,
            Address::Mirror => 2,
            Address::Border => 3,
        }
    }
}

impl Descriptor {
    /// The flags that are one bit each.
    fn bits(&self) -> [bool; 11] {
        let s = &self.sampler;
        [
            self.surface,
            self.layered,
            self.cube,
            self.linear,
            s.linear,
            s.mip_linear,
            s.normalized,
            s.integers,
            s.srgb,
            s.seamless,
            s.trilinear_optimized,
        ]
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let s = &self.sampler;
        let pair = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
        let bits = self.bits().iter().rev().fold(0, |all, bit| all << 1 | u64::from(*bit));
        let [w, h, d] = self.extent;
        let [x, y, z] = s.address.map(Address::number);
        let mut words = vec![
            MAGIC,
            bits,
            self.levels.len().min(LEVELS) as u64,
            pair(w, h),
            u64::from(d),
            self.pitch,
            self.format.code(),
            x | y << 8 | z << 16,
            u64::from(s.anisotropy),
            pair(s.bias.to_bits(), 0),
            pair(s.clamp[0].to_bits(), s.clamp[1].to_bits()),
            pair(s.border[0], s.border[1]),
            pair(s.border[2], s.border[3]),
        ];
        words.extend(self.levels.iter().take(LEVELS));
        words.resize(WORDS, 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The descriptor in these bytes, if they are one.
    fn parse(words: &[u64; WORDS]) -> Option<Descriptor> {
        let (low, high) = (|w: u64| w as u32, |w: u64| (w >> 32) as u32);
        let [
            magic,
            bits,
            levels,
            wh,
            d,
            pitch,
            format,
            address,
            anisotropy,
            bias,
            clamp,
            rg,
            ba,
            rest @ ..,
        ] = words;
        let count = usize::try_from(*levels).ok().filter(|n| (1..=LEVELS).contains(n))?;
        if *magic != MAGIC {
            return None;
        }
        let bit = |n: u32| bits >> n & 1 != 0;
        let mode = |n: u32| Address::from_number((address >> (8 * n)) as u32 & 0xff);
        Some(Descriptor {
            surface: bit(0),
            layered: bit(1),
            cube: bit(2),
            linear: bit(3),
            levels: rest.get(..count)?.to_vec(),
            extent: [low(*wh), high(*wh), low(*d)],
            pitch: *pitch,
            format: Format::from_code(*format)?,
            sampler: Sampler {
                address: [mode(0)?, mode(1)?, mode(2)?],
                linear: bit(4),
                mip_linear: bit(5),
                normalized: bit(6),
                integers: bit(7),
                srgb: bit(8),
                seamless: bit(9),
                trilinear_optimized: bit(10),
                anisotropy: low(*anisotropy),
                bias: f32::from_bits(low(*bias)),
                clamp: [low(*clamp), high(*clamp)].map(f32::from_bits),
                border: [low(*rg), high(*rg), low(*ba), high(*ba)],
            },
        })
    }

    /// The descriptor of a handle, or of a variable that holds one; `None` if there is none.
    pub fn find(memory: &dyn Memory, handle: u64) -> Option<Descriptor> {
        let mut first = [0; 8];
        let aligned = |at: u64| Some(at).filter(|at| at.is_multiple_of(8));
        memory.load(aligned(handle)?, &mut first).ok()?;
        let mut at = handle;
        if u64::from_le_bytes(first) != MAGIC {
            at = aligned(u64::from_le_bytes(first))?;
        }
        let mut bytes = [0; BYTES];
        memory.load(at, &mut bytes).ok()?;
        let mut words = [0; WORDS];
        for (word, eight) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = eight.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        }
        Descriptor::parse(&words)
    }

    /// Width, rows, planes of a level: at least 1, and 0 for missing axes. Layers are planes.
    pub fn size(&self, level: usize) -> [u32; 3] {
        let less = |n: u32| if n == 0 { 0 } else { (n >> level.min(31)).max(1) };
        let [w, h, d] = self.extent;
        [less(w), less(h), if self.layered { d } else { less(d) }]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use crate::texture::format::Kind;

    /// A texture with one level at this address.
    pub(crate) fn sample(levels: Vec<u64>) -> Descriptor {
        Descriptor {
            surface: false,
            levels,
            extent: [4, 3, 0],
            layered: false,
            cube: false,
            linear: false,
            pitch: 0,
            format: Format { kind: Kind::Float, bits: 32, channels: 1 },
            sampler: Sampler {
                address: [Address::Clamp, Address::Border, Address::Mirror],
                linear: true,
                mip_linear: false,
                normalized: true,
                integers: false,
                srgb: false,
                seamless: true,
                trilinear_optimized: true,
                anisotropy: 4,
                bias: -0.5,
                clamp: [0.0, 3.5],
                border: [1, 2, 3, 4],
            },
        }
    }

    #[test]
    fn bytes_are_read_back_by_handle_and_through_a_variable() {
        let text = sample(vec![0x1000, 0x2000]);
        let bytes = text.bytes();
        assert_eq!(bytes.len(), BYTES);
        let bytes = [&bytes[..], &0x100u64.to_le_bytes()].concat();
        let memory = crate::exec::PlainMemory::new(0x100, bytes);
        assert_eq!(Descriptor::find(&memory, 0x100), Some(text.clone()));
        assert_eq!(Descriptor::find(&memory, 0x100 + BYTES as u64), Some(text));
        for wrong in [0, 0x108, 0x101, 0x5000, u64::MAX - 7] {
            assert_eq!(Descriptor::find(&memory, wrong), None, "{wrong:#x}");
        }
    }
}
