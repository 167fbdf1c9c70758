//! Accesses of two threads that nothing orders, and barriers that are used wrongly.
//!
//! Owns what is remembered of memory that several blocks can reach. Each of its parts knows one thing: [`record`] cells of
//! memory, [`order`] what orders threads of a block, [`block`] one block that runs,
//! [`retry`] plain reads before atomic operations, [`found`] what is found, [`tell`] what is said. Must not know how
//! kernels run: they must show what they do in the order in which they do it, so that launches that are looked at for races run
//! on one thread each.
//!
//! Accesses of two blocks are taken as ordered if the first one's warp has told of its access by a fence or a release of the
//! device's scope, and the second one has looked at something since (a fence, or a load that others may write).

pub mod block;
mod found;
pub mod order;
pub mod record;
mod retry;
mod tell;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cushim_ptx::Pos;
use cushim_ptx::exec::Access;

use super::launched::Launched;
use order::Clock;
use record::{Cell, MOST_BLOCKS, When};

/// Bytes of memory whose cells lie together.
const PAGE: u64 = 4096;
/// Pages of which something is remembered, at most: 64 MiB of memory, and ten times as much for its cells.
const MOST_PAGES: usize = 1 << 14;
/// Launches that are remembered, at most.
const MOST_LAUNCHES: usize = 1 << 16;
/// Places in the code, at most.
const MOST_SITES: usize = 1 << 23;

/// A place in the code that accesses memory.
#[derive(Clone)]
struct Site {
    launch: Arc<Launched>,
    pos: Pos,
    access: Access,
}

/// Blocks and launches that are remembered.
type Known<'a> = (&'a [Ran], &'a [Arc<Launched>]);

/// A block that has run, or runs.
struct Ran {
    launch: u32,
    index: [u32; 3],
    /// Which of the launch's blocks it is: one that has done much has several numbers.
    serial: u64,
    /// All that it has done under this number is over for the others.
    over: bool,
    /// All its threads have ended.
    ended: bool,
    /// What it has told others of.
    told: Option<Box<Clock>>,
    /// When it began to.
    since: u64,
}

/// What is remembered of memory, and of who accessed it.
#[derive(Default)]
pub struct Races {
    pages: HashMap<u64, Box<[Cell]>>,
    /// The page that was used last, and its number; it is not among the others.
    last: Option<(u64, Box<[Cell]>)>,
    blocks: Vec<Ran>,
    launches: Vec<Arc<Launched>>,
    sites: Vec<Site>,
    numbers: HashMap<(usize, u32, Pos, bool), u32>,
    /// Counts what blocks tell and hear.
    clock: u64,
    serials: u64,
    /// How often all was forgotten.
    generation: u64,
    /// Pairs of places that were told of.
    known: HashSet<(u32, u32)>,
}

impl Races {
    /// Forgets what was done to memory that is there from now on, or not any more.
    pub fn forget(&mut self, at: u64, bytes: u64) {
        self.put_back();
        let end = at.saturating_add(bytes);
        let (first, last) = (at / PAGE, end.saturating_sub(1) / PAGE);
        let clean = |number: u64, page: &mut Box<[Cell]>| {
            let start = number * PAGE;
            let from = at.saturating_sub(start).min(PAGE) / 4;
            let to = end.saturating_sub(start).min(PAGE).div_ceil(4);
            if let Some(cells) = page.get_mut(from as usize..to as usize) {
                cells.fill(Cell::default());
            }
        };
        if bytes == 0 {
            return;
        }
        if last - first >= self.pages.len() as u64 {
            let within = self.pages.iter_mut().filter(|(n, _)| (first..=last).contains(*n));
            within.for_each(|(number, page)| clean(*number, page));
        } else {
            for number in first..=last {
                self.pages.get_mut(&number).into_iter().for_each(|page| clean(number, page));
            }
        }
    }

    /// Forgets all: there is more than is kept.
    fn restart(&mut self) {
        let generation = self.generation + 1;
        let known = std::mem::take(&mut self.known);
        let (clock, serials) = (self.clock, self.serials);
        // Places keep their numbers, so that nothing is told twice.
        let (sites, numbers) = (std::mem::take(&mut self.sites), std::mem::take(&mut self.numbers));
        *self = Races { generation, known, clock, serials, sites, numbers, ..Races::default() };
    }

    /// A block begins, or one goes on under another number. Gives that.
    fn begin(&mut self, launch: &Arc<Launched>, index: [u32; 3], serial: u64) -> u32 {
        if self.blocks.len() >= MOST_BLOCKS || self.launches.len() >= MOST_LAUNCHES {
            self.restart();
        }
        let last = self.launches.iter().rposition(|known| Arc::ptr_eq(known, launch));
        let launch = last.unwrap_or_else(|| {
            self.launches.push(launch.clone());
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

    /// The number of a place in the code; `None` where there are too many.
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

    /// A cell, by its number, and who ran.
    fn cell(&mut self, number: u64) -> (Option<&mut Cell>, Known<'_>) {
        const CELLS: u64 = PAGE / 4;
        let wanted = number / CELLS;
        if self.last.as_ref().is_none_or(|(last, _)| *last != wanted) {
            self.put_back();
            if self.pages.len() >= MOST_PAGES && !self.pages.contains_key(&wanted) {
                self.pages.clear();
            }
            let make = || vec![Cell::default(); CELLS as usize].into();
            self.last = Some((wanted, self.pages.remove(&wanted).unwrap_or_else(make)));
        }
        let page = self.last.as_mut().map(|(_, page)| page);
        let cell = page.and_then(|page| page.get_mut((number % CELLS) as usize));
        (cell, (&self.blocks, &self.launches))
    }

    /// The page that was used last is one of all.
    fn put_back(&mut self) {
        self.pages.extend(self.last.take());
    }

    /// Whether the block of an access has ended.
    fn has_ended(&self, when: When) -> bool {
        self.blocks.get(when.block() as usize).is_none_or(|ran| ran.ended)
    }

    /// A block tells others what it has done.
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

    /// A block goes on under another number.
    fn over(&mut self, block: u32) {
        if let Some(ran) = self.blocks.get_mut(block as usize) {
            ran.over = true;
        }
    }
}

/// Whether an access of another block is over for one that has last heard of others at `heard`.
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
        // Blocks of a cluster have barriers of their own.
        true => launch.cluster > 1 || told && heard > ran.since,
        false => told || !by.is_beside(launch),
    }
}
