//! Descriptors of textures and surfaces in memory that kernels access.
//!
//! Owns the conversion of CUDA's numbers for formats, modes and flags to the sampler's ([`cushim_ptx::texture`]), and
//! the memory of descriptors, whose addresses are the handles. Must not know: how anything is sampled.

use cushim_ptx::exec::Memory as _;
use cushim_ptx::texture::{Address, Descriptor, Format, Kind, Sampler, descriptor};

use super::memory::Memory;
use cushim_accel::{Failure, Texture};

/// `CUarray_format` with what a channel is; a third number is that of its channels, where the format says them.
const FORMATS: [(u32, Kind, u8, u8); 20] = [
    (0x01, Kind::Unsigned, 8, 0),
    (0x02, Kind::Unsigned, 16, 0),
    (0x03, Kind::Unsigned, 32, 0),
    (0x08, Kind::Signed, 8, 0),
    (0x09, Kind::Signed, 16, 0),
    (0x0a, Kind::Signed, 32, 0),
    (0x10, Kind::Float, 16, 0),
    (0x20, Kind::Float, 32, 0),
    (0xc0, Kind::UnsignedNormalized, 8, 1),
    (0xc1, Kind::UnsignedNormalized, 8, 2),
    (0xc2, Kind::UnsignedNormalized, 8, 4),
    (0xc3, Kind::UnsignedNormalized, 16, 1),
    (0xc4, Kind::UnsignedNormalized, 16, 2),
    (0xc5, Kind::UnsignedNormalized, 16, 4),
    (0xc6, Kind::SignedNormalized, 8, 1),
    (0xc7, Kind::SignedNormalized, 8, 2),
    (0xc8, Kind::SignedNormalized, 8, 4),
    (0xc9, Kind::SignedNormalized, 16, 1),
    (0xca, Kind::SignedNormalized, 16, 2),
    (0xcb, Kind::SignedNormalized, 16, 4),
];

/// `CU_TRSF_*`.
mod flag {
    pub const READ_AS_INTEGER: u32 = 0x01;
    pub const NORMALIZED_COORDINATES: u32 = 0x02;
    pub const SRGB: u32 = 0x10;
    pub const DISABLE_TRILINEAR: u32 = 0x20;
    pub const SEAMLESS: u32 = 0x40;
}

fn format(format: u32, channels: u32) -> Result<Format, Failure> {
    let found = FORMATS.iter().find(|(number, ..)| *number == format);
    let known = found.map(|&(_, kind, bits, own)| Format {
        kind,
        bits,
        channels: if own > 0 { own } else { channels as u8 },
    });
    known.ok_or_else(|| Failure::NotSupported(format!("textures of format {format:#x}")))
}

fn sampler(texture: &Texture) -> Result<Sampler, Failure> {
    let none = cushim_accel::Sampler {
        address: [1; 3],
        filter: 0,
        mipmap_filter: 0,
        flags: flag::READ_AS_INTEGER,
        anisotropy: 0,
        bias: 0.0,
        clamp: [0.0; 2],
        border: [0.0; 4],
    };
    let given = texture.sampler.unwrap_or(none);
    let has = |flag| given.flags & flag != 0;
    let mode = |n: i32| {
        let known = u32::try_from(n).ok().and_then(Address::from_number);
        known.ok_or_else(|| Failure::NotSupported(format!("address mode {n}")))
    };
    if texture.cube && has(flag::SEAMLESS) && given.filter != 0 {
        return Err(Failure::NotSupported("filters across the edges of a cube".into()));
    }
    let [x, y, z] = given.address;
    Ok(Sampler {
        address: [mode(x)?, mode(y)?, mode(z)?],
        linear: given.filter != 0,
        mip_linear: given.mipmap_filter != 0,
        normalized: has(flag::NORMALIZED_COORDINATES),
        integers: has(flag::READ_AS_INTEGER),
        srgb: has(flag::SRGB),
        seamless: has(flag::SEAMLESS),
        trilinear_optimized: !has(flag::DISABLE_TRILINEAR),
        anisotropy: given.anisotropy,
        bias: given.bias,
        clamp: given.clamp,
        border: given.border.map(f32::to_bits),
    })
}

fn described(texture: &Texture) -> Result<Descriptor, Failure> {
    let fits = |n: usize| {
        u32::try_from(n).map_err(|_| Failure::NotSupported(format!("textures of {n} elements")))
    };
    let [w, h, d] = texture.extent;
    if texture.levels.is_empty() || texture.levels.len() > descriptor::LEVELS {
        return Err(Failure::NotSupported(format!("{} levels", texture.levels.len())));
    }
    Ok(Descriptor {
        surface: texture.sampler.is_none(),
        levels: texture.levels.clone(),
        extent: [fits(w)?, fits(h)?, fits(d)?],
        layered: texture.layered,
        cube: texture.cube,
        linear: texture.linear,
        pitch: texture.pitch as u64,
        format: format(texture.format, texture.channels)?,
        sampler: sampler(texture)?,
    })
}

/// Writes a descriptor into newly allocated memory; returns its address.
pub fn create(memory: &Memory, texture: &Texture) -> Result<u64, Failure> {
    let bytes = described(texture)?.bytes();
    let at = memory.arena.allocate(bytes.len() as u64, 8).ok_or(Failure::OutOfMemory)?;
    memory.store(at, &bytes).map_err(|_| Failure::InvalidAddress(at))?;
    Ok(at)
}

/// Takes a descriptor away: what may still use it finds none.
pub fn forget(memory: &Memory, handle: u64) {
    if memory.store(handle, &[0; 8]).is_ok() {
        memory.arena.free(handle);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_to_what_was_described_until_it_is_forgotten() {
        let memory = Memory::new();
        let mut texture = Texture {
            levels: vec![0x1000],
            extent: [16, 8, 0],
            layered: false,
            cube: false,
            linear: false,
            pitch: 64,
            format: 0xc2,
            channels: 4,
            sampler: None,
        };
        let handle = create(&memory, &texture).unwrap();
        let found = Descriptor::find(&memory, handle).unwrap();
        assert!(found.surface && found.pitch == 64 && found.extent == [16, 8, 0]);
        assert_eq!(found.format, Format { kind: Kind::UnsignedNormalized, bits: 8, channels: 4 });
        forget(&memory, handle);
        assert_eq!(Descriptor::find(&memory, handle), None);
        texture.format = 0x91;
        let why = create(&memory, &texture).unwrap_err();
        assert_eq!(why, Failure::NotSupported("textures of format 0x91".into()));
    }
}
