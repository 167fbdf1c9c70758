//! The messages about races and barriers.
//!
//! Owns the findings' wording and locations. Must not know how they were found.

use cushim_accel::locks::lock;
use cushim_ptx::Pos;
use cushim_ptx::exec::{Cause, Fault, lanes};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::{Barrier, Operation};
use cushim_ptx::types::Space;

use super::block::Block;
use super::found::{Found, Place};
use super::order::Incomplete;
use crate::finding::Near;
use crate::options::Tool;

fn three([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

impl Block {
    fn fault(&self, pos: Pos, warp: u32, lane: usize) -> Fault {
        let thread = self.launch.thread(warp, lane);
        let (module, kernel) = (&self.launch.module, self.launch.kernel);
        Fault::new(module, kernel, Cause::Trap, Some(pos), self.index, thread)
    }

    /// Reports a race, unless one of the same two positions was reported.
    pub(super) fn tell(&self, found: &Found) {
        let (launch, Found { now, before, .. }) = (&*self.launch, found);
        let allocation = match found.place {
            _ if !launch.checker.options.stacks => 0,
            Place::Global { at, bytes } => launch.checker.allocation(at, bytes),
            Place::Shared { .. } => 0,
        };
        let mut races = lock(&launch.checker.races);
        let by = races.blocks.get(now.when.block() as usize).map(|own| (own.launch, allocation));
        let apart = by.filter(|_| launch.checker.options.stacks);
        if !races.known.insert((before.site, now.site, apart)) {
            return;
        }
        let Some(site) = races.sites.get(before.site as usize).cloned() else { return };
        let Some(ran) = races.blocks.get(before.when.block() as usize) else { return };
        let (index, by) = (ran.index, races.launches.get(ran.launch as usize).cloned());
        let own = races.blocks.get(now.when.block() as usize).map(|own| (own.serial, own.launch));
        let (same, one) = own
            .map_or((true, true), |(serial, launch)| (serial == ran.serial, launch == ran.launch));
        drop(races);
        let thread = site.launch.thread(before.when.warp() as u32, before.when.lane());
        let (module, kernel) = (&site.launch.module, site.launch.kernel);
        let other = Fault::new(module, kernel, Cause::Trap, Some(site.pos), index, thread);
        let who = match (same, one) {
            (true, _) => format!("thread {} of the same block", three(thread)),
            (_, true) => format!("thread {} of block {}", three(thread), three(index)),
            _ => {
                let name = cushim_names::Name::new(&other.kernel).full;
                let (thread, block) = (three(thread), three(index));
                format!("thread {thread} of block {block} of another launch, of {name}")
            }
        };
        let spot = other.spot.as_ref().map(|spot| format!(" at {spot}")).unwrap_or_default();
        let (name, at, bytes) = match found.place {
            Place::Shared { at, bytes } => ("shared", at, bytes),
            Place::Global { at, bytes } => ("global", at, bytes),
        };
        let fault = self.fault(found.pos, now.when.warp() as u32, now.when.lane());
        let near = match found.place {
            Place::Shared { .. } => launch.near(&fault, Space::Shared, (at, bytes)),
            Place::Global { .. } => launch.checker.near(at, bytes),
        };
        let Near { text, mut trails, variable } = near.unwrap_or_default();
        let text = if text.is_empty() { text } else { format!(", {text},") };
        if let Some(by) = by.filter(|_| !one) {
            trails.insert(0, ("the other launched".to_owned(), by.trail.clone()));
        }
        let (access, did) = (found.access, site.access);
        let s = if bytes == 1 { "" } else { "s" };
        let message = format!(
            "{name} {access} of {bytes} byte{s} at {at:#x}{text} and the {did} by {who}{spot}: nothing orders them"
        );
        let kind = match (name, same, one) {
            ("shared", ..) => "race in shared memory",
            (_, true, _) => "race in a block",
            (_, _, true) => "race between blocks",
            _ => "race between launches",
        };
        launch.tell(Tool::Race, kind, message, &fault, (variable, trails));
    }

    /// Threads have exited without arriving at a barrier that is for all of the block.
    pub(super) fn tell_ended(&self, found: &Incomplete) {
        let count: u32 = found.ended.iter().map(|lanes| lanes.count_ones()).sum();
        let first = found.ended.iter().enumerate().find(|(_, lanes)| **lanes != 0);
        let Some((warp, lanes)) = first else { return };
        let thread = three(self.launch.thread(warp as u32, lanes.trailing_zeros() as usize));
        let who = match count {
            1 => format!("thread {thread} of the block has ended"),
            _ => format!("{count} threads of the block have ended, thread {thread} first,"),
        };
        let message = format!("barrier {} is for all threads, and {who} without it", found.number);
        let fault = self.fault(found.at, found.came.0, found.came.1);
        self.say(Tool::Sync, "barrier not reached", message, &fault);
    }

    /// Checks whether lanes may arrive at a barrier.
    pub(super) fn look_at_barrier(
        &self,
        warp: u32,
        lanes: u32,
        inst: &Inst,
        number: u32,
        count: Option<u32>,
    ) {
        let lane = lanes.trailing_zeros() as usize % 32;
        let say = |kind, message: String| {
            self.say(Tool::Sync, kind, message, &self.fault(inst.pos, warp, lane));
        };
        let threads = self.order.warps() * 32;
        match count {
            Some(0) => return say("wrong count", format!("barrier {number} is for 0 threads")),
            Some(n) if n % 32 != 0 => {
                let message = format!(
                    "barrier {number} is for {n} threads, which is no multiple of the warp's 32"
                );
                return say("wrong count", message);
            }
            Some(n) if n > threads => {
                let message = format!(
                    "barrier {number} is for {n} threads, and the block has {threads} at most"
                );
                return say("wrong count", message);
            }
            None if inst.sem == Operation::Barrier(Barrier::Arrive) => {
                let message = format!(
                    "barrier {number} is come to without waiting, for nobody says how many"
                );
                return say("wrong count", message);
            }
            _ => {}
        }
        let spot = |pos| {
            let other = self.fault(pos, warp, lane);
            other.spot.map(|spot| spot.to_string()).unwrap_or_default()
        };
        if let (Some(n), Some((known, at))) = (count, self.order.count(number))
            && n != known
        {
            let at = spot(at);
            let message =
                format!("barrier {number} is for {n} threads here, and for {known} at {at}");
            return say("wrong count", message);
        }
        let other = self.order.place(number, warp).filter(|at| *at != inst.pos);
        if let Some(at) = other.filter(|_| count.is_none()) {
            let at = spot(at);
            let message = format!(
                "barrier {number} is for all threads, and others of the warp wait for it at {at}"
            );
            say("barrier in a branch", message);
        }
    }

    /// Whether lanes that do something together name each other.
    #[allow(clippy::indexing_slicing, reason = "lanes are below 32")]
    pub(super) fn look_at_members(&self, warp: u32, active: u32, inst: &Inst, members: &[u32; 32]) {
        // Nearly always all lanes have one mask, which contains them all: otherwise lanes are compared in pairs.
        let first = members[active.trailing_zeros() as usize & 31];
        if active & !first == 0 && lanes(active).all(|lane| members[lane] == first) {
            return;
        }
        for lane in lanes(active) {
            let mask = members[lane];
            let fault = || self.fault(inst.pos, warp, lane);
            if mask >> lane & 1 == 0 {
                let message =
                    format!("lane {lane} takes part, and its mask {mask:#010x} does not name it");
                return self.say(Tool::Sync, "mask without the lane", message, &fault());
            }
            let other = lanes(active & mask).find(|other| members[*other] != mask);
            if let Some(other) = other {
                let message = format!(
                    "the mask {mask:#010x} of lane {lane} names lane {other}, whose mask is {:#010x}",
                    members[other]
                );
                return self.say(Tool::Sync, "masks differ", message, &fault());
            }
        }
    }

    fn say(&self, tool: Tool, kind: &'static str, message: String, fault: &Fault) {
        if self.launch.checker.has(tool) {
            self.launch.tell(tool, kind, message, fault, (None, Vec::new()));
        }
    }
}
