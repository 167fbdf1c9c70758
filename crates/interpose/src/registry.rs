//! Host stubs, handles, kernels and modules.
//!
//! One table maps everything that can be launched (host stub, `cudaKernel_t`, `CUkernel`, `CUfunction`)
//! to its kernel: they are all addresses in this process, so they cannot collide while alive. Another
//! maps registration and load handles to modules. Lookups take no lock; changes take the registry's.
//!
//! A kernel's record and its name live for ever: a launch may come after its library is gone. What was
//! unregistered is taken out of the table, and a stub that is registered anew gets a new kernel, so a
//! library mapped where another was is never mistaken for it.
//!
//! Must not know: events, the loader.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use cushim_trace::meta;
use cushim_trace::recorder::Recorder;

use crate::keep;
use crate::layouts::{Code, Layout};
use crate::lock;
use crate::origin::Origin;
use crate::state::Global;
use cushim_process::memory::Blocks;
use cushim_process::table::PointerTable;

mod describe;

static LAUNCHABLE: PointerTable<Kernel> = PointerTable::new();
static MODULES: PointerTable<Module> = PointerTable::new();
/// Names and kernels, which live for ever.
static BLOCKS: Blocks = Blocks::new();
static NEXT_KERNEL: AtomicU32 = AtomicU32::new(1);
/// Whether images are read later than they are loaded.
static KEEP: AtomicBool = AtomicBool::new(false);

/// Copies images from now on where the program may free them.
pub fn keep_images() {
    KEEP.store(true, Ordering::Release);
}

/// A kernel: one name in one module.
pub struct Kernel {
    /// Its number in traces, from 1.
    pub number: u32,
    /// Host stub or handle by which it became known.
    pub address: usize,
    /// The symbol; empty where it is not known.
    pub name: &'static str,
    /// The module that holds it.
    module: Option<&'static Module>,
    /// The next kernel of the same module.
    sibling: AtomicPtr<Kernel>,
    /// The previous kernel of the same address, if its module is still loaded.
    before: Option<&'static Kernel>,
    /// Whether `address` is a `CUfunction`, so that the driver can be asked about it.
    of_driver: bool,
    /// Generation in which its record was written; its layout is known by then.
    ready: AtomicU32,
    layout: AtomicPtr<Layout>,
    /// What the driver launches for it.
    pub direct: crate::handle::Handles,
}

/// A registered fat binary, or a loaded module or library.
pub struct Module {
    /// What the program was given for it.
    pub handle: usize,
    /// Its image.
    code: Code,
    /// Its images where it has several: a kernel may be in each of them.
    images: Vec<meta::Image>,
    /// The function that took it.
    api: &'static str,
    origin: Origin,
    /// The version of the runtime whose library it is.
    node: OnceLock<&'static CStr>,
    alive: AtomicBool,
    kernels: AtomicPtr<Kernel>,
    /// Generation in which its record was written.
    ready: AtomicU32,
    functions: AtomicUsize,
}

/// The kernel that `address` launches.
#[inline(always)]
pub fn find(address: usize) -> Option<&'static Kernel> {
    LAUNCHABLE.get(address)
}

/// The kernel that `address` launches; where it is not known, a record that says so.
#[inline(always)]
pub fn find_or_unknown(address: usize) -> &'static Kernel {
    match find(address) {
        Some(kernel) => kernel,
        None => unknown(address, None),
    }
}

/// More unknown addresses than this share one record: a program that keeps launching invalid
/// addresses must not make us grow without end.
const MOST_UNKNOWN: u32 = 4096;

/// A kernel that was launched by an address nothing was registered for; `driver_name` is the
/// driver's name for it, for a `CUfunction`.
#[cold]
pub fn unknown(address: usize, driver_name: Option<String>) -> &'static Kernel {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static SHARED: Kernel = Kernel {
        number: 0,
        address: 0,
        name: "",
        module: None,
        sibling: AtomicPtr::new(std::ptr::null_mut()),
        before: None,
        of_driver: false,
        ready: AtomicU32::new(0),
        layout: AtomicPtr::new(std::ptr::null_mut()),
        direct: AtomicPtr::new(std::ptr::null_mut()),
    };
    if address == 0 || COUNT.fetch_add(1, Ordering::Relaxed) >= MOST_UNKNOWN {
        COUNT.fetch_min(MOST_UNKNOWN, Ordering::Relaxed);
        return &SHARED;
    }
    let of_driver = driver_name.is_some();
    let name = driver_name.map_or("", |n| &*n.leak());
    add_kernel(address, name, None, of_driver).unwrap_or(&SHARED)
}

/// A number for the record of a kernel that no launch here named.
pub fn new_number() -> u32 {
    NEXT_KERNEL.fetch_add(1, Ordering::Relaxed)
}

