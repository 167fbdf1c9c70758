//! The tables of what programs have registered.
//!
//! Owns the entries and their storage: read without a lock and written under one. Must not know: when something is
//! loaded ([`super::load`]), contexts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use cushim_abi::types::*;
use cushim_process::memory::Blocks;
use cushim_process::table::{PointerTable, Writer};

use cushim_accel::locks::lock;

/// An image in a context.
pub struct Held {
    pub(super) context: usize,
    pub(super) module: Module,
    /// Functions by the address of their kernel.
    pub(super) functions: Vec<(usize, Func)>,
}

/// The modules of an image.
pub type Modules = Mutex<Vec<Held>>;

/// A registered image. Its address is the handle that the program has.
#[repr(C)]
pub struct Binary {
    /// The wrapper that was registered. The first field, since programs may dereference their
    /// handle, which in every runtime points to a pointer.
    pub wrapper: usize,
    /// The driver's library, once loaded; 0 before and after.
    pub(super) library: AtomicUsize,
    /// Its modules, on a driver without libraries.
    pub(super) modules: Modules,
    /// Held while it is loaded and unloaded.
    pub(super) loading: Mutex<()>,
    kernels: AtomicPtr<Kernel>,
    variables: AtomicPtr<Variable>,
    /// The image that was registered before it.
    before: *const Binary,
}

// SAFETY: `before` is null or kept for ever.
unsafe impl Sync for Binary {}

/// A kernel: one that was registered, or one of a library that the program loaded.
#[repr(C)]
pub struct Kernel {
    /// The driver's `CUkernel`; 0 until first used.
    pub(super) handle: AtomicUsize,
    /// The mangled name, a string of the program that is there as long as the image is registered.
    pub(super) name: usize,
    pub(super) stub: usize,
    /// Its image; none for a kernel of a library that the program loaded.
    pub(super) binary: Option<&'static Binary>,
    next: *const Kernel,
}

/// A variable of the device.
#[repr(C)]
pub struct Variable {
    /// The name in the image.
    pub(super) name: usize,
    pub(super) host: usize,
    pub(super) size: usize,
    pub(super) binary: &'static Binary,
    pub(super) kind: Kind,
    /// The address of a managed variable, once loaded.
    pub(super) managed: AtomicUsize,
    next: *const Variable,
}

/// The kind of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `__device__`, `__constant__`: another address on every device.
    Device,
    /// `__managed__`: one address, which is stored at the host's.
    Managed,
    /// A texture or surface reference of CUDA 11; its size field holds the read mode, see
    /// [`super::reference::Reference`].
    Reference,
}

// SAFETY: `next` and the strings are only followed under the lock, or while the image is registered.
unsafe impl Sync for Kernel {}
// SAFETY: `next` and the strings are only followed under the lock, or while the image is registered.
unsafe impl Sync for Variable {}

/// The image that was registered last.
static NEWEST: AtomicPtr<Binary> = AtomicPtr::new(std::ptr::null_mut());
pub(super) static BINARIES: PointerTable<Binary> = PointerTable::new();
pub(super) static KERNELS: PointerTable<Kernel> = PointerTable::new();
pub(super) static VARIABLES: PointerTable<Variable> = PointerTable::new();

/// Held while a table or a list is changed.
pub(super) static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    blocks: Blocks::new(),
    // SAFETY: the only one of this crate, whose tables are the three above.
    tables: unsafe { Writer::new() },
});

/// The state that the lock guards.
pub(super) struct Memory {
    /// The memory of entries.
    blocks: Blocks,
    /// The right to change the tables.
    pub(super) tables: Writer,
}

/// Keeps a value for ever.
fn keep<T>(memory: &mut Memory, value: T) -> &'static T {
    // SAFETY: one caller at a time: the blocks are borrowed by this one alone.
    match unsafe { memory.blocks.take(size_of::<T>(), align_of::<T>()) } {
        Some(place) => {
            let place = place.cast::<T>();
            // SAFETY: room for a `T`, aligned, that nobody else has and that stays.
            unsafe {
                place.write(value);
                &*place
            }
        }
        None => Box::leak(Box::new(value)),
    }
}

/// Registers an image; its handle.
pub fn add_binary(wrapper: usize) -> &'static Binary {
    let mut memory = lock(&MEMORY);
    let binary = keep(
        &mut memory,
        Binary {
            wrapper,
            library: AtomicUsize::new(0),
            modules: Mutex::new(Vec::new()),
            loading: Mutex::new(()),
            kernels: AtomicPtr::default(),
            variables: AtomicPtr::default(),
            before: NEWEST.load(Ordering::Relaxed),
        },
    );
    NEWEST.store(std::ptr::from_ref(binary).cast_mut(), Ordering::Release);
    BINARIES.set(&mut memory.tables, std::ptr::from_ref(binary).expose_provenance(), Some(binary));
    binary
}

