//! The kernel parameter from which an access's address is computed.
//!
//! Owns the rule: an address has a parameter of 8 bytes as its origin if every computation of it starts from that
//! parameter and adds or subtracts only values that contain no pointer. 32-bit numbers and values computed from them
//! are no pointers; any other loaded 64-bit value may be a pointer, or the difference of two. It considers all writes
//! of a register, in any order. If it cannot know, an access has no origin. Must not know a parameter's value: the
//! caller tests whether it is a pointer.

use std::collections::BTreeMap;

use crate::error::Pos;
use crate::ir::{Base, Dst, Function, Inst, Module, Src, Symbol};
use crate::sem::{BitOp, IntegerOp, Operation};
use crate::types::Space;

/// For accesses to device memory of a kernel, by their position in the text: the offset of the parameter from which
/// their addresses are computed, in bytes, a multiple of 8.
pub type Origins = BTreeMap<Pos, u32>;

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Nothing was written yet.
    Unset,
    /// What no pointer is part of.
    Number,
    /// The parameter at this offset, and a number.
    Of(u32),
    /// Anything.
    Any,
}

impl Value {
    /// One or the other.
    fn or(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unset, value) | (value, Value::Unset) => value,
            (one, other) if one == other => one,
            _ => Value::Any,
        }
    }

    /// Both, as operands of what makes a number of numbers.
    fn with(self, other: Value) -> Value {
        match (self, other) {
            (Value::Unset, _) | (_, Value::Unset) => Value::Unset,
            (Value::Number, Value::Number) => Value::Number,
            _ => Value::Any,
        }
    }

    fn plus(self, other: Value) -> Value {
        match (self, other) {
            (Value::Of(n), Value::Number) | (Value::Number, Value::Of(n)) => Value::Of(n),
            _ => self.with(other),
        }
    }

    fn minus(self, other: Value) -> Value {
        match (self, other) {
            (Value::Of(n), Value::Number) => Value::Of(n),
            _ => self.with(other),
        }
    }
}

/// The origins of a kernel's accesses. Accesses are left out if a function that the kernel may call has code at the
/// same position, which happens if modules of several texts were linked.
pub fn origins(module: &Module, kernel: u32) -> Origins {
    let Some(f) = module.functions.get(kernel as usize).filter(|f| f.entry) else {
        return Origins::new();
    };
    let values = values(f);
    let mut found: BTreeMap<Pos, Option<u32>> = BTreeMap::new();
    for inst in &f.code {
        let Some(origin) = origin(&values, inst) else { continue };
        found
            .entry(inst.pos)
            .and_modify(|old| *old = old.filter(|_| *old == origin))
            .or_insert(origin);
    }
    for other in module.reachable(kernel).into_iter().filter(|other| *other != kernel) {
        let code = module.functions.get(other as usize).map(|other| &other.code);
        for inst in code.into_iter().flatten() {
            found.remove(&inst.pos);
        }
    }
    found.into_iter().filter_map(|(pos, origin)| Some((pos, origin?))).collect()
}

/// What each register may hold.
fn values(f: &Function) -> Vec<Value> {
    let mut values = vec![Value::Unset; f.registers.len()];
    // A register changes at most twice.
    loop {
        let mut changed = false;
        for inst in &f.code {
            for (n, dst) in inst.dst.iter().enumerate() {
                let Dst::Reg(register, _) = *dst else { continue };
                let new = result(&values, inst, n);
                if let Some(value) = values.get_mut(register as usize) {
                    changed |= value.or(new) != *value;
                    *value = value.or(new);
                }
            }
            if let Some(Src::Call(call)) = inst.src.first() {
                for arg in &call.returns {
                    let crate::ir::Arg::Reg(register, _) = *arg else { continue };
                    if let Some(value) = values.get_mut(register as usize) {
                        changed |= *value != Value::Any;
                        *value = Value::Any;
                    }
                }
            }
        }
        if !changed {
            return values;
        }
    }
}

/// The origin of an access's address in device memory, if it has one: `Some(None)` where nothing is known.
fn origin(values: &[Value], inst: &Inst) -> Option<Option<u32>> {
    let n = match inst.sem {
        Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_) => 0,
        Operation::CopyAsync(_) => 1,
        _ => return None,
    };
    if !matches!(inst.space(n), Space::Global | Space::Generic) {
        return None;
    }
    let Some(Src::Memory(Base::Reg(register, 64), _)) = inst.src.get(n) else { return Some(None) };
    match values.get(*register as usize) {
        Some(Value::Of(parameter)) => Some(Some(*parameter)),
        _ => Some(None),
    }
}

