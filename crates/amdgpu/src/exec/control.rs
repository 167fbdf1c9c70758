//! Control flow and the state of a wave.
//!
//! Owns: branches, barriers, messages, MODE. Must not know: what is computed.

use std::sync::atomic::{Ordering, fence};

use super::state::{Next, Stop, refused};
use crate::inst::{Inst, Operand};
use crate::memory::{Checked, Memory};
use crate::table::Control;
use crate::wave::{State, Wave};

/// Whether the following instruction may not be the next one.
pub(super) fn ends_block(what: Control) -> bool {
    use Control as C;
    matches!(
        what,
        C::End
            | C::Branch
            | C::BranchScc(_)
            | C::BranchVcc(_)
            | C::BranchExec(_)
            | C::Barrier
            | C::SetPc
            | C::SwapPc
            | C::Call
            | C::Sleep
            | C::Halt
    )
}

fn branch(wave: &mut Wave, inst: &Inst, taken: bool) -> Next {
    if taken {
        wave.pc = wave.pc.wrapping_add((i64::from(inst.offset) * 4) as u64);
    }
    Next::Jump
}

// A table: one arm for each instruction.
pub(super) fn control<M: Memory + ?Sized>(
    wave: &mut Wave,
    memory: &Checked<'_, M>,
    inst: &Inst,
    what: Control,
) -> Result<Next, Stop> {
    use Control as C;
    let dst = usize::from(inst.dst.0);
    Ok(match what {
        C::Nop => Next::On,
        C::End => {
            wave.state = State::Ended;
            Next::Jump
        }
        C::Branch => branch(wave, inst, true),
        C::BranchScc(on) => branch(wave, inst, wave.scc == on),
        C::BranchVcc(on) => branch(wave, inst, (wave.vcc() != 0) == on),
        C::BranchExec(on) => branch(wave, inst, (wave.exec() != 0) == on),
        C::Barrier => {
            fence(Ordering::SeqCst);
            wave.state = State::Barrier;
            Next::Jump
        }
        C::Wait => {
            fence(Ordering::SeqCst);
            Next::On
        }
        C::Sleep => {
            if memory.memory.stopped() {
                return Err(Stop::Cancelled);
            }
            Next::Pause
        }
        C::Message => message(wave, memory, inst)?,
        C::Halt => return Err(refused("s_sethalt without a debugger")),
        C::Trap => match inst.offset & 0xff {
            // A breakpoint without a debugger continues.
            3 => Next::On,
            number => return Err(Stop::Trap { number: number as u32, pc: 0 }),
        },
        C::GetPc => {
            let pc = wave.pc;
            wave.set_pair(dst, pc);
            Next::On
        }
        C::SetPc => {
            wave.pc = wave.scalar64(inst.src[0], 0) & !3;
            Next::Jump
        }
        C::SwapPc => {
            let (to, back) = (wave.scalar64(inst.src[0], 0) & !3, wave.pc);
            wave.set_pair(dst, back);
            wave.pc = to;
            Next::Jump
        }
        C::Call => {
            let back = wave.pc;
            wave.set_pair(dst, back);
            branch(wave, inst, true)
        }
        C::GetReg => {
            wave.s[dst & 127] = get(wave, inst.offset)?;
            Next::On
        }
        C::SetReg | C::SetRegImm => {
            let value = wave.scalar32(inst.src[0], inst.literal);
            set(wave, inst.offset, value)?;
            Next::On
        }
        C::Mode { first } => {
            let first = u32::from(first);
            let value = wave.mode & !(15 << first) | (inst.offset as u32 & 15) << first;
            if value & 15 != 0 {
                return Err(refused("a rounding mode other than to the nearest even"));
            }
            wave.mode = value;
            Next::On
        }
        C::MoveRelS(wide) => {
            let from = Operand((u32::from(inst.src[0].0) + wave.s[124]) as u16 & 127);
            if wide {
                wave.set_pair(dst, wave.pair(usize::from(from.0)))
            } else {
                wave.s[dst & 127] = wave.s[usize::from(from.0)]
            }
            Next::On
        }
        C::MoveRelD(wide) => {
            let to = (dst + wave.s[124] as usize) & 127;
            if wide {
                let value = wave.scalar64(inst.src[0], inst.literal);
                wave.set_pair(to, value);
            } else {
                wave.s[to] = wave.scalar32(inst.src[0], inst.literal);
            }
            Next::On
        }
        C::IndexOn => {
            let by = wave.scalar32(inst.src[0], inst.literal);
            wave.index = Some((inst.offset as u8 & 15, by as u8));
            wave.s[124] = wave.s[124] & !0xf0ff | by & 0xff | (inst.offset as u32 & 15) << 12;
            Next::On
        }
        C::IndexOff => {
            wave.index = None;
            Next::On
        }
        C::IndexMode => {
            wave.index = wave.index.map(|(_, by)| (inst.offset as u8 & 15, by));
            wave.s[124] = wave.s[124] & !0xf000 | (inst.offset as u32 & 15) << 12;
            Next::On
        }
        C::IndexSet => {
            let by = wave.scalar32(inst.src[0], inst.literal);
            wave.index = wave.index.map(|(mode, _)| (mode, by as u8));
            wave.s[124] = wave.s[124] & !0xff | by & 0xff;
            Next::On
        }
    })
}

