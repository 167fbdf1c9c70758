//! Host stubs, handles, kernels and modules.
//!
//! One table maps everything that can be launched (host stub, `cudaKernel_t`, `CUkernel`, `CUfunction`)
//! to its kernel: they are all addresses in this process, so they cannot collide while alive. Another
//! maps registration and load handles to modules. Lookups take no lock; changes take the registry's.
//!
//! A kernel's record and its name live for ever: a launch may come after its library is gone. What was
//! unregistered is taken out of the table, and a stub that is registered anew gets a new kernel, so a
//! library mapped where another was is never mistaken for it. Where it is the same library again, the new kernel
//! is the old one's record ([`reuse`]).
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
use cushim_process::table::PointerTable;

mod describe;
mod reuse;
mod store;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

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

/// A kernel: one name in one module.
pub struct Kernel {
    /// Its number in traces, from 1.
    pub number: u32,
    /// Host stub or handle by which it became known; the latest one.
    address: AtomicUsize,
    /// The symbol; empty where it is not known.
    pub name: &'static str,
    /// The module that holds it.
    module: Option<&'static Module>,
    /// The next kernel of the same module.
    sibling: AtomicPtr<Kernel>,
    /// The previous kernel of the same address, if its module is still loaded.
    before: AtomicPtr<Kernel>,
    /// Whether `address` is a `CUfunction`, so that the driver can be asked about it.
    of_driver: bool,
    /// Generation in which its record was written; its layout is known by then.
    ready: AtomicU32,
    layout: AtomicPtr<Layout>,
    /// What the driver launches for it.
    pub direct: crate::handle::Handles,
    waiting: reuse::Waiting,
}

/// A registered fat binary, or a loaded module or library.
pub struct Module {
    /// What the program was given for it.
    handle: AtomicUsize,
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
    /// What is the same in modules whose records say the same.
    key: reuse::Key,
    /// The next one that is gone and has this key.
    gone: AtomicPtr<Module>,
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
    let key = reuse::Key::of(&code, &images, api, origin);
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
    add_kernel(address, &String::from_utf8_lossy(name), module, false);
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

impl Module {
    /// `kernel` is one of it.
    fn link(&self, kernel: &'static Kernel) {
        let first = self.kernels.load(Ordering::Relaxed);
        kernel.sibling.store(first, Ordering::Relaxed);
        self.kernels.store(std::ptr::from_ref(kernel).cast_mut(), Ordering::Release);
    }

    /// What the program was given for it; the latest one.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

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
                handle: self.handle() as u64,
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

    const fn new(
        number: u32,
        name: &'static str,
        module: Option<&'static Module>,
        of_driver: bool,
    ) -> Self {
        Kernel {
            number,
            address: AtomicUsize::new(0),
            name,
            module,
            sibling: AtomicPtr::new(std::ptr::null_mut()),
            before: AtomicPtr::new(std::ptr::null_mut()),
            of_driver,
            ready: AtomicU32::new(0),
            layout: AtomicPtr::new(std::ptr::null_mut()),
            direct: crate::handle::Handles::none(),
            waiting: reuse::Waiting::not_yet(),
        }
    }

    /// Host stub or handle by which it became known; the latest one.
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// The kernel that its address launches when it is gone.
    fn before(&self) -> Option<&'static Kernel> {
        // SAFETY: null, or a record, which is never freed.
        let before = unsafe { self.before.load(Ordering::Relaxed).as_ref() };
        before.filter(|before| before.is_alive() && before.address() == self.address())
    }

    fn is_alive(&self) -> bool {
        self.waiting.is_registered() && self.module.is_none_or(Module::is_alive)
    }

    fn same_module(&self, module: Option<&'static Module>) -> bool {
        match (self.module, module) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}
