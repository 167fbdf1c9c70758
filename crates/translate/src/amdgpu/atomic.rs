//! Atomic operations on memory.
//!
//! Owns which ones are LLVM instructions, and the compare-and-swap loop for the others: sums, minima and maxima of
//! numbers, with an NVIDIA GPU's treatment of NaNs and subnormal numbers.

use super::function::Emitter;
use super::memory::scope_text;
use crate::llvm::{Type, Value};
use crate::ops;
use crate::refusal::Refused;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{
    Atomic, Clamp, Extreme, Float, FloatOp, Integer, IntegerOp, Operation, Order, Scope, Update,
};
use cushim_ptx::soft::Round;
use cushim_ptx::types::{Scalar, Space};

/// A number's operation as [`Update`] has it.
pub(super) fn float_operation(update: Update, flush: bool) -> Option<Operation> {
    let plain = Extreme { nan: false, absolute: false, xorsign: false, three: false };
    let (op, ty) = match update {
        Update::FloatAdd(ty) => (FloatOp::Add, ty),
        Update::FloatMin(ty) => (FloatOp::Min(plain), ty),
        Update::FloatMax(ty) => (FloatOp::Max(plain), ty),
        _ => return None,
    };
    let (ty, packed) = match ty {
        Scalar::F16x2 => (Scalar::F16, true),
        Scalar::Bf16x2 => (Scalar::Bf16, true),
        other => (other, false),
    };
    let (round, clamp) = (Round::Nearest, Clamp::None);
    Some(Operation::Float(Float { op, ty, packed, round, contract: false, flush, clamp }))
}

/// An integer's operation as [`Update`] has it, where two values combine.
pub(super) fn integer_operation(update: Update) -> Option<Operation> {
    let (op, ty) = match update {
        Update::Add(ty) => (IntegerOp::Add { saturate: false }, ty),
        Update::Min(ty) => (IntegerOp::Min { relu: false }, ty),
        Update::Max(ty) => (IntegerOp::Max { relu: false }, ty),
        _ => return None,
    };
    Some(Operation::Integer(Integer { op, ty, packed: false }))
}

