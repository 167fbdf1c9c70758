//! The meaning of instructions: typed operations.
//!
//! Owns the step from a checked form (an operation's name, a set of modifier words, types) to an [`Operation`]: what
//! is computed, on which type, with which rounding, to which destination, with which memory order. It happens once
//! for each instruction, after the checks, when a module is loaded; [`crate::alu`], the interpreter, planners and
//! emitters read the operation, and none of them reads words. Must not know registers' values, launches, or how
//! anything is run.
//!
//! Each class of operations is one file here: its types, which cannot express an operation that no instruction has,
//! one table for each choice that words make, and the lowering. A lowering takes each word to which it gives a
//! meaning ([`Reader`]). A word that nothing took, a missing word, or a type that the class does not have is
//! [`Unsupported`], and the kernel cannot be launched. So no modifier is ignored silently.
//!
//! An instruction of a module has an operation and nothing else that defines its meaning: its name and its words are
//! gone ([`Statement`]).

mod address;
mod asynchronous;
mod atomic;
mod barrier;
mod bits;
mod class;
mod cluster;
mod collective;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod reader;
mod registers;
pub mod tensor;
pub mod texture;
mod video;
pub mod warpgroup;

pub use address::{Address, AddressOp};
pub use asynchronous::{AsyncOp, Asynchronous};
pub use atomic::{Atomic, Update};
pub use barrier::{BARRIERS, Barrier, Fence, Reduction};
pub use bits::{BitOp, Bits, Logic, Permute};
pub use class::Class;
pub use cluster::{ClusterAddress, ClusterOp};
pub use collective::{Collective, CollectiveOp, Vote, Way};
pub use compare::{Compare, Compared, FloatClass, Outcomes, Selector, Set, Test};
pub use control::Control;
pub use convert::{Convert, Mode};
pub use copy::{CopyAsync, Source};
pub use float::{Clamp, Extreme, Float, FloatOp, Precision};
pub use integer::{Half, Integer, IntegerOp};
pub(crate) use matrix::shape;
pub use matrix::{Family, Multiply, Shape, registers};
pub use mbarrier::{Mbarrier, MbarrierOp};
pub use memory::{Access, Cache, Order, Scope};
pub use reader::{Context, Statement, Unsupported};
pub use tensor::Combine;
pub use video::{Then, Video, VideoOp};

use crate::table::Op;
use crate::types::{Scalar, Space};
use reader::Reader;

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Arithmetic of integers.
    Integer(Integer),
    /// Logic, shifts, fields of bits.
    Bits(Bits),
    /// Arithmetic of floating-point numbers.
    Float(Float),
    /// `cvt`.
    Convert(Convert),
    /// `setp`: the result, and its contrary or that of upper halves.
    Compare(Compare),
    /// `set`.
    Set(Set),
    /// `selp`, of this type: the first operand where the third, a predicate, is true, else the second.
    Select(Scalar),
    /// `slct`: the first operand where the third is not negative, else the second.
    SelectBySign {
        /// The type.
        ty: Scalar,
        /// What the third operand is.
        by: Selector,
    },
    /// `testp`.
    Test(Test),
    /// `vadd` and others.
    Video(Video),
    /// `cvta`, `isspacep`.
    Address(Address),
    /// `ld`, `ldu`: a value, or the parts of a vector, from memory to registers.
    Load(Access),
    /// `st`.
    Store(Access),
    /// `atom`, `red`.
    Atomic(Atomic),
    /// `cp.async`.
    CopyAsync(CopyAsync),
    /// `st.async`, `red.async`, `cp.async.bulk`, `cp.reduce.async.bulk`.
    Asynchronous(Asynchronous),
    /// `mapa`, `getctarank`.
    ClusterAddress(ClusterAddress),
    /// `tex`, `tld4`.
    Texture(texture::Texture),
    /// `suld`, `sust`, `sured`.
    Surface(texture::Surface),
    /// `txq`, `suq`, `istypep`.
    TextureQuery(texture::Query),
    /// `mbarrier`, `cp.async.mbarrier.arrive`.
    Mbarrier(Mbarrier),
    /// `shfl`, `vote`, `match`, `redux`, `bar.warp`, `mma`.
    Collective(Collective),
    /// `bar`, `barrier`.
    Barrier(Barrier),
    /// `membar`, `fence`.
    Fence(Fence),
    /// `mov`: a value of this type, from one operand or of parts side by side, to one result or its parts.
    Move(Scalar),
    /// `bra`, `brx.idx`, `call`, `ret`, `exit`, `trap`.
    Control(Control),
    /// `activemask`: which lanes are here, a bit for each.
    ActiveMask,
    /// `nanosleep`: others may go first.
    Sleep,
    /// No visible effect: `nop`, prefetches, hints, waiting for copies that complete immediately.
    Nothing,
    /// It has no meaning here: a kernel with it is not launched.
    Refused,
}

