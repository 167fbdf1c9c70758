//! The API functions on events.
//!
//! Source: CUDA Driver API, "Event Management". Must not know: an event's state ([`super::event`]).

use std::sync::{Arc, Weak};

use cushim_abi::types::{self as abi, *};

use super::context;
use super::entry::{entry, on_stream};
use super::event::{EVENTS, Object, Record, by_handle};
use super::event_shared::Shared;
use super::graph::Payload;
use super::memory::ipc::{Handle, What};
use super::memory::pool;
use super::state::{accelerator, check, give};
use super::status;
use super::stream::{Stream as InStream, capture, ordered, resolve_anywhere};
use crate::argument::At;
use cushim_accel::locks::lock;
use cushim_accel::{Signal, Work};

/// `CU_EVENT_BLOCKING_SYNC`, `CU_EVENT_DISABLE_TIMING`, `CU_EVENT_INTERPROCESS`.
const FLAGS: u32 = 7;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

/// As [`Object::last`], for a call that asks for the event's state.
///
/// # Errors
/// CUDA_ERROR_CAPTURED_EVENT, which ends the capture.
fn asked(event: &Object) -> Result<Option<Signal>, i32> {
    if let Some(signal) = event.foreign() {
        return Ok(Some(signal));
    }
    match &*lock(&event.recorded) {
        Record::Never => Ok(None),
        Record::At(signal) => Ok(Some(signal.clone())),
        Record::Captured(point) => {
            capture::disturb(point);
            Err(status::CAPTURED_EVENT)
        }
    }
}

/// When the last record was reached, in nanoseconds of the accelerator's clock.
fn time(event: &Object) -> Result<u64, i32> {
    if event.flags & DISABLE_TIMING != 0 {
        return Err(status::INVALID_HANDLE);
    }
    let signal = asked(event)?.ok_or(status::INVALID_HANDLE)?;
    Ok(signal.outcome().ok_or(status::NOT_READY)?.end)
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

/// Makes later work in a stream wait for the last record of an event.
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
        if phEvent.is_null() || flags.0 & !FLAGS != 0 || flags.0 & INTERPROCESS != 0 && timed {
            return Err(status::INVALID_VALUE);
        }
        give(phEvent, abi::Event(EVENTS.add(Object::new(flags.0, &context, None))))
    }

    fn cuIpcGetEventHandle (pHandle: At<Handle>, event: Event) {
        context::current()?;
        if pHandle.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let event = by_handle(event)?;
        if event.flags & INTERPROCESS == 0 {
            return Err(status::INVALID_HANDLE);
        }
        give(pHandle, Handle::new(What::Event, &event.share()?.file)?)
    }

    fn cuIpcOpenEventHandle (phEvent: Out<Event>, handle: IpcHandle) {
        let context = context::current()?;
        if phEvent.is_null() {
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
        let last = asked(&event)?;
        capture::refuse_unsafe()?;
        ordered::may_be();
        match last {
            Some(signal) if !signal.is_done() => Err(status::NOT_READY),
            _ => event.healthy(),
        }
    }

    fn cuEventSynchronize (hEvent: Event) {
        let event = by_handle(hEvent)?;
        event.healthy()?;
        if let Some(signal) = asked(&event)? {
            signal.wait();
        }
        ordered::may_be();
        accelerator().flush_output();
        pool::reclaim();
        event.healthy()
    }

    fn cuEventElapsedTime cuEventElapsedTime_v2 (pMilliseconds: At<f32>, hStart: Event, hEnd: Event) {
        let (start, end) = (by_handle(hStart)?, by_handle(hEnd)?);
        if pMilliseconds.is_null() {
            return Err(status::INVALID_VALUE);
        }
        start.healthy()?;
        // Both are checked before "not ready" is returned: an error of either takes precedence.
        let (begun, ended) = (time(&start), time(&end));
        if let Some(code) = [begun, ended].into_iter().filter_map(Result::err).find(|code| *code != status::NOT_READY) {
            return Err(code);
        }
        let (begun, ended) = (begun?, ended?);
        give(pMilliseconds, ended.wrapping_sub(begun) as i64 as f32 / 1e6)
    }

    fn cuCtxRecordEvent (hCtx: Context, hEvent: Event) {
        let context = context::of(hCtx.0)?;
        context.healthy()?;
        let event = by_handle(hEvent)?;
        capture::refuse_context(&context)?;
        // Everything in every stream of the context: more than the legacy stream would wait for.
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
