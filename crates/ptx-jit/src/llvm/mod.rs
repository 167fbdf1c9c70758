//! A second emitter: one function in LLVM IR per kernel and block layout. libLLVM optimises it in a separate process,
//! if it is installed and `CUSHIM_LLVM` asks for it.
//!
//! Owns which kernels it accepts. Varying values are vectors of 32 lanes; LLVM allocates the registers. Operations come
//! from `cushim_translate::ops`, which AMD's GPUs use, too. The code runs whole blocks from begin to end, so a warp
//! never enters it midway. If a kernel has anything that this emitter lacks, the first emitter keeps the whole kernel.
//! Must not know the scheduler, or the first emitter.

mod address;
mod ahead;
mod asked;
mod atomic;
mod by_lanes;
mod collective;
mod compact;
mod control;
mod emitter;
mod group;
mod guarded;
mod known;
mod library;
mod lookup;
mod memory;
pub(crate) mod object;
mod one_lane;
mod operand;
mod pieces;
mod predicate;
mod process;
mod pure;
mod range;
mod register;
mod rounds;
mod same;
mod saved;
mod serial;
mod serve;
mod sfu;
mod spawn;
mod steps;
mod store;
mod strip;
mod usual;
mod wide;
pub(crate) mod wire;
mod words;

use crate::simt::calls::Lowered;
use crate::simt::plan::{Layout, Plan};
use crate::warp::{INTERFACE, Output};
pub(crate) use asked::is_asked_for;
#[doc(hidden)]
pub use asked::without;
use cushim_ptx::Level;
use cushim_ptx::ir::{Function, Module};
use cushim_ptx::types::Scalar;
use cushim_translate::llvm::Body;
use emitter::Emit;
use group::Groups;
pub use serve::serve;
use std::collections::{BTreeMap, BTreeSet, HashMap};
pub use wire::Library;

/// The LLVM library that compiles kernels beside Cranelift; a separate process opens it to read its version. `None` if
/// the environment wants none.
///
/// # Errors
/// Why there is none.
pub fn library() -> Option<Result<Library, String>> {
    is_asked_for().then(|| process::with_own_files(process::library))
}

/// Whether this emitter accepts a kernel for blocks of 256 threads; LLVM itself is not run.
pub fn takes(module: &Module, kernel: u32) -> bool {
    let look = || {
        let lowered = crate::simt::calls::lower(module, kernel).ok()?;
        ir(module, &lowered, Layout::of([256, 1, 1]), Level::in_use().ok()?).ok()
    };
    crate::caught::run(look).is_ok_and(|text| text.is_some())
}

/// Runs a closure on a thread that may call [`opened`] and [`compile`], and waits for it.
pub(crate) fn apart<T: Send>(body: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    process::with_own_files(body)
}

/// Lets the calling thread call [`opened`] and [`compile`]: from now on it has its own file descriptor table.
///
/// # Errors
/// Why the system refuses it.
pub(crate) fn prepare() -> Result<(), String> {
    spawn::own_files()
}

/// The version of the library in use.
///
/// # Errors
/// As [`library`].
pub(crate) fn opened() -> Result<[u32; 3], String> {
    Ok(process::library()?.version)
}

/// The most PTX instructions of a kernel that is accepted.
const MOST: usize = 4000;
/// The most lines of IR: LLVM takes about a quarter of a millisecond for each, as each has 32 lanes.
const MOST_LINES: usize = 60_000;

/// Compiles a kernel for a block layout.
///
/// # Errors
/// What this emitter refuses in the kernel, or LLVM's error.
pub(crate) fn compile(
    module: &Module,
    lowered: &Lowered,
    layout: Layout,
) -> Result<Output, String> {
    let level = Level::in_use().map_err(str::to_owned)?;
    let text = ir(module, lowered, layout, level)?;
    let (text, sites, regions) = text;
    let made = process::object(&text, level.name())?;
    let (bytes, stack) = (object::flat(&made.object)?, made.stack);
    // The minimum: the first emitter's code decides how large frames are.
    let frame_size = (crate::warp::frame_head(&lowered.function) as u32).next_multiple_of(64);
    Ok(Output { bytes, sites, regions, frame_size, stack, origins: Vec::new(), steps: None })
}

/// The LLVM IR, the call sites of helpers, and the number of regions.
fn ir(
    module: &Module,
    lowered: &Lowered,
    layout: Layout,
    level: Level,
) -> Result<(String, Vec<crate::warp::Site>, u32), &'static str> {
    let f = &lowered.function;
    if lowered.moving || !lowered.activations.is_empty() {
        return Err("functions that call themselves");
    }
    if f.code.len() > MOST {
        return Err("more instructions than are given to LLVM");
    }
    if f.registers.iter().any(|r| *r != Scalar::Pred && r.bits() > 64) {
        return Err("registers of more than 64 bits");
    }
    let plan = Plan::new(f, layout);
    if plan.fair || plan.arrives {
        return Err("lanes that wait for others");
    }
    let one_lane = plan.of_one_lane();
    let mut e = emitter(module, f, &plan, &one_lane);
    e.emit_function()?;
    if e.b.lines() > MOST_LINES {
        return Err("more instructions than are given to LLVM");
    }
    let (sites, regions) = (std::mem::take(&mut e.sites), plan.regions.len() as u32);
    let (variables, body, declared) = e.b.finish();
    let declared: Vec<String> = declared.into_iter().collect();
    // The allocas follow the function's first label.
    let body = body.strip_prefix("start:\n").unwrap_or(&body).to_owned();
    let text = format!(
        "target triple = \"x86_64-unknown-linux-gnu\"\n\
         define i32 @kernel(ptr %first) #0 {{\nstart:\n{variables}{body}}}\n{}\n\
         attributes #0 = {{ nounwind \"no-builtins\" \"warn-stack-size\"=\"0\" \"no-jump-tables\"=\"true\" \
         \"target-cpu\"=\"{}\" \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" }}\n\
         !0 = !{{}}\n!1 = !{{!\"branch_weights\", i32 100000, i32 1}}\n",
        declared.join("\n"),
        level.name(),
    );
    Ok((text, sites, regions))
}

fn emitter<'a>(
    module: &'a Module,
    f: &'a Function,
    plan: &'a Plan,
    one_lane: &'a Plan,
) -> Emit<'a> {
    let kernel = module.functions.iter().position(|g| g.name == f.name).unwrap_or(0);
    let (shared, shared_size) = cushim_ptx::exec::shared_layout(module, kernel as u32);
    let turns = ahead::turns(f, plan);
    let mut headers = BTreeSet::new();
    for (k, region) in plan.regions.iter().enumerate() {
        headers.extend(region.next.iter().filter(|n| **n <= k));
    }
    Emit {
        b: Body::new(1),
        f,
        plan,
        clean: crate::simt::nan::clean(f),
        registers: INTERFACE.frame + crate::warp::frame_head(f),
        shared,
        shared_size: shared_size.into(),
        sites: Vec::new(),
        region: 0,
        at: 0,
        act: emitter::ALL,
        full: true,
        guard: None,
        headers,
        // Processors with AVX-512 have gathers.
        serial: match predicate::has_masks() {
            true => BTreeMap::new(),
            false => serial::serial(f, plan, &turns),
        },
        turns,
        tiles: ahead::tiles(plan),
        one_round: None,
        one_lane,
        written: saved::written(f, plan),
        same: same::same(f, plan),
        entries: BTreeSet::new(),
        groups: Groups::default(),
        wides: wide::Wides::default(),
        masks: HashMap::new(),
        filled: HashMap::new(),
        module,
    }
}
