//! Streams: queues of work with CUDA's order between them.
//!
//! Owns the objects, and the meaning of handles 0, 1 and 2. [`submit`] adds work, [`slot`] keeps the order. Must not
//! know: what the work does.

pub mod api;
pub mod callback;
pub mod capture;
pub mod capture_api;
pub mod operation;
pub mod ordered;
pub mod slot;
pub mod submit;
pub mod value;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cushim_abi::types as abi;

use super::context::{self, Context, Thread};
use super::entry::PER_THREAD;
use super::handle::Handles;
use super::state::accelerator;
use super::{status, thread};
use cushim_accel::locks::lock;
use cushim_accel::{Queue, Signal};

/// The least urgent priority.
pub const LEAST: i32 = 0;
/// The most urgent one.
pub const GREATEST: i32 = -5;

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The default stream that blocking streams wait for, and that waits for them.
    Legacy,
    /// A thread's default stream.
    PerThread,
    /// One that the program created.
    Created,
}

/// A stream.
pub struct Stream {
    /// Unique in the process.
    pub id: u64,
    /// What it is.
    pub kind: Kind,
    /// It keeps order with the legacy stream (no CU_STREAM_NON_BLOCKING).
    pub blocking: bool,
    /// Lower is more urgent.
    pub priority: i32,
    /// Its context.
    pub context: Weak<Context>,
    queue: OnceLock<Result<Arc<dyn Queue>, i32>>,
    tail: Mutex<Tail>,
    gone: AtomicBool,
    /// Attributes that the program set, by `CUstreamAttrID`.
    attributes: Mutex<Vec<(i32, [u8; 64])>>,
    /// A list of handles, and of their edges' data, to which the program may have pointers.
    shown: Mutex<Box<[usize]>>,
}

/// The end of a stream.
struct Tail {
    /// Complete when everything before is.
    last: Signal,
    /// It is not in the stream's queue (a host function's end), so later work must wait for it.
    foreign: bool,
}

/// The streams of a context.
pub struct Streams {
    /// All but the legacy one that may have work under way. It is locked while work is submitted to
    /// a blocking stream.
    list: Mutex<Vec<Arc<Stream>>>,
    /// The legacy default stream.
    pub legacy: Arc<Stream>,
}

/// Created streams by handle.
pub static STREAMS: Handles<Stream> = Handles::new();

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Streams {
    /// The streams of a new context.
    pub fn new(context: Weak<Context>) -> Self {
        let legacy = Arc::new(Stream::new(Kind::Legacy, true, 0, context));
        Streams { list: Mutex::default(), legacy }
    }

    /// A new stream.
    pub fn add(&self, kind: Kind, blocking: bool, priority: i32) -> Arc<Stream> {
        let context = self.legacy.context.clone();
        let stream = Arc::new(Stream::new(kind, blocking, priority, context));
        let mut list = lock(&self.list);
        list.retain(|other| !other.is_over());
        list.push(stream.clone());
        stream
    }

    /// The end of every stream that has work under way.
    pub fn tails(&self) -> Vec<Signal> {
        let list = lock(&self.list);
        let all = list.iter().chain(std::iter::once(&self.legacy));
        all.map(|stream| stream.last()).filter(|last| !last.is_done()).collect()
    }

    /// Waits for all work that was submitted.
    pub fn wait(&self) {
        for tail in self.tails() {
            tail.wait();
        }
        ordered::may_be();
    }

    /// Invalidates the handles of all created streams: their context has ended. Threads keep their
    /// default streams, which are used again when a primary context is reactivated.
    pub fn forget(&self) {
        let gone: Vec<_> = {
            let mut list = lock(&self.list);
            let created = |stream: &Arc<Stream>| stream.kind == Kind::Created;
            let (gone, kept) = std::mem::take(&mut *list).into_iter().partition(created);
            *list = kept;
            gone
        };
        for stream in gone {
            STREAMS.remove(super::handle::handle(&stream));
        }
    }

    /// Every stream; the legacy one too.
    pub fn all(&self) -> Vec<Arc<Stream>> {
        let mut all = lock(&self.list).clone();
        all.push(self.legacy.clone());
        all
    }
}

