//! From a plan to machine code.
//!
//! Owns the shape of generated code: a function that runs one warp, a block of
//! it for each region, and one that chooses the next region where lanes parted.
//! Values live in registers of the code within a region; at its end those that
//! cross go to the warp's frame. It must not know the scheduler.

mod address;
mod call;
mod compare;
mod control;
mod convert;
mod each;
mod fence;
mod float;
mod group;
mod int;
mod lane;
mod letgo;
mod limits;
mod memory;
mod other;
mod part;
mod pure;
mod saved;
mod schedule;
mod stay;
mod sweep;
mod table;
mod value;

use crate::error::NotCompiled;
use crate::level;
use crate::run::{Origin, Warp, Which};
use crate::simt::plan::set::Set;
use crate::simt::plan::shape::{Class, Shape};
use crate::simt::plan::{Layout, Plan};
pub(crate) use address::LONGEST;
pub(crate) use control::barrier_number;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    self, AbiParam, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, SourceLoc, Type, Value,
    types,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::Configurable;
use cranelift_codegen::{Context, settings};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cushim_ptx::Level;
use cushim_ptx::ir::{Function, Inst, Module};
use cushim_ptx::types::Space;
use cushim_ptx::work;
pub(crate) use limits::MOST_STACK;
use limits::refuse;
use std::collections::{BTreeSet, HashMap};
use std::mem::offset_of;
use value::Val;

/// A place in the code that calls a helper.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Site {
    pub(crate) inst: Inst,
    /// Its place in the kernel.
    pub(crate) at: u32,
    /// How each operand lies in the scratch slot of its number.
    pub(crate) operands: Vec<Class>,
    /// How each result is to lie there.
    pub(crate) results: Vec<Class>,
    pub(crate) space: Space,
    /// A number that the helper wants: a region.
    pub(crate) extra: u32,
    /// How the addresses of an access lie in slot 0.
    pub(crate) addresses: Addresses,
}

/// Addresses that a helper is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Addresses {
    /// One for each lane, as any operand.
    Lanes,
    /// One number, of 64 bits or 32, to which lanes add steps.
    Steps { wide: bool, steps: Box<[i64; 32]> },
    /// A number of 32 bits, and behind it one of 64: the first and a step,
    /// extended and scaled, is added to the second.
    Extended { steps: Box<[i64; 32]>, scale: i64, signed: bool },
}

impl Site {
    /// Whether helpers do the same for both.
    pub(crate) fn is_like(&self, other: &Site) -> bool {
        self.inst.pos == other.inst.pos
            && self.inst.sem == other.inst.sem
            && self.operands == other.operands
            && self.results == other.results
            && self.space == other.space
            && self.extra == other.extra
            && self.addresses == other.addresses
    }
}

/// What was made of a kernel for one layout of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sites: Vec<Site>,
    pub(crate) regions: u32,
    pub(crate) frame_size: u32,
    /// Bytes of the stack that it takes.
    pub(crate) stack: u32,
    pub(crate) origins: Vec<(u32, Origin)>,
    /// See [`Plan::steps`].
    pub(crate) steps: Option<u64>,
}

/// How code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// In a fifth of the time, by an allocator of registers that passes once; it takes up to three times as
    /// long to run.
    Quick,
    Best,
}

/// The code generator for this machine.
pub(crate) fn machine(quality: Quality) -> Result<OwnedTargetIsa, NotCompiled> {
    let level = Level::in_use().map_err(|found| NotCompiled::Level { found: found.into() })?;
    machine_of(level, quality)
}

