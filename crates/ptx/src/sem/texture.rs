//! Texture and surface instructions (PTX ISA 9, "Texture Instructions", "Surface Instructions").
//!
//! Owns their syntax, as tables of words, and the meaning of each: these instructions are not in the common table,
//! because their operands are a reference with a tuple of coordinates. Must not know how anything is sampled.

use crate::types::Scalar;

/// The shape of what coordinates go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// A row.
    D1,
    /// Rows.
    D2,
    /// Planes.
    D3,
    /// Layers of rows.
    A1,
    /// Layers of planes.
    A2,
    /// Six faces, by a direction.
    Cube,
    /// Layers of six faces.
    ACube,
}

impl Geometry {
    /// Whether the first coordinate is a layer's number.
    pub const fn is_layered(self) -> bool {
        matches!(self, Geometry::A1 | Geometry::A2 | Geometry::ACube)
    }

    /// Coordinates without the layer.
    pub const fn axes(self) -> usize {
        match self {
            Geometry::D1 | Geometry::A1 => 1,
            Geometry::D2 | Geometry::A2 => 2,
            Geometry::D3 | Geometry::Cube | Geometry::ACube => 3,
        }
    }

    /// The coordinates that are read. After three the text has a fourth, which is ignored.
    pub const fn coordinates(self) -> usize {
        self.axes() + self.is_layered() as usize
    }

    /// Axes that a footprint or an offset has: a cube's are those of a face.
    pub const fn flat_axes(self) -> usize {
        match self {
            Geometry::Cube | Geometry::ACube => 2,
            other => other.axes(),
        }
    }
}

/// `tex`, `tld4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Texture {
    /// What is read.
    pub fetch: Fetch,
    /// Where.
    pub geometry: Geometry,
    /// Coordinates are `.s32`, and no filter applies.
    pub integer: bool,
    /// `f32`, `u32`, `s32`, `f16`; `f16x2` for two results of two channels each.
    pub result: Scalar,
    /// Whole texels that are added to the position of the coordinates, -8 to 7.
    pub offset: [i8; 3],
}

/// What a texture instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fetch {
    /// The largest level that the texture is clamped to: outside of graphics there are no neighbours to tell the level by.
    Plain,
    /// The first level.
    Base,
    /// The level that an operand says.
    Level,
    /// The level that derivatives give.
    Gradient,
    /// One channel of the four texels that a linear filter would weigh.
    Gather(u8),
}

/// `suld`, `sust`, `sured`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Surface {
    /// What is done.
    pub op: SurfaceOp,
    /// Where.
    pub geometry: Geometry,
    /// The treatment of coordinates outside.
    pub boundary: Boundary,
    /// The type of a value.
    pub element: Scalar,
    /// Values: 1, 2 or 4.
    pub parts: u8,
}

/// What is done to a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SurfaceOp {
    /// Reads bytes; x is in bytes.
    Load,
    /// Writes bytes; x is in bytes.
    Store,
    /// Writes one texel; x is in texels, values become what the format has.
    StoreFormatted,
    /// Combines integers; x is in bytes.
    Reduce(SurfaceReduction),
    /// Combines integers; x is in texels.
    ReduceFormatted(SurfaceReduction),
}

/// How `sured` combines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SurfaceReduction {
    Add,
    Min,
    Max,
    And,
    Or,
}

/// The treatment of surface coordinates outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// The launch ends.
    Trap,
    /// The nearest position inside.
    Clamp,
    /// Loads give 0, stores do nothing.
    Zero,
}

/// `txq`, `suq`, `istypep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Query {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoordinates,
    ArraySize,
    Levels,
    Samples,
    MemoryLayout,
    /// Of a level, given by an operand: width, height, depth.
    LevelWidth,
    LevelHeight,
    LevelDepth,
    /// Whether the operand is a reference of this kind.
    IsTexture,
    IsSampler,
    IsSurface,
}

