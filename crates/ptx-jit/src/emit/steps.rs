//! Comparisons of affine values with uniform ones.
//!
//! Owns computing the lane mask by scalar arithmetic: if the step is a power of two, the lanes below a bound are the
//! first ones, and at most one is equal to it. Must not know other comparisons ([`super::compare`]).

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::Shape;
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// The logarithm of the step by which a value of 32 bits grows from lane to lane, and lane 0's.
fn growing(v: &Val) -> Option<(Value, u32)> {
    let Val::Known(Shape::Affine { base, steps, .. }) = v else { return None };
    let by = steps[1].checked_sub(steps[0]).filter(|by| (1..=1 << 16).contains(by))?;
    let even = steps[0] == 0 && steps.windows(2).all(|s| s[1] - s[0] == by);
    (even && by.count_ones() == 1).then(|| (*base, by.trailing_zeros()))
}

impl Emit<'_> {
    /// The lanes for which a comparison of 32-bit integers holds, where one side grows by lane. `usual` compares lane by
    /// lane, for numbers that wrap around within the warp.
    pub(super) fn compare_steps(
        &mut self,
        cc: IntCC,
        signed: bool,
        args: &[Val],
        usual: &mut dyn FnMut(&mut Self) -> Val,
    ) -> Option<Val> {
        let (cc, (base, by), y) = match (growing(&args[0]), growing(&args[1])) {
            (Some(x), None) => (cc, x, args[1].uniform()?),
            (None, Some(x)) => (cc.swap_args(), x, args[0].uniform()?),
            _ => return None,
        };
        let mask = |bits| Val::Mask { bits: Some(bits), lanes: None };
        if matches!(cc, IntCC::Equal | IntCC::NotEqual) {
            let bits = self.equal_step(base, by, y);
            let bits = if cc == IntCC::Equal { bits } else { self.b.ins().bnot(bits) };
            return Some(mask(bits));
        }
        let greatest = if signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let (low, bound) = (self.extend64(base, signed), self.extend64(y, signed));
        let most = self.i64(greatest - (31 << by));
        let straight = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, low, most);
        let [fits, wraps, next] = [(); 3].map(|()| self.b.create_block());
        self.b.append_block_param(next, types::I32);
        self.b.set_cold_block(wraps);
        self.b.ins().brif(straight, fits, &[], wraps, &[]);

        self.b.switch_to_block(wraps);
        let held = self.lanes_of.clone();
        let v = usual(self);
        let bits = self.bits(&v);
        self.lanes_of = held;
        self.jump(next, &[bits]);

        self.b.switch_to_block(fits);
        let bits = self.below(cc, low, by, bound);
        self.jump(next, &[bits]);
        self.b.switch_to_block(next);
        Some(mask(self.b.block_params(next)[0]))
    }

    /// The lane whose number is this one, if there is one.
    fn equal_step(&mut self, base: Value, by: u32, y: Value) -> Value {
        let far = self.b.ins().isub(y, base);
        // A number that is no multiple of the step gives a large result.
        let amount = self.i32(by.into());
        let lane = if by == 0 { far } else { self.b.ins().rotr(far, amount) };
        let (one, none, end) = (self.i32(1), self.i32(0), self.i32(32));
        let bit = self.b.ins().ishl(one, lane);
        let there = self.b.ins().icmp(IntCC::UnsignedLessThan, lane, end);
        self.b.ins().select(there, bit, none)
    }

    /// The lanes whose numbers, which do not wrap around, compare so: all in 64 bits.
    fn below(&mut self, cc: IntCC, low: Value, by: u32, bound: Value) -> Value {
        let (and_equal, turned) = match cc {
            IntCC::SignedLessThan | IntCC::UnsignedLessThan => (0, false),
            IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => (0, true),
            IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => (1, false),
            _ => (1, true),
        };
        let far = self.b.ins().isub(bound, low);
        let far = self.b.ins().iadd_imm_s(far, and_equal + (1 << by) - 1);
        let amount = self.i32(by.into());
        let count = if by == 0 { far } else { self.b.ins().sshr(far, amount) };
        let (none, all) = (self.i64(0), self.i64(32));
        let count = self.b.ins().smax(count, none);
        let count = self.b.ins().smin(count, all);
        let ones = self.i64(-1);
        let others = self.b.ins().ishl(ones, count);
        let others = self.b.ins().ireduce(types::I32, others);
        if turned { others } else { self.b.ins().bnot(others) }
    }
}
