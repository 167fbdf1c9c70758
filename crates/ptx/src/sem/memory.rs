//! Loads and stores: space, type, memory order (PTX ISA 9, "State Spaces", "Memory Consistency Model", "Cache
//! Operators").
//!
//! Owns the meaning of an access's words. Must not know addresses.

use super::reader::{Context, Reader, Statement, Unsupported};
use crate::operand::{Base, Src, Symbol};
use crate::table::Word;
use crate::types::{Kind, Scalar, Space};

/// An access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Where: generic, global, shared, local or parameters.
    pub space: Space,
    /// Of constant memory, which nothing writes as long as the kernel runs.
    pub constant: bool,
    /// Through the cache of what a kernel only reads (`.nc`).
    pub read_only: bool,
    /// The type of each part.
    pub element: Scalar,
    /// 1, or the parts of a vector: 2, 4, 8.
    pub parts: u8,
    /// When others see it.
    pub order: Order,
    /// A hint to caches.
    pub cache: Cache,
    /// The last operand is a cache policy, which changes no result.
    pub policy: bool,
}

/// Among whom an order holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The block.
    Cta,
    /// The cluster of blocks.
    Cluster,
    /// The device.
    Gpu,
    /// All of the system.
    Sys,
}

/// How an access is ordered for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Unordered: no other thread accesses it.
    Weak,
    /// As relaxed, and never left out or done twice.
    Volatile,
    /// Done for others as one access.
    Relaxed(Scope),
    /// Later accesses stay after it.
    Acquire(Scope),
    /// Accesses before it stay before it.
    Release(Scope),
    /// Both.
    AcqRel(Scope),
    /// To a device: relaxed, of all of the system, and never left out or done twice.
    Mmio,
}

/// A cache operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
#[rustfmt::skip]
pub enum Cache { Default, Ca, Cg, Cs, Lu, Cv, Wb, Wt }

const SCOPES: [(Word, Scope); 4] = [
    (Word::Cta, Scope::Cta),
    (Word::Cluster, Scope::Cluster),
    (Word::Gpu, Scope::Gpu),
    (Word::Sys, Scope::Sys),
];

const CACHES: [(Word, Cache); 7] = [
    (Word::Ca, Cache::Ca),
    (Word::Cg, Cache::Cg),
    (Word::Cs, Cache::Cs),
    (Word::Lu, Cache::Lu),
    (Word::Cv, Cache::Cv),
    (Word::Wb, Cache::Wb),
    (Word::Wt, Cache::Wt),
];

/// Parameters of a kernel are a space of their own; a function's lie in local memory.
const SPACES: [(Word, Space); 9] = [
    (Word::Global, Space::Global),
    (Word::Const, Space::Const),
    (Word::Shared, Space::Shared),
    (Word::SharedCta, Space::Shared),
    (Word::SharedCluster, Space::Shared),
    (Word::Local, Space::Local),
    (Word::Param, Space::Param),
    (Word::ParamEntry, Space::Param),
    (Word::ParamFunc, Space::Local),
];

/// An order within a scope.
type Ordered = fn(Scope) -> Order;

const ORDERS: [(Word, Ordered); 4] = [
    (Word::Relaxed, Order::Relaxed),
    (Word::Acquire, Order::Acquire),
    (Word::Release, Order::Release),
    (Word::AcqRel, Order::AcqRel),
];

impl Access {
    /// Bytes of a lane's access.
    pub const fn bytes(&self) -> u32 {
        self.element.bytes() * self.parts as u32
    }

    /// Whether another thread may write the accessed memory meanwhile: no pass may duplicate or remove such an
    /// access.
    pub fn is_ordered(&self) -> bool {
        self.order != Order::Weak
    }

    /// Whether other threads may access the memory at the same time, according to an order or a cache operator for
    /// shared data.
    pub fn is_shared(&self) -> bool {
        self.is_ordered() || matches!(self.cache, Cache::Cg | Cache::Cv)
    }
}

/// The space that an operand's symbol is in.
fn symbol_space(inst: &Statement<'_>, n: usize) -> Option<Space> {
    let Some(Src::Memory(Base::Symbol(symbol), _)) = inst.src.get(n) else { return None };
    Some(match symbol {
        Symbol::Global(_) | Symbol::Function(_) => Space::Global,
        Symbol::Shared(_) => Space::Shared,
        Symbol::Local(_) => Space::Local,
        Symbol::Param(_) => Space::Param,
    })
}

/// The space that operand `n` is in, and whether it is constant memory; generic where none is named.
pub(super) fn space(words: &mut Reader<'_>, n: usize, entry: bool) -> (Space, bool) {
    let named = words.choice(&SPACES);
    let constant = named == Some(Space::Const);
    let space = match (symbol_space(words.inst, n), named) {
        (Some(space), _) => space,
        (None, Some(Space::Const)) => Space::Global,
        (None, Some(Space::Param)) if !entry => Space::Local,
        (None, named) => named.unwrap_or(Space::Generic),
    };
    (space, constant)
}

pub(super) fn scope(words: &mut Reader<'_>) -> Option<Scope> {
    words.choice(&SCOPES)
}

/// The order, with the device's scope if none is given (ISA, `ld`); `plain` if there is no order.
pub(super) fn order(words: &mut Reader<'_>, plain: Order) -> Order {
    let weak = words.take(Word::Weak);
    let (volatile, mmio) = (words.take(Word::Volatile), words.take(Word::Mmio));
    let named = words.choice(&ORDERS);
    let scope = scope(words).unwrap_or(Scope::Gpu);
    match named {
        _ if mmio => Order::Mmio,
        _ if volatile => Order::Volatile,
        Some(order) => order(scope),
        None if weak => Order::Weak,
        None => match plain {
            Order::Relaxed(_) => Order::Relaxed(scope),
            plain => plain,
        },
    }
}

/// Parts of a vector, as many as the operands are.
pub(super) fn parts(words: &mut Reader<'_>, operands: usize) -> Result<u8, Unsupported> {
    let named = words.choice(&[(Word::V2, 2), (Word::V4, 4), (Word::V8, 8)]).unwrap_or(1u8);
    if usize::from(named) == operands {
        return Ok(named);
    }
    Err(words.wrong(format!("{operands} values"), "one for each element of the vector"))
}

fn is_data(ty: Scalar) -> bool {
    let kind = matches!(ty.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed | Kind::Float);
    let half = matches!(ty, Scalar::F16x2 | Scalar::Bf16x2);
    kind && ty.bits() <= 64 || half
}

fn access(
    words: &mut Reader<'_>,
    context: Context<'_>,
    values: usize,
) -> Result<Access, Unsupported> {
    let (space, constant) = space(words, 0, context.entry);
    Ok(Access {
        space,
        constant,
        read_only: words.take(Word::Nc),
        element: words.ty(0, is_data, "a type of data in memory")?,
        parts: parts(words, values)?,
        order: order(words, Order::Weak),
        cache: words.choice(&CACHES).unwrap_or(Cache::Default),
        policy: words.take(Word::CacheHint),
    })
}

/// Operands: the address, and a cache policy or none.
pub(super) fn load(words: &mut Reader<'_>, context: Context<'_>) -> Result<Access, Unsupported> {
    access(words, context, words.inst.results)
}

/// Operands: the address, the values, and a cache policy or none.
pub(super) fn store(words: &mut Reader<'_>, context: Context<'_>) -> Result<Access, Unsupported> {
    access(words, context, words.inst.src.len().saturating_sub(2))
}
