//! CUDA's device runtime, for the kernels of one grid.
//!
//! Owns the launches of the grid's threads, each thread's last error, and the dispatch of calls. Launched work runs
//! later ([`super::children`]), except that `cudaDeviceSynchronize` waits for what its block has launched so far.
//! Source: CUDA Programming Guide, "CUDA Dynamic Parallelism"; results of invalid calls were recorded from an H200.
//! Must not know: how kernels run.

mod graph;
mod launch;
mod memory;
mod query;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use cushim_accel::locks::lock;
use cushim_accel::{Answers, Dispatch, Failure, Work};
use cushim_ptx::exec::{Caller, Cause, Memory as _, RuntimeCall};

use super::children::Launched;
use super::code::CpuCode;
use super::heap::Heap;
use super::memory::Memory;

/// `cudaError_t`.
mod error {
    pub const INVALID_VALUE: i32 = 1;
    pub const MEMORY_ALLOCATION: i32 = 2;
    pub const INVALID_CONFIGURATION: i32 = 9;
    pub const INVALID_PITCH: i32 = 12;
    pub const INVALID_DIRECTION: i32 = 21;
    pub const SYNC_DEPTH: i32 = 68;
    pub const PENDING_COUNT: i32 = 69;
    pub const INVALID_DEVICE: i32 = 101;
    pub const UNSUPPORTED_LIMIT: i32 = 215;
    pub const NOT_SUPPORTED: i32 = 801;
}

/// Streams by name: the legacy and the per-thread one, which are the block's own, tail launches, fire and forget.
const TAIL: u64 = 3;
const FIRE_AND_FORGET: u64 = 4;
/// Handles of streams and events begin here.
const FIRST_HANDLE: u64 = 0xc08a_0000;
/// `cudaLimitDevRuntimePendingLaunchCount`, and its default.
const PENDING: (i32, u64) = (4, 2048);
/// How deep grids may wait for each other.
const DEEPEST: u32 = 24;

/// The object that answers queries, and the addresses of strings that kernels got.
#[derive(Default)]
pub struct Answered {
    answers: OnceLock<&'static dyn Answers>,
    texts: Mutex<HashMap<&'static str, u64>>,
}

impl Answered {
    /// Sets the object that answers.
    pub fn set(&self, answers: &'static dyn Answers) {
        let _ = self.answers.set(answers);
    }

    fn get(&self) -> Option<&'static dyn Answers> {
        self.answers.get().copied()
    }

    /// Where kernels can read a text; it stays there.
    fn text(&self, memory: &Memory, text: &'static str) -> u64 {
        let mut texts = lock(&self.texts);
        if let Some(at) = texts.get(text) {
            return *at;
        }
        let bytes = [text.as_bytes(), &[0]].concat();
        let Some(at) = memory.arena.allocate(bytes.len() as u64, 1) else { return 0 };
        if memory.store(at, &bytes).is_err() {
            return 0;
        }
        texts.insert(text, at);
        at
    }
}

/// A thread: its block, and its index there.
type Thread = ([u32; 3], [u32; 3]);

/// A buffer for the arguments of a launch.
struct Buffer {
    bytes: u32,
    /// Its purpose, if the buffer was requested with one.
    launch: Option<launch::Shape>,
}

#[derive(Default)]
struct State {
    buffers: HashMap<u64, Buffer>,
    /// Work in streams, by the block that launched it.
    children: Vec<([u32; 3], Work)>,
    tails: Vec<Work>,
    errors: HashMap<Thread, i32>,
    handles: u64,
    failure: Option<Failure>,
}

/// Runs launched grids, and everything that they launch, to the end.
pub type RunAll = Box<dyn Fn(Launched) -> Result<(), Failure> + Send + Sync>;

/// The calls of one grid.
pub struct Runtime {
    dispatch: Dispatch,
    device: usize,
    memory: Arc<Memory>,
    heaps: Arc<[Heap]>,
    answers: Arc<Answered>,
    run_all: RunAll,
    state: Mutex<State>,
}

/// The result of a call: a `cudaError_t`, and whether it becomes the thread's last error.
type Answer = Result<Result<(), i32>, Cause>;

impl Runtime {
    /// For the calls of a grid.
    pub fn new(
        dispatch: &Dispatch,
        memory: Arc<Memory>,
        heaps: Arc<[Heap]>,
        answers: Arc<Answered>,
        run_all: RunAll,
    ) -> Runtime {
        let code = dispatch.code.as_any().downcast_ref::<CpuCode>();
        let device = code.map_or(0, |code| code.device);
        let (dispatch, state) = (dispatch.clone(), Mutex::default());
        Runtime { dispatch, device, memory, heaps, answers, run_all, state }
    }

    /// Why a grid failed that a thread waited for.
    pub fn failure(&self) -> Option<Failure> {
        lock(&self.state).failure.take()
    }

