//! Comparisons of affine values with uniform ones.
//!
//! Owns computing the lane mask by scalar arithmetic: if the step is a power of two, the lanes below a bound are the
//! first ones, and at most one is equal to it. Must not know other comparisons ([`super::pure`]).

use super::emitter::{Emit, LANES, Val};
use crate::simt::plan::shape::Shape;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{Compared, Operation, Outcomes};
use cushim_translate::llvm::{Type, Value};
use cushim_translate::ops;

/// Lane 0's value, and the logarithm of the step by which a 32-bit value grows from lane to lane.
fn growing(v: &Val) -> Option<(Value, u32)> {
    let Val::Known(Shape::Affine { base, steps }) = v else { return None };
    let by = steps[1].checked_sub(steps[0]).filter(|by| (1..=1 << 16).contains(by))?;
    let even = steps[0] == 0 && steps.windows(2).all(|s| s[1] - s[0] == by);
    (even && by.count_ones() == 1).then(|| (*base, by.trailing_zeros()))
}

/// The comparison with its sides exchanged.
fn turned(holds: u8) -> u8 {
    let swap = |from, to| if holds & from == 0 { 0 } else { to };
    holds & Outcomes::EQUAL
        | swap(Outcomes::LESS, Outcomes::GREATER)
        | swap(Outcomes::GREATER, Outcomes::LESS)
}

impl Emit<'_> {
    /// The predicate of a 32-bit integer comparison, if one side grows by lane.
    pub(super) fn compare_steps(&mut self, inst: &Inst, args: &[Val]) -> Option<Val> {
        let Operation::Compare(what) = inst.sem else { return None };
        let Compared::Integers { bits: 32, signed } = what.of else { return None };
        if what.packed || what.then.is_some() || inst.dst.len() != 1 {
            return None;
        }
        let asked = what.holds.0 & (Outcomes::LESS | Outcomes::EQUAL | Outcomes::GREATER);
        let (asked, (base, by), y) = match (growing(&args[0]), growing(&args[1])) {
            (Some(x), None) => (asked, x, args[1].uniform()?),
            (None, Some(x)) => (turned(asked), x, args[0].uniform()?),
            _ => return None,
        };
        const NOT_EQUAL: u8 = Outcomes::LESS | Outcomes::GREATER;
        let bits = match asked {
            Outcomes::EQUAL => self.equal_step(base, by, y),
            NOT_EQUAL => {
                let equal = self.equal_step(base, by, y);
                self.scalar().not(equal)
            }
            _ => self.ordered_steps(what.holds, signed, args, asked, (base, by, y))?,
        };
        Some(Val::Lanes(self.lanes_of_mask(bits)))
    }

    /// The mask of the lane whose value is `y`, if there is one.
    fn equal_step(&mut self, base: Value, by: u32, y: Value) -> Value {
        let b = self.scalar();
        let far = b.op("sub", y, base);
        // If the distance is no multiple of the step, the lane number becomes large.
        let by = Value::int(32, by.into());
        let lane = b.same("llvm.fshr", &[far, far, by]);
        b.shift("shl", Value::int(32, 1), lane)
    }

    /// The mask of the lanes below a bound, or from it on: in 64 bits, or lane by lane if values wrap around within the
    /// warp.
    fn ordered_steps(
        &mut self,
        holds: Outcomes,
        signed: bool,
        args: &[Val],
        asked: u8,
        (base, by, y): (Value, u32, Value),
    ) -> Option<Value> {
        let (equal_below, rest) = match asked {
            Outcomes::LESS => (false, false),
            a if a == Outcomes::GREATER | Outcomes::EQUAL => (false, true),
            a if a == Outcomes::LESS | Outcomes::EQUAL => (true, false),
            Outcomes::GREATER => (true, true),
            _ => return None,
        };
        let greatest = if signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let found = format!("%m{}", self.b.number());
        self.b.variable(&format!("{found} = alloca i32"));
        let keep = |e: &mut Self, bits: Value| {
            let bits = e.scalar().typed(bits);
            e.b.line(&format!("store {bits}, ptr {found}"));
        };
        let [fits, wraps, next] = [(); 3].map(|()| self.label());
        let b = self.scalar();
        let (low, bound) = (b.extended(base, 64, signed), b.extended(y, 64, signed));
        let most = greatest - (i64::from(LANES - 1) << by);
        let straight = b.icmp_with("sle", low, most as u128);
        self.likely(straight, &fits, &wraps);

        self.b.label(&wraps);
        let [x, z] = [0, 1].map(|n: usize| self.lanes(&args[n], 32));
        let all = ops::integers(self.vector(), holds, signed, x, z);
        let all = self.mask(all);
        keep(self, all);
        self.jump(&next);

        self.b.label(&fits);
        let b = self.scalar();
        let far = b.op("sub", bound, low);
        let far = b.with("add", far, u128::from(equal_below) + (1 << by) - 1);
        let count = b.with("ashr", far, by.into());
        let count = b.same("llvm.smax", &[count, Value::int(64, 0)]);
        let count = b.same("llvm.smin", &[count, Value::int(64, LANES.into())]);
        let others = b.op("shl", Value::int(64, u128::from(u64::MAX)), count);
        let others = b.fit(others, 32);
        let bits = if rest { others } else { b.not(others) };
        keep(self, bits);
        self.jump(&next);

        self.b.label(&next);
        Some(self.scalar().result(Type::Int(32), &format!("load i32, ptr {found}")))
    }
}
