//! Tests registering, loading at first use, unregistering.

use std::ffi::CStr;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use cushim_abi::index::Driver;

use super::*;
use crate::testing::{CURRENT, PRIMARY, RETAINED, with_driver};
use crate::{context, error};

static LOADS: AtomicUsize = AtomicUsize::new(0);
static UNLOADS: AtomicUsize = AtomicUsize::new(0);
static REFUSE: AtomicI32 = AtomicI32::new(0);
static MANAGED: AtomicUsize = AtomicUsize::new(5);

/// The library that the driver makes of an image is its wrapper and one.
unsafe extern "C" fn load(
    to: Out<Module>,
    image: Ptr,
    _: Ptr,
    _: Ptr,
    _: u32,
    _: Ptr,
    _: Ptr,
    _: u32,
) -> i32 {
    LOADS.fetch_add(1, Ordering::Relaxed);
    let refused = REFUSE.load(Ordering::Relaxed);
    if refused == 0 {
        // SAFETY: the caller's place.
        unsafe { to.0.write(Module(image.0 + 1)) };
    }
    refused
}

unsafe extern "C" fn unload(_: Module) -> i32 {
    UNLOADS.fetch_add(1, Ordering::Relaxed);
    0
}

/// The kernel of a library that is called `k` is the library and 100.
unsafe extern "C" fn get_kernel(to: Out<Func>, library: Module, name: Str) -> i32 {
    // SAFETY: strings of these tests.
    let name = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(name.0)) };
    if name != c"k" {
        return 500;
    }
    // SAFETY: the caller's place.
    unsafe { to.0.write(Func(library.0 + 100)) };
    0
}

unsafe extern "C" fn get_global(at: Out<Ptr>, bytes: Out<usize>, library: Module, _: Str) -> i32 {
    // SAFETY: the caller's places.
    unsafe {
        at.0.write(Ptr(library.0 + 200));
        bytes.0.write(24);
    }
    0
}

unsafe extern "C" fn get_managed(at: Out<Ptr>, bytes: Out<usize>, _: Module, _: Str) -> i32 {
    // SAFETY: the caller's places.
    unsafe {
        at.0.write(Ptr(MANAGED.as_ptr().expose_provenance()));
        bytes.0.write(8);
    }
    0
}

fn driver() -> MutexGuard<'static, ()> {
    let turn = with_driver(&[
        (Driver::cuLibraryLoadData, load as *const ()),
        (Driver::cuLibraryUnload, unload as *const ()),
        (Driver::cuLibraryGetKernel, get_kernel as *const ()),
        (Driver::cuLibraryGetGlobal, get_global as *const ()),
        (Driver::cuLibraryGetManaged, get_managed as *const ()),
    ]);
    LOADS.store(0, Ordering::Relaxed);
    UNLOADS.store(0, Ordering::Relaxed);
    REFUSE.store(0, Ordering::Relaxed);
    turn
}

fn text(text: &'static CStr) -> Str {
    Str(text.as_ptr().expose_provenance())
}

/// Registers an image, as the constructor of a program does; its handle.
fn register(wrapper: usize) -> Ptr {
    // SAFETY: nothing follows the wrapper here.
    Ptr(unsafe { __cudaRegisterFatBinary::<12>(Ptr(wrapper)) })
}

fn register_kernel(handle: Ptr, stub: usize, name: &'static CStr) {
    let none = Ptr(0);
    // SAFETY: a string that stays.
    unsafe {
        __cudaRegisterFunction::<12>(
            handle,
            Func(stub),
            text(name),
            text(name),
            -1,
            none,
            none,
            none,
            none,
            none,
        );
    }
}

