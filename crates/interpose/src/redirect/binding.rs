//! The variable table of one replacement: through it the replacement's kernels reach the variables of the module that
//! it replaces.
//!
//! Owns: filling the table, once in each context, before the first launch there; and refusing launches if that is
//! impossible. A launch calls [`Binding::ready`], which a thread that asked before, for the same stream and context,
//! answers from thread-local memory. Must not know: how the replacement was rewritten ([`super::variant`]), which
//! rule requested it.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_bind::{Bound, Space, TABLE};

use super::asked;
use super::holder::{self, Holder};
use super::place::Place;
use super::quiet::Quiet;
use super::say::say;
use super::variant::Variant;
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
    /// The only context that it is in; 0 where it is in all.
    context: usize,
    /// Contexts in which the table is filled, and when that was checked. The lock is held over CUDA
    /// calls: nothing that these may call takes it.
    filled: Mutex<Vec<(usize, u64)>>,
    /// The last message, so that it is not repeated at each launch.
    said: Mutex<String>,
}

/// Counts modules and contexts that are gone: what threads remember of an earlier time is invalid.
static TIME: AtomicU64 = AtomicU64::new(0);

/// What a thread remembers: the binding and stream that it checked, the runtime's device, and the
/// time.
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

/// A context or a module may be gone: tables are checked again.
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
    /// For a replacement that was loaded beside `module` and is held by `ours`. Launches are
    /// checked from now on.
    pub fn new(module: &'static Module, image: &'static Variant, ours: Holder) -> &'static Binding {
        let (filled, said) = (Mutex::default(), Mutex::default());
        let context = match ours {
            Holder::Module(_) => device::context().unwrap_or(0),
            _ => 0,
        };
        asked::enable();
        Box::leak(Box::new(Binding { module, image, ours, context, filled, said }))
    }

    /// Makes kernels of the replacement ready to launch into `stream`, and for nodes: fills the
    /// table at the first use in each context.
    ///
    /// # Errors
    /// The status that the launch must return. A message says why.
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
        self.prepare(site, Place::Stream(site.stream(stream)))?;
        let [a, b, c, _] = known;
        READY.set([now, a, b, c]);
        Ok(())
    }

    /// The same for a node of a graph, whose kernel runs in `place`.
    ///
    /// # Errors
    /// As those of [`Binding::ready`].
    pub fn ready_in(&'static self, site: &'static Site, place: Place) -> Result<(), i32> {
        match (place, self.context) {
            (Place::Current, 0) => self.ready(site, 0),
            (Place::Current, context) => self.prepare(site, Place::Context(context)),
            (place, _) => self.prepare(site, place),
        }
    }

    #[cold]
    fn prepare(&'static self, site: &'static Site, place: Place) -> Result<(), i32> {
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            holder::hidden(|| device::relaxed(|| place.enter(|| self.fill())))
        }));
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = errno };
        let why = match done {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(_) => "failed".to_owned(),
        };
        let mut said = self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *said != why {
            say(format_args!(
                "a launch of {} fails: its variables cannot be bound: {why}",
                self.image.image.file()
            ));
            *said = why;
        }
        Err(refused(site, !self.module.is_alive()))
    }

    /// The addresses of the bound variables in the current context, in the table's order, and their bytes.
    ///
    /// # Errors
    /// Which variable is not known, and why.
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
                    "{} has {} bytes here, but {size} in the program",
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

    /// The names of the bound variables that kernels can write, with their index in the table.
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
        let context = device::context()?;
        if filled.contains(&(context, time)) {
            return Ok(());
        }
        filled.retain(|(of, _)| *of != context);
        let stream = Quiet::new()?;
        let table: Vec<u8> = found.iter().flat_map(|(address, _)| address.to_le_bytes()).collect();
        let (at, bytes) = self.ours.variable(TABLE)?;
        if bytes < table.len() as u64 {
            return Err(format!(
                "its table of variables has {bytes} bytes, expected {}",
                table.len()
            ));
        }
        let mut before = vec![0; table.len()];
        stream.read(&mut before, at)?;
        // A table that already holds all addresses was filled here before, and so were the
        // variables below, which kernels may have changed since.
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

/// Whether the runtime may choose another device without a driver call that is seen: CUDA 11 does
/// so at its next call, and cushim's own runtime does not go through the driver's hooks.
fn asks_device(node: &std::ffi::CStr) -> bool {
    static OWN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    cushim_abi::runtime_major(node.to_bytes()) == Some(11)
        || *OWN.get_or_init(|| {
            config::variable(c"CUSHIM_BACKEND").is_some_and(|v| !v.is_empty() && v != b"native")
        })
}
