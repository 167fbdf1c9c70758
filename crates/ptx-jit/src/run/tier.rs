//! The code of a kernel for one block layout, in two tiers, and LLVM's if it is enabled.
//!
//! Owns when the better tier is compiled: the first launch uses the quick one, and code that has run for longer than
//! it took to compile is compiled again, on a separate thread. Both tiers come from one plan, so frames and region
//! numbers are the same, and a warp may switch tiers whenever it leaves the code. Must not know: what the code does.
//!
//! The first launch waits for the quick tier, some 50 ms for 1,000 instructions. Interpreting blocks meanwhile would
//! not pay: a block stays with the interpreter once it has begun, and the interpreter takes 10 to 600 times as long
//! as code. So during the compilation the interpreter does only what code does in milliseconds, and a kernel of few
//! long blocks would end later than one that waited. Kernels beyond the limits of `emit/limits.rs` are interpreted
//! from the start.

use super::by_llvm::{self, Native};
use super::room::Rooms;
use super::stack::Stack;
use super::trial::Trial;
use crate::cache::{Kept, Place};
use crate::code::Code;
use crate::emit;
use crate::error::NotCompiled;
use crate::simt::calls::Lowered;
use crate::simt::plan::Layout;
use crate::source::Source;
use crate::warp::{Origin, Output, Quality, SLOTS, Site};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Code runs for this long, at least, before it is made again.
const LEAST: Duration = Duration::from_millis(5);
/// Or for so many times what making it took.
const TIMES: u32 = 2;

/// Machine code, and which instruction of the kernel it is of.
pub(crate) struct Machine {
    pub(crate) code: Code,
    /// The start of the code of each source instruction, in order.
    origins: Vec<(u32, Origin)>,
    /// Bytes of stack that it uses.
    pub(crate) stack: u32,
}

impl Machine {
    /// What the code at an address belongs to.
    pub(crate) fn origin(&self, at: u64) -> Option<Origin> {
        let offset = at.wrapping_sub(self.code.range().0) as u32;
        let n = self.origins.partition_point(|(start, _)| *start <= offset);
        n.checked_sub(1).map(|n| self.origins[n].1)
    }
}

/// What a launch needs to know of the kernel before its first block: found once, as it takes looking through the whole kernel.
pub(crate) struct Needs {
    /// The most results that a helper of an instruction returns. Atomics on vectors use the second for what they have
    /// read; registers that are restored from stacks go another way.
    pub(crate) results: usize,
    /// See [`crate::warp::more_slots`] and [`crate::warp::collected`].
    pub(crate) more: usize,
    pub(crate) collected: usize,
    /// Bytes of the kernel's shared variables.
    pub(crate) shared: u32,
}

impl Needs {
    fn of(source: &Source, sites: &[Site]) -> Needs {
        let results = sites.iter().map(|site| site.results.len()).max();
        let f = source.function();
        Needs {
            results: results.unwrap_or(0).clamp(2, SLOTS),
            more: crate::warp::more_slots(f),
            collected: crate::warp::collected(f),
            shared: cushim_ptx::exec::shared_layout(&source.module, source.kernel).1,
        }
    }
}

/// Code for one layout of blocks.
pub(crate) struct Variant {
    layout: Layout,
    pub(crate) lowered: Arc<Lowered>,
    /// Where it is kept.
    place: Option<Place>,
    /// It came from the cache.
    pub(crate) kept: bool,
    /// The first code is the better one already.
    good: bool,
    first: Machine,
    best: OnceLock<Machine>,
    /// LLVM's code, or why there is none; unset if it was not requested yet.
    native: OnceLock<Result<Native, String>>,
    /// Whether LLVM's is the faster.
    pub(super) trial: Trial,
    /// The stacks that no thread uses at present.
    stacks: Mutex<Vec<Stack>>,
    pub(super) rooms: Rooms,
    pub(crate) sites: Vec<Site>,
    pub(crate) regions: u32,
    pub(crate) frame_size: u32,
    pub(crate) needs: Needs,
    /// Instructions that a warp runs at most, where there is no loop.
    pub(crate) steps: Option<u64>,
    /// How long the code ran, and how long it does before the better one is made, and LLVM's: nanoseconds.
    ran: AtomicU64,
    limits: [u64; 2],
    /// Somebody makes the better one, or has; and LLVM's.
    asked: [AtomicBool; 2],
    /// It is to be compiled, and no thread has begun.
    due: [AtomicBool; 2],
}