const GEOMETRIES: [(&str, Geometry); 7] = [
    ("1d", Geometry::D1),
    ("2d", Geometry::D2),
    ("3d", Geometry::D3),
    ("a1d", Geometry::A1),
    ("a2d", Geometry::A2),
    ("cube", Geometry::Cube),
    ("acube", Geometry::ACube),
];

const QUERIES: [(&str, Query); 10] = [
    ("width", Query::Width),
    ("height", Query::Height),
    ("depth", Query::Depth),
    ("channel_data_type", Query::ChannelDataType),
    ("channel_order", Query::ChannelOrder),
    ("normalized_coords", Query::NormalizedCoordinates),
    ("array_size", Query::ArraySize),
    ("num_mipmap_levels", Query::Levels),
    ("num_samples", Query::Samples),
    ("memory_layout", Query::MemoryLayout),
];

const LEVEL_QUERIES: [(&str, Query); 3] =
    [("width", Query::LevelWidth), ("height", Query::LevelHeight), ("depth", Query::LevelDepth)];

const KINDS: [(&str, Query); 3] =
    [("texref", Query::IsTexture), ("samplerref", Query::IsSampler), ("surfref", Query::IsSurface)];

const BOUNDARIES: [(&str, Boundary); 3] =
    [("trap", Boundary::Trap), ("clamp", Boundary::Clamp), ("zero", Boundary::Zero)];

const REDUCTIONS: [(&str, SurfaceReduction); 5] = [
    ("add", SurfaceReduction::Add),
    ("min", SurfaceReduction::Min),
    ("max", SurfaceReduction::Max),
    ("and", SurfaceReduction::And),
    ("or", SurfaceReduction::Or),
];

const COMPONENTS: [(&str, u8); 4] = [("r", 0), ("g", 1), ("b", 2), ("a", 3)];

/// Words without an effect here: the caches to use.
const CACHES: [&str; 8] = ["ca", "cg", "cs", "cv", "wb", "wt", "nc", "unified"];

/// The reason why a text has no meaning here: what was found, for a message.
pub type Wrong = String;

/// The words of an instruction that were not taken yet.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    fn take(&mut self, word: &str) -> bool {
        let found = self.0.iter().position(|w| *w == word);
        match found {
            Some(at) => {
                self.0.remove(at);
                true
            }
            None => false,
        }
    }

    fn choice<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        table.iter().find(|(word, _)| self.take(word)).map(|(_, meaning)| *meaning)
    }

    fn need<T: Copy>(&mut self, table: &[(&str, T)], what: &str) -> Result<T, Wrong> {
        self.choice(table).ok_or_else(|| {
            let all: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
            format!("no {what}, expected one of {}", all.join(", "))
        })
    }

    fn geometry(&mut self) -> Result<Geometry, Wrong> {
        for word in ["2dms", "a2dms"] {
            if self.take(word) {
                return Err(format!("multisampled textures (`.{word}`) are not supported"));
            }
        }
        self.need(&GEOMETRIES, "geometry")
    }

    /// The first word that is a type.
    fn ty(&mut self, fits: impl Fn(Scalar) -> bool, expected: &str) -> Result<Scalar, Wrong> {
        let at = self.0.iter().position(|w| Scalar::from_name(w).is_some());
        let found = at.and_then(|at| Scalar::from_name(self.0.remove(at)));
        found.filter(|ty| fits(*ty)).ok_or_else(|| match found {
            Some(ty) => format!("type `.{}`, expected {expected}", ty.name()),
            None => format!("no type, expected {expected}"),
        })
    }

    fn end(self) -> Result<(), Wrong> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => Err(format!("`.{word}`, which it does not have")),
        }
    }
}

/// An instruction of these classes, by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// `tex`, `tld4`.
    Texture(Texture),
    /// `suld`, `sust`, `sured`.
    Surface(Surface),
    /// `txq`, `suq`, `istypep`.
    Query(Query),
}