/// The code generator for a level of processors.
pub(crate) fn machine_of(level: Level, quality: Quality) -> Result<OwnedTargetIsa, NotCompiled> {
    let wrong = |e: &dyn std::fmt::Display| NotCompiled::Machine(e.to_string());
    if !cfg!(target_arch = "x86_64") {
        return Err(wrong(&"code is made for x86-64 only"));
    }
    let mut flags = settings::builder();
    for (name, value) in [
        // The optimiser computes what has no effect where it is first needed: far behind the loads that it is
        // computed of, which then lie on the stack. What it would find equal, this code does not make twice.
        ("opt_level", "none"),
        (
            "regalloc_algorithm",
            if quality == Quality::Quick { "single_pass" } else { "backtracking" },
        ),
        ("is_pic", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(|e| wrong(&e))?;
    }
    let mut isa = cranelift_native::builder_with_options(false).map_err(|e| wrong(&e))?;
    level::enable(level, &mut isa).map_err(|e| wrong(&e))?;
    isa.finish(settings::Flags::new(flags)).map_err(|e| wrong(&e))
}

/// Compiles a kernel for blocks of a layout.
pub(crate) fn compile(
    isa: &OwnedTargetIsa,
    module: &Module,
    f: &Function,
    layout: Layout,
) -> Result<Output, NotCompiled> {
    refuse(f)?;
    let plan = Plan::new(f, layout);
    work::mark("plan");
    let failed = |message: String| NotCompiled::Generator { kernel: f.name.clone(), message };
    let mut context = Context::new();
    let mut entry = Signature::new(CallConv::SystemV);
    entry.params.push(AbiParam::new(types::I64));
    entry.returns.push(AbiParam::new(types::I32));
    context.func.signature = entry;
    let mut builders = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut builders);
    let mut helper = Signature::new(CallConv::SystemV);
    helper.params.push(AbiParam::new(types::I64));
    helper.params.extend([AbiParam::new(types::I32), AbiParam::new(types::I32)]);
    helper.returns.push(AbiParam::new(types::I32));
    let helper = b.import_signature(helper);
    let mut preserving = Signature::new(CallConv::PreserveAll);
    preserving.params.push(AbiParam::new(types::I64));
    preserving.params.extend([AbiParam::new(types::I32); 3]);
    let preserving = b.import_signature(preserving);
    let mut touching = Signature::new(CallConv::PreserveAll);
    touching.params.push(AbiParam::new(types::I64));
    let touching = b.import_signature(touching);

    let start = b.create_block();
    b.append_block_params_for_function_params(start);
    b.switch_to_block(start);
    let warp = b.block_params(start)[0];
    let warp = b.ins().iadd_imm_s(warp, 0);
    let fault = b.create_block();
    let mut of_warp = || {
        let block = b.create_block();
        b.append_block_param(block, types::I64);
        block
    };
    let (begin, dispatch, advance, ended) = (of_warp(), of_warp(), of_warp(), of_warp());
    let blocks = plan
        .regions
        .iter()
        .map(|_| {
            let block = b.create_block();
            b.append_block_param(block, types::I32);
            b.append_block_param(block, types::I64);
            block
        })
        .collect();
    b.set_cold_block(fault);
    let clean = float::clean(f);
    let has =
        |name| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    let (has_fma, has_rounding) = (has("has_fma"), has("has_sse41"));
    let kernel = module.functions.iter().position(|g| g.name == f.name).unwrap_or(0);
    let (shared, _) = cushim_ptx::exec::shared_layout(module, kernel as u32);
    let mut read = Set::new();
    let mut list = Vec::new();
    for inst in &f.code {
        crate::simt::plan::region::reads(inst, &mut list);
        list.iter().for_each(|r| read.insert(*r as usize));
    }
    let mut e = Emit {
        b,
        f,
        plan: &plan,
        clean,
        has_fma,
        has_rounding,
        warp,
        helper,
        preserving,
        touching,
        frame_size: plan.frame_size,
        begin,
        dispatch,
        advance,
        ended,
        fault,
        blocks,
        met: None,
        came: None,
        touched: letgo::Touched::default(),
        resumed: BTreeSet::new(),
        turning: BTreeSet::new(),
        streams: false,
        stay: None,
        act: warp,
        told: None,
        region: 0,
        at: 0,
        cache: HashMap::new(),
        written: BTreeSet::new(),
        lanes_of: HashMap::new(),
        shared,
        read,
        globals: module.globals.iter().map(|g| (g.size, g.align)).collect(),
        sites: Vec::new(),
        groups: Vec::new(),
        group_of: HashMap::new(),
    };
    e.jump(begin, &[warp]);
    e.dispatch_block();
    for k in 0..plan.regions.len() {
        e.region(k)?;
    }
    e.sweep_blocks();
    let Emit { mut b, blocks, sites, frame_size, .. } = e;
    let warps = blocks.iter().map(|block| b.block_params(*block)[1]).collect();
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    work::step(context.func.dfg.num_insts());
    work::mark("emit");
    schedule::order(&mut context.func, &warps);
    work::mark("order");
    let code = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| failed(format!("{:?}", e.inner)))?;
    if !code.buffer.relocs().is_empty() {
        // The generator would call what this crate does not have.
        return Err(failed(format!("calls {:?}", code.buffer.relocs()[0].target)));
    }
    let found = code.buffer.frame_layout().map_or(0, |f| f.frame_to_fp_offset as usize);
    if found > MOST_STACK {
        let (kernel, what) = (f.name.clone(), "bytes of the stack");
        return Err(NotCompiled::TooLarge { kernel, what, found, limit: MOST_STACK });
    }
    let origin = |loc: SourceLoc| Origin { inst: loc.bits() >> 5, lane: loc.bits() & 31 };
    let origins = code.buffer.get_srclocs_sorted().iter();
    let origins = origins.filter(|s| !s.loc.is_default()).map(|s| (s.start, origin(s.loc)));
    let origins = origins.collect();
    Ok(Output {
        origins,
        bytes: code.code_buffer().to_vec(),
        sites,
        regions: plan.regions.len() as u32,
        frame_size: frame_size.next_multiple_of(64),
        stack: found as u32,
        steps: plan.steps(),
    })
}