/// The image of a handle.
pub fn binary(handle: Ptr) -> Option<&'static Binary> {
    BINARIES.get(handle.0)
}

/// Registers a kernel of an image under its host stub.
pub fn add_kernel(binary: &'static Binary, stub: usize, name: usize) {
    let mut memory = lock(&MEMORY);
    let next = binary.kernels.load(Ordering::Relaxed);
    let handle = AtomicUsize::new(0);
    let kernel = keep(&mut memory, Kernel { handle, name, stub, binary: Some(binary), next });
    binary.kernels.store(std::ptr::from_ref(kernel).cast_mut(), Ordering::Release);
    KERNELS.set(&mut memory.tables, stub, Some(kernel));
}

/// Registers a variable of an image under its address on the host.
pub fn add_variable(binary: &'static Binary, kind: Kind, host: usize, name: usize, size: usize) {
    let mut memory = lock(&MEMORY);
    let next = binary.variables.load(Ordering::Relaxed);
    let managed = AtomicUsize::new(0);
    let variable = keep(&mut memory, Variable { name, host, size, binary, kind, managed, next });
    binary.variables.store(std::ptr::from_ref(variable).cast_mut(), Ordering::Release);
    VARIABLES.set(&mut memory.tables, host, Some(variable));
}

/// Removes an image from all tables, with its kernels and variables. The caller must unload what
/// was loaded.
pub(super) fn remove(binary: &'static Binary) {
    let mut memory = lock(&MEMORY);
    BINARIES.set(&mut memory.tables, std::ptr::from_ref(binary).addr(), None);
    let same =
        |found: Option<&Kernel>, kernel: &Kernel| found.is_some_and(|k| std::ptr::eq(k, kernel));
    for kernel in binary.kernels() {
        for key in [kernel.stub, kernel.handle.load(Ordering::Relaxed)] {
            // A library loaded at its addresses may have registered another kernel.
            if same(KERNELS.get(key), kernel) {
                KERNELS.set(&mut memory.tables, key, None);
            }
        }
    }
    for variable in binary.variables() {
        for key in [variable.host, variable.managed.load(Ordering::Relaxed)] {
            if VARIABLES.get(key).is_some_and(|found| std::ptr::eq(found, variable)) {
                VARIABLES.set(&mut memory.tables, key, None);
            }
        }
    }
}

impl Binary {
    pub(super) fn kernels(&self) -> impl Iterator<Item = &'static Kernel> {
        // SAFETY: null, or a kernel that is kept for ever, as are those behind it.
        let first = unsafe { self.kernels.load(Ordering::Acquire).as_ref() };
        // SAFETY: null, or a kernel, which are never freed.
        std::iter::successors(first, |kernel| unsafe { kernel.next.as_ref() })
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &'static Variable> {
        // SAFETY: null, or a variable that is kept for ever, as are those behind it.
        let first = unsafe { self.variables.load(Ordering::Acquire).as_ref() };
        // SAFETY: null, or a variable, which are never freed.
        std::iter::successors(first, |variable| unsafe { variable.next.as_ref() })
    }
}

/// Adds a kernel of a library of the program by its handle, so that the runtime's launches accept
/// it.
pub fn know_handle(handle: usize) {
    if KERNELS.get(handle).is_some() {
        return;
    }
    let mut memory = lock(&MEMORY);
    let kernel = keep(
        &mut memory,
        Kernel {
            handle: AtomicUsize::new(handle),
            name: 0,
            stub: 0,
            binary: None,
            next: std::ptr::null(),
        },
    );
    KERNELS.set(&mut memory.tables, handle, Some(kernel));
}

/// Forgets handles of a library that the program unloads.
pub fn forget_handles(handles: &[usize]) {
    let mut memory = lock(&MEMORY);
    for handle in handles {
        if KERNELS.get(*handle).is_some_and(|kernel| kernel.binary.is_none()) {
            KERNELS.set(&mut memory.tables, *handle, None);
        }
    }
}

/// All images, the newest first.
pub(super) fn all() -> impl Iterator<Item = &'static Binary> {
    // SAFETY: null, or an image that is kept for ever, as are those before it.
    let newest = unsafe { NEWEST.load(Ordering::Acquire).as_ref() };
    // SAFETY: null, or an image, which are never freed.
    std::iter::successors(newest, |binary| unsafe { binary.before.as_ref() })
}

/// Forgets what was in a context that has ended.
pub fn forget(context: usize) {
    for binary in all() {
        lock(&binary.modules).retain(|held| held.context != context);
    }
}
