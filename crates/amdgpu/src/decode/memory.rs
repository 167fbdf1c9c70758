//! The formats of memory instructions.
//!
//! Owns: SMEM, DS, FLAT, MUBUF, MTBUF. Must not know: what an instruction does.
//!
//! Operands: for vector memory instructions, `src[0]` is the address, `src[1]` the data, `src[2]` the second data of
//! DS, the scalar address of the FLAT formats, or the descriptor of buffers.

use super::fields::{Error, bit, bits, inst, scalar_source};
use crate::inst::{GDS, GLC, IDXEN, Inst, OFFEN, Operand, SCC, SLC, TO_LDS};
use crate::table::{Encoding, Exec};
use crate::target::Target;

fn flag(on: bool, what: u8) -> u8 {
    if on { what } else { 0 }
}

pub(super) fn smem(target: Target, word: u32, second: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Smem, bits(word, 25, 18))?;
    inst.flags = flag(bit(word, 16), GLC) | flag(target.rdna() && bit(word, 14), SCC);
    match &inst.row.exec {
        Exec::ScalarMemory(_) => {
            inst.dst = Operand(bits(word, 12, 6) as u16);
            return Ok(inst);
        }
        Exec::ScalarLoad { words, .. } => {
            inst.dst = Operand(bits(word, 12, 6) as u16);
            let align = u16::from(*words).min(4);
            let nothing = target.rdna() && inst.dst == Operand::NULL;
            let fits = inst.dst.0.is_multiple_of(align) && inst.dst.0 + u16::from(*words) <= 128;
            if !nothing && !fits {
                return Err(Error::Field("the destination of a scalar load"));
            }
        }
        _ => {}
    }
    inst.src[0] = Operand(bits(word, 5, 0) as u16 * 2);
    let (immediate, register) = if target.rdna() {
        (true, Operand(bits(second, 31, 25) as u16) != Operand::NULL)
    } else {
        (bit(word, 17), bit(word, 14))
    };
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

pub(super) fn ds(target: Target, word: u32, second: u32) -> Result<Inst, Error> {
    // RDNA has no accumulation registers, and all fields one bit further.
    let shift = u32::from(target.rdna());
    let op = bits(word, 24 + shift, 17 + shift);
    let mut inst = inst(target, Encoding::Ds, op)?;
    let accumulation = !target.rdna() && bit(word, 25);
    let v = |number| Operand::vector(number, accumulation);
    inst.offset = bits(word, 15, 0) as i32;
    inst.flags = flag(bit(word, 16 + shift), GDS);
    inst.src = [
        Operand::vector(bits(second, 7, 0), false),
        v(bits(second, 15, 8)),
        v(bits(second, 23, 16)),
    ];
    inst.dst = v(bits(second, 31, 24));
    Ok(inst)
}

pub(super) fn flat(target: Target, word: u32, second: u32) -> Result<Inst, Error> {
    let encoding = match bits(word, 15, 14) {
        0 => Encoding::Flat,
        1 => Encoding::Scratch,
        2 => Encoding::Global,
        _ => return Err(Error::Field("the segment of FLAT")),
    };
    let mut inst = inst(target, encoding, bits(word, 24, 18))?;
    let v = |number| Operand::vector(number, !target.rdna() && bit(second, 23));
    let signed = |width: u32| (bits(word, width - 1, 0) << (32 - width)) as i32 >> (32 - width);
    inst.offset = match (encoding, target.rdna()) {
        (Encoding::Flat, true) => bits(word, 10, 0) as i32,
        (Encoding::Flat, false) => bits(word, 11, 0) as i32,
        (_, true) => signed(12),
        (_, false) => signed(13),
    };
    inst.flags = flag(bit(word, 16), GLC)
        | flag(bit(word, 17), SLC)
        | flag(bit(word, 13), TO_LDS)
        | flag(bit(word, if target.rdna() { 12 } else { 25 }), SCC);
    inst.src = [
        Operand::vector(bits(second, 7, 0), false),
        v(bits(second, 15, 8)),
        Operand(bits(second, 22, 16) as u16),
    ];
    inst.dst = v(bits(second, 31, 24));
    if encoding == Encoding::Flat {
        inst.src[2] = Operand::OFF;
        inst.flags &= !TO_LDS;
    } else if target.rdna() && encoding == Encoding::Scratch && inst.src[2] == Operand::OFF {
        // Neither a vector nor a scalar address.
        inst.src[0] = Operand::OFF;
    } else if target.rdna() && inst.src[2] == Operand::NULL {
        inst.src[2] = Operand::OFF;
    }
    Ok(inst)
}

pub(super) fn mubuf(target: Target, word: u32, second: u32) -> Result<Inst, Error> {
    let mut inst = inst(target, Encoding::Mubuf, bits(word, 24, 18))?;
    inst.offset = bits(word, 11, 0) as i32;
    inst.flags = flag(bit(word, 12), OFFEN)
        | flag(bit(word, 13), IDXEN)
        | flag(bit(word, 14), GLC)
        | flag(bit(word, 15), SCC)
        | flag(bit(word, 16), TO_LDS)
        | flag(if target.rdna() { bit(second, 22) } else { bit(word, 17) }, SLC);
    if target.rdna() && (bits(word, 25, 25) != 0 || bit(second, 23)) {
        return Err(Error::Field("a format of 16 bits or a test of residency"));
    }
    let data = Operand::vector(bits(second, 15, 8), !target.rdna() && bit(second, 23));
    let descriptor = bits(second, 20, 16) * 4;
    if descriptor > 100 {
        return Err(Error::Field("a descriptor's registers"));
    }
    inst.src = [Operand::vector(bits(second, 7, 0), false), data, Operand(descriptor as u16)];
    inst.dst = data;
    inst.scalar = scalar_source(bits(second, 31, 24))?;
    if inst.scalar == Operand(255) {
        return Err(Error::Field("a literal as a buffer's offset"));
    }
    Ok(inst)
}

pub(super) fn mtbuf(target: Target, word: u32) -> Result<Inst, Error> {
    inst(target, Encoding::Mtbuf, bits(word, 18, 15))
}
