//! Runs of graphs, and the graphs that their kernels launch.
//!
//! Owns which graphs a kernel may launch, and their order: a graph is complete when its nodes and all fire-and-forget
//! graphs that they launched are complete; then its tail launches run, one by one, each with its own tail launches
//! before the next. A sibling launch belongs to whatever launched the run. Source: CUDA Programming Guide, "Device
//! Graph Launch". Must not know: how nodes run ([`super::steps`]), how an instance is created ([`super::exec`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::exec::{DEVICE_LAUNCH, EXECS, Exec};
use super::steps::Owner;
use super::work::KernelNode;
use crate::context::Context;
use crate::handle::handle;
use crate::{host, status};
use cushim_accel::locks::lock;
use cushim_accel::{Dispatch, GraphRun, Outcome, Signal};

/// `cudaStreamGraphTailLaunch`, `cudaStreamGraphFireAndForget`, `cudaStreamGraphFireAndForgetAsSibling`.
const TAIL: u64 = 1 << 56;
const FIRE_AND_FORGET: u64 = 2 << 56;
const SIBLING: u64 = 3 << 56;
/// Graphs that one run may fire off, and that may wait for its end.
const MOST_FIRED: u32 = 120;
const MOST_TAILS: usize = 255;
/// `cudaErrorLaunchPendingCountExceeded`, which the driver does not have.
const PENDING_COUNT: i32 = 69;

/// Ends of launches that were not waited for yet.
type Ends = Arc<Mutex<Vec<Signal>>>;

/// One run of an instance.
pub struct Run {
    exec: Arc<Exec>,
    context: Arc<Context>,
    priority: i32,
    /// The recorded call that launched it, or the graph that fired it off.
    call: u64,
    /// What its kernels have fired off.
    children: Ends,
    /// The list that it is in itself: its siblings go there.
    around: Ends,
    tails: Mutex<VecDeque<Arc<Exec>>>,
    fired: AtomicU32,
    /// One of its kernels may launch graphs.
    launches: AtomicBool,
}

impl Run {
    /// The run of a launch by the host.
    pub fn new(exec: &Arc<Exec>, context: &Arc<Context>, priority: i32) -> Arc<Run> {
        exec.running.fetch_add(1, Ordering::AcqRel);
        let call = cushim_accel::calls::number();
        Run::within(exec.clone(), context.clone(), (priority, call), Ends::default())
    }

    fn within(
        exec: Arc<Exec>,
        context: Arc<Context>,
        (priority, call): (i32, u64),
        around: Ends,
    ) -> Arc<Run> {
        let (children, tails, fired) = (Ends::default(), Mutex::default(), AtomicU32::new(0));
        let launches = AtomicBool::new(exec.steps.has_bodies());
        Arc::new(Run { exec, context, priority, call, children, around, tails, fired, launches })
    }

    /// Whether [`Run::end`] must follow its nodes: its kernels may launch graphs, or kernels may
    /// launch this graph and must know when it no longer runs.
    pub fn has_end(&self) -> bool {
        self.launches.load(Ordering::Acquire) || self.exec.flags & DEVICE_LAUNCH != 0
    }

    /// Runs after its nodes: waits for all that it fired off, runs its tail, and waits for its
    /// siblings.
    pub fn end(&self) {
        wait_all(&self.children);
        self.exec.running.fetch_sub(1, Ordering::AcqRel);
        self.run_tails();
        wait_all(&self.around);
    }

    /// Runs its nodes and all that they fire off, and waits for them.
    fn whole(self: &Arc<Self>) {
        // Where no queue can be made, the context has failed already or nothing runs.
        let owner: Arc<dyn Owner> = self.clone();
        let _ = self.exec.steps.run(&self.context, self.priority, &owner);
        wait_all(&self.children);
        self.exec.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// Runs the graphs of its tail, each with its own tail.
    fn run_tails(&self) {
        let mut waiting = vec![std::mem::take(&mut *lock(&self.tails))];
        while let Some(tails) = waiting.last_mut() {
            let next = tails.pop_front();
            // Runs that are over are forgotten: a graph may launch itself as its tail without end.
            if tails.is_empty() {
                waiting.pop();
            }
            let Some(exec) = next.filter(|_| self.context.healthy().is_ok()) else { continue };
            exec.running.fetch_add(1, Ordering::AcqRel);
            let around = self.around.clone();
            let run = Run::within(exec, self.context.clone(), (self.priority, self.call), around);
            run.whole();
            waiting.push(std::mem::take(&mut *lock(&run.tails)));
        }
    }

    /// Starts a graph that counts as running, on a thread of its own; it belongs to `around`.
    fn fire(&self, exec: Arc<Exec>, around: &Ends) {
        let own = (self.priority, self.call);
        let run = Run::within(exec, self.context.clone(), own, around.clone());
        let end = Signal::new();
        lock(around).push(end.clone());
        host::run(move || {
            run.whole();
            run.run_tails();
            end.complete(Outcome::default());
        });
    }
}

impl Owner for Run {
    fn dispatch(self: Arc<Self>, kernel: &KernelNode) -> Dispatch {
        let mut dispatch = kernel.dispatch.clone();
        dispatch.call = self.call;
        let found = dispatch.code.kernels().get(dispatch.kernel);
        let launches = found.is_some_and(|kernel| kernel.launches_graphs);
        if launches {
            self.launches.store(true, Ordering::Release);
        }
        if launches || self.exec.flags & DEVICE_LAUNCH != 0 {
            dispatch.graph = Some(self);
        }
        dispatch
    }
}

impl GraphRun for Run {
    fn handle(&self) -> u64 {
        let own = self.exec.flags & DEVICE_LAUNCH != 0;
        if own { handle(&self.exec) as u64 } else { 0 }
    }

    fn launch(&self, graph: u64, stream: u64) -> Result<(), i32> {
        let exec = EXECS.get(graph as usize).ok_or(status::INVALID_VALUE)?;
        if exec.flags & DEVICE_LAUNCH == 0 || !exec.is_uploaded() {
            return Err(status::INVALID_VALUE);
        }
        match stream {
            TAIL => {
                let mut tails = lock(&self.tails);
                if tails.len() >= MOST_TAILS {
                    return Err(PENDING_COUNT);
                }
                // At most one launch of itself may wait.
                let own = |other: &Arc<Exec>| Arc::ptr_eq(other, &self.exec);
                if own(&exec) && tails.iter().any(own) {
                    return Err(status::INVALID_VALUE);
                }
                tails.push_back(exec);
                Ok(())
            }
            FIRE_AND_FORGET | SIBLING => {
                // A graph that runs cannot be launched a second time beside itself.
                let idle = exec.running.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
                idle.map_err(|_| status::INVALID_VALUE)?;
                if self.fired.fetch_add(1, Ordering::AcqRel) >= MOST_FIRED {
                    exec.running.fetch_sub(1, Ordering::AcqRel);
                    return Err(PENDING_COUNT);
                }
                self.fire(exec, if stream == SIBLING { &self.around } else { &self.children });
                Ok(())
            }
            _ => Err(status::INVALID_VALUE),
        }
    }
}

/// Waits until nothing is left, including later launches.
fn wait_all(ends: &Ends) {
    loop {
        let taken = std::mem::take(&mut *lock(ends));
        if taken.is_empty() {
            return;
        }
        taken.iter().for_each(|end| drop(end.wait()));
    }
}
