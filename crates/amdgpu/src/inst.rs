//! A decoded instruction.
//!
//! Owns: its structure. Must not know: bits, execution.

use crate::table::{Encoding, Row};
use crate::target::Target;

/// An operand, by AMD's number for sources: 0 to 101 scalar registers, 106 VCC, 124 M0, 126 EXEC, 128 and up
/// constants, 255 a literal, 256 and up vector registers; from 512 on accumulation registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand(pub u16);

impl Operand {
    /// No operand.
    pub const NONE: Operand = Operand(0xffff);
    /// VCC.
    pub const VCC: Operand = Operand(106);
    /// M0.
    pub const M0: Operand = Operand(124);
    /// EXEC.
    pub const EXEC: Operand = Operand(126);
    /// Off, of an address's scalar part.
    pub const OFF: Operand = Operand(0x7f);
    /// Null: reads as zero, is not written (RDNA).
    pub const NULL: Operand = Operand(125);

    /// A vector register.
    pub fn vector(number: u32, accumulation: bool) -> Operand {
        Operand(256 + (number & 255) as u16 + if accumulation { 256 } else { 0 })
    }

    /// The number of a vector or accumulation register, the latter from 256 on.
    pub fn register(self) -> Option<usize> {
        (256..768).contains(&self.0).then(|| usize::from(self.0) - 256)
    }

    /// Whether it is a scalar register that an instruction may write.
    pub fn writable(self) -> bool {
        self.0 < 128
    }
}

/// The lanes from which the first source is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dpp {
    /// AMD's dpp_ctrl.
    pub control: u16,
    /// A lane without a source reads zero, and is written.
    pub bound: bool,
    /// Inactive lanes are sources, too.
    pub inactive: bool,
    /// Rows of 16 lanes that are written.
    pub rows: u8,
    /// Banks of 4 lanes in each row that are written.
    pub banks: u8,
}

/// The parts of registers that are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// Part of each source: a byte (0 to 3), a half (4, 5), all (6).
    pub src: [u8; 2],
    /// Whether it is sign-extended.
    pub extend: [bool; 2],
    /// Part of the destination.
    pub dst: u8,
    /// The rest of it: 0 zeros, 1 the sign, 2 unchanged.
    pub rest: u8,
}

/// Lanes or parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Neither.
    Plain,
    /// Lanes.
    Dpp(Dpp),
    /// Lanes of a group of eight: three bits for each, and whether inactive lanes are sources.
    Dpp8(u32, bool),
    /// Parts.
    Sdwa(Sdwa),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// The target that it was decoded for.
    pub target: Target,
    /// What it is.
    pub row: &'static Row,
    /// The format it came in.
    pub encoding: Encoding,
    /// Its bytes.
    pub bytes: u8,
    /// The destination.
    pub dst: Operand,
    /// The second destination, a mask.
    pub mask: Operand,
    /// Sources. Memory: address, data, second data or descriptor or scalar address.
    pub src: [Operand; 3],
    /// The value of a literal.
    pub literal: u32,
    /// The constant of SOPK and SOPP, or an offset.
    pub offset: i32,
    /// The scalar offset of a buffer or scalar access.
    pub scalar: Operand,
    /// abs of each source; for packed instructions, neg of the high parts.
    pub abs: u8,
    /// neg of each source.
    pub neg: u8,
    /// op_sel: which half of each source, bit 3 of the destination.
    pub sel: u8,
    /// op_sel_hi.
    pub sel_hi: u8,
    /// Results are limited.
    pub clamp: bool,
    /// Results times 2, 4, or by 2.
    pub omod: u8,
    /// Bits of memory instructions: 1 glc, 2 slc, 4 scc (of RDNA: dlc), 8 offen, 16 idxen, 32 lds, 64 gds.
    pub flags: u8,
    /// Lanes or parts.
    pub form: Form,
}

/// glc of [`Inst::flags`]: an atomic returns the former value.
pub const GLC: u8 = 1;
/// slc.
pub const SLC: u8 = 2;
/// scc.
pub const SCC: u8 = 4;
/// The vector address is an offset.
pub const OFFEN: u8 = 8;
/// The vector address is an index.
pub const IDXEN: u8 = 16;
/// Data goes to LDS.
pub const TO_LDS: u8 = 32;
/// Global data share.
pub const GDS: u8 = 64;

impl Inst {
    /// An instruction without operands.
    pub fn new(target: Target, row: &'static Row, encoding: Encoding) -> Inst {
        Inst {
            target,
            row,
            encoding,
            bytes: 4,
            dst: Operand::NONE,
            mask: Operand::NONE,
            src: [Operand::NONE; 3],
            literal: 0,
            offset: 0,
            scalar: Operand::NONE,
            abs: 0,
            neg: 0,
            sel: 0,
            sel_hi: 0,
            clamp: false,
            omod: 0,
            flags: 0,
            form: Form::Plain,
        }
    }
}
