//! A compiled kernel, and the memory that it uses.

use super::arena::{Arena, Mapped};
use super::blocks::Blocks;
use super::grid;
use super::stack::Stack;
use super::tier::Variant;
use crate::cache::Cache;
use crate::caught;
use crate::checked::Checked;
use crate::error::NotCompiled;
use crate::simt::plan::Layout;
use crate::source::Source;
use cushim_ptx::exec::{Cause, Fault, Host, KernelLaunch, Memory};
use cushim_ptx::ir::Module;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes something of a kernel.
fn guarded<T>(
    module: &Module,
    kernel: u32,
    make: impl FnOnce() -> Result<T, NotCompiled>,
) -> Result<T, NotCompiled> {
    caught::run(make).unwrap_or_else(|message| {
        let kernel = module.functions.get(kernel as usize).map(|f| f.name.clone());
        Err(NotCompiled::Panicked { kernel: kernel.unwrap_or_default(), message })
    })
}

fn failed(launch: &KernelLaunch<'_>, message: String) -> Fault {
    let cause = Cause::Internal { place: "running blocks".into(), message };
    Fault::new(launch.module, launch.kernel, cause, None, [0; 3], [0; 3])
}

/// Runs blocks of a launch without machine code, as [`cushim_ptx::interp::run_blocks`]; where that panics, the
/// launch ends with an error.
///
/// # Errors
/// As [`Kernel::run_blocks`].
pub fn interpret(
    launch: &KernelLaunch<'_>,
    memory: &dyn Memory,
    host: &dyn Host,
    next: &dyn Fn(u64) -> Range<u64>,
) -> Result<(), Fault> {
    let run = || cushim_ptx::interp::run_blocks(launch, memory, host, &|| next(1).next());
    caught::run(run).unwrap_or_else(|message| Err(failed(launch, message)))
}

/// A kernel with machine code.
///
/// Code depends on how threads of a block fall into warps, of which there are
/// few kinds: each is compiled when it first occurs, quickly, and better once it
/// has run for a while.
pub struct Kernel {
    source: Source,
    /// Compiled code stays; so does why it could not be.
    variants: Mutex<Variants>,
    /// The host was informed of a panic.
    told: AtomicBool,
}

/// A handful, which each launch looks through.
type Variants = Vec<(Layout, Result<Arc<Variant>, NotCompiled>)>;

