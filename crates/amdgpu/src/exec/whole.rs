//! Loads and stores of whole words by all lanes of a wave at once.
//!
//! Owns: the common case of FLAT, GLOBAL and DS: all lanes' words are aligned, and one range of memory contains them.
//! Must not know: anything else. All other cases are left to the lane-by-lane path, which also reports errors.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::state::Group;
use crate::inst::{Inst, Operand};
use crate::lanes::LANES;
use crate::memory::Memory;
use crate::table::{Access, Op, Space};
use crate::wave::{PRIVATE_BASE, SHARED_BASE, Wave};

/// How many words are moved, and whether they are stored.
fn words(op: Op) -> Option<(usize, bool)> {
    match op {
        Op::Load { bytes, .. } if bytes >= 4 => Some((usize::from(bytes) / 4, false)),
        Op::Store { bytes, high: false } if bytes >= 4 => Some((usize::from(bytes) / 4, true)),
        _ => None,
    }
}

/// The first register of an operand of so many.
fn registers(wave: &Wave, operand: Operand, count: usize) -> Option<usize> {
    operand.register().filter(|first| first + count <= wave.v.len())
}

/// The lanes' addresses; those of inactive lanes are arbitrary.
fn addresses(wave: &Wave, inst: &Inst) -> Option<[u64; LANES]> {
    let mut addresses = [0; LANES];
    if inst.src[2] == Operand::OFF {
        let first = registers(wave, inst.src[0], 2)?;
        let (low, high) = (&wave.v[first], &wave.v[first + 1]);
        for lane in 0..LANES {
            let address = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            addresses[lane] = address.wrapping_add(inst.offset as u64);
        }
    } else {
        let low = &wave.v[registers(wave, inst.src[0], 1)?];
        let base = wave.pair(usize::from(inst.src[2].0)).wrapping_add(inst.offset as u64);
        for lane in 0..LANES {
            addresses[lane] = base.wrapping_add(u64::from(low[lane]));
        }
    }
    Some(addresses)
}

/// Performs the access in the common case; returns whether it was one.
pub(super) fn global<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    access: Access,
) -> bool {
    if !matches!(access.space, Space::Flat | Space::Global) {
        return false;
    }
    all(wave, group, inst, access).is_some()
}

fn all<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    inst: &Inst,
    access: Access,
) -> Option<()> {
    let (count, store) = words(access.op)?;
    let first = registers(wave, if store { inst.src[1] } else { inst.dst }, count)?;
    let addresses = addresses(wave, inst)?;
    let exec = wave.exec();
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    for lane in 0..LANES {
        let on = (exec >> lane & 1).wrapping_neg();
        low = low.min(addresses[lane] | !on);
        high = high.max(addresses[lane] & on);
        bits |= addresses[lane] & on;
    }
    if exec == 0 {
        return Some(());
    }
    let window = |base: u64| low < base + (1 << 32) && high >= base;
    if bits & 3 != 0 || access.space == Space::Flat && (window(SHARED_BASE) || window(PRIVATE_BASE))
    {
        return None;
    }
    let bytes = (high - low).checked_add(4 * count as u64)?;
    group.memory.at(low, bytes, store).ok()?;
    let lanes = (0..LANES).filter(|lane| exec >> lane & 1 == 1);
    // SAFETY of all below: every word lies between the lowest and the highest address, is aligned, and was found to be
    // accessible, which it stays while a wave runs.
    if count == 2 && bits & 7 == 0 {
        for lane in lanes {
            // SAFETY: between the lowest and the highest address, aligned, and found to be accessible.
            let cell = unsafe { AtomicU64::from_ptr(addresses[lane] as *mut u64) };
            if store {
                let high = u64::from(wave.v[first + 1][lane]) << 32;
                cell.store(u64::from(wave.v[first][lane]) | high, Ordering::Relaxed);
            } else {
                let value = cell.load(Ordering::Relaxed);
                wave.v[first][lane] = value as u32;
                wave.v[first + 1][lane] = (value >> 32) as u32;
            }
        }
        return Some(());
    }
    for lane in lanes {
        for (i, register) in wave.v[first..first + count].iter_mut().enumerate() {
            // SAFETY: between the lowest and the highest address, aligned, and found to be accessible.
            let cell = unsafe { AtomicU32::from_ptr((addresses[lane] as *mut u32).add(i)) };
            if store {
                cell.store(register[lane], Ordering::Relaxed);
            } else {
                register[lane] = cell.load(Ordering::Relaxed);
            }
        }
    }
    Some(())
}

/// As [`global`], of LDS.
pub(super) fn lds(wave: &mut Wave, lds: &mut [u32], inst: &Inst, op: Op) -> bool {
    all_of_lds(wave, lds, inst, op).is_some()
}

fn all_of_lds(wave: &mut Wave, lds: &mut [u32], inst: &Inst, op: Op) -> Option<()> {
    let (count, store) = words(op)?;
    let first = registers(wave, if store { inst.src[1] } else { inst.dst }, count)?;
    let exec = wave.exec();
    let mut addresses = wave.v[registers(wave, inst.src[0], 1)?];
    let (mut high, mut bits) = (0, 0);
    for lane in 0..LANES {
        let on = ((exec >> lane & 1) as u32).wrapping_neg();
        addresses[lane] = addresses[lane].wrapping_add(inst.offset as u32) & on;
        high = high.max(addresses[lane]);
        bits |= addresses[lane];
    }
    if bits & 3 != 0 || high as usize / 4 + count > lds.len() {
        return None;
    }
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        let at = addresses[lane] as usize / 4;
        for (i, register) in wave.v[first..first + count].iter_mut().enumerate() {
            let word = lds.get_mut(at + i)?;
            if store {
                *word = register[lane];
            } else {
                register[lane] = *word;
            }
        }
    }
    Some(())
}