fn message<M: Memory + ?Sized>(
    wave: &Wave,
    memory: &Checked<'_, M>,
    inst: &Inst,
) -> Result<Next, Stop> {
    fence(Ordering::SeqCst);
    match inst.offset & 15 {
        1 => {
            memory.memory.interrupt(wave.s[124] & 0x00ff_ffff);
            Ok(Next::Pause)
        }
        number => Err(refused(format!("s_sendmsg of message {number}"))),
    }
}

/// Nanoseconds, as good a clock of the shader as any.
fn clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |time| time.as_nanos() as u64)
}

/// The register, the first bit and the width of s_getreg and s_setreg.
fn part(offset: i32) -> (u32, u32, u32) {
    let bits = offset as u32;
    (bits & 63, bits >> 6 & 31, (bits >> 11 & 31) + 1)
}

fn get(wave: &Wave, offset: i32) -> Result<u32, Stop> {
    let (register, first, width) = part(offset);
    let value = match register {
        1 => wave.mode,
        2 => u32::from(wave.scc),
        // No exception has happened; HW_ID, which identifies the wave; allocations; nothing
        // outstanding.
        3 | 5 | 6 | 7 => 0,
        4 => wave.number & 15,
        15 => {
            ((crate::wave::PRIVATE_BASE >> 48) as u32)
                | ((crate::wave::SHARED_BASE >> 48) as u32) << 16
        }
        // A clock of 20 bits.
        29 if wave.target.rdna() => clock() as u32 & 0xf_ffff,
        n => return Err(refused(format!("s_getreg of register {n}"))),
    };
    Ok(value >> first & (u32::MAX >> (32 - width)))
}

fn set(wave: &mut Wave, offset: i32, value: u32) -> Result<(), Stop> {
    let (register, first, width) = part(offset);
    // RDNA's flat scratch: ignored, as the wave knows its lanes' own memory.
    if wave.target.rdna() && matches!(register, 20 | 21) {
        return Ok(());
    }
    if register != 1 {
        return Err(refused(format!("s_setreg of register {register}")));
    }
    let mask = (u32::MAX >> (32 - width)) << first;
    let mode = wave.mode & !mask | value << first & mask;
    if mode & 15 != 0 {
        return Err(refused("a rounding mode other than to the nearest even"));
    }
    if mode & 0x1ff000 != 0 {
        return Err(refused("traps for floating-point exceptions"));
    }
    wave.mode = mode;
    Ok(())
}
