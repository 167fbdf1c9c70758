//! Collectives: votes, shuffles, and others by helpers.
//!
//! Owns which of them are inline. Lanes that would wait for others of the warp are refused. Must not know control flow.

use super::emitter::{Emit, LANES, Refused, Val};
use super::lookup::{permuted, reordered, steps};
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which, task};
use cushim_ptx::Level;
use cushim_ptx::exec::shuffle_source;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{Collective, CollectiveOp, Vote, Way};
use cushim_translate::llvm::Value;

impl Emit<'_> {
    /// A collective while no lanes of the warp wait elsewhere.
    pub(super) fn collective(&mut self, inst: &Inst, what: Collective) -> Result<(), Refused> {
        if !self.plan.alone[self.region] {
            return Err("lanes that wait for others of the warp");
        }
        if what.op == CollectiveOp::Barrier {
            return Ok(());
        }
        let fixed = matches!(inst.src.last(), Some(Src::Imm(_)));
        let mut args = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            let class = match (src, what.op, n) {
                (Src::Reg(r) | Src::Not(r), ..) => self.class(*r),
                (_, CollectiveOp::Vote(_), 0) => Class::Predicate,
                (_, _, 0) => Class::of(inst.sem.ty()),
                _ => Class::Narrow,
            };
            args.push((self.operand(src, class)?, class));
        }
        let mask = self.guard_mask();
        if let (CollectiveOp::Vote(question), true) = (what.op, fixed && what.sync) {
            let said = self.lanes(&args[0].0, 1);
            let said = self.mask(said);
            let b = self.scalar();
            let yes = b.op("and", said, mask);
            let v = match question {
                Vote::Ballot => yes,
                Vote::All => b.icmp("eq", yes, mask),
                Vote::Any => b.icmp_with("ne", yes, 0),
                Vote::Uniform => {
                    let (all, none) = (b.icmp("eq", yes, mask), b.icmp_with("eq", yes, 0));
                    b.op("or", all, none)
                }
            };
            return self.set(inst.dst[0], Val::one(v));
        }
        if args.len() > INTERFACE.slots || matches!(what.op, CollectiveOp::Multiply(_)) {
            return Err("a product of matrices");
        }
        let results = self.results(inst);
        if let Some(way) = task::shuffle_way(inst).filter(|_| results[0] == Class::Narrow)
            && let Some((v, found)) = self.shuffled(inst, way, &args)
        {
            self.set(inst.dst[0], Val::Lanes(v))?;
            return match inst.dst.get(1) {
                Some(dst) => self.set(*dst, Val::Lanes(found)),
                None => Ok(()),
            };
        }
        self.pass(&args, false);
        let narrow = args.iter().take(3).all(|(_, c)| *c == Class::Narrow);
        match task::shuffle_way(inst) {
            Some(way) if narrow && results[0] == Class::Narrow => {
                self.call(Which::Shuffle, task::shuffle_mode(way), mask);
            }
            _ => {
                let operands = args.iter().map(|(_, c)| *c).collect();
                let site = self.site(inst, operands, results.clone());
                self.call(Which::Collective, site, mask);
            }
        }
        for (n, class) in results.into_iter().enumerate() {
            let v = self.receive(n, class, false);
            let one =
                matches!(what.op, CollectiveOp::Reduce { .. }) && n == 0 && fixed && what.sync;
            let v = if one && class != Class::Predicate {
                let bits = if class == Class::Wide { 64 } else { 32 };
                let all = self.lanes(&v, bits);
                Val::one(self.first_of(all, mask))
            } else {
                v
            };
            self.set(inst.dst[n], v)?;
        }
        Ok(())
    }

    /// A shuffle in a full warp: the values, and which lanes' source is in range; `None` if a helper does it.
    fn shuffled(&mut self, inst: &Inst, way: Way, args: &[(Val, Class)]) -> Option<(Value, Value)> {
        let (Some(Src::Imm(clamp)), None) = (inst.src.get(2), inst.guard) else { return None };
        let whole = self.full && args[..2].iter().all(|(_, class)| *class == Class::Narrow);
        if let (true, Some(Src::Imm(by))) = (whole, inst.src.get(1)) {
            let all: [(usize, bool); LANES as usize] =
                std::array::from_fn(|lane| shuffle_source(way, lane, *by, *clamp));
            let v = self.lanes(&args[0].0, 32);
            let b = self.vector();
            let v = reordered(b, v, &all.map(|(from, _)| from));
            let inside = steps(b, |l| i64::from(all[l as usize].1));
            return Some((v, b.icmp_with("ne", inside, 0)));
        }
        if !whole || !matches!(Level::in_use(), Ok(Level::V4)) {
            return None;
        }
        let (clamp, segment) = (*clamp as i64 & 31, *clamp as i64 >> 8 & 31);
        let bound = |l: i64| l & segment | clamp & !segment;
        let offset = self.lanes(&args[1].0, 32);
        let b = self.vector();
        let offset = b.with("and", offset, 31);
        let lane = steps(b, |l| l);
        let (from, fits) = match way {
            Way::Up => (b.op("sub", lane, offset), "sge"),
            Way::Down => (b.op("add", lane, offset), "sle"),
            Way::Butterfly => (b.op("xor", lane, offset), "sle"),
            Way::Index => {
                let first = steps(b, |l| l & segment);
                let other = b.with("and", offset, (!segment & 31) as u128);
                (b.op("or", first, other), "sle")
            }
        };
        let bound = steps(b, bound);
        let inside = b.icmp(fits, from, bound);
        let from = b.select(inside, from, lane);
        let v = self.lanes(&args[0].0, 32);
        Some((permuted(self.vector(), v, from), inside))
    }
}