// A table: which file lowers which instruction.
/// What a checked instruction means.
///
/// # Errors
/// [`Unsupported`] where its words or types have no meaning together.
pub fn lower(inst: &Statement<'_>, context: Context<'_>) -> Result<Operation, Unsupported> {
    let mut words = Reader::new(inst);
    let integer = integer::is_integer(inst.types[0]);
    let operation = match inst.op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Abs | Op::Neg | Op::Min | Op::Max
            if integer =>
        {
            Operation::Integer(integer::lower(&mut words)?)
        }
        Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Abs
        | Op::Neg
        | Op::Min
        | Op::Max
        | Op::Fma
        | Op::Rcp
        | Op::Sqrt
        | Op::Rsqrt
        | Op::Sin
        | Op::Cos
        | Op::Lg2
        | Op::Ex2
        | Op::Tanh
        | Op::Copysign => Operation::Float(float::lower(&mut words)?),
        Op::Cvt | Op::Cvt2 | Op::CvtPack => Operation::Convert(convert::lower(&mut words)?),
        Op::Setp => Operation::Compare(compare::compare(&mut words, 0)?),
        Op::Set => Operation::Set(compare::set(&mut words)?),
        Op::Selp => Operation::Select(inst.types[0]),
        Op::Slct => {
            Operation::SelectBySign { ty: inst.types[0], by: compare::selector(&mut words)? }
        }
        Op::Testp => Operation::Test(compare::test(&mut words)?),
        Op::AddCarry
        | Op::SubCarry
        | Op::Mad
        | Op::MadCarry
        | Op::MulWide
        | Op::MadWide
        | Op::Mul24
        | Op::Mad24
        | Op::Sad
        | Op::Rem
        | Op::Dp4a
        | Op::Dp2a => Operation::Integer(integer::lower(&mut words)?),
        Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Cnot
        | Op::Lop3
        | Op::Shl
        | Op::Shr
        | Op::Shf
        | Op::Prmt
        | Op::Popc
        | Op::Clz
        | Op::Brev
        | Op::Bfind
        | Op::Fns
        | Op::Bfe
        | Op::Bfi
        | Op::Bmsk
        | Op::Szext => Operation::Bits(bits::lower(&mut words)?),
        Op::Ld => Operation::Load(memory::load(&mut words, context)?),
        Op::St => Operation::Store(memory::store(&mut words, context)?),
        Op::Atom => Operation::Atomic(atomic::lower(&mut words, context)?),
        Op::CpAsync => Operation::CopyAsync(copy::lower(&mut words, context)?),
        Op::StAsync | Op::RedAsync | Op::CpBulk | Op::CpReduce => {
            Operation::Asynchronous(asynchronous::lower(&mut words, context)?)
        }
        Op::Mapa | Op::CtaRank => Operation::ClusterAddress(cluster::lower(&mut words)?),
        Op::MbarInit
        | Op::MbarArrive
        | Op::MbarTx
        | Op::MbarTest
        | Op::MbarPending
        | Op::CpArrive => Operation::Mbarrier(mbarrier::lower(&mut words, context)?),
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::BarWarp => {
            Operation::Collective(collective::lower(&mut words)?)
        }
        Op::Mma | Op::MmaSparse | Op::WmmaMma => {
            let op = CollectiveOp::Multiply(matrix::lower(&mut words)?);
            Operation::Collective(Collective { op, sync: true })
        }
        // The checks make other instructions of these.
        Op::Ldmatrix | Op::Stmatrix | Op::Movmatrix | Op::WmmaLoad | Op::WmmaStore | Op::Elect => {
            return Ok(Operation::Refused);
        }
        Op::Cvta | Op::Isspacep => Operation::Address(address::lower(&mut words)?),
        Op::BarSync | Op::BarArrive | Op::BarRed | Op::ClusterArrive | Op::ClusterWait => {
            Operation::Barrier(barrier::lower(&mut words)?)
        }
        Op::Fence | Op::FenceSc => Operation::Fence(barrier::fence(&mut words)?),
        Op::Vadd
        | Op::Vsub
        | Op::Vavrg
        | Op::Vabsdiff
        | Op::Vmin
        | Op::Vmax
        | Op::Vshl
        | Op::Vshr
        | Op::Vmad
        | Op::Vset => Operation::Video(video::lower(&mut words)?),
        Op::Mov => Operation::Move(control::moved(&mut words)?),
        Op::Bra | Op::BrxIdx | Op::Call | Op::Ret | Op::Exit | Op::Trap => {
            Operation::Control(control::lower(&mut words))
        }
        Op::Activemask => Operation::ActiveMask,
        Op::Nanosleep => Operation::Sleep,
        // Hints have words without an effect.
        Op::Nop => return Ok(Operation::Nothing),
        Op::Refused => return Ok(Operation::Refused),
    };
    words.end()?;
    Ok(operation)
}

