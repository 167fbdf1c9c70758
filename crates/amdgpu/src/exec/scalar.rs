//! Scalar instructions.
//!
//! Owns: reading and writing scalar registers for them, scalar loads. Must not know: what is computed.

use super::state::Stop;
use crate::inst::{Inst, Operand};
use crate::memory::{Checked, Memory};
use crate::scalar::Scalar;
use crate::table::{Encoding, Kind};
use crate::wave::Wave;

/// A source as 64 bits; 32-bit ones are zero-extended.
pub(super) fn source(wave: &Wave, operand: Operand, kind: Kind, literal: u32) -> u64 {
    match kind {
        Kind::B64 => wave.scalar64(operand, literal),
        _ => match Wave::aperture(operand.0) {
            Some(high) => u64::from(high),
            None => u64::from(wave.scalar32(operand, literal)),
        },
    }
}

pub(super) fn scalar(wave: &mut Wave, inst: &Inst, kinds: &[Kind; 3], run: fn(&mut Scalar)) {
    let mut s = Scalar { scc: wave.scc, exec: wave.exec(), ..Scalar::default() };
    if inst.src[0] != Operand::NONE {
        s.a = source(wave, inst.src[0], kinds[1], inst.literal);
    }
    if inst.encoding == Encoding::Sopk {
        s.b = inst.offset as u64;
    } else if inst.src[1] != Operand::NONE {
        s.b = source(wave, inst.src[1], kinds[2], inst.literal);
    }
    let dst = usize::from(inst.dst.0);
    match kinds[0] {
        Kind::B32 => s.d = u64::from(wave.s[dst & 127]),
        Kind::B64 => s.d = wave.pair(dst),
        _ => {}
    }
    run(&mut s);
    wave.scc = s.scc;
    wave.set_mask(126, s.exec);
    match kinds[0] {
        Kind::B32 => wave.s[dst & 127] = s.d as u32,
        Kind::B64 => wave.set_pair(dst, s.d),
        _ => {}
    }
}

/// s_load and s_buffer_load. Memory outside of a descriptor's range reads as zero.
pub(super) fn load<M: Memory + ?Sized>(
    wave: &mut Wave,
    memory: &mut Checked<'_, M>,
    inst: &Inst,
    words: usize,
    buffer: bool,
) -> Result<(), Stop> {
    let base = wave.scalar64(inst.src[0], 0);
    let mut offset = i64::from(inst.offset);
    if inst.scalar != Operand::NONE {
        offset += i64::from(wave.scalar32(inst.scalar, 0));
    }
    let offset = (offset & !3) as u64;
    let mut data = [0; 16];
    if buffer {
        let range = u64::from(wave.s[usize::from(inst.src[0].0 + 2) & 127]);
        let base = base & 0xffff_ffff_ffff;
        for i in 0..words {
            let at = offset.wrapping_add(4 * i as u64);
            if at.saturating_add(4) <= range {
                let mut word = [0; 16];
                memory.load(base.wrapping_add(at), 4, &mut word)?;
                data[i] = word[0];
            }
        }
    } else {
        memory.load((base & !3).wrapping_add(offset), 4 * words, &mut data)?;
    }
    if inst.target.rdna() && inst.dst == Operand::NULL {
        return Ok(());
    }
    for (i, word) in data.iter().take(words).enumerate() {
        wave.s[(usize::from(inst.dst.0) + i) & 127] = *word;
    }
    Ok(())
}
