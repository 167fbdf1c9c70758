//! Parses a record's name: an instruction and a texture.
//!
//! Words: the instruction; `t:` names of the texels of each level; `f:` kind (u, s, f), bits and channels; `e:` extent; `a:`
//! address mode; `b:` bias, least and greatest level; `p:` bytes from row to row; `is:` L layers, C cube, R a row of linear
//! memory, F linear filter, M linear filter between levels, N normalised coordinates, I integers without conversion, S sRGB,
//! E seamless filtering across the edges of a cube.

use crate::recorded::Recorded;
use cushim_ptx::sem::Operation;
use cushim_ptx::sem::texture::{Form, find};
use cushim_ptx::texture::{Address, Descriptor, Format, Kind, Sampler};

/// A texture and the operation on it.
pub struct Case {
    pub descriptor: Descriptor,
    /// The texels of each level.
    pub texels: Vec<Vec<u8>>,
    pub operation: Operation,
}

impl Case {
    /// The operands after the texture reference.
    pub fn operands<'a>(&self, place: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        place.iter().map(|word| u64::from(*word))
    }
}

/// The border colour of all textures.
const BORDER: [f32; 4] = [1000.25, -3.0, 7.0, 0.3];

/// The case for a record's name.
pub fn of(name: &str, all: &Recorded) -> Option<Case> {
    let mut words = name.split(' ');
    let instruction: Vec<&str> = words.next()?.split('.').collect();
    let operation = match find(instruction.first()?, &instruction[1..])?.ok()? {
        Form::Texture(what) => Operation::Texture(what),
        Form::Surface(what) => Operation::Surface(what),
        Form::Query(what) => Operation::TextureQuery(what),
    };
    let fields: Vec<(&str, Vec<&str>)> = words
        .filter_map(|word| word.split_once(':'))
        .map(|(key, value)| (key, value.split(',').collect()))
        .collect();
    let field = |key: &str| fields.iter().find(|(k, _)| *k == key).map(|(_, v)| &v[..]);
    let number = |key: &str, n: usize| field(key).and_then(|v| v.get(n)?.parse::<u32>().ok());
    let float = |key: &str, n: usize| field(key).and_then(|v| v.get(n)?.parse::<f32>().ok());
    let is = |letter: &str| field("is").is_some_and(|v| v[0].contains(letter));
    let kind = match *field("f")?.first()? {
        "u" => Kind::Unsigned,
        "s" => Kind::Signed,
        _ => Kind::Float,
    };
    let texels: Vec<Vec<u8>> = field("t")?.iter().map(|name| all.texels(name)).collect();
    let address = Address::from_number(number("a", 0)?)?;
    let sampler = Sampler {
        address: [address; 3],
        linear: is("F"),
        mip_linear: is("M"),
        normalized: is("N"),
        integers: is("I"),
        srgb: is("S"),
        seamless: is("E"),
        trilinear_optimized: true,
        anisotropy: 0,
        bias: float("b", 0).unwrap_or(0.0),
        clamp: [float("b", 1).unwrap_or(0.0), float("b", 2).unwrap_or(100.0)],
        border: BORDER.map(f32::to_bits),
    };
    let descriptor = Descriptor {
        surface: matches!(operation, Operation::Surface(_)),
        levels: vec![0; texels.len()],
        extent: [number("e", 0)?, number("e", 1)?, number("e", 2)?],
        layered: is("L"),
        cube: is("C"),
        linear: is("R"),
        pitch: number("p", 0).unwrap_or(0).into(),
        format: Format { kind, bits: number("f", 1)? as u8, channels: number("f", 2)? as u8 },
        sampler,
    };
    Some(Case { descriptor, texels, operation })
}
