//! Instructions that compute lane by lane: native code if there is an implementation, else a helper that uses the
//! interpreter's arithmetic.

use super::emitter::{Emit, OWN};
use super::val::{Val, chunks, scalar};
use crate::simt::plan::shape::{Class, affine};
use crate::simt::plan::{fits, region};
use crate::warp::{INTERFACE, Which};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst, Src};
use cushim_ptx::sem::{FloatOp, Operation};
use cushim_ptx::types::{Kind, Scalar};

/// The offset of slot `n` of the scratch in the warp; further slots are in the frame.
pub(super) fn slot(n: usize) -> i32 {
    let at = match n.checked_sub(INTERFACE.slots) {
        None => INTERFACE.warp.scratch + n * INTERFACE.slot,
        Some(more) => INTERFACE.frame + more * INTERFACE.slot,
    };
    at as i32
}

impl Emit<'_> {
    /// How an operand is stored in registers.
    pub(super) fn class_of(&self, inst: &Inst, n: usize) -> Class {
        match &inst.src[n] {
            Src::Reg(r) | Src::Not(r) => self.class(*r),
            _ => Class::of(inst.sem.operand(n)),
        }
    }

    pub(super) fn pure(&mut self, inst: &Inst) {
        let floating = inst.sem.ty().kind() == Kind::Float;
        let mut args = Vec::new();
        let mut raws = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            let class = self.class_of(inst, n);
            raws.push(self.operand_raw(src, class));
        }
        // Arithmetic accepts any NaN; operations on sign or bits need the canonical one.
        let any_nan = match inst.sem {
            Operation::Compare(_) | Operation::Set(_) => true,
            // A double keeps what the NaN of a single says.
            Operation::Convert(cushim_ptx::sem::Convert::Float { to: Scalar::F64, .. }) => false,
            Operation::Convert(c) => c.is_of_one() || floating,
            Operation::Select(_) => self.keeps_nans(inst),
            Operation::Float(f) if f.op == FloatOp::Copysign => false,
            _ => floating,
        };
        if any_nan {
            args.clone_from(&raws);
        } else {
            for (n, src) in inst.src.iter().enumerate() {
                let class = self.class_of(inst, n);
                args.push(self.operand(src, class));
            }
        }
        let uniform = args.iter().all(|a| a.uniform().is_some());
        if !uniform && fits(self.f, inst) {
            let shapes: Vec<_> = args.iter().map(Val::shape).collect();
            let zeros = self.plan.low.operands(inst);
            if let Some(shape) = affine(inst, &shapes, &zeros, self) {
                if let Some(dst) = inst.dst.first() {
                    self.set(inst, *dst, Val::Known(shape));
                }
                return;
            }
        }
        let native = match inst.sem {
            Operation::Compare(_)
            | Operation::Set(_)
            | Operation::Select(_)
            | Operation::SelectBySign { .. } => self.compare_op(inst, &args),
            Operation::Convert(_) => self.convert(inst, &args),
            _ if floating => self.float_op(inst, &args).map(|v| vec![v]),
            _ => self.int_op(inst, &args).map(|v| vec![v]),
        };
        match native {
            Some(results) => self.set_each(inst, results),
            None => self.pure_by_helper(inst, &args, uniform),
        }
    }

    /// Puts operands where helpers look for them.
    pub(super) fn pass(&mut self, first: usize, args: &[(Val, Class)], uniform: bool) {
        for (n, (v, class)) in args.iter().enumerate() {
            let at = slot(first + n);
            match (uniform.then(|| v.uniform()).flatten(), class) {
                (Some(u), _) => {
                    self.b.ins().store(OWN, u, self.warp, at);
                }
                (None, Class::Predicate) => {
                    let bits = self.bits(v);
                    self.b.ins().store(OWN, bits, self.warp, at);
                }
                (None, class) => {
                    let all = self.vectors(v, *class);
                    for (k, x) in all.iter().enumerate() {
                        self.b.ins().store(OWN, *x, self.warp, at + 16 * k as i32);
                    }
                }
            }
        }
    }

    /// What a helper left in a slot.
    pub(super) fn receive(&mut self, n: usize, class: Class, uniform: bool) -> Val {
        let at = slot(n);
        if uniform || class == Class::Predicate {
            let v = self.b.ins().load(scalar(class), OWN, self.warp, at);
            return match (class, uniform) {
                (Class::Predicate, true) => {
                    // Lane 0's bit, for all.
                    let by = self.i32(31);
                    let up = self.b.ins().ishl(v, by);
                    Self::known(self.b.ins().sshr(up, by))
                }
                (Class::Predicate, false) => Val::Mask { bits: Some(v), lanes: None },
                _ => Self::known(v),
            };
        }
        self.load_lanes(class, OWN, self.warp, at)
    }

    pub(super) fn results(&self, inst: &Inst) -> Vec<Class> {
        let class = |d: &Dst| match d {
            Dst::Reg(r, _) => self.class(*r),
            Dst::Sink => Class::Narrow,
        };
        inst.dst.iter().map(class).collect()
    }

    fn pure_by_helper(&mut self, inst: &Inst, args: &[Val], uniform: bool) {
        let classes: Vec<Class> = (0..args.len()).map(|n| self.class_of(inst, n)).collect();
        let both: Vec<_> = args.iter().cloned().zip(classes.iter().copied()).collect();
        self.pass(0, &both, uniform);
        let results = self.results(inst);
        let site = self.site(inst, classes, results.clone());
        let mask = if uniform { self.i32(1) } else { self.guard(inst).unwrap_or(self.act) };
        self.call(Which::Pure, site, mask);
        let results = results.into_iter().enumerate();
        let results = results.map(|(n, class)| self.receive(n, class, uniform)).collect();
        self.set_each(inst, results);
    }

    /// Writes all results, to the guard's own register last: it says where the others go.
    fn set_each(&mut self, inst: &Inst, results: Vec<Val>) {
        let is_guard =
            |d: &Dst| matches!((d, inst.guard), (Dst::Reg(r, _), Some((p, _))) if *r == p);
        let (last, first): (Vec<_>, Vec<_>) =
            inst.dst.iter().zip(results).partition(|(dst, _)| is_guard(dst));
        for (dst, v) in first.into_iter().chain(last) {
            self.set(inst, *dst, v);
        }
    }

    /// `f` on the scalars, or on every vector. The flag says vectors.
    pub(super) fn map(
        &mut self,
        class: Class,
        args: &[Val],
        f: &mut dyn FnMut(&mut Self, &[Value], bool) -> Value,
    ) -> Val {
        let all: Option<Vec<Value>> = args.iter().map(Val::uniform).collect();
        if let Some(all) = all {
            return Self::known(f(self, &all, false));
        }
        let columns: Vec<_> = args.iter().map(|a| self.vectors(a, class)).collect();
        let rows = (0..chunks(class)).map(|k| {
            let row: Vec<Value> = columns.iter().map(|c| c[k]).collect();
            self.lanes_from(k * 32 / chunks(class));
            f(self, &row, true)
        });
        let rows = rows.collect();
        self.lanes_from(0);
        Val::Lanes(rows)
    }

    /// `yes` where the bit is set, `no` elsewhere.
    pub(super) fn blend(&mut self, bits: Value, yes: &Val, no: &Val, class: Class) -> Val {
        if class == Class::Predicate {
            let (y, n) = (self.bits(yes), self.bits(no));
            let y = self.b.ins().band(y, bits);
            let n = self.b.ins().band_not(n, bits);
            return Val::Mask { bits: Some(self.b.ins().bor(y, n)), lanes: None };
        }
        let lanes = self.expand(bits);
        let masks = self.masks_for(&lanes, class);
        let (y, n) = (self.vectors(yes, class), self.vectors(no, class));
        let all = masks.iter().zip(y.iter().zip(n.iter())).enumerate();
        let all = all.map(|(k, (m, (y, n)))| {
            // A load of a chosen value may become part of this operation, which then has to say for which lanes it is.
            self.lanes_from(k * 32 / chunks(class));
            self.b.ins().bitselect(*m, *y, *n)
        });
        let all = all.collect();
        self.lanes_from(0);
        Val::Lanes(all)
    }

    pub(super) fn mov(&mut self, inst: &Inst) {
        let bits = inst.sem.ty().bits();
        let class = |e: &Self, src: &Src, ty: u32| match src {
            Src::Reg(r) | Src::Not(r) => e.class(*r),
            _ if inst.sem.ty() == Scalar::Pred => Class::Predicate,
            _ if ty > 32 => Class::Wide,
            _ => Class::Narrow,
        };
        match (inst.src.len(), inst.dst.len()) {
            (1, 1) => {
                let c = class(self, &inst.src[0], bits);
                let v = if self.keeps_nans(inst) {
                    self.operand_raw(&inst.src[0], c)
                } else {
                    self.operand(&inst.src[0], c)
                };
                let v = self.cut_to(inst.dst[0], v, bits);
                self.set(inst, inst.dst[0], v);
            }
            // Two narrow halves make a wide one.
            (2, 1) if bits == 64 => {
                let parts: Vec<Val> =
                    inst.src.iter().map(|s| self.operand(s, Class::Narrow)).collect();
                let v = self.join(&parts[0], &parts[1]);
                self.set(inst, inst.dst[0], v);
            }
            (1, 2) if bits == 64 => self.split_halves(inst),
            (n, 1) if bits <= 32 => {
                let part = bits / n as u32;
                let parts: Vec<Val> =
                    inst.src.iter().map(|s| self.operand(s, Class::Narrow)).collect();
                let v = self.map(Class::Narrow, &parts, &mut |e, row, vec| {
                    let keep = e.all(Class::Narrow, vec, (1u64 << part) - 1);
                    let mut sum = e.b.ins().band(row[0], keep);
                    for (k, v) in row.iter().enumerate().skip(1) {
                        let v = e.b.ins().band(*v, keep);
                        let by = e.i32(i64::from(part) * k as i64);
                        let v = e.b.ins().ishl(v, by);
                        sum = e.b.ins().bor(sum, v);
                    }
                    sum
                });
                self.set(inst, inst.dst[0], v);
            }
            (1, n) if bits <= 32 => {
                let part = bits / n as u32;
                let v = self.operand(&inst.src[0], Class::Narrow);
                for (k, dst) in inst.dst.iter().enumerate() {
                    let piece =
                        self.map(Class::Narrow, std::slice::from_ref(&v), &mut |e, row, vec| {
                            let by = e.i32(i64::from(part) * k as i64);
                            let v = e.b.ins().ushr(row[0], by);
                            let keep = e.all(Class::Narrow, vec, (1u64 << part) - 1);
                            e.b.ins().band(v, keep)
                        });
                    self.set(inst, *dst, piece);
                }
            }
            // Four 16-bit pieces of 64 bits: pairs first.
            (4, 1) => self.join_quarters(inst),
            (_, n) => self.split_wide(inst, bits / n as u32),
        }
    }

    /// A wide value to two narrow registers.
    fn split_halves(&mut self, inst: &Inst) {
        let v = self.operand(&inst.src[0], Class::Wide);
        for (k, dst) in inst.dst.iter().enumerate() {
            let part = match v.uniform() {
                Some(u) => {
                    let by = self.i32(32 * k as i64);
                    let s = self.b.ins().ushr(u, by);
                    Self::known(self.b.ins().ireduce(types::I32, s))
                }
                None => {
                    let all = self.vectors(&v, Class::Wide);
                    Val::Lanes(self.narrow(&all, k == 1))
                }
            };
            self.set(inst, *dst, part);
        }
    }

    /// Four 16-bit pieces to a wide register.
    fn join_quarters(&mut self, inst: &Inst) {
        let parts: Vec<Val> = inst.src.iter().map(|s| self.operand(s, Class::Narrow)).collect();
        let pair = |e: &mut Self, k: usize| {
            e.map(Class::Narrow, &parts[k..k + 2], &mut |e, row, vec| {
                let keep = e.all(Class::Narrow, vec, 0xffff);
                let low = e.b.ins().band(row[0], keep);
                let by = e.i32(16);
                let high = e.b.ins().ishl(row[1], by);
                e.b.ins().bor(low, high)
            })
        };
        let (low, high) = (pair(self, 0), pair(self, 2));
        let v = self.join(&low, &high);
        self.set(inst, inst.dst[0], v);
    }

    /// A wide value to pieces of `part` bits.
    fn split_wide(&mut self, inst: &Inst, part: u32) {
        let v = self.operand(&inst.src[0], Class::Wide);
        for (k, dst) in inst.dst.iter().enumerate() {
            let piece = self.map(Class::Wide, std::slice::from_ref(&v), &mut |e, row, vec| {
                let by = e.i32(i64::from(part) * k as i64);
                let v = e.b.ins().ushr(row[0], by);
                let keep = e.all(Class::Wide, vec, (1u64 << part) - 1);
                e.b.ins().band(v, keep)
            });
            let piece = match piece {
                Val::Lanes(l) => Val::Lanes(self.narrow(&l, false)),
                other => {
                    let u = other.uniform().unwrap_or(self.act);
                    Self::known(self.b.ins().ireduce(types::I32, u))
                }
            };
            self.set(inst, *dst, piece);
        }
    }

    /// A 64-bit value of two halves.
    pub(super) fn join(&mut self, low: &Val, high: &Val) -> Val {
        if let (Some(l), Some(h)) = (low.uniform(), high.uniform()) {
            let l = self.b.ins().uextend(types::I64, l);
            let h = self.b.ins().uextend(types::I64, h);
            let by = self.i32(32);
            let h = self.b.ins().ishl(h, by);
            return Self::known(self.b.ins().bor(l, h));
        }
        let (l, h) = (self.vectors(low, Class::Narrow), self.vectors(high, Class::Narrow));
        let order = |k: u8| -> [u8; 16] {
            std::array::from_fn(|i| {
                let (element, byte) = (i as u8 / 4, i as u8 % 4);
                let lane = 2 * k + element / 2;
                4 * lane + byte + if element % 2 == 1 { 16 } else { 0 }
            })
        };
        let masks = [0, 1].map(|k| self.b.func.dfg.immediates.push(order(k).to_vec().into()));
        let mut out = Vec::with_capacity(16);
        for (l, h) in l.iter().zip(h.iter()) {
            let (l, h) = (self.cast(types::I8X16, *l), self.cast(types::I8X16, *h));
            for m in masks {
                let v = self.b.ins().shuffle(l, h, m);
                out.push(self.cast(types::I64X2, v));
            }
        }
        Val::Lanes(out.into())
    }

    /// A narrow value truncated to the width of its destination register.
    pub(super) fn cut_to(&mut self, dst: Dst, v: Val, bits: u32) -> Val {
        let Dst::Reg(r, width) = dst else { return v };
        if self.class(r) != Class::Narrow || width >= 32 || bits <= width {
            return v;
        }
        self.map(Class::Narrow, &[v], &mut |e, row, vec| {
            let keep = e.all(Class::Narrow, vec, (1u64 << width) - 1);
            e.b.ins().band(row[0], keep)
        })
    }

    /// Whether a copy may hand NaNs on as they are.
    pub(super) fn keeps_nans(&self, inst: &Inst) -> bool {
        region::writes(inst).all(|r| self.clean[r as usize].is_some())
    }
}
