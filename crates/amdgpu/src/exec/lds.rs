//! DS: the workgroup's memory, and lane permutations through its crossbar.
//!
//! Owns: LDS accesses. Out-of-range reads return zero and out-of-range writes are dropped, as in hardware. Must not
//! know: other memory.

use super::registers::{data, extend, set_register};
use super::state::{Group, Stop};
use super::{atomic, whole};
use crate::inst::{Inst, Operand};
use crate::lanes::LANES;
use crate::memory::Memory;
use crate::table::Op;
use crate::wave::Wave;

/// Reads bytes; those outside are zero.
pub(super) fn read(lds: &[u32], offset: u64, bytes: usize, to: &mut [u32; 16]) {
    for i in 0..bytes {
        let at = offset as usize + i;
        let byte = lds.get(at / 4).map_or(0, |word| word >> (8 * (at % 4)) & 255);
        let word = &mut to[i / 4];
        *word = *word & !(255 << (8 * (i % 4))) | byte << (8 * (i % 4));
    }
}

/// Writes bytes that are in range.
pub(super) fn write(lds: &mut [u32], offset: u64, bytes: usize, from: &[u32; 16]) {
    if offset.is_multiple_of(4) && bytes.is_multiple_of(4) {
        for i in 0..bytes / 4 {
            if let Some(word) = lds.get_mut(offset as usize / 4 + i) {
                *word = from[i];
            }
        }
        return;
    }
    for i in 0..bytes {
        let at = offset as usize + i;
        if let Some(word) = lds.get_mut(at / 4) {
            let byte = from[i / 4] >> (8 * (i % 4)) & 255;
            *word = *word & !(255 << (8 * (at % 4))) | byte << (8 * (at % 4));
        }
    }
}

/// Reads, faster where words are aligned.
fn get(lds: &[u32], offset: u64, bytes: usize) -> [u32; 16] {
    let mut to = [0; 16];
    if offset.is_multiple_of(4) && bytes.is_multiple_of(4) {
        for (i, to) in to.iter_mut().enumerate().take(bytes / 4) {
            *to = lds.get(offset as usize / 4 + i).copied().unwrap_or(0);
        }
    } else {
        read(lds, offset, bytes, &mut to);
    }
    to
}

fn words(value: &[u32; 16], at: usize) -> u64 {
    u64::from(value[at]) | u64::from(value[at + 1]) << 32
}

pub(super) fn lds<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    op: Op,
) -> Result<(), Stop> {
    match op {
        Op::Swizzle | Op::Permute | Op::Bpermute => return exchange(wave, inst, op),
        Op::Count { add } => return count(wave, group, inst, add),
        _ => {}
    }
    if whole::lds(wave, &mut group.lds, inst, op) {
        return Ok(());
    }
    let exec = wave.exec();
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        let address = u64::from(data(wave, inst.src[0], 1, lane)?[0]);
        lane_access(wave, &mut group.lds, inst, op, lane, address)?;
    }
    Ok(())
}

