//! Numbers that select the operation of helpers for whole warps.

use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{
    BitOp, Clamp, Collective, CollectiveOp, Convert, Float, FloatOp, Half, IntegerOp, Operation,
    Permute, Way,
};
use cushim_ptx::soft::Round;
use cushim_ptx::types::Scalar;

/// What to do; the number that the helper is called with.
macro_rules! tasks {
    ($($name:ident),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum Task { $($name),* }

        pub(crate) static TASKS: &[Task] = &[$(Task::$name),*];
    };
}

tasks! {
    Shl32, Shl64, ShrU32, ShrS32, ShrU64, ShrS64,
    FunnelLeftWrap, FunnelLeftClamp, FunnelRightWrap, FunnelRightClamp,
    BfeU32, BfeS32, BfeU64, BfeS64, Bfi32, Bfi64,
    Popc32, Popc64, Clz32, Clz64, Brev32, Brev64,
    BfindU32, BfindS32, BfindU64, BfindS64, AmountU32, AmountS32, AmountU64, AmountS64,
    Prmt, DivU32, DivS32, RemU32, RemS32, DivU64, DivS64, RemU64, RemS64,
    HighU64, HighS64, SadU32, SadS32, DotUU, DotUS, DotSU, DotSS,
}

/// The task that an instruction is, if it is one. Operands of 16 bits are not for here.
pub(crate) fn task(i: &Inst) -> Option<Task> {
    let (ty, packed) = match i.sem {
        Operation::Integer(what) => (what.ty, what.packed),
        Operation::Bits(what) => (what.ty, false),
        _ => return None,
    };
    let at = match (ty.bits(), ty.is_signed()) {
        (32, false) => 0,
        (32, true) => 1,
        (64, false) => 2,
        (64, true) => 3,
        _ => return None,
    };
    match i.sem {
        Operation::Integer(what) if !packed => of_integers(what.op, at),
        Operation::Bits(what) => of_bits(what.op, at),
        _ => None,
    }
}

/// On integers; `at` is 0 for `u32`, 1 for `s32`, 2 for `u64`, 3 for `s64`.
fn of_integers(op: IntegerOp, at: usize) -> Option<Task> {
    use Task::*;
    Some(match op {
        IntegerOp::Div => [DivU32, DivS32, DivU64, DivS64][at],
        IntegerOp::Rem => [RemU32, RemS32, RemU64, RemS64][at],
        IntegerOp::Mul(Half::High) if at >= 2 => [HighU64, HighS64][at - 2],
        IntegerOp::Sad if at < 2 => [SadU32, SadS32][at],
        IntegerOp::Dot4 { signed: [false, false] } => DotUU,
        IntegerOp::Dot4 { signed: [false, true] } => DotUS,
        IntegerOp::Dot4 { signed: [true, false] } => DotSU,
        IntegerOp::Dot4 { signed: [true, true] } => DotSS,
        _ => return None,
    })
}

/// The same for bit operations.
fn of_bits(op: BitOp, at: usize) -> Option<Task> {
    use Task::*;
    Some(match op {
        BitOp::Shl => [Shl32, Shl32, Shl64, Shl64][at],
        BitOp::Shr => [ShrU32, ShrS32, ShrU64, ShrS64][at],
        BitOp::Funnel { left: true, wrap: true } => FunnelLeftWrap,
        BitOp::Funnel { left: true, wrap: false } => FunnelLeftClamp,
        BitOp::Funnel { left: false, wrap: true } => FunnelRightWrap,
        BitOp::Funnel { left: false, wrap: false } => FunnelRightClamp,
        BitOp::Bfe => [BfeU32, BfeS32, BfeU64, BfeS64][at],
        BitOp::Bfi => [Bfi32, Bfi32, Bfi64, Bfi64][at],
        BitOp::Popc => [Popc32, Popc32, Popc64, Popc64][at],
        BitOp::Clz => [Clz32, Clz32, Clz64, Clz64][at],
        BitOp::Brev => [Brev32, Brev32, Brev64, Brev64][at],
        BitOp::Bfind { amount: true } => [AmountU32, AmountS32, AmountU64, AmountS64][at],
        BitOp::Bfind { amount: false } => [BfindU32, BfindS32, BfindU64, BfindS64][at],
        BitOp::Permute(Permute::Any) => Prmt,
        _ => return None,
    })
}

