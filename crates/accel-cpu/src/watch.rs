//! Launches that are observed while they run, to check them or to count their work.
//!
//! Owns which launches are observed, and which events compiled code reports. Must not know what the observer looks
//! for.

use std::sync::Arc;

use cushim_accel::Dispatch;
use cushim_check::{Bounds, CheckedLaunch, Launched, Tool};
use cushim_profile::{Profile, Profiler};
use cushim_ptx::exec::{Fault, Watch};
use cushim_ptx_jit::Checked;

use super::clock::clock;
use super::code::CpuCode;
use super::fault;
use super::memory::Memory;

/// What compiled code is to show.
pub fn shown(memory: &Memory) -> Checked {
    let Some(checker) = &memory.checker else { return Checked::default() };
    let has = |tool| checker.has(tool);
    Checked {
        global: has(Tool::Memory) || has(Tool::Init),
        bounds: has(Tool::Memory),
        every: has(Tool::Race),
        shared: has(Tool::Init) || has(Tool::Race),
        local: has(Tool::Init),
        barriers: has(Tool::Sync) || has(Tool::Race),
    }
}

/// The observer of a launch.
pub enum Looks {
    /// Checks what it does.
    Checks(cushim_check::Looks),
    /// Counts what it does.
    Counts(Profile),
}

impl Looks {
    /// As engines know it.
    pub fn watch(&self) -> &dyn Watch {
        match self {
            Looks::Checks(looks) => looks,
            Looks::Counts(profile) => profile,
        }
    }

    /// The launch failed; whether the program is not to hear of it.
    pub fn failed(&self, fault: &Fault, memory: &Memory) -> bool {
        match self {
            Looks::Checks(looks) => looks.0.failed(fault, fault::protection(fault, memory)),
            Looks::Counts(_) => false,
        }
    }

    /// The launch is over.
    pub fn finish(&self) {
        match self {
            Looks::Checks(_) => {}
            Looks::Counts(profile) => profile.0.finish(clock(libc::CLOCK_MONOTONIC)),
        }
    }

    /// Whether it wants to see each instruction, which only the interpreter shows, and blocks in order.
    pub fn counts(&self) -> bool {
        matches!(self, Looks::Counts(_))
    }
}

/// Whether blocks are to run on one thread.
pub fn in_order(memory: &Memory) -> bool {
    memory.checker.as_ref().is_some_and(|checker| checker.has(Tool::Race))
}

/// The profile of a launch, if there is a profiler.
pub fn count(profiler: &Arc<Profiler>, dispatch: &Dispatch) -> Option<Looks> {
    let code = dispatch.code.as_any().downcast_ref::<CpuCode>()?;
    let kernel = *code.functions.get(dispatch.kernel)?;
    let name = &code.module.functions.get(kernel as usize)?.name;
    let of = cushim_profile::Launched {
        module: code.module.clone(),
        kernel,
        grid: dispatch.grid,
        block: dispatch.block,
        dynamic_shared: dispatch.dynamic_shared,
        call: dispatch.call,
        // Only the driver gives a launch its own name.
        inner: dispatch.tag == 0,
        device: code.device,
        stream: dispatch.stream.map_or(0, |(stream, _)| stream),
        start_ns: clock(libc::CLOCK_MONOTONIC),
    };
    let launch = || cushim_profile::CountedLaunch::new(profiler.clone(), of);
    profiler.counts(name).then(|| Looks::Counts(Profile(Arc::new(launch()))))
}

/// The checker of a launch, if there is one.
pub fn watch(memory: &Memory, dispatch: &Dispatch) -> Option<Looks> {
    let checker = memory.checker.clone().filter(|checker| checker.looks_at_kernels())?;
    let code = dispatch.code.as_any().downcast_ref::<CpuCode>()?;
    let kernel = *code.functions.get(dispatch.kernel)?;
    let name = &code.module.functions.get(kernel as usize)?.name;
    // A GPU would not run a launch that is queued after a failed one; it would read what the failed one did not
    // write.
    let reported = checker.reports_on(name) && !checker.is_broken();
    let sides = dispatch.cluster.unwrap_or([1; 3]).map(u64::from);
    let launched = Launched {
        module: code.module.clone(),
        kernel,
        block: dispatch.block,
        dynamic_shared: dispatch.dynamic_shared,
        cluster: sides.iter().product(),
        trail: dispatch.trail.clone(),
        stream: dispatch.stream,
    };
    let bounds = match reported && checker.has(Tool::Memory) {
        true => Bounds::new(&checker, code.origins(dispatch.kernel), &dispatch.arguments),
        false => Bounds::default(),
    };
    let launch = CheckedLaunch { checker, of: Arc::new(launched), bounds, reported };
    Some(Looks::Checks(cushim_check::Looks(Arc::new(launch))))
}
