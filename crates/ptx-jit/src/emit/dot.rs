//! Dot products of four bytes (`dp4a`).
//!
//! Owns the method by pairs of 16-bit products, which every processor adds in one instruction: the even bytes and the
//! odd ones, extended. Must not know other integer operations ([`super::int`]).

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::Class;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::collections::HashMap;

impl Emit<'_> {
    /// The dot product of two words of bytes, plus a number; if the words are uniform, a helper is as good.
    pub(super) fn dot4(&mut self, args: &[Val], signed: [bool; 2]) -> Option<Val> {
        if args.iter().all(|a| a.uniform().is_some()) {
            return None;
        }
        let mut known: HashMap<(Value, bool), [Value; 2]> = HashMap::new();
        Some(self.map(Class::Narrow, &args[..3], &mut |e, a, _| {
            let [x, y] = [0, 1].map(|n| {
                *known.entry((a[n], signed[n])).or_insert_with(|| e.extended(a[n], signed[n]))
            });
            let even = e.products(x[0], y[0]);
            let odd = e.products(x[1], y[1]);
            let both = e.b.ins().iadd(even, odd);
            e.b.ins().iadd(both, a[2])
        }))
    }

    /// The even bytes and the odd ones, as 16-bit numbers.
    fn extended(&mut self, v: Value, signed: bool) -> [Value; 2] {
        let v = self.cast(types::I16X8, v);
        let by = self.i32(8);
        if signed {
            let up = self.b.ins().ishl(v, by);
            [self.b.ins().sshr(up, by), self.b.ins().sshr(v, by)]
        } else {
            let low = self.constant_vector(
                types::I16X8,
                std::array::from_fn(|n| if n % 2 == 0 { 0xff } else { 0 }),
            );
            [self.b.ins().band(v, low), self.b.ins().ushr(v, by)]
        }
    }

    /// Products of 16 bits, signed, and the sums of neighbours: as one instruction.
    fn products(&mut self, x: Value, y: Value) -> Value {
        let [a, b] = [x, y].map(|v| self.b.ins().swiden_low(v));
        let low = self.b.ins().imul(a, b);
        let [a, b] = [x, y].map(|v| self.b.ins().swiden_high(v));
        let high = self.b.ins().imul(a, b);
        self.b.ins().iadd_pairwise(low, high)
    }
}
