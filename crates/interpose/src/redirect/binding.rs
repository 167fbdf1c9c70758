//! A replacement beside the module that it serves: the table by which its kernels reach the program's variables.
//!
//! Owns: filling the table, once in each context, before the first launch there; and refusing launches where that
//! cannot be done. A launch asks [`Binding::ready`]: a thread that asked before, for the same stream and in the same
//! context, is answered from its own memory. Must not know: how the replacement was rewritten ([`super::variant`]),
//! which rule wanted it.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_bind::{Bound, Space, TABLE};

use super::holder::{self, Holder};
use super::variant::Variant;
use super::{launch, say, substitute};
use crate::config;
use crate::device;
use crate::registry::Module;
use crate::site::Site;

/// A loaded replacement that reaches variables of a module.
pub struct Binding {
    /// The program's module.
    module: &'static Module,
    image: &'static Variant,
    /// The replacement.
    ours: Holder,
    /// Contexts in which the table is filled, and when that was seen. The lock is held over calls of CUDA's: nothing that
    /// these may call takes it.
    filled: Mutex<Vec<(usize, u64)>>,
    /// What was said last: the same is not said at each launch.
    said: Mutex<String>,
}

/// What threads remember of an earlier time is void: a module or a context is gone.
static TIME: AtomicU64 = AtomicU64::new(0);

/// What a thread remembers: a binding and a stream for which it asked, the runtime's device, and when.
type Remembered = (usize, usize, i32, u64);
const NOTHING: Remembered = (0, 0, 0, 0);

std::thread_local! {
    static READY: Cell<[Remembered; 4]> = const { Cell::new([NOTHING; 4]) };
}

