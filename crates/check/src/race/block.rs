//! A running block that is checked for races and incorrect barriers.
//!
//! Owns the processing of an access by the shadow cells. Must not know the messages of findings ([`super::tell`]).

use std::sync::Arc;

use cushim_accel::locks::lock;
use cushim_ptx::exec::{Access, Touch};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{self, CollectiveOp, Fence, Operation};

use super::does::{Does, Effect, Known, wide};
use super::found::{Found, Place, Told};
use super::order::Order;
use super::record::{What, When};
use super::retry::Retries;
use super::row::Row;
use super::run::{Doing, ROW};
use super::{Races, is_over};
use crate::look::CheckedLaunch;
use crate::options::Tool;

/// What is known of a block.
pub struct Block {
    pub(super) launch: Arc<CheckedLaunch>,
    pub(super) index: [u32; 3],
    pub(super) order: Order,
    /// Its number among all blocks that have run.
    number: u32,
    serial: u64,
    /// When it has last heard of what other blocks did.
    heard: u64,
    generation: u64,
    /// All blocks of smaller numbers belong to launches that are ordered before this one's.
    floor: Option<u32>,
    /// Its shared memory.
    shared: Vec<Row>,
    /// The effects of instructions, by their positions.
    known: Known,
    /// Writes that are a race only if they change something, and the old contents.
    suspects: Vec<(Found, Vec<u8>)>,
    /// Reads that are a race only if no atomic operation of their thread follows.
    retries: Retries,
    races: bool,
}

/// An access, its thread, and the access that it races with.
type Race = (Place, When, (When, What));

impl Block {
    /// Before the first block of a launch.
    pub fn new(launch: &Arc<CheckedLaunch>) -> Block {
        Block {
            launch: launch.clone(),
            index: [0; 3],
            order: Order::new(launch.block.iter().product()),
            number: 0,
            serial: 0,
            heard: 0,
            generation: 0,
            floor: None,
            shared: Vec::new(),
            known: Known::default(),
            suspects: Vec::new(),
            retries: Retries::default(),
            races: launch.checker.has(Tool::Race),
        }
    }

    /// A block begins.
    pub fn begin(&mut self, index: [u32; 3], shared: u64) {
        self.end();
        self.index = index;
        self.order.restart();
        if self.races {
            self.shared.clear();
            self.shared.resize_with(shared.div_ceil(ROW) as usize, Row::default);
            let launch = self.launch.clone();
            let mut races = lock(&launch.checker.races);
            self.serial = races.serial();
            self.renumber(&mut races);
            self.heard = races.clock;
        }
    }

    /// All threads of the block have ended.
    pub fn end(&mut self) {
        self.settle();
        for found in self.retries.take() {
            self.tell(&found);
        }
        if self.races && self.number != 0 {
            let mut races = lock(&self.launch.checker.races);
            if races.generation == self.generation {
                races.ended(self.number);
            }
        }
    }

    /// Called before lanes do anything: what they waited for has happened.
    #[inline]
    fn go_on(&mut self, warp: u32, lanes: u32) {
        // Nearly always there is nothing to do, and this runs for each access.
        if self.order.waits(warp) || self.order.is_full() || !self.suspects.is_empty() {
            self.go_on_from(warp, lanes);
        }
    }

    #[cold]
    #[inline(never)]
    fn go_on_from(&mut self, warp: u32, lanes: u32) {
        self.settle();
        let mut incomplete = None;
        self.order.go_on(warp, lanes, &mut |found| incomplete = Some(found));
        if let Some(incomplete) = incomplete {
            self.tell_ended(&incomplete);
        }
        if self.races && self.order.is_full() {
            // The block continues under another number, and everything it has done is ordered before itself.
            let launch = self.launch.clone();
            let mut races = lock(&launch.checker.races);
            races.over(self.number);
            self.renumber(&mut races);
            self.order.restart();
        }
    }

