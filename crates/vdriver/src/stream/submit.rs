//! Submits work to a stream, or to the graph that captures it.
//!
//! Must not know: the order between streams ([`super::slot`]), the state of captures ([`super::capture`]).

use cushim_abi::types as abi;

use super::{capture, resolve_anywhere};
use crate::graph::Payload;
use crate::graph::work::{CopyNode, FillNode, KernelNode};
use crate::memory::home::Home;
use cushim_accel::Work;

/// The only way into a stream for work: resolves the handle, keeps CUDA's order between streams,
/// makes a graph node of it where the stream is being captured. Returns without waiting.
///
/// # Errors
/// Those of [`resolve_anywhere`] and of the stream's context; CUDA_ERROR_STREAM_CAPTURE_*.
pub fn submit(stream: abi::Stream, work: Work) -> Result<(), i32> {
    let stream = resolve_anywhere(stream)?;
    let mut work = Some(work);
    if capture::take(&stream, || Ok(payload(work.take())))? {
        return Ok(());
    }
    let Some(work) = work else { return Ok(()) };
    stream.enter(|slot| slot.push(work, Vec::new())).map(drop)
}

/// The node's payload for work.
fn payload(work: Option<Work>) -> Payload {
    match work {
        Some(Work::Dispatch(dispatch)) => Payload::Kernel(KernelNode::new(*dispatch)),
        Some(Work::Copy(copy)) => {
            Payload::Copy(CopyNode::captured(copy, Home::Shared, Home::Shared))
        }
        Some(Work::Fill(fill)) => Payload::Fill(FillNode::captured(fill)),
        Some(Work::Barrier) | None => Payload::Empty,
    }
}
