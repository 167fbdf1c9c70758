//! Vector memory: FLAT, GLOBAL, SCRATCH, MUBUF.
//!
//! Owns: addresses of lanes, and moving their data. Must not know: packets, who mapped memory.
//!
//! A lane's private memory is interleaved word by word across 64 lanes, as in hardware, but without addresses: flat
//! addresses in its window, SCRATCH instructions and swizzled buffers all become an offset in one lane's bytes.

use super::registers::{data, extend, register, set_register};
use super::state::{Group, Stop, refused};
use super::{atomic, lds, whole};
use crate::inst::{GDS, GLC, IDXEN, Inst, OFFEN, Operand, TO_LDS};
use crate::lanes::LANES;
use crate::memory::{Fault, Memory};
use crate::table::{Access, Atomic, Op, Space};
use crate::wave::{PRIVATE_BASE, SHARED_BASE, Wave};

/// The target of a lane's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Global(u64),
    Scratch(u64),
    Lds(u64),
    /// Outside of a descriptor's range: reads as zero, is not written.
    Nowhere,
}

pub(super) fn memory<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    access: Access,
) -> Result<(), Stop> {
    if inst.flags & (TO_LDS | GDS) != 0 {
        return Err(refused(format!("{} to or from LDS or GDS", inst.row.name)));
    }
    if access.op == Op::Cache {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        return Ok(());
    }
    if access.space == Space::Lds {
        return lds::lds(wave, group, inst, access.op);
    }
    if whole::global(wave, group, inst, access) {
        return Ok(());
    }
    let buffer = if access.space == Space::Buffer { Some(Buffer::read(wave, inst)?) } else { None };
    let exec = wave.exec();
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        let place = match (&buffer, access.space) {
            (Some(buffer), _) => buffer.place(wave, inst, lane)?,
            (None, Space::Scratch) => scratch_place(wave, inst, lane)?,
            _ => flat_place(wave, inst, lane, access.space)?,
        };
        lane_access(wave, group, inst, access.op, lane, place)?;
    }
    Ok(())
}

fn flat_place(wave: &Wave, inst: &Inst, lane: usize, space: Space) -> Result<Place, Stop> {
    let low = register(wave, inst.src[0], 0, lane)?;
    let address = if inst.src[2] == Operand::OFF {
        u64::from(low) | u64::from(register(wave, inst.src[0], 1, lane)?) << 32
    } else {
        wave.pair(usize::from(inst.src[2].0)).wrapping_add(u64::from(low))
    };
    let address = address.wrapping_add(inst.offset as u64);
    Ok(match address >> 32 << 32 {
        SHARED_BASE if space == Space::Flat => Place::Lds(address & 0xffff_ffff),
        PRIVATE_BASE if space == Space::Flat => Place::Scratch(address & 0xffff_ffff),
        _ => Place::Global(address),
    })
}

fn scratch_place(wave: &Wave, inst: &Inst, lane: usize) -> Result<Place, Stop> {
    let base = match inst.src[2] {
        Operand::OFF if inst.src[0] == Operand::OFF => 0,
        Operand::OFF => register(wave, inst.src[0], 0, lane)?,
        scalar => wave.scalar32(scalar, 0),
    };
    Ok(Place::Scratch(u64::from(base).wrapping_add(inst.offset as u64) & 0xffff_ffff))
}

/// A descriptor and the scalar offset.
struct Buffer {
    base: u64,
    stride: u64,
    records: u64,
    swizzle: bool,
    by_lane: bool,
    scalar: u64,
}

impl Buffer {
    fn read(wave: &Wave, inst: &Inst) -> Result<Buffer, Stop> {
        let first = usize::from(inst.src[2].0);
        let word = |i: usize| wave.s[(first + i) & 127];
        let (w1, w3) = (word(1), word(3));
        Ok(Buffer {
            base: u64::from(word(0)) | u64::from(w1 & 0xffff) << 32,
            stride: u64::from(w1 >> 16 & 0x3fff),
            records: u64::from(word(2)),
            swizzle: w1 >> 31 == 1,
            by_lane: w3 >> 23 & 1 == 1,
            scalar: u64::from(wave.scalar32(inst.scalar, 0)),
        })
    }

    fn place(&self, wave: &Wave, inst: &Inst, lane: usize) -> Result<Place, Stop> {
        let index = if inst.flags & IDXEN != 0 {
            u64::from(register(wave, inst.src[0], 0, lane)?)
        } else {
            0
        };
        let second = usize::from(inst.flags & IDXEN != 0);
        let mut offset = inst.offset as u64;
        if inst.flags & OFFEN != 0 {
            offset += u64::from(register(wave, inst.src[0], second, lane)?);
        }
        if self.swizzle && self.by_lane && inst.flags & IDXEN == 0 {
            // The scalar offset counts bytes of all lanes together.
            let lanes = wave.target.lanes() as u64;
            return Ok(Place::Scratch((self.scalar / lanes + offset) & 0xffff_ffff));
        }
        if self.swizzle {
            return Err(refused("a swizzled buffer that is not a lane's own memory"));
        }
        let index = index + if self.by_lane { lane as u64 } else { 0 };
        let inside = if self.stride == 0 {
            offset + self.scalar < self.records
        } else {
            index < self.records && offset < self.stride
        };
        if !inside {
            return Ok(Place::Nowhere);
        }
        Ok(Place::Global(
            self.base
                .wrapping_add(self.scalar)
                .wrapping_add(index * self.stride)
                .wrapping_add(offset),
        ))
    }
}