fn find(all: &Variants, layout: Layout) -> Option<&Result<Arc<Variant>, NotCompiled>> {
    all.iter().find(|(of, _)| *of == layout).map(|(_, made)| made)
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("kernel", &self.source.kernel).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Compiles a kernel of a module, for a block shape and similar ones; for others when they occur.
    ///
    /// # Errors
    /// [`NotCompiled`] says why the interpreter has to run it.
    pub fn new(module: &Arc<Module>, kernel: u32, block: [u32; 3]) -> Result<Kernel, NotCompiled> {
        Kernel::with_cache(module, kernel, block, None)
    }

    /// As [`Kernel::new`], with code from a cache if it has some; compiled code is stored there, on separate threads.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn with_cache(
        module: &Arc<Module>,
        kernel: u32,
        block: [u32; 3],
        cache: Option<Arc<Cache>>,
    ) -> Result<Kernel, NotCompiled> {
        Kernel::checked(module, kernel, block, cache, Checked::default())
    }

    /// As [`Kernel::with_cache`]; the code reports what it does to an observer ([`Host::watch`]).
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn checked(
        module: &Arc<Module>,
        kernel: u32,
        block: [u32; 3],
        cache: Option<Arc<Cache>>,
        checked: Checked,
    ) -> Result<Kernel, NotCompiled> {
        let found = module.functions.get(kernel as usize);
        if !found.is_some_and(|f| f.entry && f.defined) {
            return Err(NotCompiled::NoKernel(kernel));
        }
        let source =
            guarded(module, kernel, || Source::new(module.clone(), kernel, cache, checked))?;
        let this = Kernel { source, variants: Mutex::default(), told: AtomicBool::new(false) };
        this.variant(Layout::of(block))?;
        Ok(this)
    }

    /// Code for blocks of this shape, compiled now if there is none.
    pub(crate) fn variant(&self, layout: Layout) -> Result<Arc<Variant>, NotCompiled> {
        let mut all = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(v) = find(&all, layout) {
            return v.clone();
        }
        let source = &self.source;
        let made = guarded(&source.module, source.kernel, || source.variant(layout)).map(Arc::new);
        all.push((layout, made.clone()));
        made
    }

    /// The most instructions that a warp executes; `None` if it may loop, if there is no code for this block shape
    /// yet, or if that needs its own stack, which only cushim's threads have.
    pub fn steps(&self, block: [u32; 3]) -> Option<u64> {
        let all = self.variants.try_lock().ok()?;
        let variant = find(&all, Layout::of(block))?.as_ref().ok()?;
        variant.steps.filter(|_| Stack::takes(0, variant.machine().stack))
    }

    /// How many bytes of machine code there are for a shape of blocks.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn code_size(&self, block: [u32; 3]) -> Result<usize, NotCompiled> {
        Ok(self.variant(Layout::of(block))?.machine().code.size())
    }

    /// The machine code for a block shape, the better tier if it exists: to be read, not run.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn code(&self, block: [u32; 3]) -> Result<Vec<u8>, NotCompiled> {
        let variant = self.variant(Layout::of(block))?;
        let code = &variant.machine().code;
        Ok(code.from(code.range().0).to_vec())
    }

    /// Whether code for a block shape exists and came from a cache.
    pub fn is_kept(&self, block: [u32; 3]) -> bool {
        let all = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        find(&all, Layout::of(block)).is_some_and(|v| v.as_ref().is_ok_and(|v| v.kept))
    }

    /// Makes the better code for a shape of blocks now, which otherwise comes once the quick code has run
    /// for a while. With a cache, it is there when this returns.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn improve(&self, block: [u32; 3]) -> Result<(), NotCompiled> {
        let (source, variant) = (&self.source, self.variant(Layout::of(block))?);
        guarded(&source.module, source.kernel, || variant.improve(source))
    }

    /// Whether LLVM made code for a shape of blocks; nothing, where it was not asked to, or has not been yet.
    ///
    /// # Errors
    /// Why it made none.
    pub fn by_llvm(&self, block: [u32; 3]) -> Option<Result<(), String>> {
        let variant = self.variant(Layout::of(block)).ok()?;
        match variant.native() {
            Some(_) => Some(Ok(())),
            None => variant.no_native().map(|why| Err(why.to_owned())),
        }
    }

    /// Runs blocks of a launch on this thread until `next` returns no more and the ones it returned have ended: what
    /// [`cushim_ptx::interp::run_blocks`] does, in machine code. `next` is called for at most this many consecutive
    /// blocks, as [`Blocks::take`]; for one at a time if a block may wait for others.
    ///
    /// The launch must name the kernel and the module it was compiled from. If code for its block shape cannot be
    /// compiled, or has no stack, the interpreter runs it.
    ///
    /// From now on cushim handles the process's SIGSEGV and SIGBUS; faults outside of kernels go to the previous
    /// handlers.
    ///
    /// # Errors
    /// The first [`Fault`] of these blocks, with kernel, block and thread.
    pub fn run_blocks(
        &self,
        launch: &KernelLaunch<'_>,
        arena: &Arena,
        memory: &dyn Mapped,
        host: &dyn Host,
        next: &dyn Fn(u64) -> Range<u64>,
    ) -> Result<(), Fault> {
        let own = launch.module.functions.get(launch.kernel as usize).map_or(0, |f| f.local_size);
        let frames = self.source.function().local_size;
        if frames > own && frames > launch.local_limit {
            // The interpreter finds the call that exceeds the limit.
            return interpret(launch, memory, host, next);
        }
        match self.variant(Layout::of(launch.block)) {
            Ok(v) => {
                let hot = || v.improve_aside(&self.source);
                let exec = grid::exec(&v, &hot, launch, arena, memory, host);
                let run = || v.with_stack(|stack| grid::run_blocks(exec, stack, next));
                match caught::run(run) {
                    Ok(Some(ended)) => ended,
                    Ok(None) => interpret(launch, memory, host, next),
                    Err(message) => Err(failed(launch, message)),
                }
            }
            Err(why) => {
                let panicked = matches!(why, NotCompiled::Panicked { .. });
                if panicked && !self.told.swap(true, Ordering::Relaxed) {
                    host.warn(&format!("{why}; the interpreter runs it"));
                }
                interpret(launch, memory, host, next)
            }
        }
    }

    /// Runs a launch to its end on up to `threads` threads, this one included.
    ///
    /// # Errors
    /// As [`Kernel::run_blocks`].
    pub fn run(
        &self,
        launch: &KernelLaunch<'_>,
        arena: &Arena,
        host: &(dyn Host + Sync),
        threads: usize,
    ) -> Result<(), Fault> {
        let total = launch.clusters();
        let threads = threads.clamp(1, 1024);
        let blocks = Blocks::new(total, threads);
        let first: Mutex<Option<Fault>> = Mutex::new(None);
        let next = |most| blocks.take(most);
        let work = || {
            if let Err(fault) = self.run_blocks(launch, arena, arena, host, &next) {
                blocks.stop();
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
            }
        };
        std::thread::scope(|s| {
            for _ in 1..threads.min(total.max(1) as usize) {
                s.spawn(work);
            }
            work();
        });
        first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
