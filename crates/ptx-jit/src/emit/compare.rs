//! Comparison and selection in native code.

use super::emitter::Emit;
use super::float::float_type;
use super::val::Val;
use crate::simt::plan::region::Term;
use crate::simt::plan::shape::{Class, Shape};
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};
use cushim_ptx::sem::{Compare, Compared, Logic, Operation, Outcomes};
use cushim_ptx::types::Scalar;

/// A comparison of integers, as of signed ones.
fn int_condition(holds: Outcomes) -> Option<IntCC> {
    use IntCC::*;
    Some(match holds.0 {
        0b0010 => Equal,
        0b0101 => NotEqual,
        0b0001 => SignedLessThan,
        0b0011 => SignedLessThanOrEqual,
        0b0100 => SignedGreaterThan,
        0b0110 => SignedGreaterThanOrEqual,
        _ => return None,
    })
}

/// A comparison of numbers, where it is one of the machine's.
fn float_condition(holds: Outcomes) -> Option<FloatCC> {
    use FloatCC::*;
    Some(match holds.0 {
        0b0010 => Equal,
        0b1101 => NotEqual,
        0b0001 => LessThan,
        0b0011 => LessThanOrEqual,
        0b0100 => GreaterThan,
        0b0110 => GreaterThanOrEqual,
        0b1001 => UnorderedOrLessThan,
        0b1011 => UnorderedOrLessThanOrEqual,
        0b1100 => UnorderedOrGreaterThan,
        0b1110 => UnorderedOrGreaterThanOrEqual,
        0b0111 => Ordered,
        0b1000 => Unordered,
        _ => return None,
    })
}

