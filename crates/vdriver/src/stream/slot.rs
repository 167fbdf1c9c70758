//! The end of a stream, where the next work goes.
//!
//! Owns CUDA's order between streams (CUDA Runtime API, "Stream synchronization behavior"): work in the legacy
//! default stream begins when all earlier work in blocking streams has ended, and work in blocking streams begins
//! when all earlier work in the legacy stream has. The queue keeps order within a stream. Must not know: what the
//! work is.

use std::sync::Arc;

use super::{Kind, Stream, Tail, ordered};
use crate::context::Context;
use crate::host;
use cushim_accel::locks::lock;
use cushim_accel::{Outcome, Packet, Queue, Signal, Work};

/// The locked end of a stream: no other thread submits to it meanwhile.
pub struct Slot<'a> {
    /// The stream's context.
    pub context: Arc<Context>,
    queue: Arc<dyn Queue>,
    tail: &'a mut Tail,
    /// The stream's number.
    stream: u64,
    /// What the next packet must wait for.
    waits: Vec<Signal>,
}

impl Stream {
    /// Calls `fill` with the end of this stream. Everything it submits is one step in CUDA's order.
    ///
    /// # Errors
    /// Those of the context, of the accelerator's queue, and of `fill`.
    pub fn enter<R>(&self, fill: impl FnOnce(&mut Slot<'_>) -> Result<R, i32>) -> Result<R, i32> {
        let context = self.context()?;
        let queue = self.queue(context.device)?;
        // The list is locked before the tail of any stream, always in this order.
        let mut list = self.blocking.then(|| lock(&context.streams.list));
        let mut waits = Vec::new();
        match (&mut list, self.kind) {
            (Some(list), Kind::Legacy) => list.retain(|other| {
                let last = other.last();
                let under_way = !last.is_done();
                if under_way && other.blocking {
                    waits.push(last);
                }
                under_way || !other.gone.load(std::sync::atomic::Ordering::Acquire)
            }),
            (Some(_), _) => {
                let last = context.streams.legacy.last();
                if !last.is_done() {
                    waits.push(last);
                }
            }
            (None, _) => {}
        }
        let mut tail = lock(&self.tail);
        if tail.foreign && !tail.last.is_done() {
            waits.push(tail.last.clone());
        }
        let (context, stream) = (context.clone(), self.id);
        if self.kind == Kind::Legacy {
            ordered::may_be();
        }
        let mut slot = Slot { context, queue, tail: &mut tail, stream, waits };
        let result = fill(&mut slot);
        // A wait that no packet took would be lost; a wait for the end itself is kept in any case.
        if result.is_ok() && !slot.waits.is_empty() && !slot.tail.foreign {
            slot.push(Work::Barrier, Vec::new())?;
        }
        result
    }
}

impl Slot<'_> {
    /// Whether the next work could begin at once.
    pub fn is_idle(&self) -> bool {
        self.tail.last.is_done() && self.waits.iter().all(Signal::is_done)
    }

    /// Submits work that begins when everything before it in the stream has ended, and `waits` are
    /// complete. Its end becomes the stream's.
    ///
    /// # Errors
    /// None today.
    pub fn push(&mut self, mut work: Work, mut waits: Vec<Signal>) -> Result<Signal, i32> {
        if !waits.is_empty() || !self.waits.is_empty() || matches!(work, Work::Barrier) {
            ordered::may_be();
        }
        if let Work::Dispatch(dispatch) = &mut work
            && (dispatch.trail.is_some() || dispatch.call != 0)
        {
            dispatch.stream = Some((self.stream, ordered::count()));
        }
        waits.append(&mut self.waits);
        waits.retain(|wait| !wait.is_done());
        let done = Signal::new();
        send(&self.context, &*self.queue, work, waits, done.clone());
        *self.tail = Tail { last: done.clone(), foreign: false };
        Ok(done)
    }

    /// Runs `function` on a host thread when everything before it in the stream has ended. Its end
    /// becomes the stream's.
    ///
    /// # Errors
    /// As [`Slot::push`].
    pub fn host(&mut self, function: impl FnOnce() + Send + 'static) -> Result<Signal, i32> {
        let reached = self.push(Work::Barrier, Vec::new())?;
        let done = Signal::new();
        let end = done.clone();
        host_behind(&reached, end, function);
        self.end_with(done.clone());
        Ok(done)
    }

    /// The queue of the stream. Work sent there without [`Slot::push`] is not part of the stream's
    /// order until pushed work waits for it.
    pub fn queue(&self) -> Arc<dyn Queue> {
        ordered::may_be();
        self.queue.clone()
    }

    /// Makes `last` the end of the stream, for work that was submitted to other queues.
    pub fn end_with(&mut self, last: Signal) {
        ordered::may_be();
        // The next packet in this stream must wait for it, too.
        self.waits.push(last.clone());
        *self.tail = Tail { last, foreign: true };
    }
}

/// Runs `function` on a host thread when `reached` is complete; then completes `end`.
pub fn host_behind(reached: &Signal, end: Signal, function: impl FnOnce() + Send + 'static) {
    reached.then(move || {
        host::run(move || {
            function();
            end.complete(Outcome::default());
        });
    });
}

/// Submits a packet; its failure becomes the context's.
pub fn send(
    context: &Arc<Context>,
    queue: &dyn Queue,
    work: Work,
    waits: Vec<Signal>,
    done: Signal,
) {
    if !matches!(work, Work::Barrier) {
        // Set before waiting threads see the end, so that their calls return the failure.
        let context = context.clone();
        done.first(move |outcome| {
            if let Some(failure) = &outcome.failure {
                context.fail(failure);
            }
        });
    }
    queue.submit(Packet { work, waits, done });
}
