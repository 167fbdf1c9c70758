//! LLVM IR as text: types, values, the instructions of a function.
//!
//! Owns LLVM's syntax. A value is one number for each of `width` lanes: with a width of 1, for a GPU's code, a
//! scalar; with more a vector, for a CPU compiler. Must not know PTX, or any target.

mod body;

pub use body::Body;

/// The type of a value's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// An integer of so many bits.
    Int(u32),
    /// IEEE binary16.
    Half,
    /// IEEE binary32.
    Float,
    /// IEEE binary64.
    Double,
}

impl Type {
    /// How many bits it has.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Int(bits) => bits,
            Type::Half => 16,
            Type::Float => 32,
            Type::Double => 64,
        }
    }

    /// A lane's type as LLVM writes it.
    pub fn text(self) -> String {
        match self {
            Type::Int(bits) => format!("i{bits}"),
            Type::Half => "half".into(),
            Type::Float => "float".into(),
            Type::Double => "double".into(),
        }
    }

    /// Its form in the names of intrinsics.
    fn mangled(self) -> String {
        match self {
            Type::Int(bits) => format!("i{bits}"),
            other => format!("f{}", other.bits()),
        }
    }
}

/// Something that instructions compute with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    of: Of,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    /// The result of an instruction.
    Result(u32),
    /// These bits, the same in all lanes.
    Bits(u128),
}

impl Value {
    /// A constant integer of `bits` bits; higher bits are truncated.
    pub const fn int(bits: u32, value: u128) -> Value {
        let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
        Value { ty: Type::Int(bits), of: Of::Bits(value & mask) }
    }

    /// A constant double.
    pub fn double(value: f64) -> Value {
        Value { ty: Type::Double, of: Of::Bits(value.to_bits().into()) }
    }

    /// A constant single.
    pub fn float(value: f32) -> Value {
        Value { ty: Type::Float, of: Of::Bits(value.to_bits().into()) }
    }

    /// The bits, if it is a constant.
    pub const fn constant(self) -> Option<u128> {
        match self.of {
            Of::Bits(bits) => Some(bits),
            Of::Result(_) => None,
        }
    }
}