#[test]
fn an_image_is_loaded_once_at_the_first_use() {
    let _driver = driver();
    let handle = register(0x7000);
    // SAFETY: what a handle points to is a pointer, the wrapper's.
    let seen = unsafe { std::ptr::with_exposed_provenance::<usize>(handle.0).read() };
    assert_eq!(seen, 0x7000);
    register_kernel(handle, 0x10_0000, c"k");
    register_kernel(handle, 0x10_0010, c"missing");
    assert_eq!((LOADS.load(Ordering::Relaxed), RETAINED.load(Ordering::Relaxed)), (0, 0));
    assert_eq!(kernel::<12>(Func(0x10_0000)), Ok(Func(0x7065)));
    assert_eq!(kernel::<12>(Func(0x10_0000)), Ok(Func(0x7065)));
    assert_eq!(kernel::<12>(Func(0x7065)), Ok(Func(0x7065)), "by its handle");
    assert_eq!(kernel::<12>(Func(0x10_0010)), Err(code::INVALID_DEVICE_FUNCTION));
    assert_eq!(kernel::<12>(Func(0)), Err(code::INVALID_DEVICE_FUNCTION));
    assert_eq!(kernel::<12>(Func(0x99)), Err(code::INVALID_DEVICE_FUNCTION));
    assert_eq!(kernel::<13>(Func(0x99)), Err(code::INVALID_HANDLE));
    assert_eq!(LOADS.load(Ordering::Relaxed), 1);
    assert_eq!(kernel_name(Func(0x10_0000)), kernel_name(Func(0x7065)));
    // SAFETY: a handle of ours.
    unsafe { __cudaUnregisterFatBinary::<12>(handle) };
    assert_eq!(UNLOADS.load(Ordering::Relaxed), 1);
    // SAFETY: unregistered already: passed over.
    unsafe { __cudaUnregisterFatBinary::<12>(handle) };
    assert_eq!(UNLOADS.load(Ordering::Relaxed), 1);
    for func in [0x10_0000, 0x7065] {
        assert_eq!(kernel_name(Func(func)), None);
    }
}

#[test]
fn a_library_in_the_place_of_another_keeps_its_kernels() {
    let _driver = driver();
    let (first, second) = (register(0x8000), register(0x9000));
    register_kernel(first, 0x20_0000, c"k");
    assert_eq!(kernel::<12>(Func(0x20_0000)), Ok(Func(0x8065)));
    register_kernel(second, 0x20_0000, c"k");
    // SAFETY: a handle of ours.
    unsafe { __cudaUnregisterFatBinary::<12>(first) };
    assert_eq!(kernel::<12>(Func(0x20_0000)), Ok(Func(0x9065)));
    // SAFETY: a handle of ours.
    unsafe { __cudaUnregisterFatBinary::<12>(second) };
}

#[test]
fn an_image_that_does_not_load_is_tried_again() {
    let _driver = driver();
    let handle = register(0xa000);
    register_kernel(handle, 0x30_0000, c"k");
    REFUSE.store(209, Ordering::Relaxed);
    assert_eq!(kernel::<12>(Func(0x30_0000)), Err(209));
    // SAFETY: a handle of ours.
    assert_eq!(unsafe { __cudaInitModule::<12>(handle) }, 0);
    assert_eq!(error::take_last(), 209);
    REFUSE.store(0, Ordering::Relaxed);
    assert_eq!(kernel::<12>(Func(0x30_0000)), Ok(Func(0xa065)));
    // SAFETY: a handle of ours, and what is no handle and looked up as one.
    assert_eq!(unsafe { (__cudaInitModule::<12>(handle), __cudaInitModule::<12>(Ptr(8))) }, (1, 0));
    assert_eq!(LOADS.load(Ordering::Relaxed), 3);
}

#[test]
fn variables_have_an_address_and_managed_ones_tell_it() {
    let _driver = driver();
    let handle = register(0xb000);
    let (plain, shadow, reference) = (0_u32, AtomicUsize::new(0), 0_u64);
    let plain = Ptr(std::ptr::from_ref(&plain).expose_provenance());
    let at = Ptr(shadow.as_ptr().expose_provenance());
    let reference = Ptr(std::ptr::from_ref(&reference).expose_provenance());
    // SAFETY: strings that stay.
    unsafe {
        __cudaRegisterVar::<12>(handle, plain, text(c"p"), text(c"p"), 0, 24, 0, 0);
        __cudaRegisterManagedVar::<12>(handle, at, text(c"m"), text(c"m"), 0, 8, 0, 0);
        // Of an image of its own: one that has references is no library.
        let other = register(0xb800);
        __cudaRegisterTexture::<11>(other, reference, Ptr(0), text(c"t"), 1, 0, 0);
    }
    assert_eq!((LOADS.load(Ordering::Relaxed), shadow.load(Ordering::Relaxed)), (0, 0));
    // SAFETY: a handle of ours.
    assert_eq!(unsafe { __cudaInitModule::<12>(handle) }, 1);
    let managed = MANAGED.as_ptr().expose_provenance();
    assert_eq!(shadow.load(Ordering::Relaxed), managed);
    // By the place of its address, and by its address.
    assert_eq!(variable(at), Ok((Ptr(managed), 8)));
    assert_eq!(variable(Ptr(managed)), Ok((Ptr(managed), 8)));
    assert_eq!(variable(plain), Ok((Ptr(0xb001 + 200), 24)));
    assert_eq!(variable(Ptr(64)), Err(code::INVALID_SYMBOL));
    assert_eq!(variable(reference), Err(code::INVALID_SYMBOL));
    // SAFETY: a handle of ours.
    unsafe { __cudaUnregisterFatBinary::<12>(handle) };
    for gone in [plain, at, Ptr(managed)] {
        assert_eq!(variable(gone), Err(code::INVALID_SYMBOL));
    }
}

