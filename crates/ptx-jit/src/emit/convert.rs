//! Conversions in native code.

use super::emitter::Emit;
use super::float::float_type;
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::task::Halves;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};
use cushim_ptx::sem::{Clamp, Convert, Mode, Operation};
use cushim_ptx::soft::Round;
use cushim_ptx::types::Scalar;

impl Emit<'_> {
    pub(super) fn convert(&mut self, inst: &Inst, args: &[Val]) -> Option<Vec<Val>> {
        let Operation::Convert(what) = inst.sem else { return None };
        if let Some(task) = Halves::of_conversion(what) {
            let operands = if what.is_of_one() { 1 } else { 2 };
            let narrow = (0..operands).all(|n| self.class_of(inst, n) == Class::Narrow);
            if !narrow || Self::register_bits(inst) > 32 {
                return None;
            }
            return self.halves_helper(task, 0, &args[..operands]).map(|v| vec![v]);
        }
        let v = match what {
            Convert::Float { from: Scalar::Bf16, to: Scalar::F32, mode }
                if mode.is_plain()
                    && self.class_of(inst, 0) == Class::Narrow
                    && Self::register_bits(inst) <= 32 =>
            {
                // Zeros are appended, to NaNs, too.
                Some(
                    self.map(Class::Narrow, &args[..1], &mut |e, a, _| {
                        e.b.ins().ishl_imm_u(a[0], 16)
                    }),
                )
            }
            Convert::Integer { from, to, saturate: false } => self.int_to_int(inst, to, from, args),
            Convert::FromInteger { from, to, round: Round::Nearest, clamp: Clamp::None } => {
                self.int_to_float(inst, to, from, args)
            }
            Convert::ToInteger { from, to, round, flush } => {
                self.float_to_int(inst, to, from, round, flush, args)
            }
            Convert::Float { from, to, mode } => self.float_to_float(to, from, mode, args),
            _ => None,
        };
        v.map(|v| vec![v])
    }

    fn register_bits(inst: &Inst) -> u32 {
        match inst.dst.first() {
            Some(Dst::Reg(_, bits)) => *bits,
            _ => 32,
        }
    }

    fn int_to_int(&mut self, inst: &Inst, d: Scalar, s: Scalar, args: &[Val]) -> Option<Val> {
        let width = Self::register_bits(inst);
        let from = self.class_of(inst, 0);
        // To 32 bits first: the low half, with the source's extension.
        let narrow = if from == Class::Wide {
            if s.bits() == 64 && d.bits() == 64 {
                return (width == 64).then(|| args[0].clone());
            }
            if s.bits() < 64 && d.bits() == 64 && s.bits() != 32 {
                return None;
            }
            match args[0].uniform() {
                Some(u) => Self::known(self.b.ins().ireduce(types::I32, u)),
                None => {
                    let all = self.vectors(&args[0], Class::Wide);
                    Val::Lanes(self.narrow(&all, false))
                }
            }
        } else {
            args[0].clone()
        };
        let part = s.bits().min(32);
        let extended = self.map(Class::Narrow, &[narrow], &mut |e, a, vec| {
            let v = e.extend_part(a[0], part, s.is_signed(), vec);
            let v = e.extend_part(v, d.bits().min(32), d.is_signed(), vec);
            if width < 32 { e.extend_part(v, width, false, vec) } else { v }
        });
        if width <= 32 {
            return Some(extended);
        }
        // A wide register: the narrower of both types decides the extension.
        let signed = if d.bits() == 64 { s.is_signed() } else { d.is_signed() };
        Some(match extended.uniform() {
            Some(u) => Self::known(self.extend64(u, signed)),
            None => {
                let all = self.vectors(&extended, Class::Narrow);
                Val::Lanes(self.widen(&all, signed))
            }
        })
    }

    fn int_to_float(&mut self, inst: &Inst, d: Scalar, s: Scalar, args: &[Val]) -> Option<Val> {
        if s.bits() > 32 || self.class_of(inst, 0) != Class::Narrow {
            return None;
        }
        let signed = s.is_signed();
        let prepare = |e: &mut Self, v: Value, vec: bool| e.extend_part(v, s.bits(), signed, vec);
        match d {
            Scalar::F32 => Some(self.map(Class::Narrow, args, &mut |e, a, vec| {
                let v = prepare(e, a[0], vec);
                let t = float_type(d, vec);
                let f = if signed {
                    e.b.ins().fcvt_from_sint(t, v)
                } else {
                    e.b.ins().fcvt_from_uint(t, v)
                };
                e.cast(if vec { types::I32X4 } else { types::I32 }, f)
            })),
            Scalar::F64 => {
                if let Some(u) = args[0].uniform() {
                    let v = prepare(self, u, false);
                    let f = if signed {
                        self.b.ins().fcvt_from_sint(types::F64, v)
                    } else {
                        self.b.ins().fcvt_from_uint(types::F64, v)
                    };
                    return Some(Self::known(self.cast(types::I64, f)));
                }
                let all = self.vectors(&args[0], Class::Narrow);
                let mut out = Vec::with_capacity(16);
                let swap: [u8; 16] = std::array::from_fn(|i| (i as u8 + 8) % 16);
                let swap = self.b.func.dfg.immediates.push(swap.to_vec().into());
                for v in all.iter() {
                    let v = prepare(self, *v, true);
                    let bytes = self.cast(types::I8X16, v);
                    let high = self.b.ins().shuffle(bytes, bytes, swap);
                    let high = self.cast(types::I32X4, high);
                    for half in [v, high] {
                        let f = if signed {
                            let w = self.b.ins().swiden_low(half);
                            self.b.ins().fcvt_from_sint(types::F64X2, w)
                        } else {
                            let w = self.b.ins().uwiden_low(half);
                            self.b.ins().fcvt_from_uint(types::F64X2, w)
                        };
                        out.push(self.cast(types::I64X2, f));
                    }
                }
                Some(Val::Lanes(out.into()))
            }
            _ => None,
        }
    }

    fn float_to_int(
        &mut self,
        inst: &Inst,
        d: Scalar,
        s: Scalar,
        round: Round,
        ftz: bool,
        args: &[Val],
    ) -> Option<Val> {
        if s != Scalar::F32 || d.bits() != 32 || Self::register_bits(inst) != 32 {
            return None;
        }
        if !self.has_rounding {
            return None;
        }
        Some(self.map(Class::Narrow, args, &mut |e, a, vec| {
            let v = if ftz { e.flush_bits(a[0], s, vec) } else { a[0] };
            let v = e.cast(float_type(s, vec), v);
            let v = e.round_whole(round, v);
            let t = if vec { types::I32X4 } else { types::I32 };
            if d.is_signed() {
                e.b.ins().fcvt_to_sint_sat(t, v)
            } else {
                e.b.ins().fcvt_to_uint_sat(t, v)
            }
        }))
    }

    fn round_whole(&mut self, round: Round, v: Value) -> Value {
        match round {
            Round::Zero => self.b.ins().trunc(v),
            Round::Down => self.b.ins().floor(v),
            Round::Up => self.b.ins().ceil(v),
            _ => self.b.ins().nearest(v),
        }
    }

    fn float_to_float(&mut self, d: Scalar, s: Scalar, mode: Mode, args: &[Val]) -> Option<Val> {
        let Mode { whole, flush: ftz, .. } = mode;
        let directed = !whole && mode.round != Round::Nearest;
        if directed || mode.finite || mode.clamp == Clamp::Relu || whole && !self.has_rounding {
            return None;
        }
        let sat = mode.clamp == Clamp::Unit;
        let finish = |e: &mut Self, v: Value, vec: bool| {
            // As the machine has it, NaNs keep their payloads from and to doubles, and
            // where nothing is computed.
            let kept = d == Scalar::F64 || s == Scalar::F64 || !whole && !ftz;
            let mut v = if kept && !sat { v } else { e.canonical_bits(v, d, vec) };
            if ftz {
                v = e.flush_bits(v, d, vec);
            }
            if sat { e.saturate(v, d, vec) } else { v }
        };
        match (d, s) {
            (Scalar::F32, Scalar::F32) | (Scalar::F64, Scalar::F64) => {
                let class = Class::of(d);
                Some(self.map(class, args, &mut |e, a, vec| {
                    let mut v = if ftz { e.flush_bits(a[0], s, vec) } else { a[0] };
                    if whole {
                        let t = e.b.func.dfg.value_type(v);
                        let f = e.cast(float_type(s, vec), v);
                        let f = e.round_whole(mode.round, f);
                        v = e.cast(t, f);
                    }
                    finish(e, v, vec)
                }))
            }
            (Scalar::F64, Scalar::F32) if !whole => {
                // Conversions that flush subnormals give the canonical NaN.
                let flushed = |e: &mut Self, v: Value, vec: bool| {
                    let v = e.canonical_bits(v, s, vec);
                    e.flush_bits(v, s, vec)
                };
                if let Some(u) = args[0].uniform() {
                    let u = if ftz { flushed(self, u, false) } else { u };
                    let f = self.cast(types::F32, u);
                    let f = self.b.ins().fpromote(types::F64, f);
                    let v = self.cast(types::I64, f);
                    return Some(Self::known(finish(self, v, false)));
                }
                let flush = |e: &mut Self, v: Value| if ftz { flushed(e, v, true) } else { v };
                Some(self.promote(&args[0], &flush, &|e, v| finish(e, v, true)))
            }
            (Scalar::F32, Scalar::F64) if !whole => {
                if let Some(u) = args[0].uniform() {
                    let f = self.cast(types::F64, u);
                    let f = self.b.ins().fdemote(types::F32, f);
                    let v = self.cast(types::I32, f);
                    return Some(Self::known(finish(self, v, false)));
                }
                Some(self.demote(&args[0], &|e, v| finish(e, v, true)))
            }
            _ => None,
        }
    }

    /// Floats of all lanes to doubles; `before` and `after` are done to every vector.
    fn promote(
        &mut self,
        from: &Val,
        before: &dyn Fn(&mut Self, Value) -> Value,
        after: &dyn Fn(&mut Self, Value) -> Value,
    ) -> Val {
        let all = self.vectors(from, Class::Narrow);
        let swap: [u8; 16] = std::array::from_fn(|i| (i as u8 + 8) % 16);
        let swap = self.b.func.dfg.immediates.push(swap.to_vec().into());
        let mut out = Vec::with_capacity(16);
        for v in all.iter() {
            let v = before(self, *v);
            let bytes = self.cast(types::I8X16, v);
            let high = self.b.ins().shuffle(bytes, bytes, swap);
            for half in [v, high] {
                let f = self.cast(types::F32X4, half);
                let f = self.b.ins().fvpromote_low(f);
                let v = self.cast(types::I64X2, f);
                out.push(after(self, v));
            }
        }
        Val::Lanes(out.into())
    }

    /// Doubles of all lanes to floats; `after` is done to every vector.
    fn demote(&mut self, from: &Val, after: &dyn Fn(&mut Self, Value) -> Value) -> Val {
        let all = self.vectors(from, Class::Wide);
        let join: [u8; 16] = std::array::from_fn(|i| if i < 8 { i as u8 } else { i as u8 + 8 });
        let join = self.b.func.dfg.immediates.push(join.to_vec().into());
        let mut out = Vec::with_capacity(8);
        for pair in all.chunks_exact(2) {
            let half = [pair[0], pair[1]].map(|v| {
                let f = self.cast(types::F64X2, v);
                let f = self.b.ins().fvdemote(f);
                self.cast(types::I8X16, f)
            });
            let v = self.b.ins().shuffle(half[0], half[1], join);
            let v = self.cast(types::I32X4, v);
            out.push(after(self, v));
        }
        Val::Lanes(out.into())
    }
}
