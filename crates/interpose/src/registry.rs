//! Host stubs, handles, kernels and modules.
//!
//! One table maps everything that can be launched (host stub, `cudaKernel_t`, `CUkernel`, `CUfunction`) to its
//! kernel: all are addresses in this process, so they cannot collide while alive. Another table maps registration and
//! load handles to modules. Lookups take no lock; changes take the registry's.
//!
//! A kernel's record and its name live for ever: a launch may come after its library was unloaded. An unregistered
//! stub is removed from the table, and a stub that is registered again gets a new kernel, so a library that is mapped
//! where another was is never mistaken for it. If it is the same library again, the new kernel reuses the old record
//! ([`reuse`]).
//!
//! Must not know: events, the loader.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use cushim_trace::meta;

use crate::keep;
use crate::layouts::Code;
use crate::lock;
use crate::origin::Origin;
use cushim_process::table::PointerTable;

mod describe;
mod record;
mod reuse;
mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use record::{Kernel, Module};
pub use reuse::keep_apart;

static LAUNCHABLE: PointerTable<Kernel> = PointerTable::new();
static MODULES: PointerTable<Module> = PointerTable::new();
static NEXT_KERNEL: AtomicU32 = AtomicU32::new(1);
/// Whether images are read later than they are loaded.
static KEEP: AtomicBool = AtomicBool::new(false);

/// Copies images from now on where the program may free them.
pub fn keep_images() {
    KEEP.store(true, Ordering::Release);
    keep_apart();
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

/// More unknown addresses than this share one record: memory must not grow without end if a program
/// keeps launching invalid addresses.
const MOST_UNKNOWN: u32 = 4096;

/// A kernel that was launched by an address nothing was registered for; `driver_name` is the
/// driver's name for it, for a `CUfunction`.
#[cold]
pub fn unknown(address: usize, driver_name: Option<String>) -> &'static Kernel {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static SHARED: Kernel = Kernel::new(0, "", None, false);
    if address == 0 || COUNT.fetch_add(1, Ordering::Relaxed) >= MOST_UNKNOWN {
        COUNT.fetch_min(MOST_UNKNOWN, Ordering::Relaxed);
        return &SHARED;
    }
    let of_driver = driver_name.is_some();
    add_kernel(address, &driver_name.unwrap_or_default(), None, of_driver).unwrap_or(&SHARED)
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
    mut code: Code,
    images: Vec<meta::Image>,
    api: &'static str,
    origin: Origin,
) -> Option<&'static Module> {
    let key = record::Key::of(&code, &images, api, origin);
    lock::registry(|held| {
        let module = match reuse::take(held, key, handle, &mut code) {
            Some(module) => module,
            None => &*keep::forever(Module {
                handle: AtomicUsize::new(handle),
                code,
                images,
                api,
                origin,
                node: OnceLock::new(),
                alive: AtomicBool::new(true),
                kernels: AtomicPtr::new(std::ptr::null_mut()),
                ready: AtomicU32::new(0),
                functions: AtomicUsize::new(0),
                key,
                spare: AtomicUsize::new(0),
                gone: AtomicPtr::new(std::ptr::null_mut()),
            }),
        };
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
    let was_alive = lock::registry(|held| {
        if MODULES.get(handle).is_some_and(|m| std::ptr::eq(m, module)) {
            MODULES.set(&mut held.tables, handle, None);
        }
        let was_alive = module.alive.swap(false, Ordering::AcqRel);
        let mut next = module.kernels.load(Ordering::Acquire);
        // SAFETY: kernels are leaked; null ends the list.
        while let Some(kernel) = unsafe { next.as_ref() } {
            let address = kernel.address();
            if find(address).is_some_and(|k| std::ptr::eq(k, kernel)) {
                LAUNCHABLE.set(&mut held.tables, address, kernel.before());
            }
            reuse::add_kernel(held, module, kernel);
            next = kernel.sibling.load(Ordering::Acquire);
        }
        was_alive
    });
    // In this order: who uses the record again must not lose what is then read.
    if module.code.forget() && was_alive == Some(true) {
        lock::registry(|held| reuse::add(held, module));
    }
}

/// `address` launches kernel `name` of `module`. The name is copied: its library may be unloaded.
pub fn add_function(address: usize, name: &[u8], module: Option<&'static Module>) {
    if let Some(kernel) = find(address)
        && kernel.name.as_bytes() == name
        && kernel.same_module(module)
    {
        return;
    }
    // Nearly all names are UTF-8, which is seen eight bytes at a time.
    match std::str::from_utf8(name) {
        Ok(name) => add_kernel(address, name, module, false),
        Err(_) => add_kernel(address, &String::from_utf8_lossy(name), module, false),
    };
}

/// `address` is another handle of `kernel`.
pub fn alias_function(address: usize, kernel: &'static Kernel) {
    let same = |known: &Kernel| {
        let named = !known.name.is_empty() && known.name == kernel.name;
        known.number == kernel.number || named && known.same_module(kernel.module)
    };
    if find(address).is_some_and(same) {
        return;
    }
    let number = || kernel.number;
    add_numbered(number, address, kernel.name, kernel.module, false);
}

fn add_kernel(
    address: usize,
    name: &str,
    module: Option<&'static Module>,
    of_driver: bool,
) -> Option<&'static Kernel> {
    add_numbered(new_number, address, name, module, of_driver)
}

/// As [`add_kernel`]; a new record gets `number`: that of a kernel that this is another address of.
fn add_numbered(
    number: impl FnOnce() -> u32,
    address: usize,
    name: &str,
    module: Option<&'static Module>,
    of_driver: bool,
) -> Option<&'static Kernel> {
    lock::registry(|held| {
        let before = find(address).filter(|k| k.is_alive() && !k.name.is_empty());
        let kernel = match module.and_then(|module| reuse::take_kernel(held, module, name)) {
            Some(kernel) => kernel,
            None => {
                let name = store::name(held, name);
                let kernel = Kernel::new(number(), name, module, of_driver);
                let kernel = store::kernel(held, kernel);
                if let Some(module) = module {
                    module.link(kernel);
                }
                kernel
            }
        };
        kernel.address.store(address, Ordering::Relaxed);
        let before = before.map_or(std::ptr::null(), std::ptr::from_ref);
        kernel.before.store(before.cast_mut(), Ordering::Relaxed);
        if let Some(module) = module {
            module.functions.fetch_add(1, Ordering::Relaxed);
        }
        LAUNCHABLE.set(&mut held.tables, address, Some(kernel));
        kernel
    })
}
