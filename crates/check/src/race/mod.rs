//! Unordered accesses of two threads, and incorrect uses of barriers.
//!
//! Owns the state of blocks and launches. Each module has one subject: [`record`] cells of memory, [`row`] accesses
//! of a warp to many words, [`run`] the effect of an instruction on rows, [`memory`] the storage of rows, [`order`]
//! what orders threads of a block, [`does`] an instruction's effect on that order, [`block`] a running block,
//! [`retry`] plain reads before atomic operations, [`found`] what was found, [`tell`] the messages. Must not know how
//! kernels run: they must report their accesses in execution order, so launches that are checked for races run on one
//! thread each.
//!
//! Accesses of two blocks count as ordered if the first one's warp has published its access by a fence or a release
//! of the device's scope, and the second one has acquired something since (a fence, or a load that others may write).

pub mod block;
mod does;
mod found;
mod memory;
pub mod order;
pub mod record;
mod retry;
mod row;
mod run;
mod tell;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cushim_ptx::Pos;
use cushim_ptx::exec::Access;

use super::launched::Launched;
use memory::Memory;
use order::Clock;
use record::{MOST_BLOCKS, When};

/// The most launches that are remembered.
const MOST_LAUNCHES: usize = 1 << 16;
/// Places in the code, at most.
const MOST_SITES: usize = 1 << 23;

/// A position in the code that accesses memory.
#[derive(Clone)]
struct Site {
    launch: Arc<Launched>,
    pos: Pos,
    access: Access,
}

/// The remembered blocks and launches.
type Known<'a> = (&'a [Ran], &'a [Arc<Launched>]);

/// A block that has run, or runs.
struct Ran {
    launch: u32,
    index: [u32; 3],
    /// Which of the launch's blocks it is: a block with many accesses has several numbers.
    serial: u64,
    /// Everything that it has done under this number is ordered before the others.
    over: bool,
    /// All its threads have ended.
    ended: bool,
    /// What it has published (`told`).
    told: Option<Box<Clock>>,
    /// When it first published.
    since: u64,
}

/// Two positions in the code, and if the host's stacks matter, the launch and the allocation.
type Told = (u32, u32, Option<(u32, u64)>);

/// What is remembered of memory, and of who accessed it.
#[derive(Default)]
pub struct Races {
    memory: Memory,
    blocks: Vec<Ran>,
    launches: Vec<Arc<Launched>>,
    /// The number of each launch's first block.
    firsts: Vec<u32>,
    sites: Vec<Site>,
    numbers: HashMap<(usize, u32, Pos, bool), u32>,
    /// Counts what blocks tell and hear.
    clock: u64,
    serials: u64,
    /// How often all was forgotten.
    generation: u64,
    /// What was reported.
    known: HashSet<Told>,
}

impl Races {
    /// Forgets the accesses to memory that is allocated now, or freed.
    pub fn forget(&mut self, at: u64, bytes: u64) {
        self.memory.forget(at, bytes);
    }

    /// Forgets all: there is more than is kept.
    fn restart(&mut self) {
        let generation = self.generation + 1;
        let known = std::mem::take(&mut self.known);
        let (clock, serials) = (self.clock, self.serials);
        // Positions keep their numbers, so that nothing is reported twice.
        let (sites, numbers) = (std::mem::take(&mut self.sites), std::mem::take(&mut self.numbers));
        *self = Races { generation, known, clock, serials, sites, numbers, ..Races::default() };
    }

    /// Starts a block, or continues one under another number. Returns that number.
    fn begin(&mut self, launch: &Arc<Launched>, index: [u32; 3], serial: u64) -> u32 {
        if self.blocks.len() >= MOST_BLOCKS || self.launches.len() >= MOST_LAUNCHES {
            self.restart();
        }
        let last = self.launches.iter().rposition(|known| Arc::ptr_eq(known, launch));
        let launch = last.unwrap_or_else(|| {
            self.launches.push(launch.clone());
            self.firsts.push(self.blocks.len().max(1) as u32);
            self.launches.len() - 1
        });
        let launch = launch as u32;
        let nobody =
            || Ran { launch, index, serial: 0, over: true, ended: true, told: None, since: 0 };
        if self.blocks.is_empty() {
            self.blocks.push(nobody());
        }
        self.blocks.push(Ran { serial, over: false, ended: false, ..nobody() });
        self.blocks.len() as u32 - 1
    }

    fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// The number of a position in the code; `None` if there are too many.
    fn site(&mut self, launch: &Arc<Launched>, pos: Pos, access: Access) -> Option<u32> {
        let key = (Arc::as_ptr(&launch.module).addr(), launch.kernel, pos, access == Access::Read);
        if let Some(known) = self.numbers.get(&key) {
            return Some(*known);
        }
        let number = self.sites.len();
        // Its launch keeps the module, so that no other has its address.
        self.sites.push(Site { launch: launch.clone(), pos, access });
        self.numbers.insert(key, number as u32);
        (number < MOST_SITES).then_some(number as u32)
    }

    /// All blocks of smaller numbers belong to launches that are ordered before that of a block.
    fn floor(&self, block: u32) -> u32 {
        let Some(own) = self.blocks.get(block as usize).map(|ran| ran.launch) else { return 0 };
        let Some(launch) = self.launches.get(own as usize) else { return 0 };
        let beside = self.launches.iter().zip(&self.firsts).filter(|(by, _)| by.is_beside(launch));
        let first = self.firsts.get(own as usize).copied().unwrap_or(0);
        beside.map(|(_, first)| *first).fold(first, u32::min)
    }

    /// Whether the block of an access has ended.
    fn has_ended(&self, when: When) -> bool {
        self.blocks.get(when.block() as usize).is_none_or(|ran| ran.ended)
    }

    /// A block publishes what it has done.
    fn told(&mut self, block: u32, what: &Clock) {
        self.clock += 1;
        let now = self.clock;
        let Some(ran) = self.blocks.get_mut(block as usize) else { return };
        if ran.told.is_none() {
            ran.since = now;
        }
        let told = ran.told.get_or_insert_default();
        told.iter_mut().zip(what).for_each(|(to, from)| *to = (*to).max(*from));
    }

    /// All threads of a block have ended.
    fn ended(&mut self, block: u32) {
        if let Some(ran) = self.blocks.get_mut(block as usize) {
            ran.ended = true;
        }
    }

    /// A block continues under another number.
    fn over(&mut self, block: u32) {
        if let Some(ran) = self.blocks.get_mut(block as usize) {
            ran.over = true;
        }
    }
}

/// Whether an access of another block is ordered before one that last acquired at `heard`.
fn is_over((blocks, launches): Known<'_>, old: When, block: u32, heard: u64) -> bool {
    let get = |block: u32| {
        let ran = blocks.get(block as usize)?;
        Some((ran, launches.get(ran.launch as usize)?))
    };
    let (Some((ran, by)), Some((own, launch))) = (get(old.block()), get(block)) else {
        return true;
    };
    if ran.over || ran.serial == own.serial {
        return true;
    }
    let told = ran.told.as_ref().and_then(|told| told.get(old.warp()));
    let told = told.is_some_and(|told| *told > old.epoch());
    match ran.launch == own.launch {
        // Blocks of a cluster have the cluster's barrier.
        true => launch.cluster > 1 || told && heard > ran.since,
        false => told || !by.is_beside(launch),
    }
}
