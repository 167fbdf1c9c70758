//! Predicates of all lanes: as vectors of truths, and as bits of one number.
//!
//! Owns going from one to the other. Comparisons of vectors give the first, which selects; control flow and guards ask for the
//! second. A predicate has both, and LLVM leaves out the one that nobody uses. Must not know registers.

use super::emitter::{Emit, LANES, Val};
use super::lookup::steps;
use cushim_ptx::Level;
use cushim_ptx::sem::BitOp;
use cushim_translate::llvm::{Type, Value};

impl Emit<'_> {
    /// Lanes as a vector of truths.
    pub(super) fn truths(&mut self, mask: Value) -> Value {
        match mask.constant() {
            Some(0) => return Value::int(1, 0),
            Some(0xffff_ffff) => return Value::int(1, 1),
            _ => {}
        }
        let v = if matches!(Level::in_use(), Ok(Level::V4)) {
            let mask = self.scalar().typed(mask);
            self.vector().result(Type::Int(1), &format!("bitcast {mask} to <32 x i1>"))
        } else {
            // Where the processor has no masks, a comparison in each lane is what a blend or an access of some lanes takes.
            let all = self.splat(mask);
            let b = self.vector();
            let own = steps(b, |lane| i64::from((1u32 << lane) as i32));
            let one = b.op("and", all, own);
            b.icmp("eq", one, own)
        };
        self.noted(v, mask)
    }

    /// A vector of truths as bits.
    pub(super) fn mask(&mut self, truths: Value) -> Value {
        match truths.constant() {
            Some(0) => return Value::int(LANES, 0),
            Some(_) => return Value::int(LANES, 0xffff_ffff),
            None => {}
        }
        if let Some(bits) = self.bits.get(&truths) {
            return *bits;
        }
        let v = self.vector().typed(truths);
        self.scalar().result(Type::Int(32), &format!("bitcast {v} to i32"))
    }

    /// Notes that a vector of truths is these bits.
    pub(super) fn noted(&mut self, truths: Value, bits: Value) -> Value {
        if truths.constant().is_none() {
            self.bits.insert(truths, bits);
        }
        truths
    }

    /// One truth for all lanes.
    pub(super) fn truth_for_all(&mut self, one: Value) -> Value {
        let v = self.splat(one);
        let bits = self.scalar().signed(one, LANES);
        self.noted(v, bits)
    }

    /// One where lanes of a guard are, else another.
    pub(super) fn choose(&mut self, guard: Value, yes: Value, no: Value) -> Value {
        let v = self.vector().select(guard, yes, no);
        if v.ty != Type::Int(1) {
            return v;
        }
        let [guard, yes, no] = [guard, yes, no].map(|v| self.mask(v));
        let b = self.scalar();
        let (yes, others) = (b.op("and", yes, guard), b.not(guard));
        let no = b.op("and", no, others);
        let bits = b.op("or", yes, no);
        self.noted(v, bits)
    }

    /// A predicate of all lanes the other way round.
    pub(super) fn none_of(&mut self, v: Value) -> Value {
        let bits = self.mask(v);
        let bits = self.scalar().not(bits);
        let v = self.vector().not(v);
        self.noted(v, bits)
    }

    /// An operation on predicates of all lanes.
    pub(super) fn combined(&mut self, op: BitOp, args: &[Val]) -> Option<Val> {
        let name = match op {
            BitOp::And => "and",
            BitOp::Or => "or",
            BitOp::Xor => "xor",
            _ => return None,
        };
        let [x, y] = args else { return None };
        let (x, y) = (self.lanes(x, 1), self.lanes(y, 1));
        let (a, b) = (self.mask(x), self.mask(y));
        let bits = self.scalar().op(name, a, b);
        let v = self.vector().op(name, x, y);
        Some(Val::Lanes(self.noted(v, bits)))
    }
}