/// Which thread has LLVM compile code.
#[derive(Clone, Copy)]
enum Whose {
    /// Anybody's.
    Any,
    /// One of [`aside`], which ends when this is done.
    Ours,
}

/// The better code, and LLVM's, in lists of both.
const BEST: usize = 0;
const NATIVE: usize = 1;

impl Source {
    fn compile(&self, quality: Quality, layout: Layout) -> Result<Output, NotCompiled> {
        #[cfg(any(test, debug_assertions))]
        super::panics::inject_compiler();
        let isa = match quality {
            Quality::Quick => &self.quick,
            Quality::Best => &self.best,
        };
        emit::compile(isa, &self.module, &self.lowered, layout, self.checked)
            .map_err(|e| e.in_text(&self.module))
    }

    /// The cached code, else the quick code.
    pub(crate) fn variant(&self, layout: Layout) -> Result<Variant, NotCompiled> {
        let place = Place::of(self, layout, None);
        let found = place.as_ref().and_then(|place| place.load(self));
        let kept = found.is_some();
        let start = Instant::now();
        let Kept { quality, took, output } = match found {
            Some(found) => found,
            None => {
                let output = self.compile(Quality::Quick, layout)?;
                Kept { quality: Quality::Quick, took: start.elapsed(), output }
            }
        };
        let machine = Code::new(&output.bytes)?;
        if let Some(place) = place.clone().filter(|_| !kept) {
            let (source, output) = (self.clone(), output.clone());
            aside(move || place.store(&source, &Kept { quality, took, output }));
        }
        let Output { sites, regions, frame_size, stack, origins, steps, .. } = output;
        let first = Machine { code: machine, origins, stack };
        let limits = [took, by_llvm::estimate(&self.lowered.function)];
        let limits = limits.map(|took| LEAST.max(took.saturating_mul(TIMES)).as_nanos() as u64);
        let good = quality == Quality::Best;
        let asked = [good, !crate::llvm::is_asked_for()].map(AtomicBool::new);
        let (ran, best) = (AtomicU64::new(0), OnceLock::new());
        let needs = Needs::of(self, &sites);
        let variant = Variant {
            layout,
            lowered: self.lowered.clone(),
            place,
            kept,
            good,
            first,
            best,
            native: OnceLock::new(),
            trial: Trial::default(),
            stacks: Mutex::default(),
            rooms: Rooms::default(),
            sites,
            regions,
            frame_size,
            needs,
            steps,
            ran,
            limits,
            asked,
            due: Default::default(),
        };
        if by_llvm::waits() {
            variant.trial.choose(true);
            variant.make_native(self, Whose::Any);
        }
        Ok(variant)
    }
}

impl Variant {
    /// Local memory of a thread to begin with, in bytes.
    pub(crate) fn local_size(&self) -> u32 {
        /// Likely enough for recursive functions.
        const MORE: u32 = 2048;
        let size = self.lowered.function.local_size;
        if self.lowered.moving { size.saturating_add(MORE) } else { size }
    }

    /// The best code there is.
    pub(crate) fn machine(&self) -> &Machine {
        self.best.get().unwrap_or(&self.first)
    }

    /// Calls with a stack for the code, whichever there is; `None` where the system has no memory for one.
    pub(super) fn with_stack<T>(&self, run: impl FnOnce(&Stack) -> T) -> Option<T> {
        if Stack::takes(0, self.first.stack) {
            return Some(run(&Stack::NONE));
        }
        let stacks = || self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        let free = stacks().pop();
        let stack = free.or_else(|| Stack::new(self.first.stack))?;
        let done = run(&stack);
        stacks().push(stack);
        Some(done)
    }

    /// The code ran for so long. True where better code is worth making now, once for each.
    pub(crate) fn count(&self, time: Duration) -> bool {
        if self.asked.iter().all(|asked| asked.load(Ordering::Relaxed)) {
            return false;
        }
        let time = time.as_nanos() as u64;
        let ran = self.ran.fetch_add(time, Ordering::Relaxed).saturating_add(time);
        let of_both = self.limits.iter().zip(&self.asked).zip(&self.due);
        let due = of_both.filter(|((limit, asked), due)| {
            let now = ran >= **limit && !asked.swap(true, Ordering::Relaxed);
            due.fetch_or(now, Ordering::Relaxed);
            now
        });
        due.count() > 0
    }

    /// The code that LLVM made, if there is some.
    pub(super) fn native(&self) -> Option<&Native> {
        self.native.get()?.as_ref().ok()
    }

