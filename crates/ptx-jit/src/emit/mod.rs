//! Generates machine code from a plan.
//!
//! Owns the structure of generated code: a function that runs one warp, with a basic block for each region, and one
//! that chooses the next region for divergent lanes. Within a region values are SSA values of the code; at its end,
//! live values are stored to the warp's frame. Must not know the scheduler.
//! cross go to the warp's frame. It must not know the scheduler.

mod address;
mod arithmetic;
mod call;
mod checked;
mod compare;
mod control;
mod convert;
mod dot;
mod each;
mod emitter;
mod fast_loop;
mod fence;
mod float;
mod group;
mod guarded;
mod int;
mod lane;
mod letgo;
mod limits;
mod memory;
mod operand;
mod other;
mod own;
mod part;
mod permute;
mod places;
mod pure;
mod reach;
mod saved;
mod schedule;
mod steps;
mod store;
mod table;
mod together;
mod touched;
mod val;
mod value;
mod warp_loop;
mod whole;

use crate::checked::Checked;
use crate::error::NotCompiled;
use crate::level;
use crate::simt::calls::Lowered;
use crate::simt::plan::set::Set;
use crate::simt::plan::{Layout, Plan};
use crate::warp::{INTERFACE, Origin, Output, Quality};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Block, SigRef, Signature, SourceLoc, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::Configurable;
use cranelift_codegen::{Context, settings};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cushim_ptx::Level;
use cushim_ptx::ir::{Function, Inst, Module};
use cushim_ptx::origin::Origins;
use cushim_ptx::work;
use emitter::Emit;
pub(crate) use limits::{MOST_STACK, fits};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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
        // The optimiser sinks pure operations to their first use, far behind the loads that they depend on, whose results
        // are then spilled. Common subexpressions, which it would find, this emitter does not make.
        ("opt_level", "none"),
        (
            "regalloc_algorithm",
            if quality == Quality::Quick { "single_pass" } else { "backtracking" },
        ),
        ("is_pic", "true"),
        // The warp that runs is in it; who enters the code keeps it for others.
        ("enable_pinned_reg", "true"),
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
    lowered: &Lowered,
    layout: Layout,
    checked: Checked,
) -> Result<Output, NotCompiled> {
    let f = &lowered.function;
    fits(lowered)?;
    let plan = Plan::new(f, layout);
    work::mark("plan");
    let mut context = Context::new();
    context.func.signature = entry();
    let mut builders = FunctionBuilderContext::new();
    let b = FunctionBuilder::new(&mut context.func, &mut builders);
    let mut e = emitter(b, isa, module, lowered, &plan, checked);
    e.take_warp(e.warp);
    e.jump(e.begin, &[]);
    e.dispatch_block();
    for k in 0..plan.regions.len() {
        e.region(k)?;
    }
    e.warp_loop_blocks();
    let Emit { mut b, warps, sites, frame_size, .. } = e;
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    work::step(context.func.dfg.num_insts());
    work::mark("emit");
    schedule::order(&mut context.func, &warps);
    work::mark("order");
    let (bytes, origins, stack) = machine_code(isa, &mut context, f)?;
    Ok(Output {
        origins,
        bytes,
        sites,
        regions: plan.regions.len() as u32,
        frame_size: frame_size.next_multiple_of(64),
        stack,
        steps: plan.steps(),
    })
}