/// What the `n`-th result of an instruction is.
fn result(values: &[Value], inst: &Inst, n: usize) -> Value {
    let src = |n: usize| inst.src.get(n).map_or(Value::Any, |src| operand(values, src));
    let all = || (0..inst.src.len()).map(src).fold(Value::Number, Value::with);
    match inst.sem {
        Operation::Load(access) => {
            let bytes = access.element.bytes();
            let parameter = match inst.src.first() {
                Some(Src::Memory(Base::Symbol(Symbol::Param(at)), offset)) => {
                    u32::try_from(i64::from(*at) + offset + n as i64 * i64::from(bytes)).ok()
                }
                _ => None,
            };
            match (bytes, parameter) {
                (..=4, _) => Value::Number,
                (8, Some(at)) if at % 8 == 0 => Value::Of(at),
                _ => Value::Any,
            }
        }
        Operation::Atomic(atomic) if atomic.access.element.bytes() <= 4 => Value::Number,
        Operation::Atomic(_) => Value::Any,
        Operation::Move(_) if inst.src.len() == 1 && inst.dst.len() == 1 => src(0),
        // Halves, side by side, may be those of a pointer from memory.
        Operation::Move(ty) if ty.bits() > 32 && inst.src.len() > 1 => Value::Any,
        Operation::Address(a) if !a.op.is_question() => match a.space {
            Space::Global | Space::Const => src(0),
            _ => Value::Any,
        },
        Operation::Integer(i) if !i.packed && !i.op.clamps() => match i.op {
            IntegerOp::Add { .. } => src(0).plus(src(1)),
            IntegerOp::Sub { .. } => src(0).minus(src(1)),
            IntegerOp::Mad { .. } | IntegerOp::MadWide => src(0).with(src(1)).plus(src(2)),
            _ => all(),
        },
        Operation::Select(_) | Operation::SelectBySign { .. } => src(0).or(src(1)),
        Operation::Bits(b) => match (b.op, inst.src.get(1)) {
            // Down to a multiple of what every allocation begins at a multiple of.
            (BitOp::And, Some(Src::Imm(mask))) if (*mask as i64) < 0 && !*mask < 256 => {
                let low = !*mask;
                if low & (low + 1) == 0 { src(0) } else { all() }
            }
            // The upper half of a pointer from memory.
            (BitOp::Shl, Some(Src::Imm(by))) if *by >= 32 => Value::Any,
            _ => all(),
        },
        Operation::ActiveMask => Value::Number,
        Operation::Control(_) | Operation::Refused => Value::Any,
        _ => all(),
    }
}

fn operand(values: &[Value], src: &Src) -> Value {
    match src {
        Src::Reg(n) | Src::Not(n) => values.get(*n as usize).copied().unwrap_or(Value::Any),
        Src::Imm(_) | Src::Special(_) | Src::None => Value::Number,
        _ => Value::Any,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The origins of the accesses in a kernel with three parameters: two of 8 bytes, then one of 4, by line of the body.
    fn found(body: &str) -> Vec<(u32, u32)> {
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {\n\
                    .reg .b64 %a, %b, %x, %y; .reg .b32 %n, %i; .reg .pred %p;\n\
                    ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %n, [n]; setp.ne.u32 %p, %n, 0;\n";
        let text = format!("{head}{body}\nret;\n}}\n");
        let module = crate::parse(&text).and_then(|tree| crate::check(&tree)).unwrap();
        origins(&module, 0).into_iter().map(|(pos, at)| (pos.line - 6, at)).collect()
    }

    #[test]
    fn numbers_are_added_to_a_parameter() {
        let sum = "cvta.to.global.u64 %x, %a;\nmul.wide.u32 %y, %n, 4;\nadd.s64 %x, %x, %y;\nld.global.u32 %i, [%x+8];";
        assert_eq!(found(sum), [(4, 0)]);
        assert_eq!(found("mad.wide.u32 %x, %n, 8, %b;\nst.u32 [%x], %n;"), [(2, 8)]);
        let round =
            "mov.b64 %x, %b;\nL: atom.add.u32 %i, [%x], 1;\nsub.s64 %x, %x, 16;\n@%p bra L;";
        assert_eq!(found(round), [(2, 8)]);
        let special = "mov.u32 %i, %tid.x;\ncvt.u64.u32 %y, %i;\nshl.b64 %y, %y, 2;\nadd.s64 %x, %a, %y;\nst.u32 [%x], %n;";
        assert_eq!(found(special), [(5, 0)]);
        assert_eq!(found("and.b64 %x, %a, -16;\nst.u32 [%x], %n;"), [(2, 0)]);
        let copied = ".shared .align 16 .b8 s[16];\nmov.u64 %y, s;\nadd.s64 %x, %b, 16;\ncp.async.ca.shared.global [%y], [%x], 16;";
        assert_eq!(found(copied), [(4, 8)]);
    }

    #[test]
    fn what_may_be_of_two_has_no_origin() {
        for body in [
            // The difference of two pointers, computed here or passed as an argument.
            "sub.s64 %y, %b, %a;\nadd.s64 %x, %a, %y;",
            "add.s64 %x, %a, %b;",
            "mad.lo.s64 %x, %b, 4, %a;",
            // One pointer or the other.
            "selp.b64 %x, %a, %b, %p;",
            "mov.b64 %x, %a;\n@%p mov.b64 %x, %b;",
            // Pointers from memory, also in halves.
            "ld.u64 %x, [%a];",
            "ld.u64 %y, [%a];\nadd.s64 %x, %a, %y;",
            "ld.u32 %i, [%a];\nmov.b64 %y, {%n, %i};\nadd.s64 %x, %a, %y;",
            "ld.u32 %i, [%a];\ncvt.u64.u32 %y, %i;\nshl.b64 %y, %y, 32;\nadd.s64 %x, %a, %y;",
            // Part of a pointer.
            "cvt.u32.u64 %i, %b;\ncvt.u64.u32 %y, %i;\nadd.s64 %x, %a, %y;",
            "and.b64 %y, %b, 255;\nadd.s64 %x, %a, %y;",
            "and.b64 %x, %a, -4096;",
        ] {
            let all = found(&format!("{body}\nst.u32 [%x], %n;"));
            let line = body.lines().count() as u32 + 1;
            assert!(all.iter().all(|(at, _)| *at != line), "{body}: {all:?}");
        }
    }
}
