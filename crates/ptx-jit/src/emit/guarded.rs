//! Accesses under a guard predicate.
//!
//! Owns the two cases that need no lane masks: if the guard is false for all lanes, nothing is done; if it is true
//! for all active lanes, a load's result replaces the registers' values. Must not know the mixed case
//! ([`super::memory`], [`super::store`]).

use super::emitter::Emit;
use super::memory::Load;
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::shape::{Class, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cushim_ptx::ir::Inst;
use std::collections::HashMap;

/// The emitter's state before a branch, which is restored after it.
struct Held {
    cache: HashMap<u32, Val>,
    lanes_of: HashMap<Value, Vec<Value>>,
    told: Option<Value>,
}

impl Emit<'_> {
    fn hold(&self) -> Held {
        let (cache, lanes_of) = (self.cache.clone(), self.lanes_of.clone());
        Held { cache, lanes_of, told: self.told }
    }

    fn know_again(&mut self, held: &Held) {
        self.cache.clone_from(&held.cache);
        self.lanes_of.clone_from(&held.lanes_of);
        self.told = held.told;
    }

    /// Does an access unless no lane takes part.
    pub(super) fn unless_none(
        &mut self,
        inst: &Inst,
        mask: Value,
        access: &mut dyn FnMut(&mut Self),
    ) {
        if inst.guard.is_none() {
            return access(self);
        }
        let (some, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(mask, some, &[], next, &[]);
        self.b.switch_to_block(some);
        let held = self.hold();
        access(self);
        self.jump(next, &[]);
        self.know_again(&held);
        self.b.switch_to_block(next);
    }

    /// A load under a guard.
    pub(super) fn load_guarded(&mut self, load: &Load<'_>) {
        let registers: Vec<u32> = crate::simt::plan::region::writes(load.inst).collect();
        for r in &registers {
            self.raw(*r);
        }
        let join = self.b.create_block();
        for r in &registers {
            let class = self.class(*r);
            let one = self.is_one(*r);
            for _ in 0..if one { 1 } else { chunks(class) } {
                self.b.append_block_param(join, if one { scalar(class) } else { vector(class) });
            }
        }
        let held = self.hold();
        let (some, none) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(load.mask, some, &[], none, &[]);
        self.b.switch_to_block(none);
        self.hand_on(&registers, join);

        self.know_again(&held);
        self.b.switch_to_block(some);
        if let Some(reach) = &load.reach {
            let (all, part) = (self.b.create_block(), self.b.create_block());
            self.b.set_cold_block(part);
            // In other memory, the addresses of inactive lanes may be unmapped.
            let whole = if load.uniform || reach.shared { self.act } else { self.i32(-1) };
            let full = self.b.ins().icmp(IntCC::Equal, load.mask, whole);
            self.if_all(&[full, reach.inside], all, part);
            self.b.switch_to_block(all);
            let values = self.load_here(load.inst, reach, load.uniform, load.width);
            let plain = Inst { guard: None, ..load.inst.clone() };
            self.put_loaded(&plain, &load.classes, load.uniform, values);
            self.hand_on(&registers, join);
            self.know_again(&held);
            self.b.switch_to_block(part);
        }
        self.load_some(load);
        self.hand_on(&registers, join);

        self.know_again(&held);
        self.b.switch_to_block(join);
        let mut params = self.b.block_params(join).to_vec().into_iter();
        for r in registers {
            let n = if self.is_one(r) { 1 } else { chunks(self.class(r)) };
            let values: Vec<Value> = params.by_ref().take(n).collect();
            let v = if self.is_one(r) { Self::known(values[0]) } else { Val::Lanes(values.into()) };
            self.assign(r, v);
        }
    }

    /// Goes on in `yes` where all hold: branches, each of which compares, cost less than a number made of all.
    pub(super) fn if_all(&mut self, conditions: &[Value], yes: Block, no: Block) {
        for holds in conditions {
            let next = self.b.create_block();
            self.b.ins().brif(*holds, next, &[], no, &[]);
            self.b.switch_to_block(next);
        }
        self.jump(yes, &[]);
    }

    /// Whether a register has one value for all lanes.
    fn is_one(&self, register: u32) -> bool {
        self.plan.shapes[register as usize] == Shape::Uniform(())
    }

    /// Goes on in a block with what registers have here.
    fn hand_on(&mut self, registers: &[u32], block: Block) {
        let mut args = Vec::new();
        for r in registers {
            let (v, class): (Val, Class) = (self.raw(*r), self.class(*r));
            match v.uniform() {
                Some(one) if self.is_one(*r) => args.push(one),
                _ => args.extend(self.vectors(&v, class).iter().copied()),
            }
        }
        self.jump(block, &args);
    }
}
