//! The effect of a memory instruction, for race detection.
//!
//! Owns its effect on the order of threads, cached for each instruction, because it is needed for each access of a
//! warp. Must not know what orders threads, or what memory is accessed.

use std::collections::HashMap;

use cushim_ptx::Pos;
use cushim_ptx::exec::Access;
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{Operation, Order as Word, Scope};

/// A position in the code, and whether it reads.
type Key = (Pos, bool);

/// The number of positions that are cached.
const RECENT: usize = 256;

/// What an instruction does to the order of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effect {
    /// It publishes earlier accesses to the block's other threads, and to other blocks.
    pub releases: [bool; 2],
    /// It hears of what others have done.
    pub acquires: bool,
}

/// Whether other blocks are within a scope.
pub fn wide(scope: Scope) -> bool {
    scope != Scope::Cta
}

/// What an access does to the order of threads, and whether it may run beside others that may.
fn effect_of(inst: &Inst) -> (Effect, bool) {
    let by = |order: Word| match order {
        Word::Weak => Effect::default(),
        Word::Release(s) | Word::AcqRel(s) => {
            Effect { releases: [true, wide(s)], acquires: order != Word::Release(s) }
        }
        _ => Effect { releases: [false; 2], acquires: true },
    };
    match inst.sem {
        Operation::Load(a) => {
            let strong = a.is_shared();
            (Effect { acquires: strong, ..by(a.order) }, strong)
        }
        Operation::Store(a) => (Effect { acquires: false, ..by(a.order) }, a.is_shared()),
        Operation::Atomic(a) => (by(a.access.order), true),
        // What copies by itself tells a barrier object or a group of it.
        Operation::CopyAsync(_) => (Effect { releases: [true; 2], acquires: false }, false),
        _ => (Effect { releases: [true; 2], acquires: true }, true),
    }
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Does {
    /// The number of its position in the code; none if there are too many.
    pub site: Option<u32>,
    /// To the order of threads.
    pub effect: Effect,
    /// It may run beside others that may.
    pub strong: bool,
    /// Its lanes access the memory, not what copies for them, nor a barrier object.
    pub accesses: bool,
    /// It copies, and signals the completion.
    pub copies: bool,
}

impl Does {
    fn new(inst: &Inst, site: Option<u32>) -> Does {
        let (effect, strong) = effect_of(inst);
        Does {
            site,
            effect,
            strong,
            accesses: !matches!(inst.sem, Operation::Asynchronous(_) | Operation::Mbarrier(_)),
            copies: matches!(inst.sem, Operation::CopyAsync(_)),
        }
    }
}

/// What the instructions of a launch do.
#[derive(Debug)]
pub struct Known {
    all: HashMap<Key, Does>,
    /// The latest lookups, by lines of the text.
    recent: [Option<(Key, Does)>; RECENT],
}

impl Default for Known {
    fn default() -> Known {
        Known { all: HashMap::new(), recent: [None; RECENT] }
    }
}

impl Known {
    /// The effect of an instruction's access; `site` assigns the number of its position.
    #[inline]
    pub fn of(&mut self, inst: &Inst, access: Access, site: impl FnOnce() -> Option<u32>) -> Does {
        let key = (inst.pos, access == Access::Read);
        let place = inst.pos.line as usize % RECENT;
        if let Some(Some((known, does))) = self.recent.get(place)
            && *known == key
        {
            return *does;
        }
        let does = *self.all.entry(key).or_insert_with(|| Does::new(inst, site()));
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = Some((key, does));
        }
        does
    }
}
