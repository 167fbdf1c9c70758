//! Decoded instructions: operands resolved, the operation chosen.
//!
//! Owns the decisions that are made once for an instruction and a launch. A basic block is decoded when a warp first
//! enters it, so code that a launch never reaches costs nothing. Must not execute anything.

use super::choose::lanewise;
use super::lanewise::Lanewise;
use super::launch::Exec;
use crate::alu;
use crate::exec::{function_pointer, window};
use crate::ir::{Base, Dst, Function, Inst, Sense, Special, Src, Symbol};
use crate::sem::{AddressOp, Control, Operation};
use crate::types::Space;
use std::cell::OnceCell;

/// A function, decoded as far as it has run.
pub(super) struct Code<'a> {
    pub(super) function: &'a Function,
    blocks: Vec<OnceCell<Box<[Step<'a>]>>>,
}

/// An instruction.
pub(super) struct Step<'a> {
    pub(super) inst: &'a Inst,
    /// Run only where this predicate is true, or false.
    pub(super) guard: Option<(u32, Sense)>,
    pub(super) what: What,
}

/// What is done for an instruction.
pub(super) enum What {
    /// All lanes at once.
    Compute(Compute),
    Load(Access, Box<[Target]>),
    Store(Access, Box<[Operand]>),
    /// To the instruction with this number.
    Goto(u32),
    /// As [`Exec::step`] has it.
    Other,
}

/// Where a result goes.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// The register's number; none if the result is unused.
    pub(super) register: Option<u32>,
    /// A mask of the register's bits.
    pub(super) cut: u64,
}

#[derive(Clone, Copy)]
pub(super) enum Operand {
    Register(u32),
    /// The same for all lanes, and in the whole launch.
    Constant(u64),
}

pub(super) struct Compute {
    pub(super) op: Lanewise,
    /// A number that the operation wants.
    pub(super) t: u64,
    pub(super) target: Target,
    pub(super) inputs: [Operand; 3],
}

/// A load or a store.
pub(super) struct Access {
    pub(super) space: Space,
    pub(super) base: Operand,
    /// Added to the base.
    pub(super) offset: u64,
    /// The bits that an address has.
    pub(super) cut: u64,
    /// Bytes of a value.
    pub(super) width: usize,
    /// Bytes of a lane's access.
    pub(super) size: usize,
    /// How far the sign of values lies from the top; 0 where they have none.
    pub(super) sign: u32,
}

/// The most bytes per lane of an access that is executed for all lanes at once.
pub(super) const MOST: usize = 16;