/// The module of a registration or load handle.
pub fn module(handle: usize) -> Option<&'static Module> {
    MODULES.get(handle)
}

/// The program was given `handle` for `code` by `api`.
pub fn add_module(
    handle: usize,
    code: Code,
    api: &'static str,
    origin: Origin,
) -> Option<&'static Module> {
    if KEEP.load(Ordering::Acquire) {
        code.keep();
    }
    add_module_of(handle, code, Vec::new(), api, origin)
}

/// As [`add_module`] for a module that has these images, for several kinds of device.
pub fn add_module_of(
    handle: usize,
    code: Code,
    images: Vec<meta::Image>,
    api: &'static str,
    origin: Origin,
) -> Option<&'static Module> {
    lock::registry(|held| {
        let module: &'static Module = keep::forever(Module {
            handle,
            code,
            images,
            api,
            origin,
            node: OnceLock::new(),
            alive: AtomicBool::new(true),
            kernels: AtomicPtr::new(std::ptr::null_mut()),
            ready: AtomicU32::new(0),
            functions: AtomicUsize::new(0),
        });
        MODULES.set(&mut held.tables, handle, Some(module));
        module
    })
}

/// `handle` also means this module from now on (a library's module).
pub fn alias_module(handle: usize, module: &'static Module) {
    lock::registry(|held| MODULES.set(&mut held.tables, handle, Some(module)));
}

/// `module` was unloaded: removes its kernels from the table. `handle` may already stand for
/// another module: another thread can get it as soon as the unload is done.
pub fn remove_module(handle: usize, module: Option<&'static Module>) {
    let Some(module) = module else { return };
    lock::registry(|held| {
        if MODULES.get(handle).is_some_and(|m| std::ptr::eq(m, module)) {
            MODULES.set(&mut held.tables, handle, None);
        }
        module.alive.store(false, Ordering::Release);
        let mut next = module.kernels.load(Ordering::Acquire);
        // SAFETY: kernels are leaked; null ends the list.
        while let Some(kernel) = unsafe { next.as_ref() } {
            if find(kernel.address).is_some_and(|k| std::ptr::eq(k, kernel)) {
                LAUNCHABLE.set(
                    &mut held.tables,
                    kernel.address,
                    kernel.before.filter(|k| k.is_alive()),
                );
            }
            next = kernel.sibling.load(Ordering::Acquire);
        }
    });
    module.code.forget();
}

/// `address` launches kernel `name` of `module`. The name is copied: its library may be unloaded.
pub fn add_function(address: usize, name: &[u8], module: Option<&'static Module>) {
    if let Some(kernel) = find(address)
        && kernel.name.as_bytes() == name
        && kernel.same_module(module)
    {
        return;
    }
    add_kernel(address, keep(name), module, false);
}

/// `address` is another handle of `kernel`.
pub fn alias_function(address: usize, kernel: &'static Kernel) {
    if find(address).is_some_and(|k| k.number == kernel.number) {
        return;
    }
    add_numbered(kernel.number, address, kernel.name, kernel.module, false);
}

fn add_kernel(
    address: usize,
    name: &'static str,
    module: Option<&'static Module>,
    of_driver: bool,
) -> Option<&'static Kernel> {
    let number = NEXT_KERNEL.fetch_add(1, Ordering::Relaxed);
    add_numbered(number, address, name, module, of_driver)
}

/// As [`add_kernel`], for another address of a kernel that has its number already.
fn add_numbered(
    number: u32,
    address: usize,
    name: &'static str,
    module: Option<&'static Module>,
    of_driver: bool,
) -> Option<&'static Kernel> {
    lock::registry(|held| {
        let before = find(address).filter(|k| k.is_alive() && !k.name.is_empty());
        let kernel = keep_kernel(
            held,
            Kernel {
                number,
                address,
                name,
                module,
                sibling: AtomicPtr::new(std::ptr::null_mut()),
                before,
                of_driver,
                ready: AtomicU32::new(0),
                layout: AtomicPtr::new(std::ptr::null_mut()),
                direct: AtomicPtr::new(std::ptr::null_mut()),
            },
        );
        if let Some(module) = module {
            let first = module.kernels.load(Ordering::Relaxed);
            kernel.sibling.store(first, Ordering::Relaxed);
            module.kernels.store(std::ptr::from_ref(kernel).cast_mut(), Ordering::Release);
            module.functions.fetch_add(1, Ordering::Relaxed);
        }
        LAUNCHABLE.set(&mut held.tables, address, Some(kernel));
        kernel
    })
}

