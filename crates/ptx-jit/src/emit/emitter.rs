//! The emitter: state that all classes of instructions share while code is emitted.
//!
//! Owns the state of the emitter, fields of the warp, and calls of helpers. Must not know instructions.

use super::group::Group;
use super::reach::Whole;
use super::touched::Touched;
use super::val::Val;
use crate::checked::Checked;
use crate::error::NotCompiled;
use crate::simt::calls::Activation;
use crate::simt::plan::Plan;
use crate::simt::plan::set::Set;
use crate::simt::plan::shape::{Class, Shape};
use crate::warp::{Addresses, INTERFACE, Site, Which};
use cranelift_codegen::ir::{
    self, BlockArg, InstBuilder, MemFlagsData, SigRef, SourceLoc, Type, Value, types,
};
use cranelift_frontend::FunctionBuilder;
use cushim_ptx::ir::{Function, Inst};
use cushim_ptx::origin::Origins;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The resume points of a loop's second version.
pub(super) struct FastLoop {
    /// The round is to be done again, by the usual version.
    pub(super) bail: ir::Block,
}

/// Code in the making.
pub(super) struct Emit<'a> {
    pub(super) b: FunctionBuilder<'a>,
    pub(super) f: &'a Function,
    /// Instructions of `f` that call lowering added.
    pub(super) activations: &'a BTreeMap<usize, Activation>,
    pub(super) plan: &'a Plan,
    /// What is reported to an observer.
    pub(super) checked: Checked,
    /// The parameters from which accesses' addresses are computed, if that is checked.
    pub(super) origins: Origins,
    /// Registers whose NaNs are all canonical, whatever bits the code keeps.
    pub(super) clean: Vec<Option<cushim_ptx::types::Scalar>>,
    /// The processor has fused multiply-add, and roundings to whole numbers.
    pub(super) has_fma: bool,
    pub(super) has_rounding: bool,
    /// The running warp, in the current region, and all uniform values of the code.
    pub(super) warp: Value,
    pub(super) warps: HashSet<Value>,
    pub(super) helper: SigRef,
    /// The signature of the thunks that preserve all registers.
    pub(super) preserving: SigRef,
    pub(super) touching: SigRef,
    /// The signature of the functions for accesses of many lanes, if the processor supports them.
    pub(super) together: Option<SigRef>,
    /// Bytes from the warp to the registers in its frame.
    pub(super) registers: usize,
    /// Bytes of the frame so far.
    pub(super) frame_size: u32,
    /// The blocks where the current warp starts its turn, continues with ready lanes, has finished its turn, and has
    /// exited with all its lanes.
    pub(super) begin: ir::Block,
    pub(super) dispatch: ir::Block,
    pub(super) advance: ir::Block,
    pub(super) ended: ir::Block,
    pub(super) fault: ir::Block,
    /// The blocks of the regions: each takes the active lanes.
    pub(super) blocks: Vec<ir::Block>,
    /// The blocks for whole warps that arrive at a barrier after they began in one region, or anywhere: they take the
    /// site, and the lanes' next region.
    pub(super) met: BTreeMap<Option<usize>, ir::Block>,
    /// The block for some lanes of a warp that arrive at one: it takes the site, and the lanes.
    pub(super) came: Option<ir::Block>,
    /// When registers were touched.
    pub(super) touched: Touched,
    /// Regions in which the warps of a block resume after a barrier.
    pub(super) resumed: BTreeSet<usize>,
    /// Regions that are loops through memory: warps of a block take turns by rounds.
    pub(super) turning: BTreeSet<usize>,
    /// The present region is one.
    pub(super) streams: bool,
    /// The code in the making is the second version of a loop: all lanes of the warp run it.
    pub(super) fast_loop: Option<FastLoop>,
    /// The state of a region's second version for whole warps.
    pub(super) whole: Whole,
    /// Lanes for which the present region runs.
    pub(super) act: Value,
    /// What the warp's `taking` holds, if the present region has set it.
    pub(super) told: Option<Value>,
    pub(super) region: usize,
    /// The present instruction.
    pub(super) at: usize,
    /// Registers whose values are at hand.
    pub(super) cache: HashMap<u32, Val>,
    /// Registers written in this region.
    pub(super) written: BTreeSet<u32>,
    /// Offsets of the shared variables.
    pub(super) shared: Vec<u32>,
    /// The least size of shared memory, in bytes.
    pub(super) shared_size: i64,
    /// Registers that any instruction reads.
    pub(super) read: Set,
    /// Predicates that are only read as guards.
    pub(super) guards: Set,
    /// Size and alignment of the module's variables.
    pub(super) globals: Vec<(u64, u32)>,
    /// Bit masks as vectors.
    pub(super) lanes_of: HashMap<Value, Vec<Value>>,
    pub(super) sites: Vec<Site>,
    /// Accesses of the current region that are checked together.
    pub(super) groups: Vec<Group>,
    pub(super) group_of: HashMap<usize, usize>,
}

/// Memory of the warp, the frame: private, aligned, never faulting.
pub(super) const OWN: MemFlagsData = MemFlagsData::trusted();