fn lane_access(
    wave: &mut Wave,
    lds: &mut [u32],
    inst: &Inst,
    op: Op,
    lane: usize,
    address: u64,
) -> Result<(), Stop> {
    // Addresses are 32 bits; the sum of both wraps.
    let at = |offset: u64| address.wrapping_add(offset) & 0xffff_ffff;
    let one = at(inst.offset as u64);
    let two = |bytes: u8, stride: u8| {
        let unit = u64::from(bytes) * u64::from(stride);
        [0, 8].map(|shift| at((inst.offset as u64 >> shift & 255) * unit))
    };
    match op {
        Op::Load { bytes, signed } => {
            let bytes = usize::from(bytes);
            let mut value = get(lds, one, bytes);
            value[0] = extend(value[0], bytes, signed);
            put(wave, inst.dst, 0, &value, bytes.div_ceil(4), lane)
        }
        Op::LoadHalf { bytes, signed, high } => {
            let value =
                extend(get(lds, one, usize::from(bytes))[0], usize::from(bytes), signed) & 0xffff;
            let old = data(wave, inst.dst, 1, lane)?[0];
            let new = if high { old & 0xffff | value << 16 } else { old & 0xffff_0000 | value };
            set_register(wave, inst.dst, 0, lane, new)
        }
        Op::Store { bytes, high } => {
            let mut from = data(wave, inst.src[1], usize::from(bytes).div_ceil(4), lane)?;
            if high {
                from[0] >>= 16;
            }
            write(lds, one, usize::from(bytes), &from);
            Ok(())
        }
        Op::Read2 { bytes, stride } => {
            let [first, second] = two(bytes, stride).map(|at| get(lds, at, usize::from(bytes)));
            let n = usize::from(bytes) / 4;
            put(wave, inst.dst, 0, &first, n, lane)?;
            put(wave, inst.dst, n, &second, n, lane)
        }
        Op::Write2 { bytes, stride } | Op::Exchange2 { bytes, stride } => {
            let n = usize::from(bytes) / 4;
            let from = [data(wave, inst.src[1], n, lane)?, data(wave, inst.src[2], n, lane)?];
            for (k, at) in two(bytes, stride).into_iter().enumerate() {
                let old = get(lds, at, usize::from(bytes));
                write(lds, at, usize::from(bytes), &from[k]);
                if matches!(op, Op::Exchange2 { .. }) {
                    put(wave, inst.dst, k * n, &old, n, lane)?;
                }
            }
            Ok(())
        }
        Op::Atomic { what, wide, returns } => {
            let n = if wide { 2 } else { 1 };
            let (a, b) = (data(wave, inst.src[1], n, lane)?, second(wave, inst, n, lane));
            let mut value = get(lds, one, 4 * n);
            let old = value;
            let new = if wide {
                atomic::wide(what, words(&value, 0), words(&a, 0), words(&b, 0))
            } else {
                u64::from(atomic::word(what, value[0], a[0], b[0]))
            };
            value[0] = new as u32;
            value[1] = (new >> 32) as u32;
            write(lds, one, 4 * n, &value);
            if returns { put(wave, inst.dst, 0, &old, n, lane) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// The second data, which only some instructions have.
fn second(wave: &Wave, inst: &Inst, words: usize, lane: usize) -> [u32; 16] {
    data(wave, inst.src[2], words, lane).unwrap_or([0; 16])
}

fn put(
    wave: &mut Wave,
    dst: Operand,
    first: usize,
    value: &[u32; 16],
    words: usize,
    lane: usize,
) -> Result<(), Stop> {
    for (i, word) in value.iter().enumerate().take(words) {
        set_register(wave, dst, first + i, lane, *word)?;
    }
    Ok(())
}

/// The lane that ds_swizzle reads for a lane.
fn swizzled(pattern: u32, lane: usize) -> usize {
    if pattern & 0x8000 != 0 {
        return lane & !3 | (pattern >> (2 * (lane & 3)) & 3) as usize;
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    lane & 32 | (((lane as u32 & 31 & and) | or) ^ xor) as usize
}

/// Lanes' registers by way of the crossbar.
fn exchange(wave: &mut Wave, inst: &Inst, op: Op) -> Result<(), Stop> {
    let exec = wave.exec();
    let mut from = [[0; LANES]; 2];
    for lane in 0..LANES {
        from[0][lane] = data(wave, inst.src[0], 1, lane)?[0];
        from[1][lane] = if op == Op::Swizzle { 0 } else { data(wave, inst.src[1], 1, lane)?[0] };
    }
    let on = |lane: usize| exec >> lane & 1 == 1;
    // RDNA's crossbar joins 32 lanes, also in waves of 64.
    let reach = if wave.target.rdna() { 32 } else { LANES };
    let wanted = |lane: usize| {
        let number = (from[0][lane].wrapping_add(inst.offset as u32) >> 2) as usize;
        (lane & !(reach - 1)) | (number % reach)
    };
    let mut result = [0; LANES];
    for lane in 0..LANES {
        match op {
            Op::Swizzle => {
                let source = swizzled(inst.offset as u32, lane);
                result[lane] = if on(source) { from[0][source] } else { 0 };
            }
            Op::Bpermute => {
                let source = wanted(lane);
                result[lane] = if on(source) { from[1][source] } else { 0 };
            }
            _ if on(lane) => result[wanted(lane)] = from[1][lane],
            _ => {}
        }
    }
    for lane in (0..LANES).filter(|lane| on(*lane)) {
        set_register(wave, inst.dst, 0, lane, result[lane])?;
    }
    Ok(())
}

/// ds_append and ds_consume: a counter at M0's base and the offset.
fn count<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    add: bool,
) -> Result<(), Stop> {
    let exec = wave.exec();
    let at = u64::from(wave.s[124] >> 16) + inst.offset as u64;
    let mut value = get(&group.lds, at, 4);
    let old = value[0];
    let lanes = exec.count_ones();
    value[0] = if add { old.wrapping_add(lanes) } else { old.wrapping_sub(lanes) };
    write(&mut group.lds, at, 4, &value);
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        set_register(wave, inst.dst, 0, lane, old)?;
    }
    Ok(())
}
