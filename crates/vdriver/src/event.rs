//! Events: points in streams that can be asked for, waited for and timed.
//!
//! Owns the objects and what their last record was. Source: CUDA Driver API, "Event Management". Must not
//! know: what the work before them was.

use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types::{self as abi, *};

use super::context::{self, Context as Owner};
use super::entry::{entry, on_stream};
use super::event_shared::Shared;
use super::graph::Payload;
use super::handle::Handles;
use super::memory::ipc::{Handle, What};
use super::state::{accelerator, at, check, give};
use super::status;
use super::stream::{Stream as InStream, capture, resolve_anywhere};
use cushim_accel::locks::lock;
use cushim_accel::{Signal, Work};

/// `CU_EVENT_BLOCKING_SYNC`, `CU_EVENT_DISABLE_TIMING`, `CU_EVENT_INTERPROCESS`.
const FLAGS: u32 = 7;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

/// An event.
pub struct Object {
    flags: u32,
    /// Its context.
    pub context: Weak<Owner>,
    recorded: Mutex<Record>,
    /// What it has with other processes, and the number of its last record of this one there.
    shared: Mutex<Option<(Arc<Shared>, u32)>>,
}

/// The last record of an event.
#[derive(Clone, Default)]
enum Record {
    /// None.
    #[default]
    Never,
    /// In a stream.
    At(Signal),
    /// In a stream that was captured.
    Captured(capture::Point),
}

/// Events by handle.
pub static EVENTS: Handles<Object> = Handles::new();

/// The event of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn by_handle(event: abi::Event) -> Result<Arc<Object>, i32> {
    check()?;
    EVENTS.get(event.0).ok_or(status::INVALID_HANDLE)
}

impl Object {
    fn new(flags: u32, context: &Arc<Owner>, shared: Option<Arc<Shared>>) -> Arc<Object> {
        let (context, shared) = (Arc::downgrade(context), Mutex::new(shared.map(|s| (s, 0))));
        Arc::new(Object { flags, context, recorded: Mutex::default(), shared })
    }

    /// The last record, if it is another process's.
    fn foreign(&self) -> Option<Signal> {
        let shared = lock(&self.shared);
        let (shared, own) = shared.as_ref()?;
        (shared.latest() != *own).then(|| shared.last())
    }

    /// What it has with other processes, from now on.
    fn share(&self) -> Result<Arc<Shared>, i32> {
        let mut place = lock(&self.shared);
        if let Some((shared, _)) = &*place {
            return Ok(shared.clone());
        }
        let shared = Shared::new()?;
        let number = match &*lock(&self.recorded) {
            Record::At(signal) => shared.record(signal),
            Record::Never | Record::Captured(_) => 0,
        };
        *place = Some((shared.clone(), number));
        Ok(shared)
    }

    /// Complete when what was before the last record is; `None` if it was never recorded.
    pub fn last(&self) -> Option<Signal> {
        if let Some(signal) = self.foreign() {
            return Some(signal);
        }
        match &*lock(&self.recorded) {
            Record::At(signal) => Some(signal.clone()),
            Record::Never | Record::Captured(_) => None,
        }
    }

    /// As [`Object::last`], for a call that asks for the event's state.
    ///
    /// # Errors
    /// CUDA_ERROR_CAPTURED_EVENT, which ends the capture.
    fn asked(&self) -> Result<Option<Signal>, i32> {
        if let Some(signal) = self.foreign() {
            return Ok(Some(signal));
        }
        match &*lock(&self.recorded) {
            Record::Never => Ok(None),
            Record::At(signal) => Ok(Some(signal.clone())),
            Record::Captured(point) => {
                capture::disturb(point);
                Err(status::CAPTURED_EVENT)
            }
        }
    }

    /// Makes `signal` the last record.
    pub fn set(&self, signal: Signal) {
        if let Some((shared, number)) = &mut *lock(&self.shared) {
            *number = shared.record(&signal);
        }
        *lock(&self.recorded) = Record::At(signal);
    }

    /// Whether calls on it may go on.
    ///
    /// # Errors
    /// As [`Owner::healthy`].
    pub fn healthy(&self) -> Result<(), i32> {
        self.context.upgrade().ok_or(status::CONTEXT_IS_DESTROYED)?.healthy()
    }

    /// When the last record was reached, in nanoseconds of the accelerator's clock.
    fn time(&self) -> Result<u64, i32> {
        if self.flags & DISABLE_TIMING != 0 {
            return Err(status::INVALID_HANDLE);
        }
        let signal = self.asked()?.ok_or(status::INVALID_HANDLE)?;
        Ok(signal.outcome().ok_or(status::NOT_READY)?.end)
    }
}

fn record(event: abi::Event, stream: &Arc<InStream>, external: bool) -> Result<(), i32> {
    let event = by_handle(event)?;
    if !Weak::ptr_eq(&event.context, &stream.context) {
        return Err(status::INVALID_HANDLE);
    }
    if external {
        // Such a record is a node; outside of capture there is none.
        let captured = capture::take(stream, || Ok(Payload::Record(event)))?;
        return if captured { Ok(()) } else { Err(status::ILLEGAL_STATE) };
    }
    if let Some(point) = capture::point(stream)? {
        *lock(&event.recorded) = Record::Captured(point);
        return Ok(());
    }
    let signal = stream.enter(|slot| slot.push(Work::Barrier, Vec::new()))?;
    event.set(signal);
    Ok(())
}

