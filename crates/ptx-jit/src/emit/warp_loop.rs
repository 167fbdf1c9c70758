//! The loop over the warps of a block, and over blocks.
//!
//! Owns the code between warps: it chooses the next warp, continues after a barrier at which all have arrived, and
//! starts the next block if several are given at once. Every other decision between warps is the scheduler's, which
//! this module must not know.

use super::emitter::{Emit, OWN};
use crate::warp::{DONE, INTERFACE, NOWHERE, Which, goes_on};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, JumpTableData, Type, Value, types};
use std::collections::BTreeSet;

impl Emit<'_> {
    fn warps(&mut self) -> Value {
        self.constant_field(types::I64, INTERFACE.warp.warps)
    }

    /// A field of the block's.
    pub(super) fn warp_loop_field(&mut self, ty: Type, offset: usize) -> Value {
        let warps = self.warps();
        self.b.ins().load(ty, OWN, warps, offset as i32)
    }

    /// Changes a number of the block's.
    fn change(&mut self, warps: Value, offset: usize, new: impl FnOnce(&mut Self, Value) -> Value) {
        self.change_of(types::I32, warps, offset, new);
    }

    fn change_of(
        &mut self,
        ty: Type,
        warps: Value,
        offset: usize,
        new: impl FnOnce(&mut Self, Value) -> Value,
    ) {
        let old = self.b.ins().load(ty, OWN, warps, offset as i32);
        let new = new(self, old);
        self.b.ins().store(OWN, new, warps, offset as i32);
    }

    fn put(&mut self, warps: Value, offset: usize, v: i64) {
        let v = self.i32(v);
        self.b.ins().store(OWN, v, warps, offset as i32);
    }

    /// The warp has arrived at a barrier with all its lanes, which continue in a region: others have their turn.
    pub(super) fn meet(&mut self, site: u32, next: usize) {
        // Where some threads only arrive, code cannot tell whether a barrier is complete.
        let plain = next != 0 && !self.plan.arrives;
        if plain {
            self.resumed.insert(next);
        }
        let from = self.plan.begun[self.region];
        let met = match self.met.get(&from) {
            Some(met) => *met,
            None => self.block_of_barriers(types::I64),
        };
        self.met.insert(from, met);
        let (site, onward) = (self.i32(site.into()), self.i64(goes_on(next as u32).cast_signed()));
        self.jump(met, &[site, onward]);
    }

    /// Some lanes of the warp have arrived at a barrier of a known number.
    pub(super) fn come(&mut self, site: u32) {
        let came = self.came.unwrap_or_else(|| self.block_of_barriers(types::I32));
        self.came = Some(came);
        let site = self.i32(site.into());
        self.jump(came, &[site, self.act]);
    }

    /// A block that takes a site and a number.
    fn block_of_barriers(&mut self, number: Type) -> ir::Block {
        let block = self.b.create_block();
        for ty in [types::I32, number] {
            self.b.append_block_param(block, ty);
        }
        block
    }

    /// What is done at barriers, once: with a call for each, the better code takes time by the square of their number.
    fn barrier_blocks(&mut self) {
        if let Some(came) = self.came {
            self.b.switch_to_block(came);
            let &[site, lanes] = self.b.block_params(came) else { return };
            self.know_warp();
            let status = self.call_for(Which::Arrive, site, lanes);
            self.b.ins().brif(status, self.fault, &[], self.dispatch, &[]);
        }
        for (from, met) in self.met.clone() {
            self.met_block(from, met);
        }
    }

    /// A whole warp has arrived at a barrier. `from`: the region where warps that arrive at it began, if there is
    /// only one: then the next warp usually begins there, too, without a lookup.
    fn met_block(&mut self, from: Option<usize>, met: ir::Block) {
        self.b.switch_to_block(met);
        let &[site, onward] = self.b.block_params(met) else { return };
        self.know_warp();
        self.set_field(site, INTERFACE.warp.meet);
        let warps = self.warps();
        self.change(warps, INTERFACE.warps.met, |e, v| e.b.ins().iadd_imm_s(v, 1));
        let at = INTERFACE.warps.onward;
        self.change_of(types::I64, warps, at, |e, v| e.b.ins().bor(v, onward));
        // Where warps take turns, there is more to do at their begin.
        let begins = |n: &usize| *n == 0 || self.resumed.contains(n) && !self.turning.contains(n);
        let Some(from) = from.filter(begins) else {
            self.jump(self.advance, &[]);
            return;
        };
        let next = self.constant_field(types::I64, INTERFACE.warp.next);
        let (look, usual, go) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(next, look, &[], usual, &[]);
        self.b.switch_to_block(look);
        let region = self.b.ins().load(types::I32, OWN, warps, INTERFACE.warps.region as i32);
        let guess = self.i32(from as i64);
        let same = self.b.ins().icmp(IntCC::Equal, region, guess);
        self.b.ins().brif(same, go, &[], usual, &[]);
        self.b.switch_to_block(usual);
        self.jump(self.advance, &[]);

        self.b.switch_to_block(go);
        self.take_warp(next);
        self.warp = next;
        self.b.ins().store(OWN, next, warps, INTERFACE.warps.current as i32);
        if from == 0 {
            let full = self.constant_field(types::I32, INTERFACE.warp.full);
            self.set_field(full, INTERFACE.warp.live);
            self.jump(self.blocks[0], &[full]);
            return;
        }
        let live = self.field(types::I32, INTERFACE.warp.live);
        self.b.ins().brif(live, self.blocks[from], &[live.into()], self.advance, &[]);
    }

    /// A warp with all its lanes has run a round of a loop: others run theirs now, whose memory is mostly beside
    /// that of this one, where the processor looks ahead.
    pub(super) fn take_turns(&mut self, n: usize, lanes: Value) {
        self.turning.insert(n);
        let abreast = self.warp_loop_field(types::I32, INTERFACE.warps.abreast);
        let (look, turn, stay) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(abreast, look, &[], stay, &[]);
        self.b.switch_to_block(look);
        let live = self.field(types::I32, INTERFACE.warp.live);
        let all = self.b.ins().icmp(IntCC::Equal, live, lanes);
        self.b.ins().brif(all, turn, &[], stay, &[]);
        self.b.switch_to_block(turn);
        self.be_ready(n as i64, lanes, n);
        let nowhere = self.i32(NOWHERE.into());
        self.set_field(nowhere, INTERFACE.warp.meet);
        let warps = self.warps();
        let region = self.i32(n as i64);
        self.change(warps, INTERFACE.warps.turned, |e, v| e.b.ins().iadd_imm_s(v, 1));
        self.change(warps, INTERFACE.warps.turned_every, |e, v| e.b.ins().band(v, region));
        self.change(warps, INTERFACE.warps.turned_any, |e, v| e.b.ins().bor(v, region));
        self.jump(self.advance, &[]);
        self.b.switch_to_block(stay);
    }

    /// Where nothing else is ready: these lanes are at a region, and it is the lowest.
    fn be_ready(&mut self, low: i64, lanes: Value, n: usize) {
        let low = self.i32(low);
        self.set_field(low, INTERFACE.warp.low);
        let masks = self.constant_field(types::I64, INTERFACE.warp.masks);
        self.b.ins().store(OWN, lanes, masks, 4 * n as i32);
    }

    /// The code between warps; emitted after all regions, which determine where barriers resume.
    pub(super) fn warp_loop_blocks(&mut self) {
        self.barrier_blocks();
        self.begin_block();

        self.b.switch_to_block(self.ended);
        self.know_warp();
        if !self.plan.ends() {
            let warps = self.warps();
            self.change(warps, INTERFACE.warps.alive, |e, v| e.b.ins().iadd_imm_s(v, -1));
        }
        self.jump(self.advance, &[]);

        self.b.switch_to_block(self.advance);
        self.know_warp();
        let next = self.constant_field(types::I64, INTERFACE.warp.next);
        let (more, swept) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(next, more, &[], swept, &[]);
        self.b.switch_to_block(more);
        self.take_warp(next);
        self.jump(self.begin, &[]);
        self.b.switch_to_block(swept);
        self.turn_ended();
    }

    /// A warp begins.
    fn begin_block(&mut self) {
        self.b.switch_to_block(self.begin);
        self.know_warp();
        let warps = self.warps();
        self.b.ins().store(OWN, self.warp, warps, INTERFACE.warps.current as i32);
        let region = self.b.ins().load(types::I32, OWN, warps, INTERFACE.warps.region as i32);
        let (fresh, later) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(region, later, &[], fresh, &[]);

        self.b.switch_to_block(fresh);
        let full = self.constant_field(types::I32, INTERFACE.warp.full);
        self.set_field(full, INTERFACE.warp.live);
        self.jump(self.blocks[0], &[full]);

        self.b.switch_to_block(later);
        let (live, some) = (self.field(types::I32, INTERFACE.warp.live), self.b.create_block());
        self.b.ins().brif(live, some, &[], self.advance, &[]);
        self.b.switch_to_block(some);
        let own = self.b.create_block();
        let all: BTreeSet<usize> = &self.resumed | &self.turning;
        let mut entries = Vec::new();
        if let Some(last) = all.last() {
            let default = self.b.func.dfg.block_call(own, &[]);
            let mut table = vec![default; last + 1];
            for n in &all {
                let entry = self.b.create_block();
                table[*n] = self.b.func.dfg.block_call(entry, &[]);
                entries.push((*n, entry));
            }
            let table = self.b.create_jump_table(JumpTableData::new(default, &table));
            self.b.ins().br_table(region, table);
        } else {
            self.jump(own, &[]);
        }
        for (n, entry) in entries {
            self.b.switch_to_block(entry);
            // Warps that take turns by iterations have also stored in their state that they are ready there.
            if self.turning.contains(&n) {
                let none = self.i32(0);
                self.be_ready(NOWHERE.into(), none, n);
            }
            self.jump(self.blocks[n], &[live]);
        }
        self.b.switch_to_block(own);
        let low = self.field(types::I32, INTERFACE.warp.low);
        let nowhere = self.i32(NOWHERE.into());
        let none = self.b.ins().icmp(IntCC::Equal, low, nowhere);
        self.b.ins().brif(none, self.advance, &[], self.dispatch, &[]);
    }

    /// Every warp of the block has had its turn.
    fn turn_ended(&mut self) {
        let warps = self.warps();
        let get = |e: &mut Self, at: usize| e.b.ins().load(types::I32, OWN, warps, at as i32);
        let leave = self.b.create_block();
        if self.plan.ends() {
            return self.block_ended(warps, leave);
        }
        let (some, over) = (self.b.create_block(), self.b.create_block());
        let alive = get(self, INTERFACE.warps.alive);
        self.b.ins().brif(alive, some, &[], over, &[]);

        self.b.switch_to_block(some);
        if !self.turning.is_empty() {
            self.turned(warps, alive);
        }
        if self.resumed.is_empty() {
            self.jump(leave, &[]);
        } else {
            let met = get(self, INTERFACE.warps.met);
            let at = INTERFACE.warps.onward as i32;
            let onward = self.b.ins().load(types::I64, OWN, warps, at);
            let by = self.i32(32);
            let lacked = self.b.ins().ushr(onward, by);
            let both = self.b.ins().band(onward, lacked);
            let both = self.b.ins().ireduce(types::I32, both);
            let zero = self.i32(0);
            let all = self.b.ins().icmp(IntCC::Equal, met, alive);
            let same = self.b.ins().icmp(IntCC::Equal, both, zero);
            let together = self.b.ins().band(all, same);
            let on = self.b.create_block();
            self.b.ins().brif(together, on, &[], leave, &[]);
            self.b.switch_to_block(on);
            let region = self.b.ins().ireduce(types::I32, onward);
            self.b.ins().store(OWN, region, warps, INTERFACE.warps.region as i32);
            self.put(warps, INTERFACE.warps.met, 0);
            let none = self.i64(0);
            self.b.ins().store(OWN, none, warps, INTERFACE.warps.onward as i32);
            self.put(warps, INTERFACE.warps.abreast, 1);
            self.again(warps);
        }

        self.b.switch_to_block(over);
        self.block_ended(warps, leave);
    }

    /// All lanes of the block have ended: the next block begins, if there is one.
    fn block_ended(&mut self, warps: Value, leave: ir::Block) {
        let ends = self.plan.ends();
        let get = |e: &mut Self, at: usize| e.b.ins().load(types::I32, OWN, warps, at as i32);
        let left = get(self, INTERFACE.warps.left);
        let next = self.b.create_block();
        self.b.ins().brif(left, next, &[], leave, &[]);
        self.b.switch_to_block(next);
        let less = self.b.ins().iadd_imm_s(left, -1);
        self.b.ins().store(OWN, less, warps, INTERFACE.warps.left as i32);
        self.change(warps, INTERFACE.warps.block, |e, v| e.b.ins().iadd_imm_s(v, 1));
        // If every warp exits in its only turn, no counting is needed, and all blocks start alike.
        if !ends {
            let count = get(self, INTERFACE.warps.warps);
            self.b.ins().store(OWN, count, warps, INTERFACE.warps.alive as i32);
            self.put(warps, INTERFACE.warps.region, 0);
            self.put(warps, INTERFACE.warps.abreast, 1);
        }
        self.again(warps);

        self.b.switch_to_block(leave);
        if ends {
            self.put(warps, INTERFACE.warps.alive, 0);
        }
        let done = self.i32(DONE.into());
        self.b.ins().return_(&[done]);
    }

    /// After warps took turns: they continue, all by one round, or each as far as it can if they diverged.
    fn turned(&mut self, warps: Value, alive: Value) {
        let get = |e: &mut Self, at: usize| e.b.ins().load(types::I32, OWN, warps, at as i32);
        let turned = get(self, INTERFACE.warps.turned);
        let (some, none) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(turned, some, &[], none, &[]);
        self.b.switch_to_block(some);
        let every = get(self, INTERFACE.warps.turned_every);
        let any = get(self, INTERFACE.warps.turned_any);
        self.put(warps, INTERFACE.warps.turned, 0);
        self.put(warps, INTERFACE.warps.turned_every, -1);
        self.put(warps, INTERFACE.warps.turned_any, 0);
        let all = self.b.ins().icmp(IntCC::Equal, turned, alive);
        let same = self.b.ins().icmp(IntCC::Equal, every, any);
        let together = self.b.ins().band(all, same);
        let (on, apart) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(together, on, &[], apart, &[]);
        self.b.switch_to_block(on);
        self.b.ins().store(OWN, any, warps, INTERFACE.warps.region as i32);
        self.again(warps);
        self.b.switch_to_block(apart);
        self.put(warps, INTERFACE.warps.region, NOWHERE.into());
        self.put(warps, INTERFACE.warps.abreast, 0);
        self.again(warps);
        self.b.switch_to_block(none);
    }

    /// From the first warp on.
    fn again(&mut self, warps: Value) {
        let flags = OWN.with_readonly().with_can_move();
        let at = INTERFACE.warps.first as i32;
        let first = self.b.ins().load(types::I64, flags, warps, at);
        self.take_warp(first);
        self.jump(self.begin, &[]);
    }
}
