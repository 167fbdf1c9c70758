//! Runs packets on the CPU: kernels by machine code or the interpreter, with their blocks on the pool's threads.
//!
//! Owns what a launch needs besides its arguments, and the threads that run its blocks. Must not know: queues, CUDA.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use cushim_ptx::exec::{KernelLaunch, Memory as _};
use cushim_ptx_jit::Arena;

use super::bulk;
use super::children::{self, Launched};
use super::clock::clock;
use super::code::CpuCode;
use super::device_runtime::{Answered, Runtime};
use super::fault;
use super::heap::Heap;
use super::host::Host;
use super::memory::Memory;
use super::pool::{Job, Pool};
use super::watch::Looks;
use cushim_accel::locks::lock;
use cushim_accel::queue::Executor;
use cushim_accel::{Copy, Dispatch, Failure, Fill, Work};
use cushim_profile::Profiler;

/// Local memory of a thread, as CUDA limits it.
const LOCAL: u32 = 512 << 10;
/// The most instructions of all warps together in a short launch: some ten microseconds.
const SHORT_STEPS: u64 = 4096;
/// The cost of starting a block, in instructions.
const START: u64 = 2;
/// The most bytes of a short copy.
const SHORT_BYTES: usize = 64 << 10;
/// Bytes of the workspace of `grid.sync()`.
const WORKSPACE: u64 = 64;

/// What runs packets.
#[derive(Clone)]
pub struct CpuExecutor {
    /// All memory.
    pub memory: Arc<Memory>,
    /// Where kernels' memory is, for machine code; `None` if the interpreter runs everything.
    pub range: Option<Arena>,
    /// Threads for blocks.
    pub pool: Pool,
    /// By device.
    pub heaps: Arc<[Heap]>,
    /// The profiler that counts what kernels do, if there is one.
    pub profiler: Option<Arc<Profiler>>,
    /// The object that answers kernels' queries, and strings that they got.
    pub answers: Arc<Answered>,
}

impl Executor for CpuExecutor {
    fn dispatch(&self, dispatch: &Dispatch) -> Result<(), Failure> {
        // A grid is complete when everything that it launched is.
        let launched = self.alone(dispatch)?;
        if launched.is_empty() { Ok(()) } else { self.tree(launched) }
    }

    fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        bulk::copy(&self.pool, &self.memory, copy)
    }

    fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        bulk::fill(&self.pool, &self.memory, fill)
    }

    fn now(&self) -> u64 {
        clock(libc::CLOCK_MONOTONIC)
    }

    fn is_short(&self, work: &Work) -> bool {
        match work {
            Work::Barrier => true,
            Work::Dispatch(dispatch) => self.range.is_some() && is_short(dispatch),
            Work::Copy(copy) => {
                let bytes = copy.width.saturating_mul(copy.height.max(1));
                bytes.saturating_mul(copy.depth.max(1)) <= SHORT_BYTES
            }
            Work::Fill(fill) => {
                let bytes = fill.width.saturating_mul(fill.size);
                bytes.saturating_mul(fill.height.max(1)) <= SHORT_BYTES
            }
        }
    }
}

/// Whether a launch of a compiled kernel is; one that waits for others is not.
fn is_short(dispatch: &Dispatch) -> bool {
    if dispatch.cooperative {
        return false;
    }
    // A grid that launches others lasts until they are complete.
    if code_launches(dispatch) {
        return false;
    }
    let Some(code) = dispatch.code.as_any().downcast_ref::<CpuCode>() else { return false };
    let Some(steps) = code.steps(dispatch.kernel, dispatch.block) else { return false };
    let count = |all: &[u32; 3]| all.iter().fold(1u64, |n, k| n.saturating_mul((*k).into()));
    let warps = count(&dispatch.block).div_ceil(32);
    let block = warps.saturating_mul(steps).saturating_add(START);
    count(&dispatch.grid).saturating_mul(block) <= SHORT_STEPS
}

/// What threads share out of a grid: its clusters, its blocks where there are none.
fn units(dispatch: &Dispatch) -> u64 {
    let product = |sides: [u32; 3]| sides.iter().map(|n| u64::from(*n)).product::<u64>();
    product(dispatch.grid) / product(dispatch.cluster.unwrap_or([1; 3])).max(1)
}

fn code_launches(dispatch: &Dispatch) -> bool {
    let code = dispatch.code.as_any().downcast_ref::<CpuCode>();
    code.is_some_and(|code| code.launches.get(dispatch.kernel) == Some(&true))
}

impl CpuExecutor {
    /// Runs all blocks of a grid, and returns what they have launched.
    pub fn alone(&self, dispatch: &Dispatch) -> Result<Launched, Failure> {
        let workspace = match dispatch.cooperative {
            true => self.workspace()?,
            false => 0,
        };
        let runtime = code_launches(dispatch).then(|| Arc::new(self.runtime(dispatch)));
        let result = self.run(dispatch, workspace, runtime.clone());
        if dispatch.cooperative {
            self.memory.arena.free(workspace);
        }
        // This grid failed because a grid that it waited for did.
        if let Some(failure) = runtime.as_ref().and_then(|runtime| runtime.failure()) {
            return Err(failure);
        }
        result?;
        Ok(runtime.map_or_else(Launched::default, |runtime| runtime.launched()))
    }

    /// The device runtime of a grid.
    fn runtime(&self, dispatch: &Dispatch) -> Runtime {
        let own = self.clone();
        let (memory, heaps) = (self.memory.clone(), self.heaps.clone());
        let run = move |launched| own.tree(launched);
        Runtime::new(dispatch, memory, heaps, self.answers.clone(), Box::new(run))
    }

