//! Addresses, loads, stores, copies, fences.
//!
//! Owns the mapping of PTX state spaces to LLVM address spaces: global and constant memory 1, shared memory 3 (LDS),
//! local memory 5 (scratch), parameters 4, generic addresses 0 (flat). Owns the mapping of orders and scopes to
//! LLVM's. A vector access to shared data is one access, which programs rely on: a volatile one, which LLVM makes
//! coherent in the whole system, with a fence if it has an order.

use super::function::Emitter;
use crate::llvm::{Type, Value};
use crate::refusal::Refused;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::sem::{Access, Address, AddressOp, CopyAsync, Fence, Order, Scope, Source};
use cushim_ptx::types::Space;

/// The type of pointers into a space.
pub(super) fn pointer_type(space: Space) -> &'static str {
    match space {
        Space::Global | Space::Const => "ptr addrspace(1)",
        Space::Shared => "ptr addrspace(3)",
        Space::Local => "ptr addrspace(5)",
        Space::Param => "ptr addrspace(4)",
        _ => "ptr",
    }
}

/// LLVM's name of a scope for this target; a cluster is one block, but may be treated as the device.
pub(super) fn scope_text(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "syncscope(\"workgroup\") ",
        Scope::Cluster | Scope::Gpu => "syncscope(\"agent\") ",
        Scope::Sys => "",
    }
}

/// LLVM's syntax for the order of a load or store: before and after the operands. `None` if it is not atomic.
fn order_text(order: Order) -> Option<(&'static str, String)> {
    Some(match order {
        Order::Weak => return None,
        Order::Volatile | Order::Mmio => ("atomic volatile", "monotonic".into()),
        Order::Relaxed(scope) => ("atomic", format!("{}monotonic", scope_text(scope))),
        Order::Acquire(scope) => ("atomic", format!("{}acquire", scope_text(scope))),
        Order::Release(scope) | Order::AcqRel(scope) => {
            ("atomic", format!("{}release", scope_text(scope)))
        }
    })
}

