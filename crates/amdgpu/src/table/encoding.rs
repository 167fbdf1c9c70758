//! The formats of instructions.

/// The formats of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Encoding {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vop3,
    Vop3p,
    Vopc,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
}

/// All encodings, in the order of their numbers.
pub const ENCODINGS: [Encoding; 17] = [
    Encoding::Sop2,
    Encoding::Sopk,
    Encoding::Sop1,
    Encoding::Sopc,
    Encoding::Sopp,
    Encoding::Smem,
    Encoding::Vop1,
    Encoding::Vop2,
    Encoding::Vop3,
    Encoding::Vop3p,
    Encoding::Vopc,
    Encoding::Ds,
    Encoding::Flat,
    Encoding::Global,
    Encoding::Scratch,
    Encoding::Mubuf,
    Encoding::Mtbuf,
];