    /// Runs what grids have launched, and what that launches, to the end.
    pub fn tree(&self, launched: Launched) -> Result<(), Failure> {
        children::run(launched, &mut |work| match work {
            Work::Dispatch(dispatch) => self.alone(dispatch),
            Work::Copy(copy) => self.copy(copy).map(|()| Launched::default()),
            Work::Fill(fill) => self.fill(fill).map(|()| Launched::default()),
            Work::Barrier => Ok(Launched::default()),
        })
    }

    fn workspace(&self) -> Result<u64, Failure> {
        let at = self.memory.arena.allocate(WORKSPACE, 16).ok_or(Failure::OutOfMemory)?;
        let empty = [0; WORKSPACE as usize];
        self.memory.store(at, &empty).map_err(|_| Failure::InvalidAddress(at))?;
        Ok(at)
    }

    fn run(
        &self,
        dispatch: &Dispatch,
        workspace: u64,
        runtime: Option<Arc<Runtime>>,
    ) -> Result<(), Failure> {
        let total = units(dispatch);
        // The interpreter takes all blocks of a cooperative grid on one thread.
        let interpreted = dispatch.cooperative && self.range.is_none();
        // Races are found in the order in which threads access memory.
        let looks = match &self.profiler {
            Some(profiler) => super::watch::count(profiler, dispatch),
            None => super::watch::watch(&self.memory, dispatch),
        };
        let looks = looks.map(Arc::new);
        let counted = looks.as_ref().is_some_and(|looks| looks.counts());
        let range = self.range.filter(|_| !counted);
        let ordered = interpreted || counted || super::watch::in_order(&self.memory);
        // Waking a thread takes longer than a short grid does.
        let alone = ordered
            || self.pool.is_alone(total)
            || !dispatch.cooperative && range.is_some() && is_short(dispatch);
        let failure = if alone {
            let grid = Grid {
                dispatch,
                workspace,
                memory: &self.memory,
                range,
                heaps: &self.heaps,
                runtime: runtime.as_deref(),
                looks: looks.as_deref(),
            };
            let ended = Mutex::new(None);
            Pool::run_alone(total, |job| grid.work(job, &ended));
            ended.into_inner().unwrap_or_else(PoisonError::into_inner)
        } else {
            let ended: Arc<Mutex<Option<Failure>>> = Arc::default();
            let (own, memory, heaps) = (dispatch.clone(), self.memory.clone(), self.heaps.clone());
            let (first, looking) = (ended.clone(), looks.clone());
            self.pool.run(total, move |job| {
                let grid = Grid {
                    dispatch: &own,
                    workspace,
                    memory: &memory,
                    range,
                    heaps: &heaps,
                    runtime: runtime.as_deref(),
                    looks: looking.as_deref(),
                };
                grid.work(job, &first);
            });
            lock(&ended).take()
        };
        if let Some(looks) = looks {
            looks.finish();
        }
        failure.map_or(Ok(()), Err)
    }
}

/// A grid, as each of its threads has it.
struct Grid<'a> {
    dispatch: &'a Dispatch,
    workspace: u64,
    memory: &'a Memory,
    range: Option<Arena>,
    heaps: &'a [Heap],
    runtime: Option<&'a Runtime>,
    looks: Option<&'a Looks>,
}

impl Grid<'_> {
    /// Runs blocks on this thread until there are no more; the first failure of any thread ends all.
    fn work(&self, job: &Job, first: &Mutex<Option<Failure>>) {
        // A panic is a bug of cushim's; the program gets the error of a kernel that failed.
        let result = catch_unwind(AssertUnwindSafe(|| self.part(job))).unwrap_or_else(|_| {
            Err(Failure::Launch("internal error in cushim while the kernel ran".into()))
        });
        if let Err(failure) = result {
            // The other threads end because this one asks them to: their later faults do not count.
            lock(first).get_or_insert(failure);
            job.stop();
        }
    }

    fn part(&self, job: &Job) -> Result<(), Failure> {
        let (dispatch, memory) = (self.dispatch, self.memory);
        let unknown = || Failure::Launch("the module has no such kernel".into());
        let code = dispatch.code.as_any().downcast_ref::<CpuCode>().ok_or_else(unknown)?;
        let launch = KernelLaunch {
            module: &code.module,
            kernel: *code.functions.get(dispatch.kernel).ok_or_else(unknown)?,
            globals: &code.globals,
            grid: dispatch.grid,
            block: dispatch.block,
            dynamic_shared: dispatch.dynamic_shared,
            params: &dispatch.arguments,
            cluster: dispatch.cluster.unwrap_or([1; 3]),
            explicit_cluster: dispatch.cluster.is_some(),
            cooperative: dispatch.cooperative,
            workspace: self.workspace,
            local_limit: LOCAL,
        };
        let heap = self.heaps.get(code.device).ok_or_else(unknown)?;
        let (runtime, graph, watch) = (self.runtime, dispatch.graph.as_deref(), self.looks);
        let host = Host { memory, heap, job, runtime, graph, watch };
        let next = |most| job.next(most);
        let compiled = || code.machine_code(dispatch.kernel, dispatch.block);
        let ended = match self.range.and_then(|range| Some((range, compiled()?))) {
            Some((range, kernel)) => kernel.run_blocks(&launch, &range, memory, &host, &next),
            None => cushim_ptx_jit::interpret(&launch, memory, &host, &next),
        };
        match ended {
            // Only this launch ends; the program gets no error.
            Err(fault) if watch.is_some_and(|looks| looks.failed(&fault, memory)) => {
                job.stop();
                Ok(())
            }
            Err(fault) => Err(fault::failure(&fault, &launch, memory)),
            Ok(()) => Ok(()),
        }
    }
}
