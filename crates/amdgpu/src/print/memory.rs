//! Operands of memory instructions as text.

use std::fmt;

use super::{List, Shown};
use crate::inst::{GLC, IDXEN, Inst, OFFEN, Operand, SCC, SLC};
use crate::table::{Access, Atomic, Encoding, Op, Space};

fn words(bytes: u8) -> u32 {
    u32::from(bytes).div_ceil(4)
}

fn show(list: &mut List<'_, '_>, inst: &Inst, operand: Operand, count: u32) -> fmt::Result {
    list.put(format_args!("{}", Shown(inst.target, operand, count, 0)))
}

/// Registers of the result, of the data and of the second data.
fn registers(inst: &Inst, access: Access) -> (u32, u32, u32) {
    let lds = access.space == Space::Lds;
    match access.op {
        Op::Load { bytes, .. } | Op::LoadHalf { bytes, .. } => (words(bytes), 0, 0),
        Op::Store { bytes, .. } => (0, words(bytes), 0),
        Op::Atomic { what, wide, returns } => {
            let one = if wide { 2 } else { 1 };
            let result = if returns || !lds && inst.flags & GLC != 0 { one } else { 0 };
            let second =
                matches!(what, Atomic::CmpStore | Atomic::CmpStoreF | Atomic::Mskor | Atomic::Wrap);
            let data = if what == Atomic::CmpSwap { 2 * one } else { one };
            (result, data, if second { one } else { 0 })
        }
        Op::Read2 { bytes, .. } => (2 * words(bytes), 0, 0),
        Op::Write2 { bytes, .. } => (0, words(bytes), words(bytes)),
        Op::Exchange2 { bytes, .. } => (2 * words(bytes), words(bytes), words(bytes)),
        Op::Swizzle => (1, 0, 0),
        Op::Permute | Op::Bpermute => (1, 1, 0),
        Op::Count { .. } => (1, 0, 0),
        Op::Cache => (0, 0, 0),
    }
}

pub(super) fn vector(inst: &Inst, access: Access, list: &mut List<'_, '_>) -> fmt::Result {
    if access.op == Op::Cache {
        return Ok(());
    }
    let (result, data, second) = registers(inst, access);
    if access.space == Space::Buffer {
        return buffer(inst, result.max(data), list);
    }
    if result > 0 {
        show(list, inst, inst.dst, result)?;
    }
    let lds = access.space == Space::Lds;
    let scalar = !lds && inst.src[2] != Operand::OFF;
    match inst.encoding {
        Encoding::Ds if matches!(access.op, Op::Count { .. }) => {}
        Encoding::Ds => show(list, inst, inst.src[0], 1)?,
        Encoding::Scratch if scalar || inst.src[0] == Operand::OFF => {
            list.put(format_args!("off"))?
        }
        Encoding::Scratch => show(list, inst, inst.src[0], 1)?,
        _ => show(list, inst, inst.src[0], if scalar { 1 } else { 2 })?,
    }
    if data > 0 {
        show(list, inst, inst.src[1], data)?;
    }
    if second > 0 {
        show(list, inst, inst.src[2], second)?;
    }
    match inst.encoding {
        Encoding::Global | Encoding::Scratch if !scalar => list.put(format_args!("off"))?,
        Encoding::Global => show(list, inst, inst.src[2], 2)?,
        Encoding::Scratch => show(list, inst, inst.src[2], 1)?,
        _ => {}
    }
    offsets(inst, access, list)
}

fn offsets(inst: &Inst, access: Access, list: &mut List<'_, '_>) -> fmt::Result {
    match access.op {
        Op::Read2 { .. } | Op::Write2 { .. } | Op::Exchange2 { .. } => {
            for (at, name) in [(0, "offset0"), (8, "offset1")] {
                match inst.offset >> at & 255 {
                    0 => {}
                    n => write!(list.f, " {name}:{n}")?,
                }
            }
        }
        Op::Swizzle => return Ok(()),
        _ if inst.offset != 0 => write!(list.f, " offset:{}", inst.offset)?,
        _ => {}
    }
    flags(inst, list)
}

fn flags(inst: &Inst, list: &mut List<'_, '_>) -> fmt::Result {
    let third = if inst.target.rdna() { " dlc" } else { " scc" };
    for (flag, word) in [(GLC, " glc"), (SLC, " slc"), (SCC, third)] {
        if inst.flags & flag != 0 {
            list.f.write_str(word)?;
        }
    }
    Ok(())
}

fn buffer(inst: &Inst, data: u32, list: &mut List<'_, '_>) -> fmt::Result {
    show(list, inst, inst.src[1], data)?;
    match inst.flags & (OFFEN | IDXEN) {
        0 => list.put(format_args!("off"))?,
        3.. if inst.flags & OFFEN != 0 && inst.flags & IDXEN != 0 => {
            show(list, inst, inst.src[0], 2)?
        }
        _ => show(list, inst, inst.src[0], 1)?,
    }
    show(list, inst, inst.src[2], 4)?;
    show(list, inst, inst.scalar, 1)?;
    for (flag, word) in [(IDXEN, " idxen"), (OFFEN, " offen")] {
        if inst.flags & flag != 0 {
            list.f.write_str(word)?;
        }
    }
    if inst.offset != 0 {
        write!(list.f, " offset:{}", inst.offset)?;
    }
    flags(inst, list)
}

pub(super) fn scalar(
    inst: &Inst,
    words: u32,
    buffer: bool,
    list: &mut List<'_, '_>,
) -> fmt::Result {
    show(list, inst, inst.dst, words)?;
    show(list, inst, inst.src[0], if buffer { 4 } else { 2 })?;
    match (inst.scalar, inst.offset) {
        (Operand::NONE, 0) if inst.target.rdna() => show(list, inst, Operand::NULL, 1)?,
        (Operand::NONE, offset) => list.put(format_args!("{offset:#x}"))?,
        (register, 0) => show(list, inst, register, 1)?,
        (register, offset) => {
            show(list, inst, register, 1)?;
            write!(list.f, " offset:{offset:#x}")?;
        }
    }
    flags(inst, list)
}
