//! Capture: streams whose work becomes nodes of a graph instead of running.
//!
//! Owns which streams are captured, into which graph, and the nodes that the next one depends on; which calls are
//! refused meanwhile. Source: CUDA Driver API, "Stream Management" (`cuStreamBeginCapture`,
//! `cuThreadExchangeStreamCaptureMode`), CUDA Programming Guide, "Stream Capture"; codes recorded from an H200. Must
//! not know: what the work is.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{Kind, Stream};
use crate::context::Context;
use crate::event::Point;
use crate::graph::{Graph, Payload};
use crate::status;
use cushim_accel::locks::lock;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`.
const GLOBAL: i32 = 0;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: i32 = 2;

/// One capture.
struct Capture {
    id: u64,
    mode: i32,
    thread: u64,
    /// The stream that it began in.
    origin: u64,
    graph: Arc<Graph>,
    /// The program passed the graph.
    given: bool,
    /// An illegal operation has invalidated it: the capture ends without a graph.
    broken: bool,
    /// By the stream's id.
    streams: BTreeMap<u64, Member>,
}

/// A captured stream.
struct Member {
    /// The id of its context.
    context: u64,
    /// It keeps order with the legacy stream.
    blocking: bool,
    /// The nodes that its next one waits for.
    after: BTreeSet<u32>,
}

/// The results of `cuStreamGetCaptureInfo` for a captured stream.
pub struct Info {
    /// `CUstreamCaptureStatus`: 1 active, 2 broken.
    pub status: i32,
    /// The capture's number.
    pub id: u64,
    /// The graph that is being built.
    pub graph: Arc<Graph>,
    /// The nodes that the next one waits for.
    pub after: Vec<u32>,
}

static CAPTURES: Mutex<Vec<Capture>> = Mutex::new(Vec::new());
/// How many captures there are: mostly none, and then no lock is taken.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);
static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: u64 = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
    static MODE: Cell<i32> = const { Cell::new(GLOBAL) };
}

fn thread() -> u64 {
    THREAD.try_with(|id| *id).unwrap_or(0)
}

#[inline]
fn is_any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

fn of(all: &mut [Capture], stream: u64) -> Option<&mut Capture> {
    all.iter_mut().find(|capture| capture.streams.contains_key(&stream))
}

/// Work in the legacy stream would wait for captured streams: that breaks their captures.
fn legacy(all: &mut [Capture], stream: &Stream) -> Result<(), i32> {
    if stream.kind != Kind::Legacy {
        return Ok(());
    }
    let context = stream.context.upgrade().map_or(0, |context| context.id);
    let waits = |capture: &&mut Capture| {
        capture.streams.values().any(|member| member.blocking && member.context == context)
    };
    let mut result = Ok(());
    for capture in all.iter_mut().filter(waits) {
        capture.broken = true;
        result = Err(status::STREAM_CAPTURE_IMPLICIT);
    }
    result
}

/// If a stream is captured, makes a node of work that enters it; false if it is not.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and those of `payload`.
#[inline]
pub fn take(stream: &Stream, payload: impl FnOnce() -> Result<Payload, i32>) -> Result<bool, i32> {
    if is_any() { take_now(stream, payload) } else { Ok(false) }
}

#[cold]
fn take_now(stream: &Stream, payload: impl FnOnce() -> Result<Payload, i32>) -> Result<bool, i32> {
    let mut all = lock(&CAPTURES);
    let Some(capture) = of(&mut all, stream.id) else {
        return legacy(&mut all, stream).map(|()| false);
    };
    if capture.broken {
        return Err(status::STREAM_CAPTURE_INVALIDATED);
    }
    let payload = payload()?;
    if let Some(member) = capture.streams.get_mut(&stream.id) {
        let after: Vec<u32> = member.after.iter().copied().collect();
        let node = capture.graph.add(payload, &after)?;
        member.after = BTreeSet::from([node.id]);
    }
    Ok(true)
}

/// The state of a captured stream; for the legacy one, checks that no others are captured.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
pub fn info(stream: &Stream) -> Result<Option<Info>, i32> {
    if !is_any() {
        return Ok(None);
    }
    let mut all = lock(&CAPTURES);
    if stream.kind == Kind::Legacy {
        return legacy(&mut all, stream).map(|()| None);
    }
    Ok(of(&mut all, stream.id).map(|capture| Info {
        status: if capture.broken { 2 } else { 1 },
        id: capture.id,
        graph: capture.graph.clone(),
        after: capture
            .streams
            .get(&stream.id)
            .map(|member| member.after.iter().copied().collect())
            .unwrap_or_default(),
    }))
}

/// Refuses a call that waits for a stream or queries it while it is captured.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
#[inline]
pub fn refuse(stream: &Stream) -> Result<(), i32> {
    if !is_any() {
        return Ok(());
    }
    let mut all = lock(&CAPTURES);
    match of(&mut all, stream.id) {
        Some(capture) => {
            capture.broken = true;
            Err(status::STREAM_CAPTURE_UNSUPPORTED)
        }
        None => legacy(&mut all, stream),
    }
}

fn refuse_where(found: impl Fn(&Capture) -> bool) -> Result<(), i32> {
    let mut result = Ok(());
    for capture in lock(&CAPTURES).iter_mut().filter(|capture| found(capture)) {
        capture.broken = true;
        result = Err(status::STREAM_CAPTURE_UNSUPPORTED);
    }
    result
}

/// Refuses a call that waits for a context with captured streams.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
#[inline]
pub fn refuse_context(context: &Context) -> Result<(), i32> {
    if !is_any() {
        return Ok(());
    }
    refuse_where(|capture| capture.streams.values().any(|member| member.context == context.id))
}

/// Refuses a call that is unsafe during a capture: one that may wait for the device.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
#[inline]
pub fn refuse_unsafe() -> Result<(), i32> {
    if !is_any() {
        return Ok(());
    }
    let (own, mode) = (thread(), MODE.get());
    if mode == RELAXED {
        return Ok(());
    }
    refuse_where(|capture| {
        let mine = capture.thread == own && capture.mode != RELAXED;
        mine || mode == GLOBAL && capture.mode == GLOBAL
    })
}

/// Changes the mode of this thread; returns the former one.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn exchange(mode: i32) -> i32 {
    MODE.replace(mode)
}

fn member(stream: &Stream, after: BTreeSet<u32>) -> Member {
    let context = stream.context.upgrade().map_or(0, |context| context.id);
    Member { context, blocking: stream.blocking, after }
}

/// Begins to capture a stream, into a new graph or behind nodes of a given one.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for the legacy stream, CUDA_ERROR_INVALID_VALUE for an
/// invalid mode, CUDA_ERROR_ILLEGAL_STATE for a stream that is captured.
pub fn begin(stream: &Stream, mode: i32, into: Option<(Arc<Graph>, Vec<u32>)>) -> Result<(), i32> {
    if !(GLOBAL..=RELAXED).contains(&mode) {
        return Err(status::INVALID_VALUE);
    }
    if stream.kind == Kind::Legacy {
        return Err(status::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut all = lock(&CAPTURES);
    if of(&mut all, stream.id).is_some() {
        return Err(status::ILLEGAL_STATE);
    }
    let given = into.is_some();
    let (graph, after) = into.unwrap_or_else(|| (Graph::new(0, true, false), Vec::new()));
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    all.push(Capture {
        id,
        mode,
        thread: thread(),
        origin: stream.id,
        graph,
        given,
        broken: false,
        streams: BTreeMap::from([(stream.id, member(stream, after.into_iter().collect()))]),
    });
    COUNT.store(all.len(), Ordering::Release);
    Ok(())
}

/// Ends the capture that began in a stream; returns its graph.
///
/// # Errors
/// CUDA_ERROR_ILLEGAL_STATE for a stream that is not captured, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED for one
/// that it did not begin in, which breaks it, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD. With
/// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED and CUDA_ERROR_STREAM_CAPTURE_UNJOINED it has ended, too.
pub fn end(stream: &Stream) -> Result<Arc<Graph>, i32> {
    let mut all = lock(&CAPTURES);
    let capture = of(&mut all, stream.id).ok_or(status::ILLEGAL_STATE)?;
    if capture.origin != stream.id {
        capture.broken = true;
        return Err(status::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != RELAXED && capture.thread != thread() {
        return Err(status::STREAM_CAPTURE_WRONG_THREAD);
    }
    let id = capture.id;
    let place = all.iter().position(|capture| capture.id == id).ok_or(status::ILLEGAL_STATE)?;
    let capture = all.swap_remove(place);
    COUNT.store(all.len(), Ordering::Release);
    drop(all);
    let own = capture.streams.get(&stream.id);
    let ends: Vec<u32> = own.iter().flat_map(|own| own.after.iter().copied()).collect();
    let joined = capture.graph.ancestors(&ends);
    let result = match capture.streams.values().all(|member| member.after.is_subset(&joined)) {
        _ if capture.broken => Err(status::STREAM_CAPTURE_INVALIDATED),
        true => Ok(capture.graph.clone()),
        false => Err(status::STREAM_CAPTURE_UNJOINED),
    };
    if result.is_err() && !capture.given {
        capture.graph.forget();
    }
    result
}

/// A stream is destroyed: the capture that began in it is over. In one that it was forked into, its
/// nodes stay and must be joined like those of other streams (NVIDIA's sample graphMemoryNodes ends
/// its second stream before the capture).
pub fn forget(stream: &Stream) {
    forget_where(|capture, id, _| id == stream.id && id == capture);
}

/// Removes the streams of a context that has ended.
pub fn forget_context(context: u64) {
    forget_where(|_, _, member| member.context == context);
}

/// `gone` gets the stream that a capture began in, a stream, and that stream's state.
fn forget_where(gone: impl Fn(u64, u64, &Member) -> bool) {
    if !is_any() {
        return;
    }
    let mut all = lock(&CAPTURES);
    all.retain_mut(|capture| {
        let before = capture.streams.len();
        capture.streams.retain(|id, member| !gone(capture.origin, *id, member));
        capture.broken |= capture.streams.len() < before;
        let over = !capture.streams.contains_key(&capture.origin);
        if over && !capture.given {
            capture.graph.forget();
        }
        !over
    });
    COUNT.store(all.len(), Ordering::Release);
}

/// The end of a captured stream, for an event that is recorded there; `None` if it is not captured.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
pub fn point(stream: &Stream) -> Result<Option<Point>, i32> {
    if !is_any() {
        return Ok(None);
    }
    let mut all = lock(&CAPTURES);
    let Some(capture) = of(&mut all, stream.id) else {
        return legacy(&mut all, stream).map(|()| None);
    };
    if capture.broken {
        return Err(status::STREAM_CAPTURE_INVALIDATED);
    }
    let after = capture.streams.get(&stream.id).map(|own| own.after.clone());
    Ok(after.map(|after| Point { capture: capture.id, after }))
}

/// Makes a stream wait for a point in a capture: the stream is captured from then on.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_MERGE for a stream of another capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for
/// the legacy stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED. Nothing happens for a capture that is over.
pub fn join(stream: &Stream, point: &Point) -> Result<(), i32> {
    let mut all = lock(&CAPTURES);
    let found = all.iter().position(|capture| capture.id == point.capture);
    let Some(capture) = found.and_then(|place| all.get_mut(place)) else { return Ok(()) };
    if capture.broken {
        return Err(status::STREAM_CAPTURE_INVALIDATED);
    }
    if stream.kind == Kind::Legacy {
        capture.broken = true;
        return Err(status::STREAM_CAPTURE_IMPLICIT);
    }
    if let Some(own) = capture.streams.get_mut(&stream.id) {
        own.after.extend(&point.after);
        return Ok(());
    }
    if let Some(other) = of(&mut all, stream.id) {
        other.broken = true;
        for capture in all.iter_mut().filter(|capture| capture.id == point.capture) {
            capture.broken = true;
        }
        return Err(status::STREAM_CAPTURE_MERGE);
    }
    if let Some(capture) = found.and_then(|place| all.get_mut(place)) {
        capture.streams.insert(stream.id, member(stream, point.after.clone()));
    }
    Ok(())
}

/// A stream should wait for something outside of its capture; false if it is not captured.
///
/// # Errors
/// CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
pub fn isolate(stream: &Stream) -> Result<(), i32> {
    if !is_any() {
        return Ok(());
    }
    let mut all = lock(&CAPTURES);
    match of(&mut all, stream.id) {
        Some(capture) => {
            capture.broken = true;
            Err(status::STREAM_CAPTURE_ISOLATION)
        }
        None => legacy(&mut all, stream),
    }
}

/// A launch into a stream has failed: invalidates its capture, if it is captured.
pub fn spoil(stream: &Stream) {
    if is_any()
        && let Some(capture) = of(&mut lock(&CAPTURES), stream.id)
    {
        capture.broken = true;
    }
}

/// A captured event was queried: invalidates its capture.
pub fn disturb(point: &Point) {
    for capture in lock(&CAPTURES).iter_mut().filter(|capture| capture.id == point.capture) {
        capture.broken = true;
    }
}

/// Sets, or adds to, the nodes that the next one of a captured stream waits for.
///
/// # Errors
/// CUDA_ERROR_ILLEGAL_STATE for a stream that is not captured, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
pub fn update(stream: &Stream, after: Vec<u32>, set: bool) -> Result<(), i32> {
    let mut all = lock(&CAPTURES);
    let capture = of(&mut all, stream.id).ok_or(status::ILLEGAL_STATE)?;
    if capture.broken {
        return Err(status::STREAM_CAPTURE_INVALIDATED);
    }
    if let Some(own) = capture.streams.get_mut(&stream.id) {
        if set {
            own.after.clear();
        }
        own.after.extend(after);
    }
    Ok(())
}