/// What makes the code, with the blocks that every kernel has.
fn emitter<'a>(
    mut b: FunctionBuilder<'a>,
    isa: &OwnedTargetIsa,
    module: &Module,
    lowered: &'a Lowered,
    plan: &'a Plan,
    checked: Checked,
) -> Emit<'a> {
    let f = &lowered.function;
    let [helper, preserving, touching, together] = helpers(&mut b);

    let start = b.create_block();
    b.append_block_params_for_function_params(start);
    b.switch_to_block(start);
    let warp = b.block_params(start)[0];
    let fault = b.create_block();
    let [begin, dispatch, advance, ended] = [(); 4].map(|()| b.create_block());
    let blocks = of_regions(&mut b, plan.regions.len());
    b.set_cold_block(fault);
    let has =
        |name| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    let together = has("has_avx2").then_some(together);
    let kernel = module.functions.iter().position(|g| g.name == f.name).unwrap_or(0);
    let (shared, shared_size) = cushim_ptx::exec::shared_layout(module, kernel as u32);
    let origins = match checked.bounds {
        true => cushim_ptx::origin::origins(module, kernel as u32),
        false => Origins::new(),
    };
    let head = crate::warp::frame_head(f);
    Emit {
        b,
        f,
        activations: &lowered.activations,
        plan,
        checked,
        origins,
        clean: crate::simt::nan::clean(f),
        has_fma: has("has_fma"),
        has_rounding: has("has_sse41"),
        warp,
        warps: HashSet::new(),
        helper,
        preserving,
        touching,
        together,
        registers: INTERFACE.frame + head,
        frame_size: head as u32 + plan.frame_size,
        begin,
        dispatch,
        advance,
        ended,
        fault,
        blocks,
        met: BTreeMap::new(),
        came: None,
        touched: touched::Touched::default(),
        resumed: BTreeSet::new(),
        turning: BTreeSet::new(),
        streams: false,
        fast_loop: None,
        whole: reach::Whole::default(),
        act: warp,
        told: None,
        region: 0,
        at: 0,
        cache: HashMap::new(),
        written: BTreeSet::new(),
        lanes_of: HashMap::new(),
        shared,
        shared_size: shared_size.into(),
        read: read(f),
        guards: guards(f),
        globals: module.globals.iter().map(|g| (g.size, g.align)).collect(),
        sites: Vec::new(),
        groups: Vec::new(),
        group_of: HashMap::new(),
    }
}

/// The signature of code for a warp.
fn entry() -> Signature {
    let mut entry = Signature::new(CallConv::SystemV);
    entry.params.push(AbiParam::new(types::I64));
    entry.returns.push(AbiParam::new(types::I32));
    entry
}

/// A block for each region, with the lanes that come.
fn of_regions(b: &mut FunctionBuilder<'_>, count: usize) -> Vec<Block> {
    let of_region = |_| {
        let block = b.create_block();
        b.append_block_param(block, types::I32);
        block
    };
    (0..count).map(of_region).collect()
}

/// The signatures of called functions: helpers, thunks that preserve all registers, the prefetch, and accesses of
/// many lanes.
fn helpers(b: &mut FunctionBuilder<'_>) -> [SigRef; 4] {
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
    let mut together = Signature::new(CallConv::PreserveAll);
    let params = [types::I64, types::I32, types::I64];
    together.params.extend(params.map(AbiParam::new));
    let together = b.import_signature(together);
    [helper, preserving, touching, together]
}

/// The registers that are read anywhere.
fn read(f: &Function) -> Set {
    let mut read = Set::new();
    let mut list = Vec::new();
    for inst in &f.code {
        crate::simt::plan::region::reads(inst, &mut list);
        list.iter().for_each(|r| read.insert(*r as usize));
    }
    read
}

/// The predicates that are only read as guards.
fn guards(f: &Function) -> Set {
    let (mut guards, mut others) = (Set::new(), Set::new());
    let mut list = Vec::new();
    for inst in &f.code {
        inst.guard.iter().for_each(|(p, _)| guards.insert(*p as usize));
        crate::simt::plan::region::reads(&Inst { guard: None, ..inst.clone() }, &mut list);
        list.iter().for_each(|r| others.insert(*r as usize));
    }
    guards.subtract(&others);
    guards
}

/// Bytes, the instruction of each code address, and bytes of stack.
type MachineCode = (Vec<u8>, Vec<(u32, Origin)>, u32);

fn machine_code(
    isa: &OwnedTargetIsa,
    context: &mut Context,
    f: &Function,
) -> Result<MachineCode, NotCompiled> {
    let failed = |message: String| NotCompiled::Generator { kernel: f.name.clone(), message };
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
    Ok((code.code_buffer().to_vec(), origins, found as u32))
}