/// What an opcode and its words mean; `None` for opcodes of other classes.
pub fn find(opcode: &str, modifiers: &[&str]) -> Option<Result<Form, Wrong>> {
    let reader = match opcode {
        "tex" => fetch,
        "tld4" => gather,
        "suld" | "sust" | "sured" => surface,
        "txq" | "suq" | "istypep" => query,
        _ => return None,
    };
    let hint = |word: &&&str| CACHES.contains(*word) || word.starts_with("L2::");
    let mut words = Words(modifiers.iter().filter(|word| !hint(word)).copied().collect());
    let found = reader(opcode, &mut words);
    Some(found.and_then(|form| words.end().map(|()| form)))
}

fn is_texel(ty: Scalar) -> bool {
    matches!(ty, Scalar::F32 | Scalar::U32 | Scalar::S32 | Scalar::F16 | Scalar::F16x2)
}

fn fetch(_: &str, words: &mut Words<'_>) -> Result<Form, Wrong> {
    let modes = [("base", Fetch::Base), ("level", Fetch::Level), ("grad", Fetch::Gradient)];
    let fetch = words.choice(&modes).unwrap_or(Fetch::Plain);
    let geometry = words.geometry()?;
    let vector = words.need(&[("v4", 4), ("v2", 2)], "vector")?;
    let result = words.ty(is_texel, "`.f32`, `.u32`, `.s32`, `.f16` or `.f16x2`")?;
    if (result == Scalar::F16x2) != (vector == 2) {
        return Err(format!("{vector} results of `.{}`", result.name()));
    }
    let of = words.ty(|ty| matches!(ty, Scalar::F32 | Scalar::S32), "`.f32` or `.s32`")?;
    let integer = of == Scalar::S32;
    let odd = matches!(geometry, Geometry::Cube | Geometry::ACube) || fetch == Fetch::Gradient;
    if integer && odd {
        return Err("coordinates of type `.s32`, expected `.f32`".into());
    }
    Ok(Form::Texture(Texture { fetch, geometry, integer, result, offset: [0; 3] }))
}

fn gather(_: &str, words: &mut Words<'_>) -> Result<Form, Wrong> {
    let fetch = Fetch::Gather(words.need(&COMPONENTS, "component")?);
    let geometry = words.geometry()?;
    if geometry.flat_axes() != 2 {
        return Err("another geometry, expected 2d, a2d, cube or acube".into());
    }
    words.need(&[("v4", ())], "vector")?;
    let result = words.ty(is_texel, "`.f32`, `.u32` or `.s32`")?;
    words.ty(|ty| ty == Scalar::F32, "`.f32`")?;
    Ok(Form::Texture(Texture { fetch, geometry, integer: false, result, offset: [0; 3] }))
}

fn surface(opcode: &str, words: &mut Words<'_>) -> Result<Form, Wrong> {
    let formatted = words.need(&[("b", false), ("p", true)], "form")?;
    let reduction =
        (opcode == "sured").then(|| words.need(&REDUCTIONS, "operation")).transpose()?;
    let geometry = words.geometry()?;
    if matches!(geometry, Geometry::Cube | Geometry::ACube) {
        return Err("a cube, expected 1d, 2d, 3d, a1d or a2d".into());
    }
    let parts = match reduction {
        None => words.choice(&[("v2", 2), ("v4", 4)]).unwrap_or(1),
        Some(_) => 1,
    };
    let boundary = words.need(&BOUNDARIES, "boundary mode")?;
    let (op, fits): (SurfaceOp, fn(Scalar) -> bool) = match (opcode, reduction) {
        ("suld", _) if formatted => return Err("formatted loads (`.p`) are not supported".into()),
        ("suld", _) => (SurfaceOp::Load, is_bits),
        (_, Some(how)) if formatted => (SurfaceOp::ReduceFormatted(how), is_number),
        (_, Some(how)) => (SurfaceOp::Reduce(how), is_number),
        _ if formatted => (SurfaceOp::StoreFormatted, is_word),
        _ => (SurfaceOp::Store, is_bits),
    };
    let element = words.ty(fits, "another type")?;
    if parts as u32 * element.bits() > 128 {
        return Err(format!("{parts} values of `.{}`, expected 16 bytes at most", element.name()));
    }
    Ok(Form::Surface(Surface { op, geometry, boundary, element, parts }))
}

