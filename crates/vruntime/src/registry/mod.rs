//! What programs register: their images, and the kernels and variables in them.
//!
//! Owns three tables, by the addresses under which a program knows a thing: the handle of an image, the
//! host stub (or the driver's handle) of a kernel, the host's shadow of a variable. They are read without a
//! lock and written under one. Registering calls nothing of the driver: constructors of libraries do it,
//! before main, under the loader's lock. What lies in an image is loaded at first use ([`load`]). Must not
//! know: launches, copies.

mod image;
pub mod legacy;
pub mod load;
mod reference;
mod register;
#[cfg(test)]
mod tests;

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use cushim_abi::types::*;
use cushim_process::memory::Blocks;
use cushim_process::table::{PointerTable, Writer};

use super::error::code;
use cushim_accel::locks::lock;

pub use reference::{Reference, reference};
pub use register::*;

/// A registered image. Its address is the handle that the program has.
#[repr(C)]
pub struct Binary {
    /// The wrapper that was registered. First, because a program may look through its handle, which under
    /// every runtime points to a pointer.
    pub wrapper: usize,
    /// The driver's library, once loaded; 0 before and after.
    library: AtomicUsize,
    /// What it is on a driver without libraries.
    modules: legacy::Modules,
    /// Held while it is loaded and unloaded.
    loading: Mutex<()>,
    kernels: AtomicPtr<Kernel>,
    variables: AtomicPtr<Variable>,
    /// The one that was registered before it.
    before: *const Binary,
}

// SAFETY: `before` is null or kept for ever.
unsafe impl Sync for Binary {}

/// A kernel: one that was registered, or one of a library that the program loaded.
#[repr(C)]
pub struct Kernel {
    /// The driver's `CUkernel`; 0 until first used.
    handle: AtomicUsize,
    /// The mangled name, a string of the program that is there as long as the image is registered.
    name: usize,
    stub: usize,
    /// Where it comes from; a kernel of a library of the program has none.
    binary: Option<&'static Binary>,
    next: *const Kernel,
}

/// A variable of the device.
#[repr(C)]
pub struct Variable {
    /// The name in the image.
    name: usize,
    host: usize,
    size: usize,
    binary: &'static Binary,
    kind: Kind,
    /// The address of a managed variable, once loaded.
    managed: AtomicUsize,
    next: *const Variable,
}

/// What a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `__device__`, `__constant__`: another address on every device.
    Device,
    /// `__managed__`: one address, which the program wants stored at the host's.
    Managed,
    /// A texture or surface reference of CUDA 11; its size is what it reads as, see [`reference::Reference`].
    Reference,
}

// SAFETY: `next` and the strings are only followed under the lock, or while the image is registered.
unsafe impl Sync for Kernel {}
// SAFETY: `next` and the strings are only followed under the lock, or while the image is registered.
unsafe impl Sync for Variable {}

/// The image that was registered last.
static NEWEST: AtomicPtr<Binary> = AtomicPtr::new(std::ptr::null_mut());
static BINARIES: PointerTable<Binary> = PointerTable::new();
static KERNELS: PointerTable<Kernel> = PointerTable::new();
static VARIABLES: PointerTable<Variable> = PointerTable::new();

/// Held by whoever changes a table or a list.
static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    blocks: Blocks::new(),
    // SAFETY: the only one of this crate, whose tables are the three above.
    tables: unsafe { Writer::new() },
});

/// What stands under the lock.
struct Memory {
    /// Where entries lie.
    blocks: Blocks,
    /// The right to change the tables.
    tables: Writer,
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

/// Takes an image out of all tables, with what it holds. What was loaded is the caller's to unload.
fn remove(binary: &'static Binary) {
    let mut memory = lock(&MEMORY);
    BINARIES.set(&mut memory.tables, std::ptr::from_ref(binary).addr(), None);
    let same =
        |found: Option<&Kernel>, kernel: &Kernel| found.is_some_and(|k| std::ptr::eq(k, kernel));
    for kernel in binary.kernels() {
        for key in [kernel.stub, kernel.handle.load(Ordering::Relaxed)] {
            // A library that was loaded in its place may have registered another.
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
    fn kernels(&self) -> impl Iterator<Item = &'static Kernel> {
        // SAFETY: null, or a kernel that is kept for ever, as are those behind it.
        let first = unsafe { self.kernels.load(Ordering::Acquire).as_ref() };
        // SAFETY: null, or a kernel, which are never freed.
        std::iter::successors(first, |kernel| unsafe { kernel.next.as_ref() })
    }

    fn variables(&self) -> impl Iterator<Item = &'static Variable> {
        // SAFETY: null, or a variable that is kept for ever, as are those behind it.
        let first = unsafe { self.variables.load(Ordering::Acquire).as_ref() };
        // SAFETY: null, or a variable, which are never freed.
        std::iter::successors(first, |variable| unsafe { variable.next.as_ref() })
    }
}

/// Makes a kernel of a library of the program known by its handle, so that the runtime's launches take it.
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

/// What the driver is given to launch, for what a program names a kernel by: its host stub or its handle.
///
/// # Errors
/// As [`unknown`] for an address that is neither; what loading said.
#[inline(always)]
pub fn kernel<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    let Some(kernel) = KERNELS.get(func.0) else { return unknown::<MAJOR>(func) };
    match kernel.handle.load(Ordering::Acquire) {
        0 => kernel.load(),
        handle => Ok(Func(handle)),
    }
}

