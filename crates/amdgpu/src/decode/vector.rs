//! The formats of vector instructions.
//!
//! Owns: VOP1, VOP2, VOPC with DPP and SDWA, VOP3, VOP3P. Must not know: what an instruction does.

use super::fields::{Error, Words, bit, bits, inst};
use crate::inst::{Dpp, Form, Inst, Operand, Sdwa};
use crate::table::{Cross, Encoding, Exec, Kind, Vector};

fn v(number: u32) -> Operand {
    Operand::vector(number, false)
}

/// A valid source of nine bits.
fn source(number: u32) -> Result<Operand, Error> {
    match number {
        209..=234 | 249 | 250 | 254 => Err(Error::Field("a source")),
        _ => Ok(Operand(number as u16)),
    }
}

/// VOP1, VOP2 and VOPC: the formats of one word and what follows.
pub(super) fn short(word: u32, words: &mut Words<'_>) -> Result<Inst, Error> {
    let (encoding, op) = match bits(word, 30, 25) {
        0x3f => (Encoding::Vop1, bits(word, 16, 9)),
        0x3e => (Encoding::Vopc, bits(word, 24, 17)),
        op => (Encoding::Vop2, op),
    };
    let rdna = words.target.rdna();
    let mut inst = inst(words.target, encoding, op)?;
    let (first, second, dst) = (bits(word, 8, 0), v(bits(word, 16, 9)), v(bits(word, 24, 17)));
    let (form, first) = match first {
        233 | 234 if rdna && lanes_or_parts(&inst) => {
            let more = words.next()?;
            (Form::Dpp8(bits(more, 31, 8), first == 234), v(bits(more, 7, 0)))
        }
        249 | 250 if lanes_or_parts(&inst) => {
            let more = words.next()?;
            if first == 249 { sdwa(&mut inst, more) } else { dpp(&mut inst, more)? }
        }
        other => (Form::Plain, source(other)?),
    };
    inst.form = form;
    let second = match form {
        Form::Sdwa(_) if inst.flags & 1 != 0 => Operand(bits(word, 16, 9) as u16),
        _ => second,
    };
    inst.flags = 0;
    place(&mut inst, first, second, dst)?;
    unknown_parts(&inst)?;
    if let Some(at) = constant(&inst) {
        inst.src[2] = second;
        inst.src[1] = second;
        if let Some(place) = inst.src.get_mut(at) {
            *place = Operand(255);
        }
        inst.literal = words.next()?;
    } else {
        words.literal(&mut inst)?;
    }
    Ok(inst)
}

/// Whether DPP and SDWA apply to it.
fn lanes_or_parts(inst: &Inst) -> bool {
    matches!(inst.row.exec, Exec::Vector(_) | Exec::Compare { .. })
}

/// The number of the constant source in VOP2's forms with a constant.
fn constant(inst: &Inst) -> Option<usize> {
    match inst.row.name {
        "v_madmk_f32" | "v_madmk_f16" | "v_fmamk_f32" | "v_fmamk_f16" => Some(1),
        "v_madak_f32" | "v_madak_f16" | "v_fmaak_f32" | "v_fmaak_f16" => Some(2),
        _ => None,
    }
}

/// neg and abs of packed halves: it is not known which half they apply to.
fn unknown_parts(inst: &Inst) -> Result<(), Error> {
    if inst.row.name == "v_dot2c_f32_f16" && (inst.neg | inst.abs) != 0 {
        return Err(Error::Field("neg or abs of packed halves"));
    }
    Ok(())
}

/// Destination of a compare: RDNA's compares that set EXEC have no mask besides.
fn result(inst: &Inst, mask: Operand) -> Operand {
    match inst.row.exec {
        Exec::Compare { exec: true, .. } if inst.target.rdna() => Operand::NONE,
        _ => mask,
    }
}

/// Puts operands in the order of the row.
fn place(inst: &mut Inst, first: Operand, second: Operand, dst: Operand) -> Result<(), Error> {
    match &inst.row.exec {
        Exec::Control(_) => {}
        Exec::Cross(Cross::ReadFirst) => {
            inst.src[0] = first;
            inst.dst = Operand(dst.0 - 256);
            if !inst.dst.writable() {
                return Err(Error::Field("a scalar destination"));
            }
        }
        Exec::Cross(Cross::AccMove) => {
            inst.src[0] = Operand(first.0.wrapping_add(256));
            inst.dst = Operand(dst.0 + 256);
            if first.register().is_none() {
                return Err(Error::Field("an accumulation register"));
            }
        }
        Exec::Compare { .. } => {
            inst.src = [first, second, Operand::NONE];
            if inst.mask == Operand::NONE {
                inst.mask = result(inst, Operand::VCC);
            }
        }
        Exec::Vector(Vector { src, mask, .. }) => {
            inst.src[0] = first;
            if src[1] != Kind::None {
                inst.src[1] = second;
            }
            if src[2] == Kind::Mask {
                inst.src[2] = Operand::VCC;
            }
            if *mask {
                inst.mask = Operand::VCC;
            }
            inst.dst = dst;
        }
        _ => {
            inst.src[0] = first;
            inst.dst = dst;
        }
    }
    Ok(())
}