fn is_bits(ty: Scalar) -> bool {
    matches!(ty, Scalar::B8 | Scalar::B16 | Scalar::B32 | Scalar::B64)
}

fn is_word(ty: Scalar) -> bool {
    matches!(ty, Scalar::B32 | Scalar::U32 | Scalar::S32 | Scalar::F32)
}

fn is_number(ty: Scalar) -> bool {
    matches!(ty, Scalar::B32 | Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64 | Scalar::B64)
}

fn query(opcode: &str, words: &mut Words<'_>) -> Result<Form, Wrong> {
    if opcode == "istypep" {
        return Ok(Form::Query(words.need(&KINDS, "type")?));
    }
    let level = opcode == "txq" && words.take("level");
    let table = if level { &LEVEL_QUERIES[..] } else { &QUERIES[..] };
    let found = words.need(table, "query")?;
    words.ty(|ty| ty == Scalar::B32, "`.b32`")?;
    Ok(Form::Query(found))
}

impl Query {
    /// Whether an operand says the level.
    pub const fn has_level(self) -> bool {
        matches!(self, Query::LevelWidth | Query::LevelHeight | Query::LevelDepth)
    }

    /// Whether it asks what kind of reference the operand is.
    pub const fn is_kind(self) -> bool {
        matches!(self, Query::IsTexture | Query::IsSampler | Query::IsSurface)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn form(text: &str) -> Result<Form, Wrong> {
        let words: Vec<&str> = text.split('.').collect();
        find(words[0], &words[1..]).unwrap()
    }

    #[test]
    fn words_say_what_is_meant() {
        let Ok(Form::Texture(t)) = form("tex.grad.a2d.v4.s32.f32") else { panic!() };
        assert_eq!((t.fetch, t.geometry, t.result), (Fetch::Gradient, Geometry::A2, Scalar::S32));
        let Ok(Form::Texture(t)) = form("tex.1d.v4.f32.s32") else { panic!() };
        assert!(t.integer && t.fetch == Fetch::Plain);
        let Ok(Form::Texture(t)) = form("tld4.b.cube.v4.f32.f32") else { panic!() };
        assert_eq!(t.fetch, Fetch::Gather(2));
        let Ok(Form::Surface(s)) = form("sust.b.3d.cg.v4.b32.zero") else { panic!() };
        assert_eq!((s.op, s.parts, s.boundary), (SurfaceOp::Store, 4, Boundary::Zero));
        let Ok(Form::Surface(s)) = form("sured.b.min.2d.s64.clamp") else { panic!() };
        assert_eq!(s.op, SurfaceOp::Reduce(SurfaceReduction::Min));
        assert_eq!(form("txq.level.depth.b32"), Ok(Form::Query(Query::LevelDepth)));
        assert_eq!(form("istypep.surfref"), Ok(Form::Query(Query::IsSurface)));
        assert_eq!(find("ld", &["2d"]), None);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let why = |text: &str| form(text).unwrap_err();
        assert!(why("tex.2dms.v4.f32.s32").contains("multisampled"));
        assert!(why("tex.v4.f32.f32").starts_with("no geometry"));
        assert!(why("tex.2d.v4.f32.f32.ftz").starts_with("`.ftz`"));
        assert!(why("tex.cube.v4.f32.s32").contains("`.s32`"));
        assert!(why("tex.2d.v2.f32.f32").starts_with("2 results"));
        assert!(why("suld.p.2d.v4.u32.trap").contains("formatted"));
        assert!(why("suld.b.2d.v4.b64.trap").contains("16 bytes"));
        assert!(why("tld4.r.3d.v4.f32.f32").contains("geometry"));
        assert!(why("sust.b.cube.b32.trap").contains("cube"));
    }
}