/// Makes what follows in a stream wait for the last record of an event.
fn wait(stream: &Arc<InStream>, event: &Arc<Object>, external: bool) -> Result<(), i32> {
    if external {
        // As above.
        let captured = capture::take(stream, || Ok(Payload::Wait(event.clone())))?;
        return if captured { Ok(()) } else { Err(status::ILLEGAL_STATE) };
    }
    let last = event.foreign().map(Record::At);
    let last = last.unwrap_or_else(|| lock(&event.recorded).clone());
    let signal = match last {
        Record::Never => return stream.context().map(drop),
        Record::Captured(point) => return capture::join(stream, &point),
        Record::At(signal) => signal,
    };
    capture::isolate(stream)?;
    stream.enter(|slot| slot.push(Work::Barrier, vec![signal])).map(drop)
}

entry! {
    fn cuEventCreate (phEvent: Out<Event>, flags: Flags) {
        let context = context::current()?;
        let timed = flags.0 & DISABLE_TIMING == 0;
        if phEvent.0.is_null() || flags.0 & !FLAGS != 0 || flags.0 & INTERPROCESS != 0 && timed {
            return Err(status::INVALID_VALUE);
        }
        give(phEvent, abi::Event(EVENTS.add(Object::new(flags.0, &context, None))))
    }

    fn cuIpcGetEventHandle (pHandle: Ptr, event: Event) {
        context::current()?;
        if pHandle.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        let event = by_handle(event)?;
        if event.flags & INTERPROCESS == 0 {
            return Err(status::INVALID_HANDLE);
        }
        give(at(pHandle), Handle::new(What::Event, &event.share()?.file)?)
    }

    fn cuIpcOpenEventHandle (phEvent: Out<Event>, handle: IpcHandle) {
        let context = context::current()?;
        if phEvent.0.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let (file, _) = Handle::read(handle.0, What::Event)?.open()?;
        let shared = Shared::of(file).ok_or(status::INVALID_VALUE)?;
        let event = Object::new(DISABLE_TIMING | INTERPROCESS, &context, Some(shared));
        give(phEvent, abi::Event(EVENTS.add(event)))
    }

    fn cuEventDestroy cuEventDestroy_v2 (hEvent: Event) {
        check()?;
        EVENTS.remove(hEvent.0).map(drop).ok_or(status::INVALID_HANDLE)
    }

    fn cuEventQuery (hEvent: Event) {
        let event = by_handle(hEvent)?;
        event.healthy()?;
        let last = event.asked()?;
        capture::refuse_unsafe()?;
        match last {
            Some(signal) if !signal.is_done() => Err(status::NOT_READY),
            _ => event.healthy(),
        }
    }

    fn cuEventSynchronize (hEvent: Event) {
        let event = by_handle(hEvent)?;
        event.healthy()?;
        if let Some(signal) = event.asked()? {
            signal.wait();
        }
        accelerator().flush_output();
        super::memory::pool::reclaim();
        event.healthy()
    }

    fn cuEventElapsedTime cuEventElapsedTime_v2 (pMilliseconds: Ptr, hStart: Event, hEnd: Event) {
        let (start, end) = (by_handle(hStart)?, by_handle(hEnd)?);
        if pMilliseconds.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        start.healthy()?;
        // Both are asked before either answers "not ready": a wrong one counts more.
        let (begun, ended) = (start.time(), end.time());
        if let Some(code) = [begun, ended].into_iter().filter_map(Result::err).find(|code| *code != status::NOT_READY) {
            return Err(code);
        }
        let (begun, ended) = (begun?, ended?);
        give(at(pMilliseconds), ended.wrapping_sub(begun) as i64 as f32 / 1e6)
    }

    fn cuCtxRecordEvent (hCtx: Context, hEvent: Event) {
        let context = context::of(hCtx.0)?;
        context.healthy()?;
        let event = by_handle(hEvent)?;
        capture::refuse_context(&context)?;
        // Everything in every stream of the context: what the legacy stream would wait for, and more.
        let tails = context.streams.tails();
        let all = Signal::all(tails, || accelerator().now());
        event.set(all);
        Ok(())
    }

    fn cuCtxWaitEvent (hCtx: Context, hEvent: Event) {
        let context = context::of(hCtx.0)?;
        let event = by_handle(hEvent)?;
        for stream in context.streams.all() {
            wait(&stream, &event, false)?;
        }
        Ok(())
    }
}

on_stream! { hStream;
    fn cuEventRecord cuEventRecord_ptsz (hEvent: Event, hStream: Stream) {
        let stream = resolve_anywhere(hStream)?;
        record(hEvent, &stream, false)
    }

    fn cuEventRecordWithFlags cuEventRecordWithFlags_ptsz (hEvent: Event, hStream: Stream, flags: Flags) {
        let stream = resolve_anywhere(hStream)?;
        // CU_EVENT_RECORD_EXTERNAL.
        if flags.0 > 1 {
            return Err(status::INVALID_VALUE);
        }
        record(hEvent, &stream, flags.0 == 1)
    }

    fn cuStreamWaitEvent cuStreamWaitEvent_ptsz (hStream: Stream, hEvent: Event, flags: Flags) {
        let stream = resolve_anywhere(hStream)?;
        let event = by_handle(hEvent)?;
        // CU_EVENT_WAIT_EXTERNAL.
        if flags.0 > 1 {
            return Err(status::INVALID_VALUE);
        }
        wait(&stream, &event, flags.0 == 1)
    }
}
