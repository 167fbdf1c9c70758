//! The scalar types and state spaces of PTX (ISA chapter "State Spaces, Types,
//! and Variables").

macro_rules! scalars {
    ($($(#[$doc:meta])* $name:ident $text:literal $bits:literal $kind:ident;)*) => {
        /// A fundamental or packed type.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Scalar { $($name),* }

        impl Scalar {
            /// Every type, in the order of the table.
            pub const ALL: &'static [Scalar] = &[$(Scalar::$name),*];

            /// The type with this name, written without the dot.
            pub fn from_name(name: &str) -> Option<Scalar> {
                match name { $($text => Some(Scalar::$name),)* _ => None }
            }

            /// The name, without the dot.
            pub const fn name(self) -> &'static str {
                match self { $(Scalar::$name => $text),* }
            }

            /// Width in bits; a predicate counts as one.
            pub const fn bits(self) -> u32 {
                match self { $(Scalar::$name => $bits),* }
            }

            /// What sort of value it is.
            pub const fn kind(self) -> Kind {
                match self { $(Scalar::$name => Kind::$kind),* }
            }
        }
    };
}

/// The sorts of scalar types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A predicate.
    Pred,
    /// Untyped bits.
    Bits,
    /// An unsigned integer.
    Unsigned,
    /// A signed integer.
    Signed,
    /// A floating-point number.
    Float,
    /// Several small values in one register.
    Packed,
    /// A format only conversions and matrix instructions know.
    Storage,
    /// A texture, sampler or surface reference.
    Opaque,
}

scalars! {
    Pred "pred" 1 Pred;
    B8 "b8" 8 Bits;
    B16 "b16" 16 Bits;
    B32 "b32" 32 Bits;
    B64 "b64" 64 Bits;
    B128 "b128" 128 Bits;
    U8 "u8" 8 Unsigned;
    U16 "u16" 16 Unsigned;
    U32 "u32" 32 Unsigned;
    U64 "u64" 64 Unsigned;
    S8 "s8" 8 Signed;
    S16 "s16" 16 Signed;
    S32 "s32" 32 Signed;
    S64 "s64" 64 Signed;
    F16 "f16" 16 Float;
    Bf16 "bf16" 16 Float;
    F32 "f32" 32 Float;
    F64 "f64" 64 Float;
    U16x2 "u16x2" 32 Packed;
    S16x2 "s16x2" 32 Packed;
    F16x2 "f16x2" 32 Packed;
    Bf16x2 "bf16x2" 32 Packed;
    F32x2 "f32x2" 64 Packed;
    Tf32 "tf32" 32 Storage;
    E4m3 "e4m3" 8 Storage;
    E5m2 "e5m2" 8 Storage;
    E4m3x2 "e4m3x2" 16 Storage;
    E5m2x2 "e5m2x2" 16 Storage;
    E4m3x4 "e4m3x4" 32 Storage;
    E5m2x4 "e5m2x4" 32 Storage;
    E2m1 "e2m1" 4 Storage;
    E2m3 "e2m3" 6 Storage;
    E3m2 "e3m2" 6 Storage;
    E2m1x2 "e2m1x2" 8 Storage;
    E2m3x2 "e2m3x2" 16 Storage;
    E3m2x2 "e3m2x2" 16 Storage;
    E2m1x4 "e2m1x4" 16 Storage;
    E2m3x4 "e2m3x4" 32 Storage;
    E3m2x4 "e3m2x4" 32 Storage;
    Ue8m0x2 "ue8m0x2" 16 Storage;
    Ue8m0 "ue8m0" 8 Storage;
    Ue4m3 "ue4m3" 8 Storage;
    U8x4 "u8x4" 32 Packed;
    S8x4 "s8x4" 32 Packed;
    B1 "b1" 1 Storage;
    U4 "u4" 4 Storage;
    S4 "s4" 4 Storage;
    Texref "texref" 64 Opaque;
    Samplerref "samplerref" 64 Opaque;
    Surfref "surfref" 64 Opaque;
}

impl Scalar {
    /// Size in memory, in bytes; a predicate has none and counts as one.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether values are two's complement.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }

    /// Whether a variable or register may have this type (the others occur
    /// only in instruction names).
    pub const fn is_fundamental(self) -> bool {
        !matches!(self.kind(), Kind::Storage)
    }
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Registers.
    Reg,
    /// Special registers.
    Sreg,
    /// Constant memory: written by the host only.
    Const,
    /// Device memory.
    Global,
    /// Memory of one thread.
    Local,
    /// Parameters of a kernel or function.
    Param,
    /// Memory of one block.
    Shared,
    /// The old texture space.
    Tex,
    /// No space named: the address says which.
    Generic,
}

impl Space {
    /// The space named by a directive or modifier, without the dot, and
    /// including the `::` forms (`shared::cta`, `param::entry`).
    pub fn from_name(name: &str) -> Option<Space> {
        Some(match name {
            "reg" => Space::Reg,
            "sreg" => Space::Sreg,
            "const" => Space::Const,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" | "param::entry" | "param::func" => Space::Param,
            "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
            "tex" => Space::Tex,
            _ => return None,
        })
    }

    /// The space's name as PTX writes it; `generic` for no space.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Sreg => "sreg",
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Param => "param",
            Space::Shared => "shared",
            Space::Tex => "tex",
            Space::Generic => "generic",
        }
    }
}
