//! Numbers that tell helpers for whole warps what to do.

use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{BitOp, Collective, CollectiveOp, Half, IntegerOp, Operation, Permute, Way};

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

/// Of integers; `at` is 0 for `u32`, 1 for `s32`, 2 for `u64`, 3 for `s64`.
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

/// The same of bits.
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

/// How lanes of a shuffle find each other: the number that it is called with.
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
