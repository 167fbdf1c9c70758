//! A compiled kernel, and the memory it runs on.

use super::grid;
use crate::code::Code;
use crate::emit::{self, Output, Site};
use crate::error::NotCompiled;
use crate::plan::Layout;
use cranelift_codegen::isa::OwnedTargetIsa;
use cushim_ptx::interp::{BadAddress, Fault, Host, Launch, Memory};
use cushim_ptx::ir::Module;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Device memory: one range of this process's addresses, which are also the
/// addresses that kernels use.
///
/// Compiled code checks every access against the range and nothing finer. All
/// of it must stay readable and writable while kernels run; pages that nobody
/// allocated may be anything.
#[derive(Debug, Clone, Copy)]
pub struct Arena {
    base: u64,
    size: u64,
}

impl Arena {
    /// The least size, in bytes: the widest range checked at once.
    pub const LEAST: u64 = emit::LONGEST as u64;

    /// The range of `size` bytes at `base`; `None` if it is smaller than
    /// [`Arena::LEAST`] or wraps around.
    ///
    /// # Safety
    /// The range is mapped, readable and writable, for as long as any kernel
    /// runs on this arena, and no Rust reference points into it meanwhile.
    pub unsafe fn new(base: u64, size: u64) -> Option<Arena> {
        (size >= Arena::LEAST && base.checked_add(size).is_some()).then_some(Arena { base, size })
    }

    /// The first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether `bytes` at `address` lie inside.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.base && bytes <= self.size && address - self.base <= self.size - bytes
    }
}

/// The same memory for the interpreter.
impl Memory for Arena {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        if !self.holds(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena, which is mapped; `bytes` is not in it.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        if !self.holds(address, bytes.len() as u64) {
            return Err(BadAddress);
        }
        // SAFETY: as in `load`.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
        }
        Ok(())
    }

    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        if !self.holds(address, bytes.into()) || !address.is_multiple_of(bytes.into()) {
            return Err(BadAddress);
        }
        // SAFETY: inside the arena and aligned; atomics allow other writers.
        Ok(unsafe { update(address as *mut u8, bytes, new) })
    }
}

/// Replaces a value in memory atomically; the old one.
///
/// # Safety
/// `at` is mapped, writable and aligned to `bytes`, which is 1, 2, 4 or 8.
pub(crate) unsafe fn update(at: *mut u8, bytes: u32, new: &mut dyn FnMut(u64) -> u64) -> u64 {
    macro_rules! with {
        ($atomic:ident, $int:ident) => {{
            // SAFETY: the caller's promise.
            let cell = unsafe { $atomic::from_ptr(at.cast()) };
            let order = Ordering::SeqCst;
            let mut old = cell.load(Ordering::Relaxed);
            loop {
                let next = new(u64::from(old)) as $int;
                match cell.compare_exchange_weak(old, next, order, Ordering::Relaxed) {
                    Ok(v) => return u64::from(v),
                    Err(v) => old = v,
                }
            }
        }};
    }
    match bytes {
        1 => with!(AtomicU8, u8),
        2 => with!(AtomicU16, u16),
        4 => with!(AtomicU32, u32),
        _ => with!(AtomicU64, u64),
    }
}

/// Code for one layout of blocks.
pub(crate) struct Variant {
    pub(crate) code: Code,
    pub(crate) sites: Vec<Site>,
    pub(crate) pieces: u32,
    pub(crate) frame_size: u32,
}

/// A kernel with machine code.
///
/// Code depends on how threads of a block fall into warps, of which there are
/// few kinds: each is compiled when it first occurs.
pub struct Kernel {
    module: Arc<Module>,
    kernel: u32,
    isa: OwnedTargetIsa,
    variants: Mutex<HashMap<Layout, Arc<Variant>>>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Compiles a kernel of a module, for blocks in which a warp is a run of
    /// threads along x.
    ///
    /// # Errors
    /// [`NotCompiled`] says what keeps it with the interpreter.
    pub fn new(module: &Arc<Module>, kernel: u32) -> Result<Kernel, NotCompiled> {
        let found = module.functions.get(kernel as usize);
        if !found.is_some_and(|f| f.entry && f.defined) {
            return Err(NotCompiled::NoKernel(kernel));
        }
        let isa = emit::machine()?;
        let variants = Mutex::new(HashMap::new());
        let this = Kernel { module: module.clone(), kernel, isa, variants };
        this.variant(Layout::Row)?;
        Ok(this)
    }

    /// Code for blocks of this shape, made now if there is none.
    pub(crate) fn variant(&self, layout: Layout) -> Result<Arc<Variant>, NotCompiled> {
        let mut all = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(v) = all.get(&layout) {
            return Ok(v.clone());
        }
        let f = &self.module.functions[self.kernel as usize];
        let Output { bytes, sites, pieces, frame_size } =
            emit::compile(&self.isa, &self.module, f, layout)?;
        let v = Arc::new(Variant { code: Code::new(&bytes)?, sites, pieces, frame_size });
        all.insert(layout, v.clone());
        Ok(v)
    }

    /// How many bytes of machine code there are for a shape of blocks.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn code_size(&self, block: [u32; 3]) -> Result<usize, NotCompiled> {
        Ok(self.variant(Layout::of(block))?.code.size())
    }

    /// Runs a launch to its end on up to `threads` threads, this one included.
    ///
    /// The launch must name the kernel and the module it was compiled from. If
    /// code for its shape of blocks cannot be made, the interpreter runs it.
    ///
    /// # Errors
    /// A [`Fault`], with kernel, block and thread.
    pub fn run(
        &self,
        launch: &Launch<'_>,
        arena: &Arena,
        host: &(dyn Host + Sync),
        threads: usize,
    ) -> Result<(), Fault> {
        match self.variant(Layout::of(launch.block)) {
            Ok(v) => grid::run(&v, launch, arena, host, threads),
            Err(_) => cushim_ptx::interp::run(launch, arena, host),
        }
    }
}