impl Emit<'_> {
    pub(super) fn compare_op(&mut self, inst: &Inst, args: &[Val]) -> Option<Vec<Val>> {
        match inst.sem {
            Operation::Compare(what) => self.setp(inst, what, args),
            Operation::Select(_) => self.selp(inst, args).map(|v| vec![v]),
            _ => None,
        }
    }

    fn setp(&mut self, inst: &Inst, what: Compare, args: &[Val]) -> Option<Vec<Val>> {
        if let Some(v) = self.bound(inst, what, args) {
            return Some(vec![v]);
        }
        let c = match what.of {
            _ if what.packed => return None,
            Compared::Floats { ty, flush } => self.compare_floats(what.holds, ty, flush, args)?,
            Compared::Integers { bits, signed } => {
                self.compare_ints(what.holds, bits, signed, args)?
            }
        };
        let mut out = Vec::new();
        for n in 0..inst.dst.len() {
            let c = if n == 0 { c.clone() } else { self.invert(&c) };
            out.push(match what.then {
                None => c,
                Some(logic) => {
                    let uniform = c.uniform().is_some() && args[2].uniform().is_some();
                    let (x, y) = (self.bits(&c), self.bits(&args[2]));
                    let v = match logic {
                        Logic::And => self.b.ins().band(x, y),
                        Logic::Or => self.b.ins().bor(x, y),
                        Logic::Xor => self.b.ins().bxor(x, y),
                    };
                    if uniform { Self::known(v) } else { Val::Mask { bits: Some(v), lanes: None } }
                }
            });
        }
        Some(out)
    }

    /// What guards most kernels and loops: numbers that grow by lane against one for all. If the greatest is
    /// below the bound, lanes need no comparison. Only for branches and guards, which want bits.
    fn bound(&mut self, inst: &Inst, what: Compare, args: &[Val]) -> Option<Val> {
        let [Dst::Reg(p, _)] = inst.dst[..] else { return None };
        let ends = &self.plan.regions[self.region].term;
        let branches = matches!(ends, Term::Branch { guard, .. } if guard.0 == p);
        let Compared::Integers { bits: 32, signed } = what.of else { return None };
        if !branches && !self.guards.has(p as usize) || what.then.is_some() {
            return None;
        }
        let cc = int_condition(what.holds)?;
        let linear = |v: &Val| match v {
            Val::Known(Shape::Affine { base, steps, .. }) => Some((*base, steps.clone())),
            _ => None,
        };
        let (cc, (base, steps), y) = match (linear(&args[0]), linear(&args[1])) {
            (Some(x), None) => (cc, x, args[1].uniform()?),
            (None, Some(x)) => (cc.swap_args(), x, args[0].uniform()?),
            _ => return None,
        };
        let most = *steps.iter().max()?;
        if steps.iter().any(|s| *s < 0) {
            return None;
        }
        use IntCC::{SignedGreaterThan, SignedGreaterThanOrEqual, SignedLessThan};
        // The result in which all lanes agree if the comparison holds for the greatest step.
        let (known, below) = match cc {
            SignedLessThan => (-1, SignedLessThan),
            SignedGreaterThanOrEqual => (0, SignedLessThan),
            IntCC::SignedLessThanOrEqual => (-1, IntCC::SignedLessThanOrEqual),
            SignedGreaterThan => (0, IntCC::SignedLessThanOrEqual),
            _ => return None,
        };
        // In 64 bits nothing wraps around.
        let (low, bound) = (self.extend64(base, signed), self.extend64(y, signed));
        let high = self.b.ins().iadd_imm_s(low, most);
        let all = self.b.ins().icmp(below, high, bound);
        let known = self.i32(known);
        let (some, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(next, types::I32);
        self.b.set_cold_block(some);
        self.b.ins().brif(all, next, &[known.into()], some, &[]);
        self.b.switch_to_block(some);
        let held = self.lanes_of.clone();
        let c = self.compare_ints(what.holds, 32, signed, args);
        let bits = c.map(|c| self.bits(&c));
        self.lanes_of = held;
        let bits = bits.unwrap_or(known);
        self.jump(next, &[bits]);
        self.b.switch_to_block(next);
        Some(Val::Mask { bits: Some(self.b.block_params(next)[0]), lanes: None })
    }

    fn invert(&mut self, v: &Val) -> Val {
        match v {
            Val::Mask { lanes: Some(l), bits: None } => {
                let l = l.iter().map(|x| self.b.ins().bnot(*x)).collect();
                Val::Mask { lanes: Some(l), bits: None }
            }
            other => {
                let uniform = other.uniform().is_some();
                let bits = self.bits(other);
                let n = self.b.ins().bnot(bits);
                if uniform { Self::known(n) } else { Val::Mask { bits: Some(n), lanes: None } }
            }
        }
    }

    /// A comparison's result: 0 or all ones, or masks of the class.
    fn predicate(&mut self, class: Class, v: Val) -> Val {
        match v {
            Val::Known(_) => v,
            Val::Lanes(l) if class == Class::Wide => {
                Val::Mask { lanes: Some(self.narrow(&l, false)), bits: None }
            }
            Val::Lanes(l) => Val::Mask { lanes: Some(l), bits: None },
            mask => mask,
        }
    }

    fn compare_ints(
        &mut self,
        holds: Outcomes,
        bits: u32,
        signed: bool,
        args: &[Val],
    ) -> Option<Val> {
        let cc = int_condition(holds)?;
        let usual = &mut |e: &mut Self| e.compare_lanes(cc, bits, signed, args);
        let short = bits == 32 && self.fast_loop.is_none();
        let by_steps = short.then(|| self.compare_steps(cc, signed, args, usual)).flatten();
        Some(by_steps.unwrap_or_else(|| self.compare_lanes(cc, bits, signed, args)))
    }

    fn compare_lanes(&mut self, cc: IntCC, bits: u32, signed: bool, args: &[Val]) -> Val {
        let class = if bits == 64 { Class::Wide } else { Class::Narrow };
        let c = self.map(class, &args[..2], &mut |e, a, vec| {
            let (mut x, mut y) = (a[0], a[1]);
            if bits < 32 {
                x = e.extend_part(x, bits, signed, vec);
                y = e.extend_part(y, bits, signed, vec);
            }
            let c = e.icmp(class, vec, cc, x, y, signed);
            e.truth(c, vec)
        });
        self.predicate(class, c)
    }

    /// Whether a comparison of two numbers holds: 0, or all ones of 32 bits.
    pub(super) fn holds_of_one(
        &mut self,
        wide: bool,
        signed: bool,
        holds: Outcomes,
        x: Value,
        y: Value,
    ) -> Value {
        let class = if wide { Class::Wide } else { Class::Narrow };
        let Some(cc) = int_condition(holds) else { unreachable!("an order of integers") };
        let c = self.icmp(class, false, cc, x, y, signed);
        self.truth(c, false)
    }

    /// 1 to all ones of 32 bits, for a scalar.
    fn truth(&mut self, c: Value, vec: bool) -> Value {
        if vec {
            return c;
        }
        let v = self.b.ins().uextend(types::I32, c);
        self.b.ins().ineg(v)
    }

    fn compare_floats(
        &mut self,
        holds: Outcomes,
        ty: Scalar,
        ftz: bool,
        args: &[Val],
    ) -> Option<Val> {
        if !matches!(ty, Scalar::F32 | Scalar::F64) {
            return None;
        }
        let class = Class::of(ty);
        let found = float_condition(holds);
        let c = self.map(class, &args[..2], &mut |e, a, vec| {
            let f: Vec<Value> = a
                .iter()
                .map(|v| {
                    let v = if ftz { e.flush_bits(*v, ty, vec) } else { *v };
                    e.cast(float_type(ty, vec), v)
                })
                .collect();
            let (x, y) = (f[0], f[1]);
            let c = match found {
                Some(cc) => e.b.ins().fcmp(cc, x, y),
                // The processor has no comparison for "less or greater" and its opposite.
                None => {
                    let l = e.b.ins().fcmp(FloatCC::LessThan, x, y);
                    let g = e.b.ins().fcmp(FloatCC::GreaterThan, x, y);
                    let c = e.b.ins().bor(l, g);
                    if holds.0 & Outcomes::EQUAL == 0 {
                        c
                    } else if vec {
                        e.b.ins().bnot(c)
                    } else {
                        e.b.ins().bxor_imm_u(c, 1)
                    }
                }
            };
            e.truth(c, vec)
        });
        Some(self.predicate(class, c))
    }

    fn selp(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let class = match inst.dst.first() {
            Some(cushim_ptx::ir::Dst::Reg(r, _)) => self.class(*r),
            _ => return None,
        };
        let of = |n: usize| self.class_of(inst, n);
        if of(0) != class || of(1) != class {
            return None;
        }
        if let Some(c) = args[2].uniform() {
            if let (Some(x), Some(y)) = (args[0].uniform(), args[1].uniform()) {
                return Some(Self::known(self.b.ins().select(c, x, y)));
            }
            let (x, y) = (self.vectors(&args[0], class), self.vectors(&args[1], class));
            let all = x.iter().zip(y.iter());
            return Some(Val::Lanes(all.map(|(x, y)| self.b.ins().select(c, *x, *y)).collect()));
        }
        let lanes = self.mask_lanes(&args[2]);
        let masks = self.masks_for(&lanes, class);
        let (x, y) = (self.vectors(&args[0], class), self.vectors(&args[1], class));
        let all = masks.iter().zip(x.iter().zip(y.iter()));
        Some(Val::Lanes(all.map(|(m, (x, y))| self.b.ins().bitselect(*m, *x, *y)).collect()))
    }

    /// The low bits of a 32-bit value, extended.
    pub(super) fn extend_part(&mut self, v: Value, bits: u32, signed: bool, vec: bool) -> Value {
        if bits >= 32 {
            return v;
        }
        if !signed {
            let keep = self.all(Class::Narrow, vec, (1u64 << bits) - 1);
            return self.b.ins().band(v, keep);
        }
        let by = self.i32(i64::from(32 - bits));
        let up = self.b.ins().ishl(v, by);
        self.b.ins().sshr(up, by)
    }
}