/// The mode of a shuffle, as the number passed to the helper.
pub(crate) fn shuffle_mode(way: Way) -> u32 {
    match way {
        Way::Up => 0,
        Way::Down => 1,
        Way::Butterfly => 2,
        Way::Index => 3,
    }
}

/// Which lane a shuffle reads, if the instruction is one.
pub(crate) fn shuffle_way(i: &Inst) -> Option<Way> {
    match i.sem {
        Operation::Collective(Collective { op: CollectiveOp::Shuffle(way), .. }) => Some(way),
        _ => None,
    }
}

/// Subnormal operands and results are zeros.
pub(crate) const FTZ: u32 = 1;
/// Towards minus infinity.
pub(crate) const DOWN: u32 = 2;
/// Towards plus infinity.
pub(crate) const UP: u32 = 4;
/// The first operand has one value for all lanes; shifted up by one, the second has.
pub(crate) const SAME: u32 = 8;
/// Registers hold two numbers each.
pub(crate) const PACKED: u32 = 64;
/// What [`Halves`] are multiplied with in the number that their helper is called with.
pub(crate) const HALVES: u32 = 128;

/// What is done with halves and bfloat16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Halves {
    AddF16,
    SubF16,
    MulF16,
    FmaF16,
    AddBf16,
    SubBf16,
    MulBf16,
    FmaBf16,
    F16ToF32,
    F32ToF16,
    F32ToBf16,
    PairToF16,
    PairToBf16,
}

impl Halves {
    /// All, by their numbers.
    pub(crate) const ALL: &[Halves] = &[
        Halves::AddF16,
        Halves::SubF16,
        Halves::MulF16,
        Halves::FmaF16,
        Halves::AddBf16,
        Halves::SubBf16,
        Halves::MulBf16,
        Halves::FmaBf16,
        Halves::F16ToF32,
        Halves::F32ToF16,
        Halves::F32ToBf16,
        Halves::PairToF16,
        Halves::PairToBf16,
    ];

    /// The arithmetic that an instruction asks for, if it is here.
    pub(crate) fn of(what: Float) -> Option<Halves> {
        if what.flush || what.clamp != Clamp::None || what.round != Round::Nearest {
            return None;
        }
        let at = match what.op {
            FloatOp::Add => 0,
            FloatOp::Sub => 1,
            FloatOp::Mul => 2,
            FloatOp::Fma => 3,
            _ => return None,
        };
        match what.ty {
            Scalar::F16 => Self::ALL.get(at).copied(),
            Scalar::Bf16 => Self::ALL.get(4 + at).copied(),
            _ => None,
        }
    }

    /// The conversion that an instruction asks for, if it is here.
    pub(crate) fn of_conversion(what: Convert) -> Option<Halves> {
        let (mode, task) = match what {
            Convert::Float { from: Scalar::F16, to: Scalar::F32, mode } => (mode, Halves::F16ToF32),
            Convert::Float { from: Scalar::F32, to: Scalar::F16, mode } => (mode, Halves::F32ToF16),
            Convert::Float { from: Scalar::F32, to: Scalar::Bf16, mode } => {
                (mode, Halves::F32ToBf16)
            }
            Convert::Halves { to: Scalar::F16 | Scalar::F16x2, mode } => (mode, Halves::PairToF16),
            Convert::Halves { to: Scalar::Bf16 | Scalar::Bf16x2, mode } => {
                (mode, Halves::PairToBf16)
            }
            _ => return None,
        };
        mode.is_plain().then_some(task)
    }
}
