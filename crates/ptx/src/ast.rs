//! The syntax tree: the parsed text, before any name is resolved.
//!
//! It borrows every name from the text. Must not know what an instruction means: an instruction is a word, its
//! modifiers and its operands.

use crate::error::Pos;
use crate::source::Sources;
use crate::types::{Scalar, Space};

/// A whole `.ptx` file.
#[derive(Debug, Clone, PartialEq)]
pub struct Module<'a> {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target` words: `sm_80`, `texmode_independent`, `debug`, ...
    pub targets: Vec<&'a str>,
    /// `.address_size`: 32 or 64 (64 where the file does not say).
    pub address_size: u32,
    /// Module-scope variables, in order.
    pub variables: Vec<Variable<'a>>,
    /// Kernels and functions, declarations and definitions, in order.
    pub functions: Vec<Function<'a>>,
    /// `.alias new, old`.
    pub aliases: Vec<(&'a str, &'a str, Pos)>,
    /// Module-scope `.pragma` strings.
    pub pragmas: Vec<&'a str>,
    /// What `.file` and `.loc` say.
    pub sources: Sources,
}

/// The visibility of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// This module only.
    Internal,
    /// `.visible`.
    Visible,
    /// `.extern`: defined elsewhere.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// A declaration of one variable, parameter or register name.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable<'a> {
    /// Where the name stands.
    pub pos: Pos,
    /// Its visibility.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align`, in bytes, if written.
    pub align: Option<u32>,
    /// Element type.
    pub ty: Scalar,
    /// Elements per vector: 1, 2, 4 or 8.
    pub vector: u32,
    /// Its name; `_` in prototypes.
    pub name: &'a str,
    /// Array dimensions; `None` where the text has `[]`.
    pub dims: Vec<Option<u64>>,
    /// `%r<10>` declares `%r0` to `%r9`: the 10.
    pub count: Option<u32>,
    /// Initial value.
    pub init: Option<Init<'a>>,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// `.ptr`, `.ptr .global .align 8`: what a pointer parameter points to.
    pub pointee: Option<(Space, u32)>,
}

/// An initial value.
#[derive(Debug, Clone, PartialEq)]
pub enum Init<'a> {
    /// A number.
    Value(Const),
    /// The address of a variable or function, plus an addend; `generic(x)` or
    /// in the variable's own space; `0xFF00(x)` takes the masked bits.
    Address {
        /// The name whose address it is.
        name: &'a str,
        /// Added to it.
        addend: i64,
        /// `generic(...)` was written.
        generic: bool,
        /// Which bits of it, moved down to bit 0.
        mask: Option<u64>,
        /// Where the name stands.
        pos: Pos,
    },
    /// `{...}`.
    List(Vec<Init<'a>>),
}

/// A number as written. Its meaning depends on the type where it is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Const {
    /// An integer, sign-extended to 64 bits; `unsigned` decides comparisons,
    /// division and shifts in constant expressions.
    Int {
        /// The bits.
        value: u64,
        /// The expression is of type `.u64`.
        unsigned: bool,
    },
    /// `0fXXXXXXXX`.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal number with point or exponent.
    F64(u64),
}

/// A kernel (`.entry`) or function (`.func`).
#[derive(Debug, Clone, PartialEq)]
pub struct Function<'a> {
    /// Where the name stands.
    pub pos: Pos,
    /// A kernel, not a function.
    pub entry: bool,
    /// Its visibility.
    pub linkage: Linkage,
    /// Its name.
    pub name: &'a str,
    /// What it returns (functions only).
    pub returns: Vec<Variable<'a>>,
    /// What it takes.
    pub params: Vec<Variable<'a>>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.noreturn`, ... with numbers.
    pub directives: Vec<(&'a str, Vec<u64>)>,
    /// The statements; `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
}

/// The statements of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement<'a> {
    /// Registers, local and shared variables, call parameters.
    Variable(Variable<'a>),
    /// `name:`.
    Label(&'a str, Pos),
    /// `{ ... }` with its own scope.
    Block(Vec<Statement<'a>>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `name: .branchtargets a, b;`
    BranchTargets(&'a str, Vec<&'a str>, Pos),
    /// `name: .calltargets f, g;`
    CallTargets(&'a str, Vec<&'a str>, Pos),
    /// `name: .callprototype (ret) _ (params);`
    Prototype(Prototype<'a>),
    /// `.pragma "...";`
    Pragma(&'a str),
}

/// The shape of an indirect call.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototype<'a> {
    /// Its label.
    pub name: &'a str,
    /// Where the label stands.
    pub pos: Pos,
    /// Return values.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction<'a> {
    /// Where it begins (its guard, if any, else its opcode).
    pub pos: Pos,
    /// `@p` or `@!p`.
    pub guard: Option<Guard<'a>>,
    /// The first word.
    pub opcode: &'a str,
    /// The words after dots, in order.
    pub modifiers: Vec<&'a str>,
    /// The operands, in order.
    pub operands: Vec<Operand<'a>>,
}

impl Instruction<'_> {
    /// The opcode with all its modifiers.
    pub fn full_name(&self) -> String {
        let mut s = self.opcode.to_string();
        for m in &self.modifiers {
            s.push('.');
            s.push_str(m);
        }
        s
    }
}

/// A predicate in front of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard<'a> {
    /// `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub name: &'a str,
    /// Where the name stands.
    pub pos: Pos,
}

/// An operand and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand<'a> {
    /// Where it begins.
    pub pos: Pos,
    /// What it is.
    pub kind: OperandKind<'a>,
}

/// The forms of operands.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandKind<'a> {
    /// `_`: nothing wanted here.
    Sink,
    /// A name; with an addend (`tab+8`).
    Name(&'a str, i64),
    /// A name with a component or selector (`%tid.x`, `%v.y`, `%r.b0`).
    Member(&'a str, &'a str),
    /// A number.
    Const(Const),
    /// `!p`.
    Not(&'a str),
    /// `-%r`, perhaps with a selector (only video instructions).
    Negated(&'a str, Option<&'a str>),
    /// `{a, b, ...}`.
    Vector(Vec<Operand<'a>>),
    /// `a|b`.
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `[base+offset]`; further parts (`[tex, {x, y}]`) follow.
    Memory(Address<'a>, Vec<Operand<'a>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
}

/// An address in brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Address<'a> {
    /// Register or variable; `None` for a bare number.
    pub base: Option<&'a str>,
    /// Added to it, in bytes.
    pub offset: i64,
}
