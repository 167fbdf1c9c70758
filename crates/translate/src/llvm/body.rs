//! The instructions of a function, one after the other.
//!
//! Owns numbering of results, declarations of intrinsics, variables of a function. Must not know what is computed.

use super::{Of, Type, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A function's instructions as they are made.
#[derive(Debug, Clone)]
pub struct Body {
    text: String,
    /// The variables at the start of the function.
    variables: String,
    next: u32,
    width: u32,
    declared: BTreeSet<String>,
}

impl Body {
    /// Nothing yet; values have `width` lanes.
    pub fn new(width: u32) -> Body {
        let (text, variables) = (String::new(), String::new());
        Body { text, variables, next: 0, width, declared: BTreeSet::new() }
    }

    /// From here on, values have `width` lanes.
    pub fn set_width(&mut self, width: u32) {
        self.width = width;
    }

    /// The variables, the instructions, and what declares the intrinsics.
    pub fn finish(self) -> (String, String, BTreeSet<String>) {
        (self.variables, self.text, self.declared)
    }

    /// A number that nothing else in the function has.
    pub fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// How many lines there are, the variables left out.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// A verbatim line.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {text}");
    }

    /// Begins a block.
    pub fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    /// A line among the variables.
    pub fn variable(&mut self, text: &str) {
        let _ = writeln!(self.variables, "  {text}");
    }

    /// Adds a declaration that a hand-written line needs.
    pub fn declare(&mut self, text: &str) {
        self.declared.insert(text.to_owned());
    }

    /// A type of all lanes.
    pub fn ty(&self, ty: Type) -> String {
        if self.width == 1 { ty.text() } else { format!("<{} x {}>", self.width, ty.text()) }
    }

    /// A value without its type.
    pub fn name(&self, v: Value) -> String {
        let bits = match v.of {
            Of::Result(n) => return format!("%v{n}"),
            Of::Bits(bits) => bits,
        };
        let n = v.ty.bits();
        // The signed number of an integer's bits.
        let number = if n >= 128 { bits as i128 } else { (bits << (128 - n)) as i128 >> (128 - n) };
        let one = match v.ty {
            Type::Int(1) => (if bits == 0 { "false" } else { "true" }).to_owned(),
            Type::Int(_) => number.to_string(),
            other => format!("bitcast (i{n} {number} to {})", other.text()),
        };
        if self.width == 1 {
            return one;
        }
        let lane = format!("{} {one}", v.ty.text());
        format!("<{}>", vec![lane; self.width as usize].join(", "))
    }

    /// A value with its type.
    pub fn typed(&self, v: Value) -> String {
        format!("{} {}", self.ty(v.ty), self.name(v))
    }

    /// An instruction with a result.
    pub fn result(&mut self, ty: Type, text: &str) -> Value {
        let n = self.number();
        let _ = writeln!(self.text, "  %v{n} = {text}");
        Value { ty, of: Of::Result(n) }
    }

    /// An instruction of two operands and a result of one type.
    pub fn op(&mut self, name: &str, a: Value, b: Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "{name}");
        let text = format!("{name} {}, {}", self.typed(a), self.name(b));
        self.result(a.ty, &text)
    }

    /// The same with a constant integer.
    pub fn with(&mut self, name: &str, a: Value, b: u128) -> Value {
        self.op(name, a, Value::int(a.ty.bits(), b))
    }

    /// A conversion of LLVM's: `trunc`, `fpext`, `bitcast` and so on.
    pub fn cast(&mut self, how: &str, v: Value, to: Type) -> Value {
        let text = format!("{how} {} to {}", self.typed(v), self.ty(to));
        self.result(to, &text)
    }

    /// An integer of so many bits: cut, or extended with zeros.
    pub fn fit(&mut self, v: Value, bits: u32) -> Value {
        self.sized("zext", v, bits)
    }

    /// An integer of so many bits: cut, or extended with its sign.
    pub fn signed(&mut self, v: Value, bits: u32) -> Value {
        self.sized("sext", v, bits)
    }

    /// As [`Body::fit`] or [`Body::signed`].
    pub fn extended(&mut self, v: Value, bits: u32, signed: bool) -> Value {
        self.sized(if signed { "sext" } else { "zext" }, v, bits)
    }

    fn sized(&mut self, how: &str, v: Value, bits: u32) -> Value {
        let (from, to) = (v.ty.bits(), Type::Int(bits));
        match v.constant() {
            _ if v.ty == to => v,
            Some(c) if how == "zext" || bits <= from => Value::int(bits, c),
            _ if bits < from => self.cast("trunc", v, to),
            _ => self.cast(how, v, to),
        }
    }

    /// The same bits as another type of their size.
    pub fn bits_as(&mut self, v: Value, to: Type) -> Value {
        if v.ty == to { v } else { self.cast("bitcast", v, to) }
    }

    /// The bits of a number.
    pub fn bits_of(&mut self, v: Value) -> Value {
        self.bits_as(v, Type::Int(v.ty.bits()))
    }

    /// A comparison of integers.
    pub fn icmp(&mut self, how: &str, a: Value, b: Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "icmp {how}");
        let text = format!("icmp {how} {}, {}", self.typed(a), self.name(b));
        self.result(Type::Int(1), &text)
    }

    /// The same with a constant.
    pub fn icmp_with(&mut self, how: &str, a: Value, b: u128) -> Value {
        self.icmp(how, a, Value::int(a.ty.bits(), b))
    }

    /// A comparison of numbers.
    pub fn fcmp(&mut self, how: &str, a: Value, b: Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "fcmp {how}");
        let text = format!("fcmp {how} {}, {}", self.typed(a), self.name(b));
        self.result(Type::Int(1), &text)
    }

    /// `a` where `c`, else `b`.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "select");
        let text = format!("select {}, {}, {}", self.typed(c), self.typed(a), self.typed(b));
        self.result(a.ty, &text)
    }

    /// An integer's bits all changed.
    pub fn not(&mut self, v: Value) -> Value {
        self.with("xor", v, u128::MAX)
    }

    /// A number with the other sign.
    pub fn fneg(&mut self, v: Value) -> Value {
        let text = format!("fneg {}", self.typed(v));
        self.result(v.ty, &text)
    }

    /// A call of an intrinsic that is named by the types `over`; `last` are constants after the operands.
    pub fn intrinsic(
        &mut self,
        name: &str,
        over: &[Type],
        result: Type,
        operands: &[Value],
        last: &[&str],
    ) -> Value {
        let mangled = |ty: &Type| match self.width {
            1 => format!(".{}", ty.mangled()),
            n => format!(".v{n}{}", ty.mangled()),
        };
        let name = name.to_owned() + &over.iter().map(mangled).collect::<String>();
        let given = operands.iter().map(|v| self.typed(*v));
        let given: Vec<String> = given.chain(last.iter().map(|s| (*s).to_owned())).collect();
        let types = operands.iter().map(|v| self.ty(v.ty));
        let only = |s: &&str| s.split(' ').next().unwrap_or_default().to_owned();
        let types: Vec<String> = types.chain(last.iter().map(only)).collect();
        let ty = self.ty(result);
        self.declared.insert(format!("declare {ty} @{name}({})", types.join(", ")));
        self.result(result, &format!("call {ty} @{name}({})", given.join(", ")))
    }

    /// An intrinsic of operands and a result of one type.
    pub fn same<const N: usize>(&mut self, name: &str, operands: &[Value; N]) -> Value {
        const { assert!(N > 0) };
        let ty = operands[0].ty;
        self.intrinsic(name, &[ty], ty, operands, &[])
    }

    /// A shift by an amount of 32 bits; 0 where it is not less than the width.
    pub fn shift(&mut self, name: &str, v: Value, amount: Value) -> Value {
        let bits = v.ty.bits();
        let inside = self.icmp_with("ult", amount, bits.into());
        let by = self.fit(amount, bits);
        let by = self.with("and", by, u128::from(bits - 1));
        let shifted = self.op(name, v, by);
        self.select(inside, shifted, Value::int(bits, 0))
    }

    /// The lowest `n` bits set, of 32 bits: all where it is not less than the width.
    pub fn mask(&mut self, bits: u32, n: Value) -> Value {
        let above = self.shift("shl", Value::int(bits, u128::MAX), n);
        self.not(above)
    }
}