/// The space that operand `n` of an access is in, for the checks, which come before [`lower`]: constant memory is
/// [`Space::Const`] here.
pub(crate) fn checked_space(inst: &Statement<'_>, n: usize, entry: bool) -> Space {
    match memory::space(&mut Reader::new(inst), n, entry) {
        (Space::Global, true) => Space::Const,
        (space, _) => space,
    }
}

impl Operation {
    /// Whether a lane computes its results from its operands alone ([`crate::alu`]).
    pub const fn is_pure(&self) -> bool {
        use Operation::*;
        matches!(
            self,
            Integer(_)
                | Bits(_)
                | Float(_)
                | Convert(_)
                | Compare(_)
                | Set(_)
                | Select(_)
                | SelectBySign { .. }
                | Test(_)
                | Video(_)
                | ClusterAddress(_)
        )
    }

    /// Whether it is one of these integer operations.
    pub fn is_integer(&self, of: impl Fn(IntegerOp) -> bool) -> bool {
        matches!(self, Operation::Integer(i) if of(i.op))
    }

    /// Whether it is a move.
    pub const fn is_move(&self) -> bool {
        matches!(self, Operation::Move(_))
    }

    /// Whether it makes an address of another: `cvta`.
    pub fn is_cvta(&self) -> bool {
        matches!(self, Operation::Address(a) if !a.op.is_question())
    }

    /// Whether threads of the block, or of its cluster, wait at it for each other.
    pub const fn waits_for_block(&self) -> bool {
        matches!(
            self,
            Operation::Barrier(
                Barrier::Sync | Barrier::Reduce(_) | Barrier::ClusterWait | Barrier::Warpgroup
            )
        )
    }

    /// Arithmetic of floating-point numbers, if it is that.
    pub const fn float(&self) -> Option<Float> {
        if let Operation::Float(f) = self { Some(*f) } else { None }
    }

    /// Which arithmetic of integers, if it is that.
    pub const fn integer(&self) -> Option<IntegerOp> {
        if let Operation::Integer(i) = self { Some(i.op) } else { None }
    }

    /// Which operation on bits, if it is that.
    pub const fn bits(&self) -> Option<BitOp> {
        if let Operation::Bits(b) = self { Some(b.op) } else { None }
    }

    /// Whether it is the lower half of a product, or a sum with that.
    pub const fn is_low_product(&self) -> bool {
        let Operation::Integer(i) = self else { return false };
        matches!(i.op, IntegerOp::Mul(Half::Low) | IntegerOp::Mad { half: Half::Low, .. })
    }

    /// The state space of the memory that operand `n` names, in which only [`Space::Generic`], [`Space::Global`] (with
    /// constant memory), [`Space::Shared`], [`Space::Local`] and [`Space::Param`] occur. Generic where it names none.
    pub fn space(&self, n: usize) -> Space {
        match (self, n) {
            (Operation::Load(a) | Operation::Store(a), 0) => a.space,
            (Operation::Atomic(a), 0) => a.access.space,
            (Operation::Mbarrier(m), 0) => m.space,
            (Operation::CopyAsync(_), 0) => Space::Shared,
            (Operation::CopyAsync(_), 1) => Space::Global,
            (Operation::Asynchronous(a), 0) => a.to,
            (Operation::Asynchronous(a), 1) => match a.op {
                AsyncOp::Copy { from, .. } => from,
                _ => Space::Generic,
            },
            (Operation::Asynchronous(a), n) if a.barrier.map(usize::from) == Some(n) => a.to,
            _ => Space::Generic,
        }
    }
}

#[cfg(test)]
mod tests;