/// Code in the making.
pub(crate) struct Emit<'a> {
    b: FunctionBuilder<'a>,
    f: &'a Function,
    plan: &'a Plan,
    /// Registers whose NaNs are all canonical, whatever bits the code keeps.
    clean: Vec<Option<cushim_ptx::types::Scalar>>,
    /// The processor has fused multiply-add, and roundings to whole numbers.
    has_fma: bool,
    has_rounding: bool,
    /// The warp that runs: in the present block of code.
    warp: Value,
    helper: SigRef,
    /// Of [`crate::run::seldom`].
    preserving: SigRef,
    touching: SigRef,
    /// Bytes of the frame so far.
    frame_size: u32,
    /// Each of these takes a warp: one whose turn it is, one that goes on where lanes are ready, one that
    /// has had its turn, and one whose lanes have all ended.
    begin: ir::Block,
    dispatch: ir::Block,
    advance: ir::Block,
    ended: ir::Block,
    fault: ir::Block,
    /// Of the regions: each takes the lanes that are there, and their warp.
    blocks: Vec<ir::Block>,
    /// Where whole warps come to a barrier: takes the warp, the site, and the region in which its lanes go on.
    met: Option<ir::Block>,
    /// Where some lanes of a warp come to one: takes the warp, the site, and the lanes.
    came: Option<ir::Block>,
    /// When registers were touched.
    touched: letgo::Touched,
    /// Regions in which the warps of a block go on behind a barrier.
    resumed: BTreeSet<usize>,
    /// Regions that are loops through memory: warps of a block take turns by rounds.
    turning: BTreeSet<usize>,
    /// The present region is one.
    streams: bool,
    /// The code in the making is the second form of a loop: all lanes of the warp run it.
    stay: Option<stay::Stay>,
    /// Lanes for which the present region runs.
    act: Value,
    /// What [`Warp::taking`] holds, if the present region has set it.
    told: Option<Value>,
    region: usize,
    /// The present instruction.
    at: usize,
    /// Registers whose values are at hand.
    cache: HashMap<u32, Val>,
    /// Registers written in this region.
    written: BTreeSet<u32>,
    /// Offsets of the shared variables.
    shared: Vec<u32>,
    /// Registers that any instruction reads.
    read: Set,
    /// Size and alignment of the module's variables.
    globals: Vec<(u64, u32)>,
    /// Bit masks as vectors.
    lanes_of: HashMap<Value, Vec<Value>>,
    sites: Vec<Site>,
    /// Accesses of the present region that are checked together.
    groups: Vec<group::Group>,
    group_of: HashMap<usize, usize>,
}

/// From a warp to its frame, where registers lie that cross regions.
pub(crate) const FRAME: i32 = size_of::<Warp>() as i32;

/// Memory of the warp, the frame: nobody else's, aligned, never faulting.
const OWN: MemFlagsData = MemFlagsData::trusted();