/// As [`kernel`], where that is known without asking the driver.
pub fn known(func: Func) -> Option<Func> {
    let handle = KERNELS.get(func.0)?.handle.load(Ordering::Acquire);
    (handle != 0).then_some(Func(handle))
}

/// Whether [`kernel`] answers with the function of the current context, and not with a `CUkernel`.
pub fn is_function(func: Func) -> bool {
    let binary = KERNELS.get(func.0).and_then(|kernel| kernel.binary);
    binary.map_or_else(legacy::is_here, Binary::is_by_module)
}

/// What a program names a kernel by, for its handle: the host stub it registered, else the handle.
pub fn stub(handle: Func) -> Func {
    let stub = match KERNELS.get(handle.0) {
        Some(kernel) => kernel.stub,
        None => of_function(handle).map_or(0, |kernel| kernel.stub),
    };
    if stub == 0 { handle } else { Func(stub) }
}

/// The kernel that is this function in the current context: drivers tell of a launch by that.
#[cold]
fn of_function(function: Func) -> Option<&'static Kernel> {
    // SAFETY: null, or an image that is kept for ever, as are those before it.
    let newest = unsafe { NEWEST.load(Ordering::Acquire).as_ref() };
    // SAFETY: null, or an image, which are never freed.
    let all = std::iter::successors(newest, |binary| unsafe { binary.before.as_ref() });
    let loaded = all.filter(|binary| binary.library.load(Ordering::Acquire) != 0);
    loaded.flat_map(Binary::kernels).find(|kernel| {
        let mut its = Func(0);
        let handle = Func(kernel.handle.load(Ordering::Acquire));
        // SAFETY: a place for a handle, a kernel of the driver.
        handle.0 != 0
            && unsafe { cushim_vbase::api::cuKernelGetFunction(Out(&raw mut its), handle) } == 0
            && its == function
    })
}

/// The name of a kernel that was registered, for its stub or handle.
pub fn kernel_name(func: Func) -> Option<Str> {
    KERNELS.get(func.0).filter(|kernel| kernel.name != 0).map(|kernel| Str(kernel.name))
}

/// An address that nobody registered: a handle that the program got from the driver itself, or none.
///
/// # Errors
/// cudaErrorInvalidDeviceFunction; from 13 on cudaErrorInvalidResourceHandle, as an address that is not null
/// is taken for a handle there (measured).
#[cold]
fn unknown<const MAJOR: usize>(func: Func) -> Result<Func, Status> {
    super::context::ready()?;
    if func.0 == 0 {
        return Err(code::INVALID_DEVICE_FUNCTION);
    }
    // NVIDIA's older drivers follow any pointer that they are given; ours knows its own.
    if cushim_vbase::backend::chosen() != Some(cushim_vbase::backend::Backend::Driver) {
        let mut library = Module(0);
        // SAFETY: a place for a handle; our driver looks handles up.
        if unsafe { cushim_vbase::api::cuKernelGetLibrary(Out(&mut library), func) } == 0 {
            return Ok(func);
        }
    }
    Err(if MAJOR >= 13 { code::INVALID_HANDLE } else { code::INVALID_DEVICE_FUNCTION })
}

/// The variable that a program names by its address: where it lies on the current device, and its bytes.
///
/// # Errors
/// cudaErrorInvalidSymbol for an address that is no variable's; what loading said.
pub fn variable(symbol: Ptr) -> Result<(Ptr, usize), Status> {
    super::context::ready()?;
    VARIABLES.get(symbol.0).ok_or(code::INVALID_SYMBOL)?.place()
}
