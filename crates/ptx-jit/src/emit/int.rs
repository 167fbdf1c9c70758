//! Integers, bits and shifts in native code.

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::{Which, task};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{BitOp, Bits, Half, IntegerOp as Int, Operation};
use cushim_ptx::types::{Kind, Scalar};

impl Emit<'_> {
    /// The result of an integer instruction, where there is native code for it.
    pub(super) fn int_op(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let ty = inst.sem.ty();
        if ty == Scalar::Pred {
            return self.predicate_op(inst, args);
        }
        let clamps = inst.sem.is_integer(Int::clamps);
        if ty.kind() == Kind::Packed || clamps {
            return None;
        }
        let bits = ty.bits();
        if bits == 16 && matches!(ty.kind(), Kind::Signed | Kind::Unsigned | Kind::Bits) {
            return self.half_op(inst, args);
        }
        if inst.sem.is_integer(|op| matches!(op, Int::MulWide | Int::MadWide)) && bits == 32 {
            return Some(self.wide_product(inst, args));
        }
        if !matches!(bits, 32 | 64) {
            return None;
        }
        let class = Class::of(ty);
        let signed = ty.is_signed();
        let map = |e: &mut Self, f: &mut dyn FnMut(&mut Self, &[Value], bool) -> Value| {
            Some(e.map(class, args, f))
        };
        match (inst.sem.integer(), inst.sem.bits()) {
            (Some(Int::Add { .. }), _) => map(self, &mut |e, a, _| e.b.ins().iadd(a[0], a[1])),
            (Some(Int::Sub { .. }), _) => map(self, &mut |e, a, _| e.b.ins().isub(a[0], a[1])),
            (Some(Int::Mul(Half::Low)), _) => map(self, &mut |e, a, _| e.b.ins().imul(a[0], a[1])),
            (Some(Int::Mad { half: Half::Low, .. }), _) => map(self, &mut |e, a, _| {
                let p = e.b.ins().imul(a[0], a[1]);
                e.b.ins().iadd(p, a[2])
            }),
            (Some(Int::Mul(_)), _) if bits == 32 => Some(self.high_product(args, signed)),
            (Some(Int::Mad { .. }), _) if bits == 32 => {
                let p = self.high_product(&args[..2], signed);
                Some(
                    self.map(class, &[p, args[2].clone()], &mut |e, a, _| {
                        e.b.ins().iadd(a[0], a[1])
                    }),
                )
            }
            (_, Some(BitOp::And)) => map(self, &mut |e, a, _| e.b.ins().band(a[0], a[1])),
            (_, Some(BitOp::Or)) => map(self, &mut |e, a, _| e.b.ins().bor(a[0], a[1])),
            (_, Some(BitOp::Xor)) => map(self, &mut |e, a, _| e.b.ins().bxor(a[0], a[1])),
            (_, Some(BitOp::Not)) => map(self, &mut |e, a, _| e.b.ins().bnot(a[0])),
            (Some(Int::Neg), _) => map(self, &mut |e, a, vec| {
                let zero = e.all(class, vec, 0);
                e.b.ins().isub(zero, a[0])
            }),
            (Some(Int::Abs), _) => map(self, &mut |e, a, _| e.b.ins().iabs(a[0])),
            (Some(op @ (Int::Min { .. } | Int::Max { .. })), _) => {
                let max = matches!(op, Int::Max { .. });
                map(self, &mut |e, a, vec| e.extreme(class, vec, signed, max, a[0], a[1]))
            }
            (_, Some(BitOp::Shl | BitOp::Shr)) => {
                self.shift(inst, args, class, signed).or_else(|| self.vector_integer(inst, args))
            }
            (_, Some(BitOp::Funnel { .. })) => {
                self.funnel(inst, args).or_else(|| self.vector_integer(inst, args))
            }
            (_, Some(BitOp::Popc)) if args[0].uniform().is_some() => map(self, &mut |e, a, _| {
                let n = e.b.ins().popcnt(a[0]);
                if bits == 64 { e.b.ins().ireduce(types::I32, n) } else { n }
            }),
            (_, Some(BitOp::Lop3 { table, then: None })) => {
                Some(self.map(class, &args[..3], &mut |e, a, vec| e.lop3(a, table.into(), vec)))
            }
            (Some(Int::Dot4 { signed }), _) => {
                self.dot4(args, signed).or_else(|| self.vector_integer(inst, args))
            }
            _ => self.vector_integer(inst, args),
        }
    }

    /// What a helper does for all lanes at once (`run/vector_int.rs`), if it is that.
    fn vector_integer(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        if args.iter().all(|a| a.uniform().is_some()) {
            // One value: the helper for any operation does as well.
            return None;
        }
        let task = task::task(inst)?;
        let classes = (0..args.len()).map(|n| self.class_of(inst, n));
        let both: Vec<_> = args.iter().cloned().zip(classes).collect();
        let bits = inst.sem.bits();
        let amounts = |n: usize| match bits {
            Some(op @ (BitOp::Shl | BitOp::Shr | BitOp::Bfe | BitOp::Bfi)) => op.is_amount(n),
            _ => false,
        };
        let own = Class::of(inst.sem.ty());
        let fit = |(n, (_, class)): (usize, &(Val, Class))| {
            *class == if amounts(n) { Class::Narrow } else { own }
        };
        if !both.iter().enumerate().all(fit) {
            return None;
        }
        let result = self.results(inst).first().copied()?;
        let counts = matches!(bits, Some(BitOp::Popc | BitOp::Clz | BitOp::Bfind { .. }));
        let wanted = if counts { Class::Narrow } else { own };
        if result != wanted {
            return None;
        }
        self.pass(0, &both, false);
        self.call_raw(Which::Integers, task as u32, self.act);
        Some(self.receive(0, result, false))
    }

    /// A pair of registers, shifted by one amount for all lanes.
    fn funnel(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let Operation::Bits(Bits { op: BitOp::Funnel { left, wrap }, .. }) = inst.sem else {
            return None;
        };
        let Src::Imm(n) = inst.src[2] else { return None };
        let n = if wrap { n & 31 } else { n.min(32) } as i64;
        // Either side's bits, from the low register and the high one.
        let (low, high) = if left { (32 - n, n) } else { (n, 32 - n) };
        if n == 0 || n == 32 {
            return Some(args[usize::from(left == (n == 0))].clone());
        }
        Some(self.map(Class::Narrow, &args[..2], &mut |e, a, _| {
            let (low, high) = (e.i32(low), e.i32(high));
            let x = e.b.ins().ushr(a[0], low);
            let y = e.b.ins().ishl(a[1], high);
            e.b.ins().bor(x, y)
        }))
    }

    /// 16-bit numbers, which are stored in 32 bits with zeros above.
    fn half_op(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let signed = inst.sem.ty().is_signed();
        let both = (inst.sem.integer(), inst.sem.bits());
        let (left, right) = (both.1 == Some(BitOp::Shl), both.1 == Some(BitOp::Shr));
        let shift = match inst.src.get(1) {
            _ if !left && !right => None,
            Some(Src::Imm(n)) => Some((n & 0xffff_ffff).min(16) as i64),
            _ => return None,
        };
        // Signs matter only where more than the low bits of the result depend on them.
        let deep = match both {
            (Some(Int::Add { .. } | Int::Sub { .. } | Int::Neg), _) => false,
            (Some(Int::Mul(Half::Low) | Int::Mad { half: Half::Low, .. }), _) => false,
            (Some(Int::Min { .. } | Int::Max { .. } | Int::Abs | Int::MulWide), _) => true,
            (_, Some(BitOp::And | BitOp::Or | BitOp::Xor | BitOp::Not | BitOp::Shl)) => false,
            (_, Some(BitOp::Shr)) => true,
            _ => return None,
        };
        let wide = both.0 == Some(Int::MulWide);
        let args = if shift.is_some() { &args[..1] } else { args };
        Some(self.map(Class::Narrow, args, &mut |e, a, vec| {
            let a: Vec<Value> = if deep {
                a.iter().map(|v| e.extend_part(*v, 16, signed, vec)).collect()
            } else {
                a.to_vec()
            };
            let v = match both {
                (_, Some(BitOp::And)) => e.b.ins().band(a[0], a[1]),
                (_, Some(BitOp::Or)) => e.b.ins().bor(a[0], a[1]),
                (_, Some(BitOp::Xor)) => e.b.ins().bxor(a[0], a[1]),
                (_, Some(BitOp::Not)) => e.b.ins().bnot(a[0]),
                (Some(Int::Add { .. }), _) => e.b.ins().iadd(a[0], a[1]),
                (Some(Int::Sub { .. }), _) => e.b.ins().isub(a[0], a[1]),
                (Some(Int::Mul(_) | Int::MulWide), _) => e.b.ins().imul(a[0], a[1]),
                (Some(Int::Mad { .. }), _) => {
                    let p = e.b.ins().imul(a[0], a[1]);
                    e.b.ins().iadd(p, a[2])
                }
                (Some(Int::Neg), _) => {
                    let zero = e.all(Class::Narrow, vec, 0);
                    e.b.ins().isub(zero, a[0])
                }
                (Some(Int::Abs), _) => e.b.ins().iabs(a[0]),
                (_, Some(_)) => {
                    let by = e.i32(shift.unwrap_or(0));
                    e.shift_by(left, signed, a[0], by)
                }
                (op, _) => {
                    let max = matches!(op, Some(Int::Max { .. }));
                    e.extreme(Class::Narrow, vec, signed, max, a[0], a[1])
                }
            };
            if wide { v } else { e.extend_part(v, 16, false, vec) }
        }))
    }

    fn predicate_op(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let uniform = args.iter().all(|a| a.uniform().is_some());
        let v: Vec<Value> = args.iter().map(|a| self.bits(a)).collect();
        let out = match inst.sem.bits()? {
            BitOp::And => self.b.ins().band(v[0], v[1]),
            BitOp::Or => self.b.ins().bor(v[0], v[1]),
            BitOp::Xor => self.b.ins().bxor(v[0], v[1]),
            BitOp::Not => self.b.ins().bnot(v[0]),
            _ => return None,
        };
        Some(if uniform { Self::known(out) } else { Val::Mask { bits: Some(out), lanes: None } })
    }

    pub(super) fn extreme(
        &mut self,
        class: Class,
        vec: bool,
        signed: bool,
        max: bool,
        a: Value,
        b: Value,
    ) -> Value {
        if class == Class::Wide && vec {
            let above = self.icmp(class, vec, IntCC::SignedGreaterThan, a, b, signed);
            let (yes, no) = if max { (a, b) } else { (b, a) };
            return self.b.ins().bitselect(above, yes, no);
        }
        match (signed, max) {
            (true, true) => self.b.ins().smax(a, b),
            (true, false) => self.b.ins().smin(a, b),
            (false, true) => self.b.ins().umax(a, b),
            (false, false) => self.b.ins().umin(a, b),
        }
    }

    /// A comparison; signs are flipped where the machine has no unsigned one.
    pub(super) fn icmp(
        &mut self,
        class: Class,
        vec: bool,
        signed_cc: IntCC,
        a: Value,
        b: Value,
        signed: bool,
    ) -> Value {
        if matches!(signed_cc, IntCC::Equal | IntCC::NotEqual) || signed {
            return self.b.ins().icmp(signed_cc, a, b);
        }
        if !vec {
            return self.b.ins().icmp(signed_cc.unsigned(), a, b);
        }
        let flip = self.all(class, vec, if class == Class::Wide { 1 << 63 } else { 1 << 31 });
        let (a, b) = (self.b.ins().bxor(a, flip), self.b.ins().bxor(b, flip));
        self.b.ins().icmp(signed_cc, a, b)
    }

    /// `mul.wide`, `mad.wide` of 32 bits.
    fn wide_product(&mut self, inst: &Inst, args: &[Val]) -> Val {
        let signed = inst.sem.ty().is_signed();
        let both = [&args[0], &args[1]];
        let product = if let (Some(x), Some(y)) = (args[0].uniform(), args[1].uniform()) {
            let (x, y) = (self.extend64(x, signed), self.extend64(y, signed));
            Self::known(self.b.ins().imul(x, y))
        } else if let Some((n, k)) = power(inst, signed) {
            // Without AVX-512DQ there is no 64-bit vector product.
            let x = self.vectors(both[n], Class::Narrow);
            let x = self.widen(&x, signed);
            let by = self.i32(k.into());
            Val::Lanes(x.iter().map(|x| self.b.ins().ishl(*x, by)).collect())
        } else {
            let [x, y] = both.map(|v| {
                let v = self.vectors(v, Class::Narrow);
                self.widen(&v, signed)
            });
            let all = x.iter().zip(y.iter());
            Val::Lanes(all.map(|(x, y)| self.b.ins().imul(*x, *y)).collect())
        };
        if inst.sem.is_integer(|op| op == Int::MulWide) {
            return product;
        }
        let sum = [product, args[2].clone()];
        self.map(Class::Wide, &sum, &mut |e, a, _| e.b.ins().iadd(a[0], a[1]))
    }

    pub(super) fn extend64(&mut self, v: Value, signed: bool) -> Value {
        if signed {
            self.b.ins().sextend(types::I64, v)
        } else {
            self.b.ins().uextend(types::I64, v)
        }
    }

    fn high_product(&mut self, args: &[Val], signed: bool) -> Val {
        if let (Some(x), Some(y)) = (args[0].uniform(), args[1].uniform()) {
            let (x, y) = (self.extend64(x, signed), self.extend64(y, signed));
            let p = self.b.ins().imul(x, y);
            let by = self.i32(32);
            let p = self.b.ins().ushr(p, by);
            return Self::known(self.b.ins().ireduce(types::I32, p));
        }
        let (x, y) = (self.vectors(&args[0], Class::Narrow), self.vectors(&args[1], Class::Narrow));
        let (x, y) = (self.widen(&x, signed), self.widen(&y, signed));
        let wide: Vec<Value> =
            x.iter().zip(y.iter()).map(|(x, y)| self.b.ins().imul(*x, *y)).collect();
        Val::Lanes(self.narrow(&wide, true))
    }

    /// Shifts by one amount for all lanes; past the width all bits are gone.
    fn shift(&mut self, inst: &Inst, args: &[Val], class: Class, signed: bool) -> Option<Val> {
        let bits = i64::from(inst.sem.ty().bits());
        let left = inst.sem.bits() == Some(BitOp::Shl);
        let one = [args[0].clone()];
        if let Src::Imm(n) = inst.src[1] {
            let n = (n & 0xffff_ffff) as i64;
            if n >= bits && (left || !signed) {
                let zero = self.constant_of(class);
                return Some(Self::known(zero));
            }
            let by = self.i32(n.min(bits - 1));
            return Some(self.map(class, &one, &mut |e, a, _| e.shift_by(left, signed, a[0], by)));
        }
        let by = args[1].uniform()?;
        let last = self.i32(bits - 1);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, by, last);
        let amount = self.b.ins().select(inside, by, last);
        Some(self.map(class, &one, &mut |e, a, vec| {
            let v = e.shift_by(left, signed, a[0], amount);
            if signed && !left {
                return v;
            }
            let zero = e.i32(0);
            let ones = e.i32(-1);
            let keep = e.b.ins().select(inside, ones, zero);
            let keep = match (class, vec) {
                (Class::Wide, false) => e.b.ins().sextend(types::I64, keep),
                (_, false) => keep,
                (_, true) => {
                    let s = e.b.ins().splat(types::I32X4, keep);
                    let ty = e.b.func.dfg.value_type(v);
                    e.cast(ty, s)
                }
            };
            e.b.ins().band(v, keep)
        }))
    }

    fn constant_of(&mut self, class: Class) -> Value {
        if class == Class::Wide { self.i64(0) } else { self.i32(0) }
    }

    fn shift_by(&mut self, left: bool, signed: bool, v: Value, by: Value) -> Value {
        match (left, signed) {
            (true, _) => self.b.ins().ishl(v, by),
            (false, true) => self.b.ins().sshr(v, by),
            (false, false) => self.b.ins().ushr(v, by),
        }
    }

    /// A function of three bits as a sum of products.
    fn lop3(&mut self, a: &[Value], table: u64, vec: bool) -> Value {
        let (x, y, z) = (a[0], a[1], a[2]);
        match table & 0xff {
            0x96 => {
                let t = self.b.ins().bxor(x, y);
                return self.b.ins().bxor(t, z);
            }
            0xe8 => {
                let both = self.b.ins().band(x, y);
                let any = self.b.ins().bor(x, y);
                let third = self.b.ins().band(any, z);
                return self.b.ins().bor(both, third);
            }
            0xca => return self.b.ins().bitselect(x, y, z),
            _ => {}
        }
        let mut out = self.all(Class::Narrow, vec, 0);
        for n in 0..8u64 {
            if table >> n & 1 == 0 {
                continue;
            }
            let pick = |e: &mut Self, v: Value, bit: u64| {
                if n >> bit & 1 != 0 { v } else { e.b.ins().bnot(v) }
            };
            let (p, q, r) = (pick(self, x, 2), pick(self, y, 1), pick(self, z, 0));
            let t = self.b.ins().band(p, q);
            let t = self.b.ins().band(t, r);
            out = self.b.ins().bor(out, t);
        }
        out
    }
}

/// Which factor of 32 bits is not a constant, where the other one is this power of two.
fn power(inst: &Inst, signed: bool) -> Option<(usize, u32)> {
    [(0, 1), (1, 0)].into_iter().find_map(|(x, y)| {
        let Some(Src::Imm(v)) = inst.src.get(y) else { return None };
        let v = *v as u32;
        let negative = signed && v >> 31 == 1;
        (v.is_power_of_two() && !negative).then(|| (x, v.trailing_zeros()))
    })
}
