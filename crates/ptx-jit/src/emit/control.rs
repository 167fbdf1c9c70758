//! Control flow between regions: how a region ends and which one runs next.

use super::emitter::Emit;
use super::val::Val;
use crate::error::NotCompiled;
use crate::simt::calls::Activation;
use crate::simt::plan::region::{Edge, Term, is_collective};
use crate::simt::plan::shape::Class;
use crate::warp::{FAULT, INTERFACE, NOWHERE, Which, YIELDS, barrier_number};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, JumpTableData, Value, types};
use cushim_ptx::ir::{Dst, Inst, Sense};
use cushim_ptx::sem::{Barrier, Control, Operation};

impl Emit<'_> {
    /// Chooses the lowest region at which lanes are ready, or leaves.
    pub(super) fn dispatch_block(&mut self) {
        self.b.switch_to_block(self.dispatch);
        self.know_warp();
        let choose = self.b.create_block();
        for _ in 0..2 {
            self.b.append_block_param(choose, types::I32);
        }
        let (look, all, ask) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        // Usually all lanes are ready at one region.
        let low = self.field(types::I32, INTERFACE.warp.low);
        let nowhere = self.i32(NOWHERE.into());
        let none = self.b.ins().icmp(IntCC::Equal, low, nowhere);
        self.b.ins().brif(none, ask, &[], look, &[]);
        self.b.switch_to_block(look);
        let masks = self.constant_field(types::I64, INTERFACE.warp.masks);
        let index = self.b.ins().uextend(types::I64, low);
        let by = self.i32(2);
        let index = self.b.ins().ishl(index, by);
        let at = self.b.ins().iadd(masks, index);
        let ready = self.b.ins().load(types::I32, super::emitter::OWN, at, 0);
        let live = self.field(types::I32, INTERFACE.warp.live);
        let same = self.b.ins().icmp(IntCC::Equal, ready, live);
        self.b.ins().brif(same, all, &[], ask, &[]);
        self.b.switch_to_block(all);
        let zero = self.i32(0);
        self.b.ins().store(super::emitter::OWN, zero, at, 0);
        let nowhere = self.i32(NOWHERE.into());
        self.set_field(nowhere, INTERFACE.warp.low);
        self.jump(choose, &[low, live]);
        self.b.switch_to_block(ask);
        let zero = self.i32(0);
        let at = self.call_raw(Which::Dispatch, 0, zero);
        let act = self.field(types::I32, INTERFACE.warp.act);
        self.jump(choose, &[at, act]);
        self.b.switch_to_block(choose);
        let (at, act) = (self.b.block_params(choose)[0], self.b.block_params(choose)[1]);
        let leave = self.b.create_block();
        let default = self.b.func.dfg.block_call(leave, &[]);
        let mut table = Vec::new();
        for block in self.blocks.clone() {
            table.push(self.b.func.dfg.block_call(block, &[act.into()]));
        }
        let table = self.b.create_jump_table(JumpTableData::new(default, &table));
        self.b.ins().br_table(at, table);
        self.b.switch_to_block(leave);
        let status = self.field(types::I32, INTERFACE.warp.status);
        let waits = self.b.create_block();
        self.b.ins().brif(status, waits, &[], self.ended, &[]);
        self.b.switch_to_block(waits);
        self.b.ins().return_(&[status]);
        self.b.switch_to_block(self.fault);
        let status = self.i32(FAULT.into());
        self.b.ins().return_(&[status]);
    }

    /// Nothing is known yet.
    pub(super) fn begin_region(&mut self) {
        self.cache.clear();
        self.written.clear();
        self.lanes_of.clear();
        self.streams = false;
        self.told = None;
        let region = &self.plan.regions[self.region];
        self.touched.begin(region.end - region.start);
        (self.group_of, self.groups) = super::group::find(self.f, region.start, region.end);
    }

    pub(super) fn region(&mut self, k: usize) -> Result<(), NotCompiled> {
        self.region = k;
        let block = self.blocks[k];
        self.b.switch_to_block(block);
        self.act = self.b.block_params(block)[0];
        self.know_warp();
        let plan = self.plan;
        let region = &plan.regions[k];
        let f = self.f;
        self.begin_region();
        let fast = self.fast_loop()?;
        if k == 0 {
            self.zero_entry();
        }
        if let Some(at) = region.result {
            self.waited(&f.code[at]);
        }
        if !fast {
            self.whole()?;
        }
        self.region_code()
    }

    /// The instructions of the present region, and what ends it.
    pub(super) fn region_code(&mut self) -> Result<(), NotCompiled> {
        let (plan, f) = (self.plan, self.f);
        let region = &plan.regions[self.region];
        for at in region.start..region.end {
            self.at = at;
            self.lanes_from(0);
            if let Some(values) = self.whole.values.remove(&at) {
                values.into_iter().for_each(|(r, v)| self.assign(r, v));
                continue;
            }
            self.instruction(&f.code[at])?;
            self.let_go();
        }
        match &region.term {
            Term::Jump(edge) => {
                self.flush();
                self.go(*edge, self.act);
            }
            Term::Branch { guard, taken, other } => self.branch(*guard, *taken, *other),
            Term::Table { inst, targets, other } => {
                self.table(&f.code[*inst], targets, *other);
            }
            Term::Wait { inst, next } => {
                self.at = *inst;
                self.wait(&f.code[*inst], *next)?;
            }
        }
        Ok(())
    }

    /// All of `lanes` continue there; other regions may run first.
    pub(super) fn go(&mut self, edge: Edge, lanes: Value) {
        let alone = self.plan.alone[self.region];
        match edge {
            Edge::Exit => {
                let live = self.field(types::I32, INTERFACE.warp.live);
                let left = self.b.ins().band_not(live, lanes);
                self.set_field(left, INTERFACE.warp.live);
                let next = if alone { self.ended } else { self.dispatch };
                self.jump(next, &[]);
            }
            Edge::To(n) if n <= self.region && !self.plan.fair => {
                self.pause(n, lanes);
                if n == self.region && n != 0 && self.streams {
                    self.take_turns(n, lanes);
                }
                self.go_forward(n, lanes, alone);
            }
            Edge::To(n) => self.go_forward(n, lanes, alone),
        }
    }

    /// The back edge of a loop: after many rounds the warp leaves for a moment, so that others have
    /// a turn and someone may end the launch.
    fn pause(&mut self, n: usize, lanes: Value) {
        let at = INTERFACE.warp.budget;
        let left = self.field(types::I32, at);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.set_field(left, at);
        let (leave, again) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(leave);
        self.b.ins().brif(left, again, &[], leave, &[]);
        self.b.switch_to_block(leave);
        self.ready(n, lanes);
        let yields = self.i32(YIELDS.into());
        self.b.ins().return_(&[yields]);
        self.b.switch_to_block(again);
    }

    fn go_forward(&mut self, n: usize, lanes: Value, alone: bool) {
        match n {
            n if alone => self.jump(self.blocks[n], &[lanes]),
            n => {
                let spins = self.plan.fair && n <= self.region;
                let low = self.field(types::I32, INTERFACE.warp.low);
                let rank = self.i32(n as i64);
                let first = if spins {
                    // A spinning loop lets other lanes run now and then.
                    self.b.ins().iconst(types::I8, 0)
                } else {
                    self.b.ins().icmp(IntCC::UnsignedGreaterThan, low, rank)
                };
                let wait = self.b.create_block();
                let args = [lanes.into()];
                self.b.ins().brif(first, self.blocks[n], &args, wait, &[]);
                self.b.switch_to_block(wait);
                self.ready(n, lanes);
                if spins {
                    let zero = self.i32(0);
                    let yields = self.call_raw(Which::Spin, n as u32, zero);
                    let leave = self.b.create_block();
                    self.b.ins().brif(yields, leave, &[], self.dispatch, &[]);
                    self.b.switch_to_block(leave);
                    self.b.ins().return_(&[yields]);
                } else {
                    self.jump(self.dispatch, &[]);
                }
            }
        }
    }

    /// Notes that lanes are ready at a region.
    pub(super) fn ready(&mut self, n: usize, lanes: Value) {
        let masks = self.constant_field(types::I64, INTERFACE.warp.masks);
        let old = self.b.ins().load(types::I32, super::emitter::OWN, masks, 4 * n as i32);
        let new = self.b.ins().bor(old, lanes);
        self.b.ins().store(super::emitter::OWN, new, masks, 4 * n as i32);
        let low = self.field(types::I32, INTERFACE.warp.low);
        let rank = self.i32(n as i64);
        let less = self.b.ins().umin(low, rank);
        self.set_field(less, INTERFACE.warp.low);
    }

    /// Some of the active lanes exit.
    pub(super) fn retire(&mut self, lanes: Value) {
        let live = self.field(types::I32, INTERFACE.warp.live);
        let left = self.b.ins().band_not(live, lanes);
        self.set_field(left, INTERFACE.warp.live);
    }

    pub(super) fn branch(&mut self, (p, sense): (u32, Sense), taken: Edge, other: Edge) {
        let guard = self.raw(p);
        let (taken, other) = if sense == Sense::True { (taken, other) } else { (other, taken) };
        let uniform = guard.uniform();
        // Before the flush, so that its blends and the code below are not interleaved.
        let bits = self.bits(&guard);
        self.flush();
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        // The successor that leads to the most code is named first, and Cranelift puts it last. Else the values of the short
        // successor would be live across all of that code, at a cost to the register allocator that grows with its length.
        let turned = self.is_behind(taken, other);
        let (long, short) = if turned { (no, yes) } else { (yes, no) };
        let zero = self.i32(0);
        if let Some(u) = uniform {
            let u = if turned { self.b.ins().icmp(IntCC::Equal, u, zero) } else { u };
            self.b.ins().brif(u, long, &[], short, &[]);
        } else {
            let t = self.b.ins().band(self.act, bits);
            let f = self.b.ins().band_not(self.act, bits);
            let some = self.b.create_block();
            let both = self.b.create_block();
            let (ahead, rest) = if turned { (f, t) } else { (t, f) };
            self.b.ins().brif(ahead, some, &[], short, &[]);
            self.b.switch_to_block(some);
            let whole = self.b.ins().icmp(IntCC::Equal, rest, zero);
            self.b.ins().brif(whole, long, &[], both, &[]);
            self.b.switch_to_block(both);
            self.part(taken, t, other, f);
        }
        self.b.switch_to_block(yes);
        self.go(taken, self.act);
        self.b.switch_to_block(no);
        self.go(other, self.act);
    }

    /// Whether one way leads back, or to an end, or past where the other leads.
    fn is_behind(&self, way: Edge, other: Edge) -> bool {
        let rank = |e: Edge| match e {
            Edge::To(n) if n > self.region => n,
            _ => usize::MAX,
        };
        rank(way) > rank(other)
    }

    /// Lanes part: the lower region goes first.
    fn part(&mut self, taken: Edge, t: Value, other: Edge, f: Value) {
        match (taken, other) {
            (Edge::Exit, e) => {
                self.retire(t);
                self.go(e, f);
            }
            (e, Edge::Exit) => {
                self.retire(f);
                self.go(e, t);
            }
            (Edge::To(a), Edge::To(b)) if a == b => {
                self.go(taken, self.act);
            }
            (Edge::To(a), Edge::To(b)) => {
                let (first, t, later, f) = if a < b { (a, t, b, f) } else { (b, f, a, t) };
                self.ready(later, f);
                // `later` is ready now, so `low` has to be read again.
                let low = self.field(types::I32, INTERFACE.warp.low);
                let rank = self.i32(first as i64);
                let ahead = self.b.ins().icmp(IntCC::UnsignedGreaterThan, low, rank);
                if first <= self.region {
                    self.go(Edge::To(first), t);
                    return;
                }
                let wait = self.b.create_block();
                let args = [t.into()];
                self.b.ins().brif(ahead, self.blocks[first], &args, wait, &[]);
                self.b.switch_to_block(wait);
                self.ready(first, t);
                self.jump(self.dispatch, &[]);
            }
        }
    }

    /// Lanes wait in the next region: at a barrier, or for others of the warp.
    fn wait(&mut self, inst: &Inst, next: Edge) -> Result<(), NotCompiled> {
        if inst.guard.is_some() {
            return Err(self.unsupported(inst, "lanes that wait under a guard"));
        }
        let Edge::To(next) = next else {
            return Err(self.unsupported(inst, "lanes that wait at the end of a function"));
        };
        let collective = is_collective(inst);
        let mut args = Vec::new();
        for (n, src) in inst.src.iter().enumerate() {
            let class = match (collective, n) {
                (true, _) => self.collective_class(inst, n),
                (false, 2) => Class::Predicate,
                _ => Class::Narrow,
            };
            args.push((self.operand(src, class), class));
        }
        self.flush();
        if self.checked.barriers {
            self.show_wait(inst);
        }
        let results = self.results(inst);
        let site = self.site(inst, args.iter().map(|(_, c)| *c).collect(), results);
        self.sites[site as usize].extra = next as u32;
        if collective {
            self.pass(0, &args, false);
            let all = self.call_raw(Which::Meet, site, self.act);
            let args = [self.act.into()];
            self.b.ins().brif(all, self.blocks[next], &args, self.dispatch, &[]);
            return Ok(());
        }
        let known = inst.sem == Operation::Barrier(Barrier::Sync) && barrier_number(inst).is_some();
        if known {
            // Mostly all lanes of the warp come at once: the block sees to the rest.
            let live = self.field(types::I32, INTERFACE.warp.live);
            let same = self.b.ins().icmp(IntCC::Equal, live, self.act);
            let (all, some) = (self.b.create_block(), self.b.create_block());
            self.b.set_cold_block(some);
            self.b.ins().brif(same, all, &[], some, &[]);
            self.b.switch_to_block(all);
            self.meet(site, next);
            self.b.switch_to_block(some);
            self.come(site);
            return Ok(());
        }
        self.pass(0, &args, false);
        self.call(Which::Arrive, site, self.act);
        self.jump(self.dispatch, &[]);
        Ok(())
    }

    /// `bar.arrive`: no lane waits.
    fn arrive_only(&mut self, inst: &Inst) {
        let mut args = Vec::new();
        for src in &inst.src {
            args.push((self.operand(src, Class::Narrow), Class::Narrow));
        }
        self.pass(0, &args, false);
        let site = self.site(inst, vec![Class::Narrow; args.len()], Vec::new());
        self.sites[site as usize].extra = NOWHERE;
        let mask = self.guard(inst).unwrap_or(self.act);
        self.call(Which::Arrive, site, mask);
    }

    /// The results of what the lanes waited for.
    fn waited(&mut self, inst: &Inst) {
        if is_collective(inst) {
            let begin = INTERFACE.frame + INTERFACE.slot * crate::warp::more_slots(self.f);
            for (n, dst) in inst.dst.iter().enumerate() {
                let Dst::Reg(r, _) = dst else { continue };
                let (class, at) = (self.class(*r), begin + INTERFACE.row * n);
                let half = |e: &mut Self, half: usize| {
                    let at = at + INTERFACE.row / 2 * half;
                    e.load_lanes(Class::Narrow, super::emitter::OWN, e.warp, at as i32)
                };
                let low = half(self, 0);
                let v = match (class, &low) {
                    (Class::Predicate, Val::Lanes(lanes)) => {
                        let zero = self.all(Class::Narrow, true, 0);
                        let hits =
                            lanes.iter().map(|v| self.b.ins().icmp(IntCC::NotEqual, *v, zero));
                        Val::Mask { lanes: Some(hits.collect()), bits: None }
                    }
                    (Class::Wide, _) => {
                        let high = half(self, 1);
                        self.join(&low, &high)
                    }
                    _ => low,
                };
                self.set(inst, *dst, v);
            }
            return;
        }
        let Some(Dst::Reg(r, _)) = inst.dst.first() else { return };
        let v = self.field(types::I32, INTERFACE.warp.reduced);
        let v = if self.class(*r) == Class::Predicate {
            let zero = self.i32(0);
            let c = self.b.ins().icmp(IntCC::NotEqual, v, zero);
            let c = self.b.ins().uextend(types::I32, c);
            self.b.ins().ineg(c)
        } else {
            v
        };
        self.set(inst, inst.dst[0], Self::known(v));
    }

    pub(super) fn instruction(&mut self, inst: &Inst) -> Result<(), NotCompiled> {
        // Saved registers go through the scratch a few at a time, so that the limit below is not theirs.
        if let Some(activation) = self.activations.get(&self.at) {
            match activation {
                Activation::Enter => self.enter(inst),
                Activation::Save => self.save(inst),
                Activation::Restore => self.restore(inst),
            }
            return Ok(());
        }
        // Branches pass nothing to helpers.
        let apart = matches!(inst.sem, Operation::Control(_));
        // Operands of collectives beyond the scratch are in the frame.
        let collective = matches!(inst.sem, Operation::Collective(_));
        let sources = if collective { 0 } else { inst.src.len() };
        if !apart && sources.max(inst.dst.len()) > INTERFACE.slots {
            return Err(self.unsupported(inst, "more operands or results than helpers are given"));
        }
        if !self.checked.is_none() {
            self.show(inst);
        }
        match inst.sem {
            op if op.is_pure() => self.pure(inst),
            Operation::Move(_) => self.mov(inst),
            Operation::Nothing | Operation::Sleep => {}
            Operation::Fence(_) => self.fence(inst),
            Operation::Address(a) if a.op.is_question() => self.isspacep(inst),
            Operation::Address(_) => self.cvta(inst),
            Operation::ActiveMask => {
                let v = Self::known(self.act);
                self.set(inst, inst.dst[0], v);
            }
            Operation::Load(_) => self.load(inst),
            Operation::Store(_) => self.store(inst),
            Operation::Atomic(_) => self.atom(inst),
            Operation::CopyAsync(_) => self.copy_async(inst),
            Operation::Mbarrier(m) => self.mbarrier(inst, m.op),
            Operation::Texture(_) | Operation::Surface(_) | Operation::TextureQuery(_) => {
                self.textured(inst);
            }
            Operation::Collective(_) => self.collective(inst)?,
            Operation::Asynchronous(_) => self.asynchronous(inst),
            Operation::Barrier(Barrier::Arrive | Barrier::ClusterArrive) => self.arrive_only(inst),
            // These end regions.
            Operation::Barrier(
                Barrier::Sync | Barrier::Reduce(_) | Barrier::ClusterWait | Barrier::Warpgroup,
            ) => {}
            Operation::Control(Control::Trap) => self.trap(inst),
            Operation::Control(Control::Call) => self.device_runtime(inst),
            Operation::Control(_) => {}
            Operation::Refused => return Err(self.unsupported(inst, "it is not run at all")),
            _ => return Err(self.unsupported(inst, "not compiled yet")),
        }
        Ok(())
    }
}
