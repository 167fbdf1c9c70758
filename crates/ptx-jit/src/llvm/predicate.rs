//! Predicates of all lanes: as `<32 x i1>` vectors, and as 32-bit masks.
//!
//! Owns converting one to the other. Vector comparisons give vectors, which `select` takes; control flow and guards
//! take masks. A predicate has both forms, and LLVM removes the unused one. Must not know registers.

use super::emitter::{Emit, LANES, Val};
use super::lookup::steps;
use cushim_ptx::Level;
use cushim_ptx::sem::BitOp;
use cushim_translate::llvm::{Type, Value};
use std::sync::OnceLock;

/// Whether the processor has mask registers (AVX-512).
pub(super) fn has_masks() -> bool {
    matches!(Level::in_use(), Ok(Level::V4)) || asked_for()
}

/// Whether a test wants masks on any processor: LLVM has other instructions for them there.
fn asked_for() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    cfg!(debug_assertions) && *ASKED.get_or_init(|| std::env::var_os("CUSHIM_LLVM_MASKS").is_some())
}

impl Emit<'_> {
    /// A mask as a `<32 x i1>` vector.
    pub(super) fn lanes_of_mask(&mut self, mask: Value) -> Value {
        match mask.constant() {
            Some(0) => return Value::int(1, 0),
            Some(0xffff_ffff) => return Value::int(1, 1),
            _ => {}
        }
        let v = if has_masks() {
            let mask = self.scalar().typed(mask);
            self.vector().result(Type::Int(1), &format!("bitcast {mask} to <32 x i1>"))
        } else {
            // Without mask registers, blends and masked accesses take a comparison in each lane.
            let all = self.splat(mask);
            let b = self.vector();
            let own = steps(b, |lane| i64::from((1u32 << lane) as i32));
            let one = b.op("and", all, own);
            b.icmp("eq", one, own)
        };
        self.with_mask(v, mask)
    }

    /// The mask of a `<32 x i1>` vector.
    pub(super) fn mask(&mut self, lanes: Value) -> Value {
        match lanes.constant() {
            Some(0) => return Value::int(LANES, 0),
            Some(_) => return Value::int(LANES, 0xffff_ffff),
            None => {}
        }
        if let Some(bits) = self.masks.get(&lanes) {
            return *bits;
        }
        let v = self.vector().typed(lanes);
        self.scalar().result(Type::Int(32), &format!("bitcast {v} to i32"))
    }

    /// Records the mask of a vector; returns the vector.
    pub(super) fn with_mask(&mut self, lanes: Value, bits: Value) -> Value {
        if lanes.constant().is_none() {
            self.masks.insert(lanes, bits);
        }
        lanes
    }

    /// A uniform predicate in all lanes.
    pub(super) fn uniform_predicate(&mut self, one: Value) -> Value {
        let v = self.splat(one);
        let bits = self.scalar().signed(one, LANES);
        self.with_mask(v, bits)
    }

    /// `yes` where the guard is true, else `no`.
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
        self.with_mask(v, bits)
    }

    /// The negation of a predicate of all lanes.
    pub(super) fn not_lanes(&mut self, v: Value) -> Value {
        let bits = self.mask(v);
        let bits = self.scalar().not(bits);
        let v = self.vector().not(v);
        self.with_mask(v, bits)
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
        Some(Val::Lanes(self.with_mask(v, bits)))
    }
}