impl Stream {
    fn new(kind: Kind, blocking: bool, priority: i32, context: Weak<Context>) -> Self {
        Stream {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            kind,
            blocking,
            priority,
            context,
            queue: OnceLock::new(),
            tail: Mutex::new(Tail { last: Signal::completed(), foreign: false }),
            gone: AtomicBool::new(false),
            attributes: Mutex::default(),
            shown: Mutex::default(),
        }
    }

    /// Complete when everything that was submitted so far is.
    pub fn last(&self) -> Signal {
        lock(&self.tail).last.clone()
    }

    /// The context, if it is usable.
    ///
    /// # Errors
    /// As [`Context::healthy`]; CUDA_ERROR_INVALID_HANDLE where the context is gone.
    pub fn context(&self) -> Result<Arc<Context>, i32> {
        let context = self.context.upgrade().ok_or(status::INVALID_HANDLE)?;
        context.healthy()?;
        Ok(context)
    }

    /// Destroys it for the program; it is forgotten when its work has ended.
    pub fn abandon(&self) {
        self.gone.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.gone.load(Ordering::Acquire) && self.last().is_done()
    }

    fn queue(&self, device: usize) -> Result<Arc<dyn Queue>, i32> {
        let make = || accelerator().queue(device, self.priority).map_err(|why| status::of(&why));
        self.queue.get_or_init(make).clone()
    }

    /// Waits until everything that was submitted so far has ended.
    ///
    /// # Errors
    /// That of the context, if work in it has failed.
    pub fn synchronize(&self) -> Result<(), i32> {
        self.last().wait();
        ordered::may_be();
        self.context().map(drop)
    }
}

/// The per-thread default stream of this thread in a context.
fn per_thread(context: &Context) -> Arc<Stream> {
    thread::with(|thread: &Thread| {
        let mut all = thread.streams.borrow_mut();
        let make = || context.streams.add(Kind::PerThread, true, 0);
        all.entry(context.id).or_insert_with(make).clone()
    })
}

/// The stream of a handle as the functions without suffix take it: 0 is the legacy one.
///
/// # Errors
/// Those of [`context::current`]; CUDA_ERROR_INVALID_HANDLE for a handle that is no stream.
pub fn resolve(stream: abi::Stream) -> Result<Arc<Stream>, i32> {
    let context = context::current()?;
    match stream.0 {
        0 | 1 => Ok(context.streams.legacy.clone()),
        2 => Ok(per_thread(&context)),
        handle => STREAMS.get(handle).ok_or(status::INVALID_HANDLE),
    }
}

/// The same for launches and functions that only need the stream: a created stream is valid in
/// every thread, even without a current context, on which LLVM's libomptarget relies.
///
/// # Errors
/// Those of [`resolve`], and of the stream's context.
pub fn resolve_anywhere(stream: abi::Stream) -> Result<Arc<Stream>, i32> {
    match resolve(stream) {
        Err(status::INVALID_CONTEXT) if stream.0 > PER_THREAD.0 => {
            let found = STREAMS.get(stream.0).ok_or(status::INVALID_CONTEXT)?;
            found.context()?;
            Ok(found)
        }
        other => other,
    }
}

/// Runs `act` while no work is under way in any stream, and none enters.
pub fn alone<R>(act: impl FnOnce() -> R) -> R {
    loop {
        let mut contexts = context::CONTEXTS.all();
        contexts.iter().for_each(|context| context.streams.wait());
        // Lists are locked before tails, as in [`slot`], and nothing is waited for meanwhile.
        contexts.sort_by_key(|context| context.id);
        let lists: Vec<_> = contexts.iter().map(|context| lock(&context.streams.list)).collect();
        let legacy = contexts.iter().map(|context| &context.streams.legacy);
        let all = lists.iter().flat_map(|list| list.iter()).chain(legacy);
        let tails: Vec<_> = all.map(|stream| lock(&stream.tail)).collect();
        if tails.iter().all(|tail| tail.last.is_done()) {
            return act();
        }
    }
}
