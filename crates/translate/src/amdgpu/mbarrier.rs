//! Barrier objects in memory.
//!
//! Owns the operations of [`cushim_ptx::exec::barrier_object`], with its layout of an object's 64 bits, as a
//! compare-and-swap loop. Copies complete immediately, so no thread waits for bytes of a pending copy.

use super::function::Emitter;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Inst, Src};
use cushim_ptx::sem::{Mbarrier, MbarrierOp};

/// The bits of a count of arrivals.
const COUNT: u128 = (1 << 20) - 1;

/// The parts of an object, 64 bits each; the parity is a boolean.
#[derive(Clone, Copy)]
struct State {
    pending: Value,
    expected: Value,
    bytes: Value,
    parity: Value,
}

impl Emitter<'_> {
    pub(super) fn mbarrier(&mut self, inst: &Inst, what: Mbarrier) -> Result<(), Refused> {
        let given = inst.src.get(1).filter(|src| !matches!(src, Src::None));
        let n = match (what.op, inst.src.first()) {
            (MbarrierOp::Pending, Some(src)) => self.operand(src)?,
            _ => match given {
                Some(src) => self.operand(src)?,
                None => Value::int(64, 1),
            },
        };
        let n = self.b.fit(n, 64);
        if what.op == MbarrierOp::Pending {
            let left = self.b.with("and", n, COUNT);
            self.give(inst, 0, left);
            return Ok(());
        }
        let at = self.pointer(inst, 0, what.space)?;
        let scope = "syncscope(\"workgroup\")";
        match what.op {
            MbarrierOp::Init => {
                let count = self.b.with("and", n, COUNT);
                let expected = self.b.with("shl", count, 20);
                let v = self.b.op("or", count, expected);
                let v = self.b.typed(v);
                self.b.line(&format!("store atomic {v}, {at} {scope} release, align 8"));
            }
            MbarrierOp::Test { parity } => {
                let text = format!("load atomic i64, {at} {scope} acquire, align 8");
                let now = self.b.result(Type::Int(64), &text);
                let now = self.b.with("lshr", now, 63);
                let asked = if parity { n } else { self.b.with("lshr", n, 63) };
                let asked = self.b.with("and", asked, 1);
                let ended = self.b.icmp("ne", now, asked);
                self.give(inst, 0, ended);
            }
            op => {
                let old = self.exchanged(op, &at, n);
                self.give(inst, 0, old);
            }
        }
        Ok(())
    }

    /// Atomically updates an object by an instruction; returns the old value.
    fn exchanged(&mut self, op: MbarrierOp, at: &str, n: Value) -> Value {
        let (k, word) = (self.b.number(), Type::Int(64));
        let scope = "syncscope(\"workgroup\")";
        self.b.variable(&format!("%s{k} = alloca i64, addrspace(5)"));
        let text = format!("load atomic i64, {at} {scope} monotonic, align 8");
        let first = self.b.result(word, &text);
        let first = self.b.typed(first);
        self.b.line(&format!("store {first}, ptr addrspace(5) %s{k}"));
        self.b.line(&format!("br label %again{k}"));
        self.b.label(&format!("again{k}"));
        let old = self.b.result(word, &format!("load i64, ptr addrspace(5) %s{k}"));
        let state = self.unpacked(old);
        let state = self.changed(op, state, n);
        let new = self.packed(state);
        let (was, new) = (self.b.typed(old), self.b.typed(new));
        self.b.line(&format!("%x{k} = cmpxchg {at}, {was}, {new} {scope} acq_rel monotonic"));
        let found = self.b.result(word, &format!("extractvalue {{ i64, i1 }} %x{k}, 0"));
        let found = self.b.typed(found);
        self.b.line(&format!("store {found}, ptr addrspace(5) %s{k}"));
        let done = self.b.result(Type::Int(1), &format!("extractvalue {{ i64, i1 }} %x{k}, 1"));
        let done = self.b.typed(done);
        self.b.line(&format!("br {done}, label %done{k}, label %again{k}"));
        self.b.label(&format!("done{k}"));
        self.b.result(word, &format!("load i64, ptr addrspace(5) %s{k}"))
    }

    fn unpacked(&mut self, v: Value) -> State {
        let b = &mut self.b;
        let pending = b.with("and", v, COUNT);
        let expected = b.with("lshr", v, 20);
        let expected = b.with("and", expected, COUNT);
        let bytes = b.with("lshr", v, 40);
        let bytes = b.fit(bytes, 21);
        let bytes = b.signed(bytes, 64);
        let parity = b.icmp_with("slt", v, 0);
        State { pending, expected, bytes, parity }
    }

    fn packed(&mut self, s: State) -> Value {
        let b = &mut self.b;
        let expected = b.with("shl", s.expected, 20);
        let v = b.op("or", s.pending, expected);
        let bytes = b.with("and", s.bytes, (1 << 21) - 1);
        let bytes = b.with("shl", bytes, 40);
        let v = b.op("or", v, bytes);
        let parity = b.fit(s.parity, 64);
        let parity = b.with("shl", parity, 63);
        b.op("or", v, parity)
    }

    fn changed(&mut self, op: MbarrierOp, mut s: State, n: Value) -> State {
        let b = &mut self.b;
        let one = Value::int(64, 1);
        // Bytes are counted in 32 bits.
        let low = b.fit(n, 32);
        let low = b.fit(low, 64);
        match op {
            MbarrierOp::Arrive { expect, drop } => {
                let arrivals = if expect { one } else { n };
                if expect {
                    s.bytes = b.op("add", s.bytes, low);
                }
                if drop {
                    s.expected = b.same("llvm.usub.sat", &[s.expected, arrivals]);
                }
                s.pending = b.same("llvm.usub.sat", &[s.pending, arrivals]);
            }
            MbarrierOp::CopiesArrive { counted: true } => {
                s.pending = b.same("llvm.usub.sat", &[s.pending, one]);
            }
            MbarrierOp::ExpectBytes => s.bytes = b.op("add", s.bytes, low),
            MbarrierOp::CompleteBytes => s.bytes = b.op("sub", s.bytes, low),
            // Where no arrival is counted, nothing changes.
            _ => return s,
        }
        // The next phase begins where nothing is awaited any more.
        let (all, none) = (b.icmp_with("eq", s.pending, 0), b.icmp_with("eq", s.bytes, 0));
        let over = b.op("and", all, none);
        s.pending = b.select(over, s.expected, s.pending);
        s.parity = b.op("xor", s.parity, over);
        s
    }
}