impl Emit<'_> {
    /// What comes is for lanes of the present instruction from this one on.
    pub(super) fn lanes_from(&mut self, lane: usize) {
        let loc = (self.at as u32) << 5 | lane as u32;
        self.b.set_srcloc(SourceLoc::new(loc));
    }

    /// At the start of code with several predecessors: the running warp is in a pinned register. As a block parameter
    /// it would be spilled, because there are calls, and be reloaded for nearly every access to the frame.
    pub(super) fn know_warp(&mut self) {
        self.warp = self.b.ins().get_pinned_reg(types::I64);
        self.warps.insert(self.warp);
    }

    /// Another warp has its turn.
    pub(super) fn take_warp(&mut self, next: Value) {
        self.b.ins().set_pinned_reg(next);
    }

    pub(super) fn field(&mut self, ty: Type, offset: usize) -> Value {
        self.b.ins().load(ty, OWN, self.warp, offset as i32)
    }

    /// A field that never changes while the code runs.
    pub(super) fn constant_field(&mut self, ty: Type, offset: usize) -> Value {
        let flags = OWN.with_readonly().with_can_move();
        self.b.ins().load(ty, flags, self.warp, offset as i32)
    }

    pub(super) fn set_field(&mut self, value: Value, offset: usize) {
        self.b.ins().store(OWN, value, self.warp, offset as i32);
    }

    pub(super) fn i32(&mut self, v: i64) -> Value {
        self.b.ins().iconst(types::I32, v & 0xffff_ffff)
    }

    pub(super) fn i64(&mut self, v: i64) -> Value {
        self.b.ins().iconst(types::I64, v)
    }

    /// Calls a helper for a site; leaves the code if it returns a fault.
    pub(super) fn call(&mut self, which: Which, site: u32, mask: Value) {
        let status = self.call_raw(which, site, mask);
        let next = self.b.create_block();
        self.b.ins().brif(status, self.fault, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// As [`Self::call`], from where the code seldom goes: registers keep their values, so that the usual way
    /// has nothing to save.
    pub(super) fn call_preserving(&mut self, which: Which, site: u32, mask: Value) {
        let table = self.constant_field(types::I64, INTERFACE.warp.preserve_all);
        let (site, number) = (self.i32(site.into()), self.i32(which as i64));
        let (warp, mask) = (self.copied(self.warp), self.copied(mask));
        let args = [warp, site, mask, number];
        self.b.ins().call_indirect(self.preserving, table, &args);
        let status = self.field(types::I32, INTERFACE.warp.answer);
        let next = self.b.create_block();
        self.b.set_cold_block(next);
        self.b.ins().brif(status, self.fault, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    pub(super) fn call_raw(&mut self, which: Which, site: u32, mask: Value) -> Value {
        let site = self.i32(site.into());
        self.call_for(which, site, mask)
    }

    /// A value as an argument of a call. Values that regions pass on (the warp, its lanes) are copied: an argument
    /// needs a fixed processor register, and then the better allocator would look, for each block, at all uses of
    /// what flows through blocks: time quadratic in the number of regions.
    pub(super) fn copied(&mut self, v: Value) -> Value {
        match v {
            v if v == self.warp => self.b.ins().get_pinned_reg(types::I64),
            v if v == self.act => self.b.ins().iadd_imm_s(v, 0),
            v => v,
        }
    }

    /// As [`Self::call_raw`], for a site whose number is a value.
    pub(super) fn call_for(&mut self, which: Which, site: Value, mask: Value) -> Value {
        let table = self.constant_field(types::I64, INTERFACE.warp.helpers);
        let at = which as usize * 8;
        let flags = OWN.with_readonly().with_can_move();
        let callee = self.b.ins().load(types::I64, flags, table, at as i32);
        let (warp, mask) = (self.copied(self.warp), self.copied(mask));
        let call = self.b.ins().call_indirect(self.helper, callee, &[warp, site, mask]);
        self.b.inst_results(call)[0]
    }

    pub(super) fn site(&mut self, inst: &Inst, operands: Vec<Class>, results: Vec<Class>) -> u32 {
        let space = inst.space(0);
        let (inst, addresses, at) = (inst.clone(), Addresses::Lanes, self.at as u32);
        self.sites.push(Site { inst, at, operands, results, space, extra: 0, addresses });
        self.sites.len() as u32 - 1
    }

    pub(super) fn jump(&mut self, to: ir::Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|v| BlockArg::Value(*v)).collect();
        self.b.ins().jump(to, &args);
    }

    pub(super) fn unsupported(&self, inst: &Inst, reason: &'static str) -> NotCompiled {
        NotCompiled::Instruction {
            kernel: self.f.name.clone(),
            pos: inst.pos,
            instruction: inst.sem.class().to_string(),
            reason,
        }
    }

    /// A value for all lanes of a shape that is not [`Shape::Varying`].
    pub(super) fn known(v: Value) -> Val {
        Val::Known(Shape::Uniform(v))
    }
}