    /// Why LLVM generated no code, if it was tried.
    pub(super) fn no_native(&self) -> Option<&str> {
        self.native.get()?.as_ref().err().map(String::as_str)
    }

    /// Makes LLVM compile code, and waits for it, if a library is enabled.
    fn make_native(&self, source: &Source, whose: Whose) {
        if !crate::llvm::is_asked_for() {
            return;
        }
        let make = || Native::new(source, self.layout, self.first.stack);
        self.native.get_or_init(|| match whose {
            Whose::Any => crate::llvm::apart(make),
            Whose::Ours => crate::llvm::prepare().and_then(|()| make()),
        });
    }

    /// Makes the better code, on this thread. LLVM's is made as always: later, aside, or before the first launch if
    /// launches wait for it.
    ///
    /// # Errors
    /// As for the quick code, which stays then.
    pub(crate) fn improve(&self, source: &Source) -> Result<(), NotCompiled> {
        self.asked[BEST].store(true, Ordering::Relaxed);
        self.improve_first(source)
    }

    fn improve_first(&self, source: &Source) -> Result<(), NotCompiled> {
        if self.good || self.best.get().is_some() {
            return Ok(());
        }
        let start = Instant::now();
        let new = source.compile(Quality::Best, self.layout)?;
        let took = start.elapsed();
        let same = new.regions == self.regions
            && new.frame_size == self.frame_size
            && new.sites.len() == self.sites.len()
            && new.sites.iter().zip(&self.sites).all(|(a, b)| a.is_like(b));
        if !same {
            let kernel = source.function().name.clone();
            let message = "the second time, other code was made".into();
            return Err(NotCompiled::Generator { kernel, message });
        }
        // It takes over where the first code runs.
        if !Stack::takes(self.first.stack, new.stack) {
            let (kernel, what) = (source.function().name.clone(), "bytes of the stack");
            let (found, limit) = (new.stack as usize, self.first.stack as usize);
            return Err(NotCompiled::TooLarge { kernel, what, found, limit });
        }
        let (code, origins) = (Code::new(&new.bytes)?, new.origins.clone());
        let _ = self.best.set(Machine { code, origins, stack: new.stack });
        if let Some(place) = &self.place {
            place.store(source, &Kept { quality: Quality::Best, took, output: new });
        }
        Ok(())
    }

    /// Compiles the requested code on a separate thread. Without a thread, the first code stays.
    pub(crate) fn improve_aside(self: &Arc<Self>, source: &Source) {
        let (this, source) = (self.clone(), source.clone());
        // An error, or a bug that panics, leaves the first code in use.
        aside(move || {
            let due = |which: usize| this.due[which].swap(false, Ordering::Relaxed);
            if due(BEST) {
                drop(this.improve_first(&source));
            }
            if due(NATIVE) {
                this.make_native(&source, Whose::Ours);
            }
        });
    }
}

/// Runs something on a separate thread, on which no signal handler of the program runs; or not at all.
///
/// The thread is created by the system directly. What Rust's standard library stores for a thread is allocated by the
/// system's allocator, and until the thread has started, the only pointer to it is in cushim's heap. A leak checker
/// in the program searches neither, and reported it as lost when the process ended.
fn aside(work: impl FnOnce() + Send + 'static) {
    let given: *mut Work = Box::into_raw(Box::new(Box::new(work)));
    // SAFETY: sets, attributes and thread are written before they are read; the mask of this thread is put back;
    // `given` is the thread's, or ours again where there is none.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let (mut how, mut thread) = (std::mem::zeroed(), std::mem::zeroed());
        libc::pthread_attr_init(&raw mut how);
        libc::pthread_attr_setdetachstate(&raw mut how, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut how, STACK);
        if libc::pthread_create(&raw mut thread, &raw const how, begin, given.cast()) != 0 {
            drop(Box::from_raw(given));
        }
        libc::pthread_attr_destroy(&raw mut how);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
    }
}

/// What a thread is made for.
type Work = Box<dyn FnOnce() + Send>;

/// Bytes of such a thread's stack.
const STACK: usize = 16 << 20;

extern "C" fn begin(given: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `aside` made it, and left it to this thread alone.
    let work = unsafe { Box::from_raw(given.cast::<Work>()) };
    // SAFETY: the calling thread's own name and priority.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), c"cuda-compile".as_ptr());
        libc::setpriority(libc::PRIO_PROCESS, 0, 5);
    }
    let _ = crate::caught::run(*work);
    std::ptr::null_mut()
}