/// A copy of a name that lives for ever, in blocks: one allocation for many names.
fn keep(name: &[u8]) -> &'static str {
    let name = match std::str::from_utf8(name) {
        Ok("") => return "",
        Ok(name) => name,
        Err(_) => return String::from_utf8_lossy(name).into_owned().leak(),
    };
    let Some(to) = lock::registry(|held| take(held, name.len(), 1)).flatten() else {
        return name.to_owned().leak();
    };
    // SAFETY: `name.len()` bytes that nobody else has, for ever; the copied bytes are UTF-8.
    unsafe {
        to.copy_from_nonoverlapping(name.as_ptr(), name.len());
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(to, name.len()))
    }
}

/// Bytes that nobody else has, for ever, as [`Blocks::take`] gives them.
fn take(_held: &mut lock::Held, size: usize, align: usize) -> Option<*mut u8> {
    // SAFETY: one caller at a time: this thread holds the registry's lock, and nobody else has these blocks.
    unsafe { BLOCKS.take(size, align) }
}

/// Stores `kernel` for ever.
fn keep_kernel(held: &mut lock::Held, kernel: Kernel) -> &'static Kernel {
    match take(held, size_of::<Kernel>(), align_of::<Kernel>()) {
        // SAFETY: aligned bytes of that size that nobody else has, for ever.
        Some(place) => unsafe {
            let place = place.cast::<Kernel>();
            place.write(kernel);
            &*place
        },
        None => keep::forever(kernel),
    }
}

impl Module {
    /// Its image.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// How it came to be.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The version of the runtime whose library it is.
    pub fn node(&self) -> Option<&'static CStr> {
        self.node.get().copied()
    }

    /// Notes that it is a library of the runtime of this version, if there is one.
    pub fn of_runtime(&self, node: Option<&'static CStr>) {
        if let Some(node) = node {
            let _ = self.node.set(node);
        }
    }

    /// How many of its kernels were registered or looked up.
    pub fn functions(&self) -> usize {
        self.functions.load(Ordering::Relaxed)
    }

    /// Whether it was registered with images of its own for several kinds of device.
    pub fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Whether it is still loaded.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Writes its record once per trace.
    pub fn describe(&self, global: &Global, recorder: &Recorder) {
        if self.ready.swap(global.generation, Ordering::Relaxed) == global.generation {
            return;
        }
        for image in &self.images {
            recorder.write_meta(&image.encode());
        }
        if self.has_images() {
            return;
        }
        let (kind, size) = self.code.describe();
        recorder.write_meta(
            &meta::Image {
                handle: self.handle as u64,
                api: self.api.to_owned(),
                owner: self.code.owner(),
                kind: kind.to_owned(),
                size,
            }
            .encode(),
        );
    }
}

impl Kernel {
    /// The module that holds it.
    pub fn module(&self) -> Option<&'static Module> {
        self.module
    }

    fn is_alive(&self) -> bool {
        self.module.is_none_or(Module::is_alive)
    }

    fn same_module(&self, module: Option<&'static Module>) -> bool {
        match (self.module, module) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn handles_interleave_and_addresses_are_reused() {
        let (a, b) = (0x7000_1000, 0x7000_2000);
        let first = add_module(a, Code::nothing(), "t", Origin::Other).unwrap();
        let second = add_module(b, Code::nothing(), "t", Origin::Other).unwrap();
        add_function(0x8000, b"_Z1av", Some(first));
        add_function(0x8010, b"_Z1bv", Some(second));
        add_function(0x8020, b"_Z1cv", Some(first));
        // Registered twice: the newest counts, and the older one returns later.
        add_function(0x8000, b"_Z1av", Some(second));
        assert!(find(0x8000).unwrap().same_module(Some(second)));
        remove_module(b, module(b));
        assert!(find(0x8000).unwrap().same_module(Some(first)));
        assert!(find(0x8010).is_none());
        assert_eq!(find(0x8020).unwrap().name, "_Z1cv");
        // The library is unloaded, and another is mapped in its place.
        let gone = module(a);
        remove_module(a, gone);
        assert!(find(0x8000).is_none() && module(a).is_none());
        assert_eq!(first.code().layout("_Z1av").unwrap_err(), "its module is unloaded");
        let third = add_module(a, Code::nothing(), "t", Origin::Other).unwrap();
        add_function(0x8000, b"_Z5otherv", Some(third));
        // A late unload does not remove the new module.
        remove_module(a, gone);
        assert!(std::ptr::eq(module(a).unwrap(), third));
        assert_eq!(find(0x8000).unwrap().name, "_Z5otherv");
    }

    #[test]
    fn unknown_addresses_are_bounded() {
        let one = find_or_unknown(0x9001);
        assert!(std::ptr::eq(one, find_or_unknown(0x9001)));
        for i in 0..10_000usize {
            find_or_unknown(0x10_0000 + i * 2);
        }
        assert_eq!(find_or_unknown(0x77_7777_7777).number, 0);
    }
}