/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`.
const UNRESOLVED: i32 = 302;
/// `CUDA_ERROR_INVALID_HANDLE`.
const INVALID_HANDLE: i32 = 400;

/// The calling thread has another current context.
pub fn switched() {
    READY.set([NOTHING; 4]);
}

/// A context or a module may be gone: what was filled is looked at again.
pub fn gone() {
    TIME.fetch_add(1, Ordering::AcqRel);
}

/// A launch by `site` that is refused: the status for the program.
pub fn refused(site: &Site, gone: bool) -> i32 {
    match (site.node, gone) {
        (Some(_), _) => holder::fail(site),
        (None, true) => INVALID_HANDLE,
        (None, false) => UNRESOLVED,
    }
}

impl Binding {
    /// Of a replacement that was loaded beside `module` and is held by `ours`. Launches are asked about from now on.
    pub fn new(module: &'static Module, image: &'static Variant, ours: Holder) -> &'static Binding {
        let (filled, said) = (Mutex::default(), Mutex::default());
        launch::enable();
        Box::leak(Box::new(Binding { module, image, ours, filled, said }))
    }

    /// Whether kernels of the replacement can be launched into `stream`, and nodes for it be made; makes it so, at the first time
    /// in each context.
    ///
    /// # Errors
    /// The status that the launch is to answer. It is said why.
    #[inline]
    pub fn ready(&'static self, site: &'static Site, stream: usize) -> Result<(), i32> {
        let device = match site.node {
            Some(node) if asks_device(node) => holder::runtime_device(node),
            _ => -1,
        };
        let time = TIME.load(Ordering::Acquire);
        let now = (std::ptr::from_ref(self).addr(), site.stream(stream), device, time);
        let known = READY.get();
        if known.contains(&now) {
            return Ok(());
        }
        self.prepare(site, stream)?;
        let [a, b, c, _] = known;
        READY.set([now, a, b, c]);
        Ok(())
    }

    #[cold]
    fn prepare(&'static self, site: &'static Site, stream: usize) -> Result<(), i32> {
        let stream = site.stream(stream);
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            holder::hidden(|| device::relaxed(|| within(stream, || self.fill())))
        }));
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        let why = match done {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(_) => "failed".to_owned(),
        };
        let mut said = self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *said != why {
            say(format_args!(
                "a launch of {} is refused: its variables are not bound: {why}",
                self.image.image.file()
            ));
            *said = why;
        }
        Err(refused(site, !self.module.is_alive()))
    }

    /// The addresses of the bound variables in the current context, in the table's order, and their bytes.
    ///
    /// # Errors
    /// Which is not known, and why.
    pub fn addresses(&self) -> Result<Vec<(u64, u64)>, String> {
        if !self.module.is_alive() {
            return Err("the program's module is unloaded".to_owned());
        }
        let theirs = Holder::of(self.module);
        let mut found = Vec::new();
        for bound in &self.image.bound {
            let (address, size) = theirs.variable(&bound.name)?;
            if bound.size != 0 && size != 0 && size != bound.size {
                return Err(format!(
                    "{} has {} bytes, and {size} in the program",
                    bound.name, bound.size
                ));
            }
            found.push((address, if size == 0 { bound.size } else { size }));
        }
        Ok(found)
    }

    /// What is bound.
    pub fn bound(&self) -> &'static [Bound] {
        &self.image.bound
    }

    /// The names of the bound variables that kernels can write, by their place in the table.
    pub fn written(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let image = self.image;
        let bound = image.bound.iter().enumerate();
        let bound = bound.filter(|(_, bound)| bound.space == Space::Global);
        bound.map(|(place, bound)| (place, bound.name.as_str()))
    }

    /// Fills the table in the current context.
    fn fill(&self) -> Result<(), String> {
        let time = TIME.load(Ordering::Acquire);
        let mut filled = self.filled.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = self.addresses()?;
        // The runtime has made a context current by now.
        let context = substitute::context()?;
        if filled.contains(&(context, time)) {
            return Ok(());
        }
        filled.retain(|(of, _)| *of != context);
        let stream = Quiet::new()?;
        let table: Vec<u8> = found.iter().flat_map(|(address, _)| address.to_le_bytes()).collect();
        let (at, bytes) = self.ours.variable(TABLE)?;
        if bytes < table.len() as u64 {
            return Err(format!("its table has {bytes} bytes, expected {}", table.len()));
        }
        let mut before = vec![0; table.len()];
        stream.read(&mut before, at)?;
        // A table that holds all of it already was filled here before, and so was what follows: kernels may have
        // changed that since.
        if before != table {
            for fixup in &self.image.fixups {
                let address = found.get(fixup.bound).map_or(0, |(address, _)| *address);
                let value =
                    (address.wrapping_add_signed(fixup.addend) >> fixup.shift).to_le_bytes();
                let value = value.get(..fixup.bytes as usize).unwrap_or(&value);
                let (at, _) = self.ours.variable(&fixup.variable)?;
                stream.write(at + fixup.offset, value)?;
            }
            stream.write(at, &table)?;
        }
        filled.push((context, time));
        Ok(())
    }
}

/// Whether the runtime may choose another device without a call of the driver's that is seen: CUDA 11 does so at
/// its next call, and our own runtime is above the driver's hooks.
fn asks_device(node: &std::ffi::CStr) -> bool {
    static OWN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    node.to_bytes().ends_with(b".11.0")
        || *OWN.get_or_init(|| {
            config::variable(c"CUSHIM_BACKEND").is_some_and(|v| !v.is_empty() && v != b"native")
        })
}

/// Runs `work` in the context of a stream.
fn within(stream: usize, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    /// Handles from here on are streams; below are the default ones of the current context.
    const FIRST: usize = 3;
    if stream < FIRST {
        return work();
    }
    type Of = unsafe extern "C-unwind" fn(usize, *mut usize) -> i32;
    let mut context = 0;
    let known = device::function(c"cuStreamGetCtx").is_some_and(|of| {
        // SAFETY: the function's signature; the program launches into this stream.
        unsafe { std::mem::transmute::<usize, Of>(of)(stream, &mut context) == 0 }
    });
    if !known || context == 0 || substitute::context().is_ok_and(|now| now == context) {
        return work();
    }
    type Push = unsafe extern "C-unwind" fn(usize) -> i32;
    type Pop = unsafe extern "C-unwind" fn(*mut usize) -> i32;
    let push = device::function(c"cuCtxPushCurrent_v2").ok_or("there is no cuCtxPushCurrent")?;
    let pop = device::function(c"cuCtxPopCurrent_v2").ok_or("there is no cuCtxPopCurrent")?;
    // SAFETY: the functions' signatures; the context is one that the driver just named.
    match unsafe { std::mem::transmute::<usize, Push>(push)(context) } {
        0 => {}
        error => return Err(format!("entering the stream's context: error {error}")),
    }
    let result = work();
    let mut popped = 0;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<usize, Pop>(pop)(&mut popped) };
    result
}

/// A stream of our own that waits for no other: copies in it may happen while others are captured.
struct Quiet(usize);

impl Quiet {
    fn new() -> Result<Quiet, String> {
        type Create = unsafe extern "C-unwind" fn(*mut usize, u32) -> i32;
        /// CU_STREAM_NON_BLOCKING.
        const NON_BLOCKING: u32 = 1;
        let create = device::function(c"cuStreamCreate").ok_or("there is no cuStreamCreate")?;
        let mut stream = 0;
        // SAFETY: the function's signature; the place is valid.
        let status =
            unsafe { std::mem::transmute::<usize, Create>(create)(&mut stream, NON_BLOCKING) };
        if status == 0 {
            Ok(Quiet(stream))
        } else {
            Err(format!("making a stream: error {status}"))
        }
    }

    fn read(&self, to: &mut [u8], from: u64) -> Result<(), String> {
        type Copy = unsafe extern "C-unwind" fn(*mut u8, u64, usize, usize) -> i32;
        let copy =
            device::function(c"cuMemcpyDtoHAsync_v2").ok_or("there is no cuMemcpyDtoHAsync")?;
        // SAFETY: the function's signature; `to` has room, and stays until the stream was waited for.
        self.wait(unsafe {
            std::mem::transmute::<usize, Copy>(copy)(to.as_mut_ptr(), from, to.len(), self.0)
        })
    }

    fn write(&self, to: u64, from: &[u8]) -> Result<(), String> {
        type Copy = unsafe extern "C-unwind" fn(u64, *const u8, usize, usize) -> i32;
        let copy =
            device::function(c"cuMemcpyHtoDAsync_v2").ok_or("there is no cuMemcpyHtoDAsync")?;
        // SAFETY: as above.
        self.wait(unsafe {
            std::mem::transmute::<usize, Copy>(copy)(to, from.as_ptr(), from.len(), self.0)
        })
    }

    fn wait(&self, status: i32) -> Result<(), String> {
        let status = match (status, device::synchronize(self.0)) {
            (0, Ok(())) => return Ok(()),
            (0, Err(error)) => error,
            (error, _) => error,
        };
        Err(format!("copying an address: error {status}"))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C-unwind" fn(usize) -> i32;
        if let Some(destroy) = device::function(c"cuStreamDestroy_v2") {
            // SAFETY: the function's signature; a stream that was made here, ended once.
            unsafe { std::mem::transmute::<usize, Destroy>(destroy)(self.0) };
        }
    }
}
