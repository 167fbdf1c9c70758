//! Types of a matrix' elements.
//!
//! Owns: the supported numbers of `cudaDataType_t`, their sizes and names. Source: library_types.h. Must not know:
//! which of them can be combined ([`super::product`]).

/// One number, or one part of a complex one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A half.
    F16,
    /// A bfloat16.
    Bf16,
    /// A single.
    F32,
    /// A double.
    F64,
    /// A signed byte.
    S8,
    /// A signed word.
    S32,
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// What it is made of.
    pub part: Part,
    /// Two parts, real and imaginary.
    pub complex: bool,
}

/// Singles.
pub const S: Kind = Kind { part: Part::F32, complex: false };
/// Doubles.
pub const D: Kind = Kind { part: Part::F64, complex: false };
/// Complex singles.
pub const C: Kind = Kind { part: Part::F32, complex: true };
/// Complex doubles.
pub const Z: Kind = Kind { part: Part::F64, complex: true };
/// Halves.
pub const H: Kind = Kind { part: Part::F16, complex: false };

impl Kind {
    /// The type with this number in `cudaDataType_t`; none where it is not computed with.
    pub fn of(number: i32) -> Option<Kind> {
        let (part, complex) = match number {
            0 => (Part::F32, false),
            1 => (Part::F64, false),
            2 => (Part::F16, false),
            3 => (Part::S8, false),
            4 => (Part::F32, true),
            5 => (Part::F64, true),
            10 => (Part::S32, false),
            14 => (Part::Bf16, false),
            _ => return None,
        };
        Some(Kind { part, complex })
    }

    /// Bytes of an element.
    pub fn size(self) -> u64 {
        self.part.size() << u32::from(self.complex)
    }

    /// As kernels are named: `f32`, `c32` for a complex number of two singles.
    pub fn word(self) -> String {
        match (self.part, self.complex) {
            (Part::F32, true) => "c32".to_owned(),
            (Part::F64, true) => "c64".to_owned(),
            (part, _) => part.word().to_owned(),
        }
    }
}

impl Part {
    /// Bytes.
    pub fn size(self) -> u64 {
        match self {
            Part::S8 => 1,
            Part::F16 | Part::Bf16 => 2,
            Part::F32 | Part::S32 => 4,
            Part::F64 => 8,
        }
    }

    /// Its name, in PTX as well.
    pub fn word(self) -> &'static str {
        match self {
            Part::F16 => "f16",
            Part::Bf16 => "bf16",
            Part::F32 => "f32",
            Part::F64 => "f64",
            Part::S8 => "s8",
            Part::S32 => "s32",
        }
    }
}