/// The order of an atomic operation, and that of one that fails.
fn order_text(order: Order) -> (String, &'static str) {
    match order {
        Order::Weak | Order::Volatile | Order::Mmio => ("monotonic".into(), "monotonic"),
        Order::Relaxed(scope) => (format!("{}monotonic", scope_text(scope)), "monotonic"),
        Order::Acquire(scope) => (format!("{}acquire", scope_text(scope)), "acquire"),
        Order::Release(scope) => (format!("{}release", scope_text(scope)), "monotonic"),
        Order::AcqRel(scope) => (format!("{}acq_rel", scope_text(scope)), "acquire"),
    }
}

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, inst: &Inst, what: Atomic) -> Result<(), Refused> {
        let (update, access) = (what.update, what.access);
        if update.is_pair() {
            // AMD's GPUs have none of 128 bits.
            return Err(self.refused("an atomic operation on 128 bits"));
        }
        let pointer = self.pointer(inst, 0, access.space)?;
        let (bits, bytes) = (update.ty().bits(), update.ty().bytes());
        let mut operands = Vec::new();
        for src in inst.src.iter().skip(1).take(usize::from(access.parts) - 1 + update.operands()) {
            let v = self.operand(src)?;
            operands.push(self.b.fit(v, bits));
        }
        let mut results = Vec::new();
        for k in 0..usize::from(access.parts) {
            let at = self.offset_pointer(&pointer, k as u32 * bytes);
            let (Some(x), y) = (operands.get(k), operands.get(k + 1)) else {
                return Err(self.refused("an atomic operation without a value"));
            };
            let y = y.copied().unwrap_or(*x);
            let old = self.updated(update, access.space, access.order, &at, [*x, y])?;
            results.push(old);
        }
        for (n, v) in results.into_iter().enumerate() {
            let v = if update.ty().is_signed() { self.b.signed(v, 64) } else { v };
            self.give(inst, n, v);
        }
        Ok(())
    }

    /// The old value.
    fn updated(
        &mut self,
        update: Update,
        space: Space,
        order: Order,
        at: &str,
        [x, y]: [Value; 2],
    ) -> Result<Value, Refused> {
        let (order, failed) = order_text(order);
        let signed = update.ty().is_signed();
        let name = match update {
            Update::Add(_) => "add",
            Update::Min(_) if signed => "min",
            Update::Min(_) => "umin",
            Update::Max(_) if signed => "max",
            Update::Max(_) => "umax",
            Update::And(_) => "and",
            Update::Or(_) => "or",
            Update::Xor(_) => "xor",
            Update::Exchange(_) => "xchg",
            Update::Increment => "uinc_wrap",
            Update::Decrement => "udec_wrap",
            Update::CompareExchange(_) => {
                let (ty, x, y) = (x.ty, self.b.typed(x), self.b.typed(y));
                let n = self.b.number();
                self.b.line(&format!("%x{n} = cmpxchg {at}, {x}, {y} {order} {failed}"));
                let text = format!("extractvalue {{ {}, i1 }} %x{n}, 0", ty.text());
                return Ok(self.b.result(ty, &text));
            }
            _ => return self.looped(update, space, &order, failed, at, x),
        };
        let (ty, x) = (x.ty, self.b.typed(x));
        Ok(self.b.result(ty, &format!("atomicrmw {name} {at}, {x} {order}")))
    }

    /// A compare-and-swap loop that replaces the value by the combined one.
    fn looped(
        &mut self,
        update: Update,
        space: Space,
        order: &str,
        failed: &str,
        at: &str,
        x: Value,
    ) -> Result<Value, Refused> {
        let (n, ty) = (self.b.number(), x.ty);
        let name = ty.text();
        self.b.variable(&format!("%s{n} = alloca {name}, addrspace(5)"));
        let scope = scope_text(Scope::Gpu);
        let first = format!("load atomic {name}, {at} {scope}monotonic, align {}", ty.bits() / 8);
        let first = self.b.result(ty, &first);
        let first = self.b.typed(first);
        self.b.line(&format!("store {first}, ptr addrspace(5) %s{n}"));
        self.b.line(&format!("br label %again{n}"));
        self.b.label(&format!("again{n}"));
        let old = self.b.result(ty, &format!("load {name}, ptr addrspace(5) %s{n}"));
        let new = self.combined(update, space, at, old, x)?;
        let (was, new) = (self.b.typed(old), self.b.typed(new));
        self.b.line(&format!("%x{n} = cmpxchg {at}, {was}, {new} {order} {failed}"));
        let found = self.b.result(ty, &format!("extractvalue {{ {name}, i1 }} %x{n}, 0"));
        let found = self.b.typed(found);
        self.b.line(&format!("store {found}, ptr addrspace(5) %s{n}"));
        let done = format!("extractvalue {{ {name}, i1 }} %x{n}, 1");
        let done = self.b.result(Type::Int(1), &done);
        let done = self.b.typed(done);
        self.b.line(&format!("br {done}, label %done{n}, label %again{n}"));
        self.b.label(&format!("done{n}"));
        Ok(self.b.result(ty, &format!("load {name}, ptr addrspace(5) %s{n}")))
    }

    /// The new value. A sum of singles flushes subnormals in global memory only (ISA, `atom`).
    fn combined(
        &mut self,
        update: Update,
        space: Space,
        at: &str,
        old: Value,
        x: Value,
    ) -> Result<Value, Refused> {
        let one = |e: &mut Self, flush: bool| {
            let operation = float_operation(update, flush);
            let operation = operation.ok_or_else(|| e.refused("an atomic operation"))?;
            let out = ops::eval(&mut e.b, &operation, x.ty.bits(), &[x, old]);
            out.map(|out| out.0).map_err(|what| e.refused(what))
        };
        let flushes = update == Update::FloatAdd(Scalar::F32);
        match space {
            Space::Generic if flushes => {
                let (kept, flushed) = (one(self, false)?, one(self, true)?);
                let declaration = "declare i1 @llvm.amdgcn.is.shared(ptr)";
                self.b.declare(declaration);
                let text = format!("call i1 @llvm.amdgcn.is.shared({at})");
                let shared = self.b.result(Type::Int(1), &text);
                Ok(self.b.select(shared, kept, flushed))
            }
            Space::Global | Space::Const => one(self, flushes),
            _ => one(self, false),
        }
    }
}
