//! Decodes bytes to instructions.
//!
//! Owns: the fields of each format. Must not know: what an instruction does. The formats are those of AMD's "CDNA2
//! instruction set architecture", chapter 13, and "RDNA 2 instruction set architecture", chapter 13.

mod fields;
mod memory;
mod vector;

use crate::inst::{Inst, Operand};
use crate::table::{Control, Encoding, Exec, Kind};
use crate::target::{Isa, Target};
pub use fields::Error;
use fields::{Words, bit, bits, inst, scalar_source};

/// The formats that begin with six bits.
enum Long {
    Smem,
    Vop3,
    Vop3p,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
}

fn long(isa: Isa, first: u32) -> Option<Long> {
    Some(match (isa, first >> 26) {
        (Isa::Cdna2, 0b11_0000) | (Isa::Rdna2, 0b11_1101) => Long::Smem,
        (Isa::Cdna2, 0b11_0100) if bit(first, 25) && bits(first, 24, 23) == 3 => Long::Vop3p,
        (Isa::Cdna2, 0b11_0100) | (Isa::Rdna2, 0b11_0101) => Long::Vop3,
        (Isa::Rdna2, 0b11_0011) if bits(first, 25, 23) == 0 => Long::Vop3p,
        (_, 0b11_0110) => Long::Ds,
        (_, 0b11_0111) => Long::Flat,
        (_, 0b11_1000) => Long::Mubuf,
        (Isa::Cdna2, 0b11_1010) => Long::Mtbuf,
        _ => return None,
    })
}

/// Decodes the instruction at the start of `words`. Errors: it is invalid.
pub fn decode(target: Target, words: &[u32]) -> Result<Inst, Error> {
    let mut words = Words { target, rest: words, taken: 0 };
    let first = words.next()?;
    let mut inst = match first >> 23 {
        0b1_0111_1101 => sop1(target, first)?,
        0b1_0111_1110 => sopc(target, first)?,
        0b1_0111_1111 => sopp(target, first)?,
        0b1_0110_0000..=0b1_0111_1100 => sopk(first, &mut words)?,
        0b1_0000_0000..=0b1_0101_1111 => sop2(target, first)?,
        top if top < 0b1_0000_0000 => vector::short(first, &mut words)?,
        _ => match long(target.isa, first).ok_or(Error::Unknown)? {
            Long::Smem => memory::smem(target, first, words.next()?)?,
            Long::Vop3 => vector::vop3(first, &mut words)?,
            Long::Vop3p => vector::vop3p(first, &mut words)?,
            Long::Ds => memory::ds(target, first, words.next()?)?,
            Long::Flat => memory::flat(target, first, words.next()?)?,
            Long::Mubuf => memory::mubuf(target, first, words.next()?)?,
            Long::Mtbuf => memory::mtbuf(target, first)?,
        },
    };
    if matches!(inst.encoding, Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc) {
        words.literal(&mut inst)?;
    }
    inst.bytes = words.taken * 4;
    Ok(inst)
}

/// Registers of a group begin at even numbers.
fn aligned(operand: Operand, kind: Kind) -> Result<Operand, Error> {
    if kind.registers() == 2 && operand.0 < 128 && operand.0 % 2 == 1 {
        return Err(Error::Field("the first of two scalar registers"));
    }
    Ok(operand)
}

fn sop1(target: Target, word: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Sop1, bits(word, 15, 8))?;
    let (dst, src) = (Operand(bits(word, 22, 16) as u16), scalar_source(bits(word, 7, 0))?);
    let (pair, quad) = ([Kind::B64, Kind::B64, Kind::None], [Kind::B64, Kind::None, Kind::None]);
    let kinds = match &inst.row.exec {
        Exec::Scalar { kinds, .. } => *kinds,
        Exec::Control(Control::GetPc) => quad,
        Exec::Control(Control::SetPc) => [Kind::None, Kind::B64, Kind::None],
        Exec::Control(Control::SwapPc | Control::MoveRelS(true) | Control::MoveRelD(true)) => pair,
        Exec::Control(Control::IndexSet) => [Kind::None, Kind::B32, Kind::None],
        _ => [Kind::B32, Kind::B32, Kind::None],
    };
    if kinds[0] != Kind::None {
        inst.dst = aligned(dst, kinds[0])?;
    }
    if kinds[1] != Kind::None {
        inst.src[0] = aligned(src, kinds[1])?;
    }
    Ok(inst)
}

fn sop2(target: Target, word: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Sop2, bits(word, 29, 23))?;
    let kinds = match &inst.row.exec {
        Exec::Scalar { kinds, .. } => *kinds,
        _ => [Kind::B32; 3],
    };
    inst.dst = aligned(Operand(bits(word, 22, 16) as u16), kinds[0])?;
    inst.src[0] = aligned(scalar_source(bits(word, 7, 0))?, kinds[1])?;
    inst.src[1] = aligned(scalar_source(bits(word, 15, 8))?, kinds[2])?;
    Ok(inst)
}

fn sopc(target: Target, word: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Sopc, bits(word, 22, 16))?;
    inst.src[0] = scalar_source(bits(word, 7, 0))?;
    match &inst.row.exec {
        Exec::Control(_) => inst.offset = bits(word, 15, 8) as i32,
        Exec::Scalar { kinds, .. } => {
            inst.src[0] = aligned(inst.src[0], kinds[1])?;
            inst.src[1] = aligned(scalar_source(bits(word, 15, 8))?, kinds[2])?;
        }
        _ => inst.src[1] = scalar_source(bits(word, 15, 8))?,
    }
    Ok(inst)
}

fn sopk(word: u32, words: &mut Words<'_>) -> Result<Inst, Error> {
    let mut inst = inst(words.target, Encoding::Sopk, bits(word, 27, 23))?;
    inst.offset = i32::from(word as i16);
    let register = Operand(bits(word, 22, 16) as u16);
    match &inst.row.exec {
        Exec::Scalar { kinds, .. } => {
            inst.src[0] = register;
            if kinds[0] != Kind::None {
                inst.dst = register;
            }
        }
        Exec::Control(Control::SetReg) => inst.src[0] = register,
        Exec::Control(Control::SetRegImm) => {
            inst.src[0] = Operand(255);
            inst.literal = words.next()?;
        }
        Exec::Control(Control::Call) => inst.dst = aligned(register, Kind::B64)?,
        _ => inst.dst = register,
    }
    Ok(inst)
}

fn sopp(target: Target, word: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Sopp, bits(word, 22, 16))?;
    inst.offset = i32::from(word as i16);
    Ok(inst)
}
