//! Launches of graphs.
//!
//! Owns how an instance enters a stream: as one place in it, node behind node. CUDA promises of nodes without
//! an edge between them neither that they run at the same time nor that they do not. Source: CUDA Driver
//! API, `cuGraphLaunch`. Must not know: how instances are made.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::build::taken;
use super::exec::{AUTO_FREE, Exec, exec};
use super::{Payload, memory};
use crate::accelerator::Work;
use crate::driver::entry::on_stream;
use crate::driver::state::accelerator;
use crate::driver::status;
use crate::driver::stream::slot::Slot;
use crate::driver::stream::{Stream as Object, capture, resolve};
use crate::locks::lock;

/// Submits everything of an instance.
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
                if let Some(copy) = node.copy {
                    slot.push(Work::Copy(copy), Vec::new())?;
                }
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
        slot.push(Work::Barrier, vec![last.clone()])?;
        run(slot, exec)?;
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