    /// The block continues under another number.
    fn renumber(&mut self, races: &mut Races) {
        self.number = races.begin(&self.launch.of, self.index, self.serial);
        if races.generation != self.generation {
            // Numbers of before may be others' now.
            self.generation = races.generation;
            self.shared.fill_with(Row::default);
            self.floor = None;
            self.suspects.clear();
            self.retries = Retries::default();
        }
        self.floor.get_or_insert_with(|| races.floor(self.number));
    }

    /// Lanes are about to access memory: those of `shared` and of `global` that, at `addresses` there.
    pub fn touch(&mut self, touch: &Touch<'_>, addresses: &[u64; 32], shared: u32, global: u32) {
        self.go_on(touch.warp, touch.lanes);
        if !self.races {
            return;
        }
        let launch = &self.launch;
        let does = self.known.of(touch.inst, touch.access, || {
            lock(&launch.checker.races).site(&launch.of, touch.inst.pos, touch.access)
        });
        self.before(touch.warp, does.effect);
        if does.accesses {
            if touch.access == Access::Atomic && !self.retries.is_empty() {
                for (lane, at) in addresses.iter().enumerate() {
                    if (shared | global) >> lane & 1 != 0 {
                        let by = self.order.now(self.number, touch.warp, lane);
                        self.retries.tried(by, shared >> lane & 1 != 0, *at, touch.bytes);
                    }
                }
            }
            // Blocks of a cluster reach each other's shared memory, which is not seen here.
            if shared != 0 && self.launch.cluster <= 1 {
                self.shared(touch, addresses, shared, does);
            }
            if global != 0 {
                self.global(touch, addresses, global, does);
            }
        }
        if does.copies {
            self.before(touch.warp, does.effect);
        }
    }

    /// Lanes of a warp do what orders threads.
    fn before(&mut self, warp: u32, effect: Effect) {
        if effect.releases[0] {
            let told = self.order.release(warp);
            if effect.releases[1] {
                lock(&self.launch.checker.races).told(self.number, &told);
            }
        }
        if effect.acquires {
            self.order.acquire(warp);
            let mut races = lock(&self.launch.checker.races);
            races.clock += 1;
            self.heard = races.clock;
        }
    }

    /// Lanes execute a fence, a collective, or the cluster's barrier.
    pub fn order(&mut self, warp: u32, lanes: u32, inst: &Inst, members: Option<&[u32; 32]>) {
        self.go_on(warp, lanes);
        let scope = match inst.sem {
            Operation::Collective(what) => {
                if let Some(members) = members {
                    self.look_at_members(warp, lanes, inst, members);
                }
                if !matches!(what.op, CollectiveOp::Multiply(_)) {
                    self.order.meet(warp);
                }
                return;
            }
            Operation::Fence(Fence::Sequential(scope)) => Some(scope),
            Operation::Fence(Fence::AcquireRelease(scope)) => scope,
            _ => None,
        };
        if self.races {
            let releases = [true, scope.is_none_or(wide)];
            self.before(warp, Effect { releases, acquires: true });
        }
    }

    /// Lanes arrive at a barrier of the block.
    pub fn arrive(&mut self, warp: u32, lanes: u32, inst: &Inst, number: u32, count: Option<u32>) {
        self.go_on(warp, lanes);
        self.look_at_barrier(warp, lanes, inst, number, count);
        let waits = inst.sem != Operation::Barrier(sem::Barrier::Arrive);
        self.order.arrive(warp, lanes, inst.pos, number, count, waits);
    }