fn dpp(inst: &mut Inst, word: u32) -> Result<(Form, Operand), Error> {
    inst.neg = u8::from(bit(word, 20)) | u8::from(bit(word, 22)) << 1;
    inst.abs = u8::from(bit(word, 21)) | u8::from(bit(word, 23)) << 1;
    let (control, rdna) = (bits(word, 16, 8) as u16, inst.target.rdna());
    match control {
        0..=0xff
        | 0x101..=0x10f
        | 0x111..=0x11f
        | 0x121..=0x12f
        | 0x140..=0x141
        | 0x150..=0x15f => {}
        0x130 | 0x134 | 0x138 | 0x13c | 0x142..=0x143 if !rdna => {}
        0x160..=0x16f if rdna => {}
        _ => return Err(Error::Field("dpp_ctrl")),
    }
    let dpp = Dpp {
        control,
        bound: bit(word, 19),
        inactive: rdna && bit(word, 18),
        rows: bits(word, 31, 28) as u8,
        banks: bits(word, 27, 24) as u8,
    };
    Ok((Form::Dpp(dpp), v(bits(word, 7, 0))))
}

fn sdwa(inst: &mut Inst, word: u32) -> (Form, Operand) {
    let compare = matches!(inst.row.exec, Exec::Compare { .. });
    inst.neg = u8::from(bit(word, 20)) | u8::from(bit(word, 28)) << 1;
    inst.abs = u8::from(bit(word, 21)) | u8::from(bit(word, 29)) << 1;
    let mut sdwa = Sdwa {
        src: [bits(word, 18, 16) as u8, bits(word, 26, 24) as u8],
        extend: [bit(word, 19), bit(word, 27)],
        dst: 6,
        rest: 0,
    };
    if compare {
        let mask = if bit(word, 15) { Operand(bits(word, 14, 8) as u16) } else { Operand::VCC };
        inst.mask = result(inst, mask);
    } else {
        sdwa.dst = bits(word, 10, 8) as u8;
        sdwa.rest = bits(word, 12, 11) as u8;
        inst.clamp = bit(word, 13);
        inst.omod = bits(word, 15, 14) as u8;
    }
    // The second source may be scalar: a flag tells the caller.
    inst.flags = u8::from(bit(word, 31));
    let number = bits(word, 7, 0);
    (Form::Sdwa(sdwa), if bit(word, 23) { Operand(number as u16) } else { v(number) })
}

/// VOP3.
pub(super) fn vop3(word: u32, words: &mut Words<'_>) -> Result<Inst, Error> {
    let second = words.next()?;
    let mut inst = inst(words.target, Encoding::Vop3, bits(word, 25, 16))?;
    let sources = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
    let dst = bits(word, 7, 0);
    inst.neg = bits(second, 31, 29) as u8;
    inst.omod = bits(second, 28, 27) as u8;
    inst.clamp = bit(word, 15);
    inst.dst = v(dst);
    let count = match &inst.row.exec {
        Exec::Vector(vector) => {
            if vector.mask {
                inst.mask = Operand(bits(word, 14, 8) as u16);
            } else {
                inst.abs = bits(word, 10, 8) as u8;
                inst.sel = bits(word, 14, 11) as u8;
            }
            vector.src.iter().filter(|kind| **kind != Kind::None).count()
        }
        Exec::Compare { .. } => {
            inst.abs = bits(word, 10, 8) as u8;
            inst.mask = result(&inst, Operand(dst as u16));
            inst.dst = Operand::NONE;
            2
        }
        Exec::Cross(Cross::ReadLane) => {
            inst.dst = Operand(dst as u16);
            2
        }
        Exec::Cross(Cross::WriteLane) => 2,
        Exec::Cross(Cross::PermLane { .. }) => {
            inst.sel = bits(word, 14, 11) as u8;
            3
        }
        Exec::Cross(Cross::MoveRelative { .. }) => 1,
        Exec::Control(_) => {
            inst.dst = Operand::NONE;
            0
        }
        Exec::Refused => 3,
        _ => return Err(Error::Unknown),
    };
    for (to, number) in inst.src.iter_mut().zip(sources).take(count) {
        *to = source(number)?;
        if number == 255 && !inst.target.rdna() {
            return Err(Error::Field("a literal in VOP3"));
        }
    }
    if constant(&inst).is_some() || inst.row.name == "v_pk_fmac_f16" {
        return Err(Error::Unknown);
    }
    unknown_parts(&inst)?;
    if matches!(inst.row.exec, Exec::Cross(Cross::ReadLane)) && !inst.dst.writable() {
        return Err(Error::Field("a scalar destination"));
    }
    words.literal(&mut inst)?;
    Ok(inst)
}

/// VOP3P.
pub(super) fn vop3p(word: u32, words: &mut Words<'_>) -> Result<Inst, Error> {
    let second = words.next()?;
    let mut inst = inst(words.target, Encoding::Vop3p, bits(word, 22, 16))?;
    let sources = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
    inst.neg = bits(second, 31, 29) as u8;
    inst.abs = bits(word, 10, 8) as u8;
    inst.sel = bits(word, 13, 11) as u8;
    inst.sel_hi = bits(second, 28, 27) as u8 | u8::from(bit(word, 14)) << 2;
    inst.clamp = bit(word, 15);
    inst.dst = v(bits(word, 7, 0));
    let count = match &inst.row.exec {
        Exec::Vector(vector) => vector.src.iter().filter(|kind| **kind != Kind::None).count(),
        Exec::Cross(_) => 1,
        _ => 3,
    };
    for (to, number) in inst.src.iter_mut().zip(sources).take(count) {
        *to = source(number)?;
        if number == 255 && !inst.target.rdna() {
            return Err(Error::Field("a literal in VOP3P"));
        }
    }
    match &inst.row.exec {
        Exec::Cross(Cross::AccRead) => {
            inst.src[0] = Operand(inst.src[0].0.wrapping_add(256));
            if inst.src[0].0 < 512 {
                return Err(Error::Field("an accumulation register"));
            }
        }
        Exec::Cross(Cross::AccWrite) => inst.dst = Operand(inst.dst.0 + 256),
        _ => {}
    }
    words.literal(&mut inst)?;
    Ok(inst)
}
