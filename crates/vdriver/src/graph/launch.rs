//! Launches of graphs.
//!
//! Owns how an instance enters a stream: as one position in it. A chain of nodes goes into the stream's own queue;
//! branches have their own queues, which start after the stream's earlier work and are joined before later work.
//! Source: CUDA Driver API, `cuGraphLaunch`. Must not know: how instances are created, which nodes are in which
//! branch ([`super::plan`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::build::taken;
use super::exec::{AUTO_FREE, Exec, exec};
use super::run::Run;
use super::steps::Owner;
use super::{Payload, memory};
use crate::entry::on_stream;
use crate::state::accelerator;
use crate::status;
use crate::stream::operation::perform;
use crate::stream::slot::Slot;
use crate::stream::{Stream as Object, capture, resolve};
use cushim_accel::locks::lock;
use cushim_accel::{Signal, Work};

/// Submits everything of an instance that is one chain.
fn chain(slot: &mut Slot<'_>, exec: &Exec, priority: i32, run: &Arc<dyn Owner>) -> Result<(), i32> {
    let context = slot.context.clone();
    for (place, node) in exec.steps.order.iter().enumerate() {
        if let Some(late) = exec.steps.late(place, &context, priority, run) {
            slot.host(late)?;
            continue;
        }
        if !node.enabled.load(Ordering::Acquire) {
            continue;
        }
        let payload = lock(&node.payload);
        match &*payload {
            Payload::Kernel(kernel) => {
                let dispatch = Box::new(run.clone().dispatch(kernel));
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
            Payload::Batch(batch) => {
                let (batch, context) = (batch.clone(), context.clone());
                slot.host(move || perform(&context, &batch.operations))?;
            }
            Payload::Condition(condition) => {
                slot.host(exec.steps.branch(place, condition, &context, priority, run))?;
            }
            Payload::Child(_) | Payload::Empty => {}
        }
    }
    Ok(())
}

/// Submits everything of an instance that has branches. `begin` is complete when they may begin.
fn branches(
    slot: &mut Slot<'_>,
    exec: &Exec,
    priority: i32,
    begin: &Signal,
    run: &Arc<dyn Owner>,
) -> Result<(), i32> {
    let context = slot.context.clone();
    let others = exec.steps.queues(context.device, priority, exec.steps.plan.lanes - 1)?;
    let queues: Vec<_> = std::iter::once(slot.queue()).chain(others).collect();
    let waits = exec.steps.submit(&context, priority, &queues, Some(begin), run);
    slot.push(Work::Barrier, waits).map(drop)
}

/// Launches an instance in a stream.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where memory that it allocates was not freed since its last launch;
/// those of the stream.
fn launch(exec: &Arc<Exec>, stream: &Arc<Object>) -> Result<(), i32> {
    accelerator().flush_output();
    let mut last = lock(&exec.last);
    let allocations = taken(&exec.steps.order);
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
        let mut begin = slot.push(Work::Barrier, vec![last.clone()])?;
        for fill in exec.steps.values().iter().filter_map(|value| value.assign()) {
            begin = slot.push(Work::Fill(fill), Vec::new())?;
        }
        let run = Run::new(exec, &slot.context, stream.priority);
        let owner: Arc<dyn Owner> = run.clone();
        if exec.steps.plan.lanes > 1 {
            branches(slot, exec, stream.priority, &begin, &owner)?;
        } else {
            chain(slot, exec, stream.priority, &owner)?;
        }
        match run.has_end() {
            true => slot.host(move || run.end()),
            false => slot.push(Work::Barrier, Vec::new()),
        }
    })?;
    // The instance may be destroyed meanwhile, but not its memory nor the user objects that it
    // holds.
    exec.uploaded();
    let kept = exec.clone();
    end.then(move || drop(kept));
    *last = end;
    Ok(())
}

on_stream! { hStream;
    fn cuGraphLaunch cuGraphLaunch_ptsz (hGraphExec: GraphExec, hStream: Stream) {
        let exec = exec(hGraphExec)?;
        let stream = resolve(hStream)?;
        let node = || match exec.graph.has_conditions() {
            // A graph with conditional nodes cannot be a child.
            true => Err(status::NOT_SUPPORTED),
            false => Ok(Payload::Child(exec.graph.copy(true, true))),
        };
        if capture::take(&stream, node)? {
            return Ok(());
        }
        launch(&exec, &stream)
    }

    fn cuGraphUpload cuGraphUpload_ptsz (hGraphExec: GraphExec, hStream: Stream) {
        // Nothing needs to be copied to a device.
        let exec = exec(hGraphExec)?;
        resolve(hStream)?.context()?;
        exec.uploaded();
        Ok(())
    }
}
