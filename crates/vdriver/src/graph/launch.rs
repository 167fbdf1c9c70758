//! Launches of graphs.
//!
//! Owns how an instance enters a stream: as one place in it. A chain of nodes goes into the stream's own queue;
//! branches have queues of their own, which begin behind what is in the stream and are joined before what comes
//! next. Source: CUDA Driver API, `cuGraphLaunch`. Must not know: how instances are made, which nodes are
//! in which branch ([`super::plan`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::build::taken;
use super::exec::{AUTO_FREE, Exec, exec};
use super::{Payload, memory};
use crate::entry::on_stream;
use crate::state::accelerator;
use crate::status;
use crate::stream::slot::{Slot, host_behind, send};
use crate::stream::{Stream as Object, capture, resolve};
use cushim_accel::locks::lock;
use cushim_accel::{Queue, Signal, Work};

/// Submits everything of an instance that is one chain.
fn run(slot: &mut Slot<'_>, exec: &Exec) -> Result<(), i32> {
    let context = slot.context.clone();
    for node in &exec.order {
        if !node.enabled.load(Ordering::Acquire) {
            continue;
        }
        let payload = lock(&node.payload);
        match &*payload {
            Payload::Kernel(kernel) => {
                let dispatch = Box::new(kernel.dispatch.clone());
                slot.push(Work::Dispatch(dispatch), Vec::new())?;
            }
            Payload::Copy(node) => {
                slot.push(Work::Copy(node.copy), Vec::new())?;
            }
            Payload::Fill(node) => {
                if let Some(fill) = node.fill {
                    slot.push(Work::Fill(fill), Vec::new())?;
                }
            }
            Payload::Host(function) => {
                let (function, context) = (*function, context.clone());
                slot.host(move || {
                    if context.healthy().is_ok() {
                        function.call();
                    }
                })?;
            }
            Payload::Record(event) => event.set(slot.push(Work::Barrier, Vec::new())?),
            Payload::Wait(event) => {
                if let Some(signal) = event.last() {
                    slot.push(Work::Barrier, vec![signal])?;
                }
            }
            Payload::Alloc(allocation) => memory::take_now(allocation),
            Payload::Free(address) => drop(memory::give_back(*address)),
            Payload::Child(_) | Payload::Empty => {}
        }
    }
    Ok(())
}

/// The queues of an instance's lanes but the first.
fn queues(exec: &Exec, device: usize, priority: i32) -> Result<Vec<Arc<dyn Queue>>, i32> {
    let mut lanes = lock(&exec.lanes);
    if lanes.0 != device || lanes.1.is_empty() {
        let make = |_| accelerator().queue(device, priority).map_err(|why| status::of(&why));
        *lanes = (device, (1..exec.plan.lanes).map(make).collect::<Result<_, _>>()?);
    }
    Ok(lanes.1.clone())
}

/// Submits everything of an instance that has branches. `begin` is complete when they may begin.
fn run_branches(
    slot: &mut Slot<'_>,
    exec: &Exec,
    priority: i32,
    begin: &Signal,
) -> Result<(), i32> {
    let context = slot.context.clone();
    let others = queues(exec, context.device, priority)?;
    let own = slot.queue();
    let mut ends: Vec<Signal> = Vec::with_capacity(exec.order.len());
    for (node, step) in exec.order.iter().zip(&exec.plan.steps) {
        let queue = step.lane.checked_sub(1).and_then(|n| others.get(n)).unwrap_or(&own);
        let mut waits: Vec<Signal> =
            step.after.iter().filter_map(|n| ends.get(*n)).cloned().collect();
        if waits.is_empty() {
            waits.push(begin.clone());
        }
        waits.retain(|wait| !wait.is_done());
        let done = Signal::new();
        let work = match &*lock(&node.payload) {
            _ if !node.enabled.load(Ordering::Acquire) => Work::Barrier,
            Payload::Kernel(kernel) => Work::Dispatch(Box::new(kernel.dispatch.clone())),
            Payload::Copy(node) => Work::Copy(node.copy),
            Payload::Fill(node) => node.fill.map_or(Work::Barrier, Work::Fill),
            Payload::Host(function) => {
                let (function, reached) = (*function, Signal::new());
                send(&context, &**queue, Work::Barrier, waits, reached.clone());
                let context = context.clone();
                host_behind(&reached, done.clone(), move || {
                    if context.healthy().is_ok() {
                        function.call();
                    }
                });
                ends.push(done);
                continue;
            }
            Payload::Record(event) => {
                event.set(done.clone());
                Work::Barrier
            }
            Payload::Wait(event) => {
                waits.extend(event.last());
                Work::Barrier
            }
            Payload::Alloc(allocation) => {
                memory::take_now(allocation);
                Work::Barrier
            }
            Payload::Free(address) => {
                drop(memory::give_back(*address));
                Work::Barrier
            }
            Payload::Child(_) | Payload::Empty => Work::Barrier,
        };
        send(&context, &**queue, work, waits, done.clone());
        ends.push(done);
    }
    let last = exec.plan.steps.iter().zip(ends).filter(|(step, _)| step.last);
    let waits = last.map(|(_, end)| end).collect();
    slot.push(Work::Barrier, waits).map(drop)
}

/// Launches an instance in a stream.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where memory that it takes was not given back since its last launch; those of
/// the stream.
fn launch(exec: &Arc<Exec>, stream: &Arc<Object>) -> Result<(), i32> {
    accelerator().flush_output();
    let mut last = lock(&exec.last);
    let allocations = taken(&exec.order);
    if allocations.iter().any(|allocation| memory::is_live(allocation)) {
        if exec.flags & AUTO_FREE == 0 {
            return Err(status::INVALID_VALUE);
        }
        for allocation in &allocations {
            drop(memory::give_back(allocation.address));
        }
    }
    let end = stream.enter(|slot| {
        // An instance runs once at a time, in whatever streams.
        let begin = slot.push(Work::Barrier, vec![last.clone()])?;
        if exec.plan.lanes > 1 {
            run_branches(slot, exec, stream.priority, &begin)?;
        } else {
            run(slot, exec)?;
        }
        slot.push(Work::Barrier, Vec::new())
    })?;
    // The instance may go meanwhile, its memory and what it holds of the program's not yet.
    let kept = exec.clone();
    end.then(move || drop(kept));
    *last = end;
    Ok(())
}

on_stream! { hStream;
    fn cuGraphLaunch cuGraphLaunch_ptsz (hGraphExec: GraphExec, hStream: Stream) {
        let exec = exec(hGraphExec)?;
        let stream = resolve(hStream)?;
        let node = || Ok(Payload::Child(exec.graph.copy(true, true)));
        if capture::take(&stream, node)? {
            return Ok(());
        }
        launch(&exec, &stream)
    }

    fn cuGraphUpload cuGraphUpload_ptsz (hGraphExec: GraphExec, hStream: Stream) {
        // Nothing is to be brought to a device.
        exec(hGraphExec)?;
        resolve(hStream)?.context().map(drop)
    }
}
