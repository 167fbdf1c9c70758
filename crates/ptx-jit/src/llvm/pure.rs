//! Instructions that compute lane by lane.
//!
//! Owns how: by LLVM IR if it gives the same bits, else by a helper with the interpreter's arithmetic. Must not know
//! memory.

use super::emitter::{Emit, LANES, Refused, Val};
use super::lookup::line;
use super::{sfu, usual};
use crate::simt::plan::fits;
use crate::simt::plan::shape::{Class, Shape, affine};
use crate::warp::{Which, task};
use cushim_ptx::Level;
use cushim_ptx::exec::window;
use cushim_ptx::ir::{Dst, Inst, Src};
use cushim_ptx::sem::{AddressOp, Clamp, Convert, Float, FloatOp, Operation, Precision};
use cushim_ptx::soft::Round;
use cushim_ptx::types::{Kind, Scalar};
use cushim_translate::llvm::{Body, Type, Value};
use cushim_translate::ops;

impl Emit<'_> {
    pub(super) fn pure(&mut self, inst: &Inst) -> Result<(), Refused> {
        let args = self.arguments(inst)?;
        let uniform = args.iter().all(|a| a.uniform().is_some());
        if !uniform && fits(self.f, inst) {
            let shapes: Vec<_> = args.iter().map(Val::shape).collect();
            let zeros = self.plan.low.operands(inst);
            if let Some(shape) = affine(inst, &shapes, &zeros, self) {
                return inst.dst.first().map_or(Ok(()), |dst| self.set(*dst, Val::Known(shape)));
            }
        }
        if let Some(lanes) = self.compare_steps(inst, &args) {
            return self.set(inst.dst[0], lanes);
        }
        if let Operation::Bits(what) = inst.sem
            && inst.sem.ty() == Scalar::Pred
            && !uniform
            && let Some(lanes) = self.combined(what.op, &args)
        {
            return self.set(inst.dst[0], lanes);
        }
        if let Some(which) = function(inst) {
            return self.function(inst, which, &args, uniform);
        }
        if is_of_doubles(inst) {
            return self.doubles(inst, &args, uniform);
        }
        let Some(out) = self.native(inst, &args, uniform) else {
            return self.by_helper(inst, &args, uniform);
        };
        let of = |v: Value| if uniform { Val::one(v) } else { Val::Lanes(v) };
        let results = [Some(out.0), out.1];
        for (dst, v) in inst.dst.iter().zip(results) {
            self.set(*dst, of(v.ok_or("an operation of fewer results")?))?;
        }
        Ok(())
    }

    /// The operands: with canonical NaNs where the operation looks at bits or signs.
    fn arguments(&mut self, inst: &Inst) -> Result<Vec<Val>, Refused> {
        let floating = inst.sem.ty().kind() == Kind::Float;
        let any_nan = match inst.sem {
            Operation::Compare(_) | Operation::Set(_) => true,
            // A double keeps the payload of a single's NaN.
            Operation::Convert(Convert::Float { to: Scalar::F64, .. }) => false,
            Operation::Convert(c) => c.is_of_one() || floating,
            Operation::Select(_) => self.keeps_nans(inst),
            Operation::Float(f) if f.op == FloatOp::Copysign => false,
            _ => floating,
        };
        let mut args = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            let class = self.class_of(inst, n);
            args.push(match any_nan {
                true => self.operand_raw(src, class)?,
                false => self.operand(src, class)?,
            });
        }
        Ok(args)
    }

    /// Whether a copy may keep NaNs as they are.
    fn keeps_nans(&self, inst: &Inst) -> bool {
        crate::simt::plan::region::writes(inst).all(|r| self.clean[r as usize].is_some())
    }

    /// The operation in LLVM IR; `None` if the bits may differ.
    fn native(&mut self, inst: &Inst, args: &[Val], uniform: bool) -> Option<ops::Out> {
        // Double NaNs keep an operand's payload, in an order that LLVM does not promise; so do conversions.
        let double = |n: usize| inst.sem.operand(n) == Scalar::F64;
        let doubles = inst.sem.ty() == Scalar::F64 || (0..inst.src.len()).any(double);
        let integers = matches!(
            inst.sem,
            Operation::Convert(Convert::FromInteger { .. } | Convert::ToInteger { .. })
        );
        let of_sign =
            matches!(inst.sem, Operation::Float(Float { op: FloatOp::Neg | FloatOp::Abs, .. }));
        if doubles
            && !integers
            && !of_sign
            && matches!(inst.sem, Operation::Float(_) | Operation::Convert(_))
        {
            return None;
        }
        // Without half arithmetic in the processor, LLVM rounds to a single first, so `fma` would round twice.
        let half = inst.sem.float().filter(|f| f.op == FloatOp::Fma && f.ty == Scalar::F16);
        if half.is_some() {
            return None;
        }
        let values = self.values(inst, args, uniform);
        let width = match inst.dst.first() {
            Some(Dst::Reg(r, _)) => self.bits_of(*r),
            _ => 64,
        };
        let clean = self.keeps_nans(inst);
        let b = if uniform { self.scalar() } else { self.vector() };
        if let Operation::Float(f) = inst.sem
            && f.ty == Scalar::F32
            && !f.packed
            && clean
            && f.op != FloatOp::Copysign
        {
            return ops::with_any_nan(b, f, &values).ok().map(|v| ops::Out(v, None));
        }
        // On an error, the IR emitted so far is dead, and LLVM removes it.
        ops::eval(b, &inst.sem, width, &values).ok()
    }

    /// Operands as scalars (`uniform`), or as vectors.
    fn values(&mut self, inst: &Inst, args: &[Val], uniform: bool) -> Vec<Value> {
        let mut values = Vec::new();
        for (n, v) in args.iter().enumerate() {
            let bits = match (&inst.src[n], v) {
                (Src::Reg(r) | Src::Not(r), _) => self.bits_of(*r),
                (_, Val::Known(Shape::Uniform(u))) => u.ty.bits(),
                _ => 32,
            };
            values.push(match v.uniform() {
                Some(u) if uniform => u,
                _ => self.lanes(v, bits),
            });
        }
        values
    }

    /// Arithmetic of doubles. If a result is a NaN, which keeps an operand's payload, a helper computes it again.
    fn doubles(&mut self, inst: &Inst, args: &[Val], uniform: bool) -> Result<(), Refused> {
        let values = self.values(inst, args, uniform);
        let whole = self.full && self.guard.is_none();
        let b = if uniform { self.scalar() } else { self.vector() };
        let ops::Out(v, _) = ops::eval(b, &inst.sem, 64, &values)?;
        let number = b.bits_as(v, Type::Double);
        let sound = if uniform {
            b.fcmp("ord", number, number)
        } else if whole {
            self.all_numbers(number)
        } else {
            let nan = b.fcmp("uno", number, number);
            let (nan, lanes) = (self.mask(nan), self.guard_mask());
            let nan = self.scalar().op("and", nan, lanes);
            self.scalar().icmp_with("eq", nan, 0)
        };
        let v = if uniform { Val::one(v) } else { Val::Lanes(v) };
        let first = inst.dst.first().copied().unwrap_or(Dst::Sink);
        if self.full {
            self.leave_unless(sound);
            return self.set(first, v);
        }
        let (rare, next) = (self.label(), self.label());
        self.set(first, v)?;
        self.likely(sound, &next, &rare);
        self.b.label(&rare);
        self.by_helper(inst, args, uniform)?;
        self.jump(&next);
        self.b.label(&next);
        Ok(())
    }

    /// Whether no lane is a NaN: one comparison tests two registers of four lanes, whose results are joined before a branch
    /// looks at them.
    fn all_numbers(&mut self, number: Value) -> Value {
        const PART: u32 = 4;
        let all = self.vector().typed(number);
        let b = self.scalar();
        let ty = number.ty.text();
        let mut part = |first: u32| {
            let which: Vec<String> = (first..first + PART).map(|l| format!("i32 {l}")).collect();
            let which = which.join(", ");
            let all = format!("shufflevector {all}, <{LANES} x {ty}> poison");
            line(b, &format!("{all}, <{PART} x i32> <{which}>"))
        };
        let parts: Vec<String> = (0..LANES).step_by(PART as usize).map(&mut part).collect();
        let nans = parts
            .chunks_exact(2)
            .map(|two| line(b, &format!("fcmp uno <{PART} x {ty}> {}, {}", two[0], two[1])));
        let nans: Vec<String> = nans.collect();
        let join = |any: String, nan: &String| line(b, &format!("or <{PART} x i1> {any}, {nan}"));
        let any = nans[1..].iter().fold(nans[0].clone(), join);
        let any = line(b, &format!("bitcast <{PART} x i1> {any} to i{PART}"));
        b.result(Type::Int(1), &format!("icmp eq i{PART} {any}, 0"))
    }

    /// Approximate functions with the GPU's bits: inline, or by helpers for all lanes.
    fn function(
        &mut self,
        inst: &Inst,
        which: Which,
        args: &[Val],
        uniform: bool,
    ) -> Result<(), Refused> {
        let Operation::Float(what) = inst.sem else { return Ok(()) };
        let plain = what.ty == Scalar::F32 && what.clamp == Clamp::None && !what.packed;
        if uniform || !plain || what.round != Round::Nearest {
            return self.by_helper(inst, args, uniform);
        }
        let here = matches!(Level::in_use(), Ok(Level::V4));
        if let Some(v) = here.then(|| self.by_unit(what, args)).flatten() {
            return self.set(inst.dst[0], Val::Lanes(v));
        }
        let operands = if matches!(what.op, FloatOp::Div(_)) { 2 } else { 1 };
        let mut flags = if what.flush { task::FTZ } else { 0 };
        let mut given = Vec::new();
        for (n, a) in args.iter().take(operands).enumerate() {
            if a.uniform().is_some() {
                flags |= task::SAME << n;
            }
            given.push((a.clone(), Class::Narrow));
        }
        self.pass(&given, true);
        let act = self.act;
        self.call(which, flags, act);
        let v = self.receive(0, Class::Narrow, false);
        self.set(inst.dst[0], v)
    }

    /// The function, inline.
    fn by_unit(&mut self, what: Float, args: &[Val]) -> Option<Value> {
        let one = match what.op {
            FloatOp::Div(how) => {
                let [x, y] = [0, 1].map(|n: usize| self.lanes(&args[n], 32));
                let full = how == Precision::Full;
                return Some(self.short_or(
                    (sfu::Function::Rcp, y),
                    &mut |b| usual::usual_quotient(b, what.flush, x, y),
                    &mut |b| sfu::quotient(b, full, what.flush, x, y),
                ));
            }
            FloatOp::Rcp(_) => sfu::Function::Rcp,
            FloatOp::Rsqrt => sfu::Function::Rsqrt,
            FloatOp::Sqrt(_) => sfu::Function::Sqrt,
            FloatOp::Ex2 => sfu::Function::Ex2,
            FloatOp::Lg2 => sfu::Function::Lg2,
            FloatOp::Sin => sfu::Function::Sin,
            FloatOp::Cos => sfu::Function::Cos,
            _ => return None,
        };
        let x = self.lanes(&args[0], 32);
        let short = &mut |b: &mut Body| usual::of_usual(b, one, x);
        Some(self.short_or((one, x), short, &mut |b| sfu::one(b, one, what.flush, x)))
    }

    /// A function's result by its short way, if all lanes have usual operands. Inactive lanes may have any: code for
    /// any lanes has the long way only.
    fn short_or(
        &mut self,
        (what, x): (sfu::Function, Value),
        short: &mut dyn FnMut(&mut Body) -> Value,
        long: &mut dyn FnMut(&mut Body) -> Value,
    ) -> Value {
        let full = self.full;
        let b = self.vector();
        let usual = if full { usual::are_usual(b, what, x) } else { None };
        let Some(usual) = usual else { return long(b) };
        let usual = b.typed(usual);
        let all = line(b, &format!("bitcast {usual} to i{LANES}"));
        let all = b.result(Type::Int(1), &format!("icmp eq i{LANES} {all}, -1"));
        let [yes, no, next] = [(); 3].map(|()| self.label());
        self.likely(all, &yes, &no);
        let way = |e: &mut Self, label: &str, give: &mut dyn FnMut(&mut Body) -> Value| {
            e.b.label(label);
            let v = give(e.vector());
            let name = e.vector().name(v);
            e.jump(&next);
            name
        };
        let (short, long) = (way(self, &yes, short), way(self, &no, long));
        self.b.label(&next);
        self.b.result(
            Type::Int(32),
            &format!("phi <{LANES} x i32> [ {short}, %{yes} ], [ {long}, %{no} ]"),
        )
    }

    pub(super) fn results(&self, inst: &Inst) -> Vec<Class> {
        let class = |d: &Dst| match d {
            Dst::Reg(r, _) => self.class(*r),
            Dst::Sink => Class::Narrow,
        };
        inst.dst.iter().map(class).collect()
    }

    fn by_helper(&mut self, inst: &Inst, args: &[Val], uniform: bool) -> Result<(), Refused> {
        self.without_helpers()?;
        let classes: Vec<Class> = (0..args.len()).map(|n| self.class_of(inst, n)).collect();
        let both: Vec<_> = args.iter().cloned().zip(classes.iter().copied()).collect();
        self.pass(&both, uniform);
        let results = self.results(inst);
        let site = self.site(inst, classes, results.clone());
        let mask = if uniform { Value::int(32, 1) } else { self.guard_mask() };
        self.call(Which::Pure, site, mask);
        for (n, class) in results.into_iter().enumerate() {
            let v = self.receive(n, class, uniform);
            self.set(inst.dst[n], v)?;
        }
        Ok(())
    }

    /// `mov`: one value, or packing and unpacking its parts.
    pub(super) fn moved(&mut self, inst: &Inst) -> Result<(), Refused> {
        let ty = inst.sem.ty();
        let bits = if ty == Scalar::Pred { 1 } else { ty.bits() };
        if bits > 64 {
            return Err("a register of 128 bits");
        }
        let class = |e: &Self, src: &Src, bits: u32| match src {
            Src::Reg(r) | Src::Not(r) => e.class(*r),
            _ if bits == 1 => Class::Predicate,
            _ if bits > 32 => Class::Wide,
            _ => Class::Narrow,
        };
        if let ([src], [dst]) = (&inst.src[..], &inst.dst[..]) {
            let c = class(self, src, bits);
            let v = match self.keeps_nans(inst) {
                true => self.operand_raw(src, c)?,
                false => self.operand(src, c)?,
            };
            return self.set(*dst, v);
        }
        let mut parts = Vec::new();
        for src in &inst.src {
            let c = class(self, src, bits / inst.src.len() as u32);
            parts.push(self.operand(src, c)?);
        }
        let uniform = parts.iter().all(|p| p.uniform().is_some());
        let part = bits / parts.len() as u32;
        let mut whole: Option<Value> = None;
        for (k, p) in parts.iter().enumerate() {
            let v = match p.uniform() {
                Some(u) if uniform => u,
                _ => self.lanes(p, 64),
            };
            let b = if uniform { self.scalar() } else { self.vector() };
            let v = b.fit(v, part);
            let v = b.fit(v, bits);
            let v = b.with("shl", v, u128::from(part) * k as u128);
            whole = Some(match whole {
                None => v,
                Some(w) => b.op("or", w, v),
            });
        }
        let whole = whole.ok_or("a move of nothing")?;
        let part = bits / inst.dst.len() as u32;
        for (k, dst) in inst.dst.iter().enumerate() {
            let b = if uniform { self.scalar() } else { self.vector() };
            let v = b.with("lshr", whole, u128::from(part) * k as u128);
            let v = b.fit(v, part);
            self.set(*dst, if uniform { Val::one(v) } else { Val::Lanes(v) })?;
        }
        Ok(())
    }

    /// `cvta`: between an address of a space and a generic one.
    pub(super) fn address_of_space(&mut self, inst: &Inst) -> Result<(), Refused> {
        let Operation::Address(what) = inst.sem else { return Ok(()) };
        if what.op.is_question() {
            return Err("isspacep");
        }
        let class = self.class_of(inst, 0);
        let v = self.operand(&inst.src[0], class)?;
        let v = match window(what.space) {
            None => v,
            Some(w) => {
                let w = if what.op == AddressOp::FromGeneric { w.wrapping_neg() } else { w };
                let bits = if class == Class::Wide { 64 } else { 32 };
                match v.uniform() {
                    Some(u) => {
                        let u = self.scalar().fit(u, bits);
                        Val::one(self.scalar().with("add", u, w.into()))
                    }
                    None => {
                        let v = self.lanes(&v, bits);
                        Val::Lanes(self.vector().with("add", v, w.into()))
                    }
                }
            }
        };
        self.set(inst.dst[0], v)
    }
}

