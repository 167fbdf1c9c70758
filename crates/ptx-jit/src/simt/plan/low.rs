//! Known zero low bits.
//!
//! Owns for each register how many low bits of its base are always zero: of the uniform value, or of the value to
//! which steps are added ([`super::shape`]). This is computed before the shapes, and does not change with them, so
//! that the analysis and the emitter decide alike. Must not know which registers have a base: for others the number
//! has no meaning.

use super::Layout;
use super::fits;
use super::region::writes;
use cushim_ptx::exec::window;
use cushim_ptx::ir::{Function, Inst, Special, Src};
use cushim_ptx::sem::{BitOp, Convert, Half, IntegerOp, Operation};
use cushim_ptx::types::Kind;
use cushim_ptx::work;

/// The low bits of zero.
const ALL: u32 = 64;
/// Looks at all instructions; what still falls after the third is taken to have none, and after the last all are.
const ROUNDS: usize = 8;
const PATIENT: usize = 3;

/// The zero low bits of each register.
#[derive(Clone)]
pub(crate) struct Low {
    registers: Vec<u8>,
    layout: Layout,
}

impl Low {
    pub(crate) fn of(f: &Function, layout: Layout) -> Low {
        // Optimistic start: all bits are zero until an instruction says otherwise.
        let mut low = Low { registers: vec![ALL as u8; f.registers.len()], layout };
        for round in 0..ROUNDS {
            let mut changed = false;
            for inst in &f.code {
                work::step(1);
                for r in writes(inst) {
                    let now = low.result(f, inst, r) as u8;
                    let place = &mut low.registers[r as usize];
                    if now < *place {
                        *place = if round < PATIENT { now } else { 0 };
                        changed = true;
                    }
                }
            }
            if !changed {
                return low;
            }
        }
        low.registers.fill(0);
        low
    }

    /// The zero low bits of an instruction's operand.
    pub(crate) fn operand(&self, src: &Src) -> u32 {
        match src {
            Src::Reg(r) => u32::from(self.registers[*r as usize]),
            Src::Imm(v) => v.trailing_zeros(),
            Src::Special(s) => self.special(*s),
            _ => 0,
        }
    }

    /// Those of all operands.
    pub(crate) fn operands(&self, inst: &Inst) -> Vec<u32> {
        inst.src.iter().map(|src| self.operand(src)).collect()
    }

    fn special(&self, s: Special) -> u32 {
        match (s, self.layout) {
            // Warps begin at multiples of 32 of a row, or with a row.
            (Special::LaneId, _) | (Special::Tid(0), Layout::Rows(_)) => ALL,
            (Special::Tid(0), Layout::Row) => 5,
            (Special::Tid(1), Layout::Rows(x)) => (32 / x).trailing_zeros(),
            _ => 0,
        }
    }

    /// The zero low bits of the base of an instruction's result; each rule holds for uniform values, and for what
    /// [`super::shape`] computes from bases.
    fn result(&self, f: &Function, inst: &Inst, register: u32) -> u32 {
        let width = f.registers[register as usize].bits();
        let kind = inst.sem.ty().kind();
        if inst.dst.len() != 1 || !matches!(width, 32 | 64) {
            return 0;
        }
        let is_move = matches!(inst.sem, Operation::Move(_));
        if !is_move && matches!(kind, Kind::Float | Kind::Packed) {
            return 0;
        }
        let z = |n: usize| inst.src.get(n).map_or(0, |src| self.operand(src));
        let zeros = match inst.sem {
            Operation::Move(_) if inst.src.len() == 1 => z(0),
            Operation::Address(a) if !a.op.is_question() && window(a.space).is_none() => z(0),
            Operation::Convert(Convert::Integer { from, to, saturate: false, .. })
                if [from, to].iter().all(|t| matches!(t.bits(), 32 | 64)) && fits(f, inst) =>
            {
                z(0)
            }
            Operation::Integer(what) if !what.op.clamps() => match what.op {
                IntegerOp::Add { .. } | IntegerOp::Sub { .. } => z(0).min(z(1)),
                IntegerOp::Mul(Half::Low) | IntegerOp::MulWide => z(0) + z(1),
                IntegerOp::Mad { half: Half::Low, .. } | IntegerOp::MadWide => {
                    (z(0) + z(1)).min(z(2))
                }
                _ => 0,
            },
            Operation::Bits(what) => {
                let constant = match inst.src.get(1) {
                    Some(Src::Imm(v)) => Some(*v),
                    _ => None,
                };
                match (what.op, constant) {
                    // Nothing is left of the base.
                    (BitOp::And, Some(v)) if z(0) >= ALL || v >> z(0) == 0 => ALL,
                    (BitOp::And, _) => z(0).max(z(1)),
                    (BitOp::Or | BitOp::Xor, _) => z(0).min(z(1)),
                    (BitOp::Shl, Some(k)) if k < u64::from(width) => z(0) + k as u32,
                    (BitOp::Shr, _) if z(0) >= ALL => ALL,
                    (BitOp::Shr, Some(k)) if k < u64::from(width) => z(0).saturating_sub(k as u32),
                    _ => 0,
                }
            }
            _ => 0,
        };
        if zeros >= width { ALL } else { zeros }
    }
}