impl<'a> Code<'a> {
    pub(super) fn new(function: &'a Function) -> Code<'a> {
        Code { function, blocks: function.blocks.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The steps from instruction `pc` to the end of its basic block; none past the end of the function.
    pub(super) fn steps(&self, exec: &Exec<'_>, pc: u32) -> &[Step<'a>] {
        let Some(number) = self.function.block_of.get(pc as usize) else { return &[] };
        let block = &self.function.blocks[*number as usize];
        let steps = self.blocks[*number as usize].get_or_init(|| {
            let code = &self.function.code[block.start as usize..block.end as usize];
            code.iter().map(|inst| step(exec, inst)).collect()
        });
        &steps[(pc - block.start) as usize..]
    }
}

fn step<'a>(exec: &Exec<'_>, inst: &'a Inst) -> Step<'a> {
    Step { inst, guard: inst.guard, what: what(exec, inst).unwrap_or(What::Other) }
}

fn what(exec: &Exec<'_>, inst: &Inst) -> Option<What> {
    match inst.sem {
        Operation::Control(Control::Branch) => match inst.src.first() {
            Some(Src::Target(target)) => Some(What::Goto(*target)),
            _ => None,
        },
        Operation::Move(_) if inst.src.len() == 1 && inst.dst.len() == 1 => {
            let a = operand(exec, &inst.src[0])?;
            compute(Lanewise::Copy, 0, inst.dst[0], [a; 3])
        }
        Operation::Address(address) if !address.op.is_question() => {
            let a = operand(exec, &inst.src[0])?;
            let window = Operand::Constant(window(address.space).unwrap_or(0));
            let to_space = address.op == AddressOp::FromGeneric;
            let op = if to_space { Lanewise::Sub64 } else { Lanewise::Add64 };
            compute(op, 0, *inst.dst.first()?, [a, window, window])
        }
        Operation::Load(_) => load(exec, inst),
        Operation::Store(_) => {
            let list = inst.src.get(1..inst.src.len() - 1)?;
            let access = access(exec, inst, list.len())?;
            let values: Option<Box<[Operand]>> = list.iter().map(|s| operand(exec, s)).collect();
            Some(What::Store(access, values?))
        }
        op if op.is_pure() => {
            let (op, t) = lanewise(inst)?;
            let mut inputs = [Operand::Constant(0); 3];
            for (to, src) in inputs.iter_mut().zip(&inst.src) {
                *to = match src {
                    Src::None => continue,
                    src => operand(exec, src)?,
                };
            }
            compute(op, t, inst.dst[0], inputs)
        }
        _ => None,
    }
}

fn compute(op: Lanewise, t: u64, dst: Dst, inputs: [Operand; 3]) -> Option<What> {
    Some(What::Compute(Compute { op, t, target: target(dst), inputs }))
}

fn load(exec: &Exec<'_>, inst: &Inst) -> Option<What> {
    let access = access(exec, inst, inst.dst.len())?;
    // The kernel's parameters do not change.
    if let (Space::Param, Operand::Constant(base), [dst], 0) =
        (access.space, access.base, &inst.dst[..], access.sign)
    {
        let at = base.wrapping_add(access.offset) & access.cut;
        let from = usize::try_from(at).ok()?;
        if from.is_multiple_of(access.size)
            && let Some(bytes) = exec.launch.params.get(from..from.saturating_add(access.size))
        {
            let value = crate::exec::bytes::word(bytes);
            return compute(Lanewise::Copy, 0, *dst, [Operand::Constant(value); 3]);
        }
    }
    Some(What::Load(access, inst.dst.iter().map(|d| target(*d)).collect()))
}

fn access(exec: &Exec<'_>, inst: &Inst, parts: usize) -> Option<Access> {
    let Some(Src::Memory(base, offset)) = inst.src.first() else { return None };
    let (base, cut) = match base {
        Base::Reg(r, bits) => (Operand::Register(*r), alu::mask(*bits)),
        Base::Symbol(s) => (Operand::Constant(exec.fixed_address(*s)?), u64::MAX),
        Base::Zero => (Operand::Constant(0), u64::MAX),
    };
    let ty = inst.sem.ty();
    let width = ty.bytes() as usize;
    let size = width * parts;
    let sign = if ty.is_signed() { 64 - ty.bits() } else { 0 };
    let (space, offset) = (inst.space(0), *offset as u64);
    let known = (1..=MOST).contains(&size) && size.is_power_of_two() && width <= 8;
    known.then_some(Access { space, base, offset, cut, width, size, sign })
}

fn target(dst: Dst) -> Target {
    match dst {
        Dst::Reg(r, bits) => Target { register: Some(r), cut: alu::mask(bits) },
        Dst::Sink => Target { register: None, cut: 0 },
    }
}

/// An operand, if it is a register or the same throughout the launch.
fn operand(exec: &Exec<'_>, src: &Src) -> Option<Operand> {
    let launch = exec.launch;
    Some(match src {
        Src::Reg(r) => Operand::Register(*r),
        Src::Imm(v) => Operand::Constant(*v),
        Src::Address(symbol, addend) => {
            Operand::Constant(exec.fixed_address(*symbol)?.wrapping_add(*addend as u64))
        }
        Src::Special(Special::Ntid(axis)) => {
            Operand::Constant(launch.block.get(*axis as usize).map_or(0, |v| u64::from(*v)))
        }
        Src::Special(Special::Nctaid(axis)) => {
            Operand::Constant(launch.grid.get(*axis as usize).map_or(0, |v| u64::from(*v)))
        }
        _ => return None,
    })
}

impl Exec<'_> {
    /// A symbol's address in its own space, if it is the same throughout the launch.
    pub(super) fn fixed_address(&self, symbol: Symbol) -> Option<u64> {
        Some(match symbol {
            Symbol::Global(n) => self.launch.globals.get(n as usize).copied().unwrap_or(0),
            Symbol::Shared(n) => self.shared[n as usize].into(),
            Symbol::Function(n) => function_pointer(n),
            Symbol::Param(offset) => offset.into(),
            Symbol::Local(_) => return None,
        })
    }
}