/// Whether it is arithmetic of doubles, rounded to nearest, or converts a single to a double.
fn is_of_doubles(inst: &Inst) -> bool {
    if let Operation::Convert(Convert::Float { from: Scalar::F32, to: Scalar::F64, mode }) =
        inst.sem
    {
        return !mode.whole && !mode.flush && !mode.finite && mode.clamp == Clamp::None;
    }
    let Operation::Float(what) = inst.sem else { return false };
    let op = match what.op {
        FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma => true,
        FloatOp::Div(how) | FloatOp::Sqrt(how) | FloatOp::Rcp(how) => how == Precision::Rounded,
        _ => false,
    };
    let plain = !what.flush && !what.packed && what.clamp == Clamp::None;
    op && plain && what.ty == Scalar::F64 && what.round == Round::Nearest
}

/// The helper of an approximate function, if the instruction is one.
fn function(inst: &Inst) -> Option<Which> {
    let Operation::Float(what) = inst.sem else { return None };
    Some(match what.op {
        FloatOp::Ex2 => Which::Ex2,
        FloatOp::Lg2 => Which::Lg2,
        FloatOp::Tanh => Which::Tanh,
        FloatOp::Sin => Which::Sin,
        FloatOp::Cos => Which::Cos,
        FloatOp::Rsqrt => Which::Rsqrt,
        FloatOp::Sqrt(Precision::Approx) => Which::Sqrt,
        FloatOp::Rcp(Precision::Approx) => Which::Rcp,
        FloatOp::Div(Precision::Approx) => Which::DivApprox,
        FloatOp::Div(Precision::Full) => Which::DivFull,
        _ => return None,
    })
}
