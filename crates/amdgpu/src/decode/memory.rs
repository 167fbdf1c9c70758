//! The formats of memory instructions.
//!
//! Owns: SMEM, DS, FLAT, MUBUF, MTBUF. Must not know: what an instruction does.
//!
//! Operands: of vector memory, `src[0]` is the address, `src[1]` the data, `src[2]` the second data of DS, the
//! scalar address of FLAT's kinds, the descriptor of buffers.

use super::fields::{Error, bit, bits, row, scalar_source};
use crate::inst::{GDS, GLC, IDXEN, Inst, OFFEN, Operand, SCC, SLC, TO_LDS};
use crate::table::{Encoding, Exec};

fn flag(on: bool, what: u8) -> u8 {
    if on { what } else { 0 }
}

pub(super) fn smem(word: u32, second: u32) -> Result<Inst, Error> {
    let mut inst = Inst::new(row(Encoding::Smem, bits(word, 25, 18))?, Encoding::Smem);
    inst.flags = flag(bit(word, 16), GLC);
    match &inst.row.exec {
        Exec::ScalarMemory(_) => {
            inst.dst = Operand(bits(word, 12, 6) as u16);
            return Ok(inst);
        }
        Exec::ScalarLoad { words, .. } => {
            inst.dst = Operand(bits(word, 12, 6) as u16);
            let align = u16::from(*words).min(4);
            if !inst.dst.0.is_multiple_of(align) || inst.dst.0 + u16::from(*words) > 128 {
                return Err(Error::Field("the destination of a scalar load"));
            }
        }
        _ => {}
    }
    inst.src[0] = Operand(bits(word, 5, 0) as u16 * 2);
    let (immediate, register) = (bit(word, 17), bit(word, 14));
    if immediate {
        inst.offset = (bits(second, 20, 0) << 11) as i32 >> 11;
    }
    if register {
        inst.scalar = Operand(bits(second, 31, 25) as u16);
    } else if !immediate {
        inst.scalar = Operand(bits(second, 6, 0) as u16);
    }
    Ok(inst)
}

pub(super) fn ds(word: u32, second: u32) -> Result<Inst, Error> {
    let mut inst = Inst::new(row(Encoding::Ds, bits(word, 24, 17))?, Encoding::Ds);
    let accumulation = bit(word, 25);
    let v = |number| Operand::vector(number, accumulation);
    inst.offset = bits(word, 15, 0) as i32;
    inst.flags = flag(bit(word, 16), GDS);
    inst.src = [
        Operand::vector(bits(second, 7, 0), false),
        v(bits(second, 15, 8)),
        v(bits(second, 23, 16)),
    ];
    inst.dst = v(bits(second, 31, 24));
    Ok(inst)
}

pub(super) fn flat(word: u32, second: u32) -> Result<Inst, Error> {
    let encoding = match bits(word, 15, 14) {
        0 => Encoding::Flat,
        1 => Encoding::Scratch,
        2 => Encoding::Global,
        _ => return Err(Error::Field("the segment of FLAT")),
    };
    let mut inst = Inst::new(row(encoding, bits(word, 24, 18))?, encoding);
    let v = |number| Operand::vector(number, bit(second, 23));
    inst.offset = match encoding {
        Encoding::Flat => bits(word, 11, 0) as i32,
        _ => (bits(word, 12, 0) << 19) as i32 >> 19,
    };
    inst.flags = flag(bit(word, 16), GLC)
        | flag(bit(word, 17), SLC)
        | flag(bit(word, 13), TO_LDS)
        | flag(bit(word, 25), SCC);
    inst.src = [
        Operand::vector(bits(second, 7, 0), false),
        v(bits(second, 15, 8)),
        Operand(bits(second, 22, 16) as u16),
    ];
    inst.dst = v(bits(second, 31, 24));
    if encoding == Encoding::Flat {
        inst.src[2] = Operand::OFF;
        inst.flags &= !TO_LDS;
    }
    Ok(inst)
}

pub(super) fn mubuf(word: u32, second: u32) -> Result<Inst, Error> {
    let mut inst = Inst::new(row(Encoding::Mubuf, bits(word, 24, 18))?, Encoding::Mubuf);
    inst.offset = bits(word, 11, 0) as i32;
    inst.flags = flag(bit(word, 12), OFFEN)
        | flag(bit(word, 13), IDXEN)
        | flag(bit(word, 14), GLC)
        | flag(bit(word, 15), SCC)
        | flag(bit(word, 16), TO_LDS)
        | flag(bit(word, 17), SLC);
    let data = Operand::vector(bits(second, 15, 8), bit(second, 23));
    let descriptor = bits(second, 20, 16) * 4;
    if descriptor > 100 {
        return Err(Error::Field("a descriptor's registers"));
    }
    inst.src = [Operand::vector(bits(second, 7, 0), false), data, Operand(descriptor as u16)];
    inst.dst = data;
    inst.scalar = scalar_source(bits(second, 31, 24))?;
    Ok(inst)
}

pub(super) fn mtbuf(word: u32, _: u32) -> Result<Inst, Error> {
    Ok(Inst::new(row(Encoding::Mtbuf, bits(word, 18, 15))?, Encoding::Mtbuf))
}