#[test]
fn threads_load_an_image_once() {
    let _driver = driver();
    let handle = register(0xc000);
    register_kernel(handle, 0x40_0000, c"k");
    std::thread::scope(|scope| {
        let ask = || kernel::<12>(Func(0x40_0000));
        let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        for one in all {
            assert_eq!(one.join().ok(), Some(Ok(Func(0xc065))));
        }
    });
    assert_eq!((LOADS.load(Ordering::Relaxed), RETAINED.load(Ordering::Relaxed)), (1, 1));
}

unsafe extern "C" fn version_of_11(to: Out<i32>) -> i32 {
    // SAFETY: the caller's place.
    unsafe { to.0.write(11_080) };
    0
}

/// A module belongs to its context, so that one of another context differs from it.
unsafe extern "C" fn load_module(to: Out<Module>, _: Ptr) -> i32 {
    LOADS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller's place.
    unsafe { to.0.write(Module(CURRENT.get() * 16)) };
    0
}

unsafe extern "C" fn nothing(_: usize) -> i32 {
    0
}

#[test]
fn a_driver_of_11_has_a_module_in_each_context() {
    let _driver = with_driver(&[
        (Driver::cuDriverGetVersion, version_of_11 as *const ()),
        (Driver::cuModuleLoadData, load_module as *const ()),
        (Driver::cuModuleUnload, unload as *const ()),
        (Driver::cuModuleGetFunction, get_kernel as *const ()),
        (Driver::cuModuleGetGlobal_v2, get_global as *const ()),
        (Driver::cuCtxPushCurrent_v2, nothing as *const ()),
        (Driver::cuCtxPopCurrent_v2, nothing as *const ()),
    ]);
    LOADS.store(0, Ordering::Relaxed);
    UNLOADS.store(0, Ordering::Relaxed);
    let handle = register(0xd000);
    register_kernel(handle, 0x50_0000, c"k");
    register_kernel(handle, 0x50_0010, c"missing");
    let host = 0_u32;
    let host = Ptr(std::ptr::from_ref(&host).expose_provenance());
    // SAFETY: strings that stay.
    unsafe { __cudaRegisterVar::<11>(handle, host, text(c"p"), text(c"p"), 0, 24, 0, 0) };
    let first = PRIMARY * 16;
    for _ in 0..2 {
        assert_eq!(kernel::<11>(Func(0x50_0000)), Ok(Func(first + 100)));
    }
    assert_eq!(kernel::<11>(Func(0x50_0010)), Err(code::INVALID_DEVICE_FUNCTION));
    assert_eq!(variable(host), Ok((Ptr(first + 200), 24)));
    assert_eq!(LOADS.load(Ordering::Relaxed), 1);
    CURRENT.set(PRIMARY + 1);
    assert_eq!(kernel::<11>(Func(0x50_0000)), Ok(Func(first + 16 + 100)));
    assert_eq!(LOADS.load(Ordering::Relaxed), 2);
    // A device that was reset has no modules any more; the other one keeps its own.
    CURRENT.set(PRIMARY);
    assert_eq!(context::reset(), Ok(()));
    assert_eq!(kernel::<11>(Func(0x50_0000)), Ok(Func(first + 100)));
    assert_eq!(LOADS.load(Ordering::Relaxed), 3);
    // SAFETY: a handle of ours.
    unsafe { __cudaUnregisterFatBinary::<11>(handle) };
    assert_eq!(UNLOADS.load(Ordering::Relaxed), 2);
}
