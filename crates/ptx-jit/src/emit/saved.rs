//! Registers that recursive functions save on each lane's stack.
//!
//! Owns saving and restoring them if all lanes that do so have the same stack height, which is nearly always so.
//! Helpers handle the rest: full stacks, lanes at several heights. Must not know which registers are saved.
//!
//! A row of the stacks (`warp::Row`) has the lower halves of one register of all lanes, then the upper ones, so that
//! lanes that save other registers at the same height do not overlap.

use super::emitter::{Emit, OWN};
use super::val::Val;
use crate::simt::plan::shape::Class;
use crate::warp::{INTERFACE, Which};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cushim_ptx::ir::{Dst, Inst};
use std::rc::Rc;

/// Registers that a helper takes at a time.
const TOGETHER: usize = 8;
/// Vectors of a row's half.
const HALF: usize = 8;
const ROW: i64 = INTERFACE.row as i64;

/// Where the lanes' stacks end.
struct Heights {
    /// The stack height of the first active lane, in rows.
    first: Value,
    all: Vec<Value>,
    /// Whether another lane that runs is elsewhere.
    differ: Value,
    /// A mask for each vector of lanes: those that run.
    act: Vec<Value>,
}

impl Emit<'_> {
    fn heights(&mut self) -> Heights {
        let act = self.expand(self.act);
        let at = INTERFACE.warp.height as i32;
        let lane = self.b.ins().ctz(self.act);
        let by = self.i32(2);
        let lane = self.b.ins().ishl(lane, by);
        let lane = self.b.ins().uextend(types::I64, lane);
        // Without active lanes this reads one past the heights, inside the warp's state; the value is not used.
        let place = self.b.ins().iadd(self.warp, lane);
        let first = self.b.ins().load(types::I32, OWN, place, at);
        let splat = self.b.ins().splat(types::I32X4, first);
        let load = |k| self.b.ins().load(types::I32X4, OWN, self.warp, at + 16 * k);
        let all: Vec<Value> = (0..HALF as i32).map(load).collect();
        let apart = all.iter().zip(&act).map(|(h, act)| {
            let apart = self.b.ins().icmp(IntCC::NotEqual, *h, splat);
            self.b.ins().band(apart, *act)
        });
        let apart = Val::Mask { lanes: Some(apart.collect()), bits: None };
        let differ = self.bits(&apart);
        Heights { first, all, differ, act }
    }

    /// The lanes that run are so many rows higher.
    fn raise(&mut self, heights: &Heights, by: i64) {
        let by = self.i32(by);
        let by = self.b.ins().splat(types::I32X4, by);
        for (k, (h, act)) in heights.all.iter().zip(&heights.act).enumerate() {
            let by = self.b.ins().band(by, *act);
            let new = self.b.ins().iadd(*h, by);
            let at = INTERFACE.warp.height as i32 + 16 * k as i32;
            self.b.ins().store(OWN, new, self.warp, at);
        }
    }

    /// The address of a row of the stacks.
    fn row(&mut self, number: Value) -> Value {
        let number = self.b.ins().uextend(types::I64, number);
        let size = self.i64(ROW);
        let at = self.b.ins().imul(number, size);
        let stacks = self.field(types::I64, INTERFACE.warp.rows);
        self.b.ins().iadd(stacks, at)
    }

    /// Registers go to the stack of each lane.
    pub(super) fn save(&mut self, inst: &Inst) {
        if inst.src.is_empty() {
            return;
        }
        let args: Vec<(Val, Class)> = inst.src.iter().map(|src| self.argument(src)).collect();
        let heights = self.heights();
        let end = self.b.ins().uextend(types::I64, heights.first);
        let count = self.i64(args.len() as i64);
        let end = self.b.ins().iadd(end, count);
        let room = self.field(types::I64, INTERFACE.warp.room);
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, room);
        let full = self.b.ins().uextend(types::I32, full);
        let uneven = self.b.ins().bor(heights.differ, full);
        let [usual, ask, next] = [0; 3].map(|_| self.b.create_block());
        self.b.set_cold_block(ask);
        self.b.ins().brif(uneven, ask, &[], usual, &[]);
        let known = self.lanes_of.clone();
        self.b.switch_to_block(ask);
        for some in args.chunks(TOGETHER) {
            self.pass(0, some, false);
            let site = self.site(inst, some.iter().map(|(_, c)| *c).collect(), Vec::new());
            self.call_preserving(Which::Save, site, self.act);
        }
        self.jump(next, &[]);
        self.lanes_of.clone_from(&known);
        self.b.switch_to_block(usual);
        let to = self.row(heights.first);
        for (n, (v, class)) in args.iter().enumerate() {
            let at = (n as i64 * ROW) as i32;
            for (half, v) in self.halves(v, *class).iter().enumerate() {
                for (k, (v, act)) in v.iter().zip(&heights.act).enumerate() {
                    let at = at + (16 * (HALF * half + k)) as i32;
                    // Other lanes have something else there.
                    let old = self.b.ins().load(types::I32X4, OWN, to, at);
                    let new = self.b.ins().bitselect(*act, *v, old);
                    self.b.ins().store(OWN, new, to, at);
                }
            }
        }
        self.raise(&heights, args.len() as i64);
        self.jump(next, &[]);
        self.lanes_of = known;
        self.b.switch_to_block(next);
    }

    /// A value as rows have it.
    fn halves(&mut self, v: &Val, class: Class) -> Vec<Rc<[Value]>> {
        match class {
            Class::Predicate => vec![self.mask_lanes(v)],
            Class::Narrow => vec![self.vectors(v, class)],
            Class::Wide => {
                let wide = self.vectors(v, class);
                vec![self.narrow(&wide, false), self.narrow(&wide, true)]
            }
        }
    }

    /// They come back.
    pub(super) fn restore(&mut self, inst: &Inst) {
        if inst.dst.is_empty() {
            return;
        }
        let class = |d: &Dst| match d {
            Dst::Reg(r, _) => self.class(*r),
            Dst::Sink => Class::Narrow,
        };
        let classes: Vec<Class> = inst.dst.iter().map(class).collect();
        let heights = self.heights();
        let [usual, ask, next] = [0; 3].map(|_| self.b.create_block());
        let from = self.b.append_block_param(next, types::I64);
        self.b.set_cold_block(ask);
        self.b.ins().brif(heights.differ, ask, &[], usual, &[]);
        let known = self.lanes_of.clone();
        self.b.switch_to_block(ask);
        let site = self.site(inst, Vec::new(), classes.clone());
        self.call_preserving(Which::Restore, site, self.act);
        let gathered = self.field(types::I64, INTERFACE.warp.gathered);
        self.jump(next, &[gathered]);
        self.lanes_of.clone_from(&known);
        self.b.switch_to_block(usual);
        let count = self.i32(classes.len() as i64);
        let first = self.b.ins().isub(heights.first, count);
        let own = self.row(first);
        self.raise(&heights, -(classes.len() as i64));
        self.jump(next, &[own]);
        self.lanes_of = known;
        self.b.switch_to_block(next);
        for (n, (dst, class)) in inst.dst.iter().zip(classes).enumerate() {
            let at = (n as i64 * ROW) as i32;
            let mut half = |half: usize| -> Val {
                self.load_lanes(Class::Narrow, OWN, from, at + (16 * HALF * half) as i32)
            };
            let low = half(0);
            let v = match (class, &low) {
                (Class::Wide, _) => {
                    let high = half(1);
                    self.join(&low, &high)
                }
                (Class::Predicate, Val::Lanes(lanes)) => {
                    Val::Mask { bits: None, lanes: Some(lanes.clone()) }
                }
                _ => low,
            };
            self.set(inst, *dst, v);
        }
    }
}