impl Emitter<'_> {
    /// The pointer, with its type, of operand `n`.
    pub(super) fn pointer(
        &mut self,
        inst: &Inst,
        n: usize,
        space: Space,
    ) -> Result<String, Refused> {
        let Some(Src::Memory(base, offset)) = inst.src.get(n) else {
            return Err(self.refused("an access without an address"));
        };
        let ty = pointer_type(space);
        match base {
            Base::Symbol(symbol) => {
                let (pointer, _) = self.pointer_to(*symbol)?;
                let pointer = match pointer.rsplit_once(' ') {
                    Some((ty, name)) => self.moved(ty, name, *offset),
                    None => pointer.clone(),
                };
                if pointer.starts_with(&format!("{ty} ")) {
                    return Ok(pointer);
                }
                // A generic address is used for another space.
                if space == Space::Generic {
                    let p = self.b.number();
                    self.b.line(&format!("%p{p} = addrspacecast {pointer} to ptr"));
                    return Ok(format!("ptr %p{p}"));
                }
                Err(self.refused("an access to a variable of another space"))
            }
            Base::Zero => {
                let at = Value::int(64, *offset as u64 as u128);
                self.pointer_of(at, space)
            }
            Base::Reg(r, bits) => {
                let v = self.register(*r);
                let v = self.b.fit(v, *bits);
                let wide = *bits == 64 || matches!(space, Space::Shared | Space::Local);
                // Sums wrap at the register's width, and so do pointers of that width.
                if wide {
                    let pointer = self.pointer_of(v, space)?;
                    return Ok(match pointer.rsplit_once(' ') {
                        Some((ty, name)) => self.moved(ty, name, *offset),
                        None => pointer.clone(),
                    });
                }
                let v = self.b.with("add", v, *offset as i128 as u128);
                self.pointer_of(v, space)
            }
        }
    }

    /// An address of a space as a pointer with its type.
    fn pointer_of(&mut self, at: Value, space: Space) -> Result<String, Refused> {
        let (ty, n) = (pointer_type(space), self.b.number());
        if space == Space::Param {
            if !self.f.entry {
                return Err(self.refused("a kernel's parameters in a function"));
            }
            let at = self.b.fit(at, 64);
            let at = self.b.typed(at);
            self.b.line(&format!("%p{n} = getelementptr i8, {ty} %args, {at}"));
            return Ok(format!("{ty} %p{n}"));
        }
        let narrow = matches!(space, Space::Shared | Space::Local);
        let at = self.b.fit(at, if narrow { 32 } else { 64 });
        let at = self.b.typed(at);
        self.b.line(&format!("%p{n} = inttoptr {at} to {ty}"));
        Ok(format!("{ty} %p{n}"))
    }

    pub(super) fn load(&mut self, inst: &Inst, access: Access) -> Result<(), Refused> {
        let pointer = self.pointer(inst, 0, access.space)?;
        let (bits, parts) = (access.element.bits(), u32::from(access.parts));
        let bytes = access.element.bytes();
        let signed = access.element.is_signed();
        let given = |e: &mut Self, n: usize, v: Value| {
            let v = if signed { e.b.signed(v, 64) } else { v };
            e.give(inst, n, v);
        };
        let ordered = order_text(access.order);
        if let (Some((how, order)), 1) = (&ordered, parts) {
            let text = format!("load {how} i{bits}, {pointer} {order}, align {bytes}");
            let v = self.b.result(Type::Int(bits), &text);
            given(self, 0, v);
            return Ok(());
        }
        let fixed = if access.space == Space::Param { ", !invariant.load !2" } else { "" };
        if parts == 1 {
            let text = format!("load i{bits}, {pointer}, align {bytes}{fixed}");
            let v = self.b.result(Type::Int(bits), &text);
            given(self, 0, v);
            return Ok(());
        }
        let (whole, n) = (bytes * parts, self.b.number());
        let ty = format!("<{parts} x i{bits}>");
        let how = if ordered.is_some() { "volatile " } else { "" };
        self.b.line(&format!("%w{n} = load {how}{ty}, {pointer}, align {whole}{fixed}"));
        if let Order::Acquire(scope) = access.order {
            self.b.line(&format!("fence {}acquire", scope_text(scope)));
        }
        let part = |e: &mut Self, k: u32| {
            e.b.result(Type::Int(bits), &format!("extractelement {ty} %w{n}, i32 {k}"))
        };
        let values: Vec<Value> = (0..parts).map(|k| part(self, k)).collect();
        values.into_iter().enumerate().for_each(|(n, v)| given(self, n, v));
        Ok(())
    }

    pub(super) fn store(&mut self, inst: &Inst, access: Access) -> Result<(), Refused> {
        if access.space == Space::Param {
            return Err(self.refused("a store to a kernel's parameters"));
        }
        let pointer = self.pointer(inst, 0, access.space)?;
        let (bits, parts) = (access.element.bits(), u32::from(access.parts));
        let bytes = access.element.bytes();
        let mut values = Vec::new();
        for src in inst.src.iter().skip(1).take(parts as usize) {
            let v = self.operand(src)?;
            values.push(self.b.fit(v, bits));
        }
        let ordered = order_text(access.order);
        if let [v] = values.as_slice() {
            let v = self.b.typed(*v);
            if let Some((how, order)) = ordered {
                self.b.line(&format!("store {how} {v}, {pointer} {order}, align {bytes}"));
                return Ok(());
            }
            self.b.line(&format!("store {v}, {pointer}, align {bytes}"));
            return Ok(());
        }
        let (ty, mut whole) = (format!("<{parts} x i{bits}>"), "undef".to_owned());
        for (k, v) in values.into_iter().enumerate() {
            let (v, n) = (self.b.typed(v), self.b.number());
            self.b.line(&format!("%w{n} = insertelement {ty} {whole}, {v}, i32 {k}"));
            whole = format!("%w{n}");
        }
        if let Order::Release(scope) | Order::AcqRel(scope) = access.order {
            self.b.line(&format!("fence {}release", scope_text(scope)));
        }
        let how = if ordered.is_some() { "volatile " } else { "" };
        self.b.line(&format!("store {how}{ty} {whole}, {pointer}, align {}", bytes * parts));
        Ok(())
    }

    /// A pointer with its type, so many bytes further.
    pub(super) fn offset_pointer(&mut self, pointer: &str, by: u32) -> String {
        match pointer.rsplit_once(' ') {
            Some((ty, name)) => self.moved(ty, name, by.into()),
            None => pointer.to_owned(),
        }
    }

    /// `cp.async`: done at once, so that waiting for it is nothing.
    pub(super) fn copy(&mut self, inst: &Inst, what: CopyAsync) -> Result<(), Refused> {
        let to = self.pointer(inst, 0, Space::Shared)?;
        let from = self.pointer(inst, 1, Space::Global)?;
        let size = u32::from(what.bytes);
        let word = if size.is_multiple_of(4) { 4 } else { 1 };
        let count = match (what.source, inst.src.get(3)) {
            (Source::Whole, _) | (_, None) => Value::int(32, size.into()),
            (Source::Bytes, Some(src)) => {
                let n = self.operand(src)?;
                self.b.fit(n, 32)
            }
            (Source::Ignored, Some(src)) => {
                let p = self.operand(src)?;
                let p = self.b.fit(p, 1);
                self.b.select(p, Value::int(32, 0), Value::int(32, size.into()))
            }
        };
        // A partial source is copied byte by byte: bytes after its end are not read.
        let word = if what.source == Source::Whole { word } else { 1 };
        for k in (0..size).step_by(word as usize) {
            let (at, bits) = (self.offset_pointer(&from, k), word * 8);
            let v = match what.source {
                Source::Whole => {
                    self.b.result(Type::Int(bits), &format!("load i{bits}, {at}, align {word}"))
                }
                _ => self.loaded_where(count, k, &at),
            };
            let (at, v) = (self.offset_pointer(&to, k), self.b.typed(v));
            self.b.line(&format!("store {v}, {at}, align {word}"));
        }
        Ok(())
    }

    /// A byte, or 0 from a number of bytes on.
    fn loaded_where(&mut self, count: Value, k: u32, at: &str) -> Value {
        let n = self.b.number();
        self.b.variable(&format!("%s{n} = alloca i8, addrspace(5)"));
        self.b.line(&format!("store i8 0, ptr addrspace(5) %s{n}"));
        let inside = self.b.icmp_with("ugt", count, k.into());
        let inside = self.b.typed(inside);
        self.b.line(&format!("br {inside}, label %do{n}, label %past{n}"));
        self.b.label(&format!("do{n}"));
        let v = self.b.result(Type::Int(8), &format!("load i8, {at}, align 1"));
        let v = self.b.typed(v);
        self.b.line(&format!("store {v}, ptr addrspace(5) %s{n}"));
        self.b.line(&format!("br label %past{n}"));
        self.b.label(&format!("past{n}"));
        self.b.result(Type::Int(8), &format!("load i8, ptr addrspace(5) %s{n}"))
    }

    pub(super) fn fence(&mut self, what: Fence) -> Result<(), Refused> {
        let (scope, order) = match what {
            Fence::Sequential(scope) => (scope, "seq_cst"),
            Fence::AcquireRelease(scope) => (scope.unwrap_or(Scope::Sys), "acq_rel"),
        };
        self.b.line(&format!("fence {}{order}", scope_text(scope)));
        Ok(())
    }

    /// `cvta`, `isspacep`.
    pub(super) fn address(&mut self, inst: &Inst, what: Address) -> Result<(), Refused> {
        let Some(src) = inst.src.first() else { return Err(self.refused("no address")) };
        let v = self.operand(src)?;
        let v = self.b.fit(v, 64);
        let out = match (what.op, what.space) {
            (AddressOp::IsIn | AddressOp::IsInCluster, space) => self.is_in(v, space)?,
            (_, Space::Global | Space::Const | Space::Generic) => v,
            // A window begins where the lower half of an address is 0.
            (AddressOp::FromGeneric, Space::Shared | Space::Local) => self.b.fit(v, 32),
            (AddressOp::ToGeneric, Space::Shared | Space::Local) => {
                let pointer = self.pointer_of(v, what.space)?;
                let n = self.b.number();
                self.b.line(&format!("%p{n} = addrspacecast {pointer} to ptr"));
                self.b.result(Type::Int(64), &format!("ptrtoint ptr %p{n} to i64"))
            }
            (_, Space::Param) => {
                if !self.f.entry {
                    return Err(self.refused("an address of parameters in a function"));
                }
                let base = self.b.result(Type::Int(64), "ptrtoint ptr addrspace(4) %args to i64");
                let name = if what.op == AddressOp::ToGeneric { "add" } else { "sub" };
                self.b.op(name, v, base)
            }
            _ => return Err(self.refused("an address of that space")),
        };
        self.give(inst, 0, out);
        Ok(())
    }

    fn is_in(&mut self, v: Value, space: Space) -> Result<Value, Refused> {
        let n = self.b.number();
        self.b.line(&format!("%p{n} = inttoptr {} to ptr", self.b.typed(v)));
        let mut test = |name: &str| {
            self.b.declare(&format!("declare i1 @llvm.amdgcn.{name}(ptr)"));
            self.b.result(Type::Int(1), &format!("call i1 @llvm.amdgcn.{name}(ptr %p{n})"))
        };
        Ok(match space {
            Space::Shared => test("is.shared"),
            Space::Local => test("is.private"),
            // As the CPU has it: constant memory is global memory.
            Space::Const => Value::int(1, 0),
            Space::Global => {
                let (shared, private) = (test("is.shared"), test("is.private"));
                let either = self.b.op("or", shared, private);
                self.b.not(either)
            }
            _ => return Err(self.refused("whether an address is one of parameters")),
        })
    }
}
