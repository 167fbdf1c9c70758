//! Operands of checked instructions: registers, constants, memory addresses, branch targets, calls.
//!
//! Owns the kinds of operands. Must not know what an instruction does with one.

use crate::special::Special;

/// What has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// [`crate::ir::Module::globals`].
    Global(u32),
    /// [`crate::ir::Module::shared`].
    Shared(u32),
    /// [`crate::ir::Module::functions`].
    Function(u32),
    /// An offset in the function's local memory.
    Local(u32),
    /// An offset in the kernel's parameters.
    Param(u32),
}

/// Whether a predicate must be true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sense {
    /// `@p`.
    True,
    /// `@!p`.
    False,
}

/// A result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dst {
    /// A register and its width in bits.
    Reg(u32, u32),
    /// Not wanted.
    Sink,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Src {
    /// A register.
    Reg(u32),
    /// A predicate, negated.
    Not(u32),
    /// Bits of the type the operand has.
    Imm(u64),
    /// A special register.
    Special(Special),
    /// An address plus an addend.
    Address(Symbol, i64),
    /// `[base+offset]`.
    Memory(Base, i64),
    /// An instruction to go to.
    Target(u32),
    /// Instructions to choose from.
    Targets(Vec<u32>),
    /// What a call does.
    Call(Box<Call>),
    /// A missing optional operand.
    None,
}

/// What an address starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register and its width in bits.
    Reg(u32, u32),
    /// A variable.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Zero,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Call {
    /// Whom: a function, or the register that holds its handle.
    pub callee: Callee,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Where results go.
    pub returns: Vec<Arg>,
}

/// Whom a call calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A function of the module.
    Direct(u32),
    /// A function's handle in a register.
    Register(u32),
}

/// An argument, or the destination of a result.
#[derive(Debug, Clone, Copy, PartialEq, Hash)]
pub enum Arg {
    /// Bytes in the caller's local memory: offset and size.
    Memory(u32, u32),
    /// A register.
    Reg(u32, u32),
    /// A constant.
    Imm(u64),
    /// Nobody wants it.
    Sink,
}