fn window_fault(base: u64, offset: u64, write: bool) -> Stop {
    Stop::Memory(Fault { address: base + offset, write, present: false })
}

/// Bytes of a lane's own memory.
fn scratch_check(wave: &Wave, offset: u64, bytes: usize, write: bool) -> Result<usize, Stop> {
    if offset + bytes as u64 > wave.scratch_bytes() {
        return Err(window_fault(PRIVATE_BASE, offset, write));
    }
    Ok(offset as usize)
}

fn scratch_byte(offset: usize, lane: usize) -> (usize, usize) {
    (offset / 4 * LANES + lane, offset % 4 * 8)
}

fn load<M: Memory + ?Sized>(
    wave: &Wave,
    group: &mut Group<'_, M>,
    place: Place,
    bytes: usize,
    lane: usize,
) -> Result<[u32; 16], Stop> {
    let mut to = [0; 16];
    match place {
        Place::Global(address) => group.memory.load(address, bytes, &mut to)?,
        Place::Scratch(offset) => {
            let offset = scratch_check(wave, offset, bytes, false)?;
            for i in 0..bytes {
                let (word, shift) = scratch_byte(offset + i, lane);
                to[i / 4] |= (wave.scratch[word] >> shift & 255) << (8 * (i % 4));
            }
        }
        Place::Lds(offset) => {
            if offset + bytes as u64 > group.lds.len() as u64 * 4 {
                return Err(window_fault(SHARED_BASE, offset, false));
            }
            lds::read(&group.lds, offset, bytes, &mut to);
        }
        Place::Nowhere => {}
    }
    Ok(to)
}

fn store<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    place: Place,
    bytes: usize,
    lane: usize,
    from: &[u32; 16],
) -> Result<(), Stop> {
    match place {
        Place::Global(address) => group.memory.store(address, bytes, from)?,
        Place::Scratch(offset) => {
            let offset = scratch_check(wave, offset, bytes, true)?;
            for i in 0..bytes {
                let (word, shift) = scratch_byte(offset + i, lane);
                let byte = from[i / 4] >> (8 * (i % 4)) & 255;
                wave.scratch[word] = wave.scratch[word] & !(255 << shift) | byte << shift;
            }
        }
        Place::Lds(offset) => {
            if offset + bytes as u64 > group.lds.len() as u64 * 4 {
                return Err(window_fault(SHARED_BASE, offset, true));
            }
            lds::write(&mut group.lds, offset, bytes, from);
        }
        Place::Nowhere => {}
    }
    Ok(())
}

fn lane_access<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    op: Op,
    lane: usize,
    place: Place,
) -> Result<(), Stop> {
    match op {
        Op::Load { bytes, signed } => {
            let bytes = usize::from(bytes);
            let mut value = load(wave, group, place, bytes, lane)?;
            value[0] = extend(value[0], bytes, signed);
            for (i, word) in value.iter().enumerate().take(bytes.div_ceil(4)) {
                set_register(wave, inst.dst, i, lane, *word)?;
            }
        }
        Op::LoadHalf { bytes, signed, high } => {
            let value = load(wave, group, place, usize::from(bytes), lane)?[0];
            let value = extend(value, usize::from(bytes), signed) & 0xffff;
            let old = register(wave, inst.dst, 0, lane)?;
            let new = if high { old & 0xffff | value << 16 } else { old & 0xffff_0000 | value };
            set_register(wave, inst.dst, 0, lane, new)?;
        }
        Op::Store { bytes, high } => {
            let bytes = usize::from(bytes);
            let mut from = data(wave, inst.src[1], bytes.div_ceil(4), lane)?;
            if high {
                from[0] >>= 16;
            }
            store(wave, group, place, bytes, lane, &from)?;
        }
        Op::Atomic { what, wide, .. } => {
            let old = update(wave, group, inst, what, wide, lane, place)?;
            if inst.flags & GLC != 0 {
                set_register(wave, inst.dst, 0, lane, old as u32)?;
                if wide {
                    set_register(wave, inst.dst, 1, lane, (old >> 32) as u32)?;
                }
            }
        }
        _ => return Err(refused(inst.row.name)),
    }
    Ok(())
}

/// An atomic operation; returns the former value.
fn update<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    what: Atomic,
    wide: bool,
    lane: usize,
    place: Place,
) -> Result<u64, Stop> {
    let operands = if what == Atomic::CmpSwap { 2 } else { 1 };
    let d = data(wave, inst.src[1], operands * if wide { 2 } else { 1 }, lane)?;
    let q = |i: usize| u64::from(d[i]) | u64::from(d[i + 1]) << 32;
    if let Place::Global(address) = place {
        return Ok(if wide {
            group.memory.update64(address, |old| atomic::wide(what, old, q(0), q(2)))?
        } else {
            u64::from(group.memory.update32(address, |old| atomic::word(what, old, d[0], d[1]))?)
        });
    }
    let bytes = if wide { 8 } else { 4 };
    let mut value = load(wave, group, place, bytes, lane)?;
    let old = u64::from(value[0]) | u64::from(value[1]) << 32;
    let new = if wide {
        atomic::wide(what, old, q(0), q(2))
    } else {
        u64::from(atomic::word(what, old as u32, d[0], d[1]))
    };
    value[0] = new as u32;
    value[1] = (new >> 32) as u32;
    store(wave, group, place, bytes, lane, &value)?;
    Ok(old)
}
