//! Branches by a table (`brx.idx`).
//!
//! Owns which lanes go where. For divergent lanes the code is a loop: each round takes the lanes with the same index
//! as the first remaining lane. So the code's size is that of the table, and its time the number of distinct indices.
//! Must not know the code at the targets.

use super::emitter::{Emit, OWN};
use super::val::Val;
use crate::simt::plan::region::Edge;
use crate::simt::plan::shape::Class;
use crate::warp::INTERFACE;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, JumpTableData, Value, types};
use cushim_ptx::ir::Inst;
use std::collections::HashMap;

/// A block of code for each target that has one.
struct Places {
    blocks: Vec<(Edge, Block)>,
    of: HashMap<Option<usize>, Block>,
}

impl Emit<'_> {
    fn place_of(&mut self, places: &mut Places, edge: Edge) -> Block {
        let key = match edge {
            Edge::To(n) => Some(n),
            Edge::Exit => None,
        };
        *places.of.entry(key).or_insert_with(|| {
            let block = self.b.create_block();
            places.blocks.push((edge, block));
            block
        })
    }

    /// Jumps to the block of the target that an index selects.
    fn by_table(&mut self, index: Value, targets: &[Edge], other: Edge) -> Places {
        let mut places = Places { blocks: Vec::new(), of: HashMap::new() };
        let mut call = |e: &mut Self, edge: Edge| {
            let block = e.place_of(&mut places, edge);
            e.b.func.dfg.block_call(block, &[])
        };
        let default = call(self, other);
        let table: Vec<_> = targets.iter().map(|edge| call(self, *edge)).collect();
        let table = self.b.create_jump_table(JumpTableData::new(default, &table));
        self.b.ins().br_table(index, table);
        places
    }

    pub(super) fn table(&mut self, inst: &Inst, targets: &[Edge], other: Edge) {
        let index = self.operand(&inst.src[0], Class::Narrow);
        let guard = self.guard(inst);
        if let (Some(u), None) = (index.uniform(), guard) {
            self.flush();
            for (edge, block) in self.by_table(u, targets, other).blocks {
                self.b.switch_to_block(block);
                self.go(edge, self.act);
            }
            return;
        }
        self.pass(0, &[(index, Class::Narrow)], false);
        self.flush();
        let (head, next) = (self.b.create_block(), self.b.create_block());
        let rest = self.b.append_block_param(head, types::I32);
        let note = self.b.create_block();
        let to = self.b.append_block_param(note, types::I32);
        match guard {
            None => self.jump(head, &[self.act]),
            Some(some) => {
                // Lanes whose guard is false fall through.
                let off = self.b.ins().band_not(self.act, some);
                let (pass, on) = (self.b.create_block(), self.b.create_block());
                self.b.ins().brif(off, pass, &[], on, &[]);
                self.b.switch_to_block(pass);
                self.arrive(other, off);
                self.jump(on, &[]);
                self.b.switch_to_block(on);
                self.b.ins().brif(some, head, &[some.into()], self.dispatch, &[]);
            }
        }
        self.b.switch_to_block(head);
        let Some(index) = self.first_of(0, Class::Narrow, rest).uniform() else { return };
        let same = self.b.ins().splat(types::I32X4, index);
        let hits = (0..8).map(|k| {
            let at = super::pure::slot(0) + 16 * k;
            let four = self.b.ins().load(types::I32X4, OWN, self.warp, at);
            self.b.ins().icmp(IntCC::Equal, four, same)
        });
        let hits = Val::Mask { lanes: Some(hits.collect()), bits: None };
        let hits = self.bits(&hits);
        let group = self.b.ins().band(hits, rest);
        let left = self.b.ins().band_not(rest, group);
        for (edge, block) in self.by_table(index, targets, other).blocks {
            self.b.switch_to_block(block);
            match edge {
                Edge::To(n) => {
                    let n = self.i32(n as i64);
                    self.jump(note, &[n]);
                }
                Edge::Exit => {
                    self.retire(group);
                    self.jump(next, &[]);
                }
            }
        }
        self.b.switch_to_block(note);
        self.ready_at(to, group);
        self.jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.ins().brif(left, head, &[left.into()], self.dispatch, &[]);
    }

    /// Some of the active lanes go there, or exit.
    fn arrive(&mut self, edge: Edge, lanes: Value) {
        match edge {
            Edge::To(n) => self.ready(n, lanes),
            Edge::Exit => self.retire(lanes),
        }
    }

    /// As [`Self::ready`], for a region whose number is a value.
    fn ready_at(&mut self, region: Value, lanes: Value) {
        let masks = self.constant_field(types::I64, INTERFACE.warp.masks);
        let index = self.b.ins().uextend(types::I64, region);
        let by = self.i32(2);
        let index = self.b.ins().ishl(index, by);
        let at = self.b.ins().iadd(masks, index);
        let old = self.b.ins().load(types::I32, OWN, at, 0);
        let new = self.b.ins().bor(old, lanes);
        self.b.ins().store(OWN, new, at, 0);
        let low = self.field(types::I32, INTERFACE.warp.low);
        let less = self.b.ins().umin(low, region);
        self.set_field(less, INTERFACE.warp.low);
    }
}
