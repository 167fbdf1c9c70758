//! Shuffles whose source lanes are compile-time constants, as vector permutations.
//!
//! Owns the source vectors of each result vector. Must not know which lanes are active.

use super::emitter::Emit;
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::task;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::exec::shuffle_source;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::Way;

/// Lanes of a vector.
const LANES: usize = 4;

/// The lane that each lane reads, and which lanes read one within the bound.
pub(super) struct Sources {
    from: [usize; 32],
    inside: u32,
}

impl Sources {
    /// The permutation of a shuffle with these operands, which compilers write as registers with a constant.
    pub(super) fn of(way: Way, b: u64, c: u64) -> Self {
        let mut found = Sources { from: [0; 32], inside: 0 };
        for lane in 0..32 {
            let (from, inside) = shuffle_source(way, lane, b, c);
            found.from[lane] = from;
            found.inside |= u32::from(inside) << lane;
        }
        found
    }
}

impl Emit<'_> {
    /// The lanes of a shuffle whose operands are constants.
    pub(super) fn known_sources(&self, inst: &Inst, args: &[(Val, Class)]) -> Option<Sources> {
        let way = task::shuffle_way(inst)?;
        // Processors without SSE4.1 may have no order of bytes by an instruction either (SSSE3).
        if !self.has_rounding {
            return None;
        }
        let number = |n: usize| self.number_of(args.get(n)?.0.uniform()?);
        Some(Sources::of(way, number(1)?, number(2)?))
    }

    /// A shuffle among the lanes of a mask: reading another lane gives zero, as everywhere.
    pub(super) fn known_shuffle(
        &mut self,
        inst: &Inst,
        sources: &Sources,
        value: &Val,
        mask: Value,
    ) {
        let value = self.vectors(value, Class::Narrow);
        let here = self.expand(mask);
        let (value, here) =
            (self.permute(&sources.from, &value), self.permute(&sources.from, &here));
        let read = value.iter().zip(&here).map(|(v, m)| self.b.ins().band(*v, *m)).collect();
        if let Some(dst) = inst.dst.first() {
            self.set(inst, *dst, Val::Lanes(read));
        }
        if let Some(dst) = inst.dst.get(1) {
            let bits = self.i32(sources.inside.into());
            self.set(inst, *dst, Val::Mask { bits: Some(bits), lanes: None });
        }
    }

    /// Eight vectors of 32 lanes in another order.
    fn permute(&mut self, from: &[usize; 32], of: &[Value]) -> Vec<Value> {
        let mut made: Vec<([usize; LANES], Value)> = Vec::new();
        from.chunks_exact(LANES)
            .map(|wanted| {
                let wanted = std::array::from_fn(|k| wanted[k]);
                if let Some((_, v)) = made.iter().find(|(w, _)| *w == wanted) {
                    return *v;
                }
                let v = self.gathered(wanted, of);
                made.push((wanted, v));
                v
            })
            .collect()
    }

    /// A vector of these lanes: the first vector that has one of them, with the others blended into it one after the
    /// other.
    fn gathered(&mut self, wanted: [usize; LANES], of: &[Value]) -> Value {
        let first = wanted[0] / LANES;
        if wanted == std::array::from_fn(|k| LANES * first + k) {
            return of[first];
        }
        let mut out = self.cast(types::I8X16, of[first]);
        // The current position of each lane in `out`.
        let mut at: [Option<usize>; LANES] =
            wanted.map(|w| (w / LANES == first).then_some(w % LANES));
        let mut moved = false;
        while !moved || at.contains(&None) {
            let next = at.iter().position(Option::is_none).map_or(first, |k| wanted[k] / LANES);
            let other = self.cast(types::I8X16, of[next]);
            let lane = |k: usize| match at[k] {
                Some(lane) => lane,
                None if wanted[k] / LANES == next => LANES + wanted[k] % LANES,
                None => k,
            };
            let order: Vec<u8> =
                (0..16).map(|byte| (4 * lane(byte / 4) + byte % 4) as u8).collect();
            let order = self.b.func.dfg.immediates.push(order.into());
            out = self.b.ins().shuffle(out, other, order);
            for (k, at) in at.iter_mut().enumerate() {
                if at.is_some() || wanted[k] / LANES == next {
                    *at = Some(k);
                }
            }
            moved = true;
        }
        self.cast(types::I32X4, out)
    }
}