impl Emit<'_> {
    /// What comes is for lanes of the present instruction from this one on.
    fn lanes_from(&mut self, lane: usize) {
        let loc = (self.at as u32) << 5 | lane as u32;
        self.b.set_srcloc(SourceLoc::new(loc));
    }

    fn field(&mut self, ty: Type, offset: usize) -> Value {
        self.b.ins().load(ty, OWN, self.warp, offset as i32)
    }

    /// A field that never changes while the code runs.
    fn constant_field(&mut self, ty: Type, offset: usize) -> Value {
        let flags = OWN.with_readonly().with_can_move();
        self.b.ins().load(ty, flags, self.warp, offset as i32)
    }

    fn set_field(&mut self, value: Value, offset: usize) {
        self.b.ins().store(OWN, value, self.warp, offset as i32);
    }

    fn i32(&mut self, v: i64) -> Value {
        self.b.ins().iconst(types::I32, v & 0xffff_ffff)
    }

    fn i64(&mut self, v: i64) -> Value {
        self.b.ins().iconst(types::I64, v)
    }

    /// Calls a helper for a site; leaves the code if it answers a fault.
    fn call(&mut self, which: Which, site: u32, mask: Value) {
        let status = self.call_raw(which, site, mask);
        let next = self.b.create_block();
        self.b.ins().brif(status, self.fault, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// As [`Self::call`], from where the code seldom goes: registers keep their values, so that the usual way
    /// has nothing to save.
    fn call_seldom(&mut self, which: Which, site: u32, mask: Value) {
        let table = self.constant_field(types::I64, offset_of!(Warp, seldom));
        let (site, number) = (self.i32(site.into()), self.i32(which as i64));
        let (warp, mask) = (self.copied(self.warp), self.copied(mask));
        let args = [warp, site, mask, number];
        self.b.ins().call_indirect(self.preserving, table, &args);
        let status = self.field(types::I32, offset_of!(Warp, answer));
        let next = self.b.create_block();
        self.b.set_cold_block(next);
        self.b.ins().brif(status, self.fault, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    fn call_raw(&mut self, which: Which, site: u32, mask: Value) -> Value {
        let site = self.i32(site.into());
        self.call_for(which, site, mask)
    }

    /// A value as an argument of a call. What regions hand on (the warp, its lanes) is copied: an argument is wanted in one
    /// register of the processor, and the better allocator would look, for each block, at all uses of what flows
    /// through blocks if one of them were so bound: time by the square of the number of regions.
    fn copied(&mut self, v: Value) -> Value {
        if v == self.warp || v == self.act { self.b.ins().iadd_imm_s(v, 0) } else { v }
    }

    /// As [`Self::call_raw`], for a site whose number is a value.
    fn call_for(&mut self, which: Which, site: Value, mask: Value) -> Value {
        let table = self.constant_field(types::I64, offset_of!(Warp, helpers));
        let at = which as usize * 8;
        let flags = OWN.with_readonly().with_can_move();
        let callee = self.b.ins().load(types::I64, flags, table, at as i32);
        let (warp, mask) = (self.copied(self.warp), self.copied(mask));
        let call = self.b.ins().call_indirect(self.helper, callee, &[warp, site, mask]);
        self.b.inst_results(call)[0]
    }

    fn site(&mut self, inst: &Inst, operands: Vec<Class>, results: Vec<Class>) -> u32 {
        let space = inst.space(0);
        let (inst, addresses, at) = (inst.clone(), Addresses::Lanes, self.at as u32);
        self.sites.push(Site { inst, at, operands, results, space, extra: 0, addresses });
        self.sites.len() as u32 - 1
    }

    fn jump(&mut self, to: ir::Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|v| BlockArg::Value(*v)).collect();
        self.b.ins().jump(to, &args);
    }

    fn unsupported(&self, inst: &Inst, reason: &'static str) -> NotCompiled {
        NotCompiled::Instruction {
            kernel: self.f.name.clone(),
            pos: inst.pos,
            instruction: inst.sem.class().to_string(),
            reason,
        }
    }

    /// A value for all lanes of a form that is not [`Shape::Varying`].
    fn known(v: Value) -> Val {
        Val::Known(Shape::Uniform(v))
    }
}