    /// Everything that was launched.
    pub fn launched(&self) -> Launched {
        let mut state = lock(&self.state);
        let children = std::mem::take(&mut state.children).into_iter().map(|(_, work)| work);
        let tails = std::mem::take(&mut state.tails).into();
        Launched { children: children.collect(), tails }
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn heap(&self) -> Option<&Heap> {
        self.heaps.get(self.device)
    }

    /// Does a call for a thread.
    ///
    /// # Errors
    /// What ends the launch.
    pub fn call(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Result<u64, Cause> {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        let thread = caller.place();
        match call {
            Call::LastError => {
                return Ok(lock(&self.state).errors.remove(&thread).unwrap_or(0) as u64);
            }
            Call::PeekError => {
                let found = lock(&self.state).errors.get(&thread).copied();
                return Ok(found.unwrap_or(0) as u64);
            }
            Call::ErrorString | Call::ErrorName => {
                let name = call == Call::ErrorName;
                return Ok(self.error_text(arg(0) as i32, name));
            }
            Call::ParameterBuffer => return Ok(self.buffer(arg(1) as u32, None)),
            Call::ParameterBufferV2 => {
                let words = [arg(1), arg(2), arg(3), arg(4)];
                let shape = self.shape(arg(0), words, arg(5) as u32)?;
                return Ok(match shape {
                    Ok((shape, bytes)) => self.buffer(bytes, Some(shape)),
                    Err(code) => {
                        self.remember(thread, code);
                        0
                    }
                });
            }
            _ => {}
        }
        let remembered = !matches!(call, Call::Occupancy | Call::OccupancyWithFlags);
        let code = self.does(call, caller)?.err().unwrap_or(0);
        if code != 0 && remembered {
            self.remember(thread, code);
        }
        Ok(code as u64)
    }

    fn does(&self, call: RuntimeCall, caller: &mut dyn Caller) -> Answer {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        match call {
            Call::Launch => {
                let words = [arg(2), arg(3), arg(4), arg(5)];
                let shape = self.shape(arg(0), words, arg(6) as u32)?;
                let (buffer, stream, block) = (arg(1), arg(7), caller.place().0);
                Ok(shape.and_then(|(shape, _)| self.launch(Some(shape), buffer, stream, block)))
            }
            Call::LaunchV2 => Ok(self.launch(None, arg(0), arg(1), caller.place().0)),
            Call::Synchronize => self.synchronize(caller.place().0),
            Call::StreamCreate if arg(1) > 1 => Ok(Err(error::INVALID_VALUE)),
            // Devices may create events without timing only.
            Call::EventCreate if arg(1) & 2 == 0 || arg(1) > 7 => Ok(Err(error::INVALID_VALUE)),
            Call::StreamCreate | Call::EventCreate => {
                let handle = self.handle();
                Ok(give(caller, &handle.to_le_bytes()))
            }
            Call::StreamDestroy | Call::EventDestroy => Ok(self.known(arg(0))),
            // Work that waits for this event comes after it in any case.
            Call::StreamWait => Ok(self.in_order(arg(0)).and_then(|()| self.known(arg(1)))),
            Call::EventRecord | Call::EventRecordWithFlags => {
                Ok(self.in_order(arg(1)).and_then(|()| self.known(arg(0))))
            }
            Call::Malloc | Call::Free => self.heap_call(call, caller),
            Call::Copy | Call::Copy2D | Call::Copy3D | Call::Set | Call::Set2D | Call::Set3D => {
                Ok(self.memory_call(call, caller))
            }
            call if call.is_about_graphs() => Ok(self.graph_call(call, caller)),
            _ => self.question(call, caller),
        }
    }

    fn remember(&self, thread: Thread, code: i32) {
        lock(&self.state).errors.insert(thread, code);
    }

    fn handle(&self) -> u64 {
        let mut state = lock(&self.state);
        state.handles += 1;
        FIRST_HANDLE + state.handles
    }

    /// Whether there is such a stream or event of the grid's own.
    fn known(&self, handle: u64) -> Result<(), i32> {
        let last = FIRST_HANDLE + lock(&self.state).handles;
        let found = (FIRST_HANDLE + 1..=last).contains(&handle);
        if found { Ok(()) } else { Err(error::INVALID_VALUE) }
    }

    /// Whether a stream is one in which work follows work.
    fn in_order(&self, stream: u64) -> Result<(), i32> {
        if stream < TAIL { Ok(()) } else { self.known(stream) }
    }

    /// Puts work into a stream.
    fn enqueue(&self, stream: u64, block: [u32; 3], work: Work) -> Result<(), i32> {
        if stream != TAIL && stream != FIRE_AND_FORGET {
            self.in_order(stream)?;
        }
        let answers = self.answers.get();
        let limit = answers.and_then(|answers| answers.limit(self.device, PENDING.0).ok());
        let mut state = lock(&self.state);
        if stream != TAIL {
            state.children.push((block, work));
        } else if state.tails.len() as u64 >= limit.unwrap_or(PENDING.1) {
            return Err(error::PENDING_COUNT);
        } else {
            state.tails.push(work);
        }
        Ok(())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let buffers = std::mem::take(&mut lock(&self.state).buffers);
        for at in buffers.into_keys() {
            self.memory().free(at);
        }
    }
}

/// Stores a result where argument 0 says.
fn give(caller: &mut dyn Caller, bytes: &[u8]) -> Result<(), i32> {
    let to = caller.argument(0);
    if to != 0 && caller.write(to, bytes) { Ok(()) } else { Err(error::INVALID_VALUE) }
}