    fn shared(&mut self, touch: &Touch<'_>, addresses: &[u64; 32], lanes: u32, does: Does) {
        let Some(site) = does.site else { return };
        let what = What::new(15, touch.access != Access::Read, does.strong, site);
        let when = self.order.now(self.number, touch.warp, 0);
        let doing = Doing { lanes, addresses, bytes: touch.bytes, when, what };
        let (rows, order, own) = (&mut self.shared, &self.order, self.number);
        let all = doing.note(rows, |old, did| {
            // Whether the values differ is not known.
            let same = what.writes() && did.writes() && did.site() == site;
            old.block() == own && !same && !order.is_over(old, touch.warp)
        });
        if !all.is_empty() {
            let place = |at| Place::Shared { at, bytes: touch.bytes };
            self.judge(touch, site, all.into_iter().map(|(at, when, old)| (place(at), when, old)));
        }
    }

    fn global(&mut self, touch: &Touch<'_>, addresses: &[u64; 32], lanes: u32, does: Does) {
        let Some(site) = does.site else { return };
        let what = What::new(15, touch.access != Access::Read, does.strong, site);
        let mut races = lock(&self.launch.checker.races);
        while races.generation != self.generation {
            drop(races);
            let launch = self.launch.clone();
            self.renumber(&mut lock(&launch.checker.races));
            races = lock(&self.launch.checker.races);
        }
        let when = self.order.now(self.number, touch.warp, 0);
        let doing = Doing { lanes, addresses, bytes: touch.bytes, when, what };
        let Races { memory, blocks, launches, .. } = &mut *races;
        let (order, own, heard) = (&self.order, self.number, self.heard);
        let floor = self.floor.unwrap_or(0);
        let (moment, warp, writes) = (when.moment(), when.warp(), what.writes());
        let mut all = doing.note(memory, |old, did| {
            if old.block() != own {
                let known = (&blocks[..], &launches[..]);
                return old.block() >= floor && !is_over(known, old, own, heard);
            }
            // Lanes that write by one instruction may write the same.
            let together = old.moment() == moment
                && old.warp() == warp
                && writes
                && did.writes()
                && did.site() == site;
            !together && !order.is_over(old, touch.warp)
        });
        if all.is_empty() {
            return;
        }
        // A reader in another block may do more while that block runs; of a completed one everything is known.
        all.retain(|(_, _, (old, did))| {
            did.writes() || !does.strong || old.block() == own || races.has_ended(*old)
        });
        drop(races);
        let place = |at| Place::Global { at, bytes: touch.bytes };
        self.judge(touch, site, all.into_iter().map(|(at, when, old)| (place(at), when, old)));
    }

    /// Reports the races of an access, unless later events may show that one is none.
    fn judge(&mut self, touch: &Touch<'_>, site: u32, all: impl Iterator<Item = Race>) {
        for (place, when, (old, did)) in all {
            let found = self.found(when, touch, site, (old, did), place);
            // A write of the same value changes nothing for other threads.
            let mut before = vec![0; touch.bytes as usize];
            let global = matches!(place, Place::Global { .. });
            if touch.access == Access::Read && did.is_atomic() {
                self.retries.add(when, place, found);
            } else if touch.access == Access::Atomic && !did.writes() && old.block() == self.number
            {
                self.retries.add(old, place, found);
            } else if global
                && touch.access == Access::Write
                && self.launch.checker.peek(place.at(), &mut before)
            {
                self.suspects.push((found, before));
            } else {
                self.tell(&found);
            }
        }
    }

    fn found(
        &self,
        when: When,
        touch: &Touch<'_>,
        site: u32,
        (old, did): (When, What),
        place: Place,
    ) -> Found {
        let now = Told { when, site };
        Found {
            now,
            access: touch.access,
            pos: touch.inst.pos,
            before: Told { when: old, site: did.site() },
            place,
        }
    }

    /// The last accesses have been done: tells which of them changed something.
    #[inline]
    fn settle(&mut self) {
        if !self.suspects.is_empty() {
            self.settle_suspects();
        }
    }

    fn settle_suspects(&mut self) {
        for (found, before) in std::mem::take(&mut self.suspects) {
            let mut now = vec![0; before.len()];
            if self.launch.checker.peek(found.place.at(), &mut now) && now != before {
                self.tell(&found);
            }
        }
    }
}
