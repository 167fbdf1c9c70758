//! The driver's functions for launches that bypass the runtime.
//!
//! They are the real functions; with nested recording they are cushim's own exports, so that the launch is recorded.
//! Must not know: when a launch may bypass the runtime.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cushim_abi::types::*;
use cushim_process::elf::{self, Version};

use crate::site::Site;
use crate::{device, life};

/// `cuLaunchKernel`.
#[rustfmt::skip]
type LaunchFn = unsafe extern "C-unwind" fn(Func, u32, u32, u32, u32, u32, u32, u32, Stream, Ptr, Ptr) -> i32;
type LaunchEx = unsafe extern "C-unwind" fn(Ptr, Func, Ptr, Ptr) -> i32;
type Current = unsafe extern "C-unwind" fn(*mut usize) -> i32;
type Device = unsafe extern "C-unwind" fn(*mut i32) -> i32;
type Retain = unsafe extern "C-unwind" fn(*mut usize, i32) -> i32;
type Release = unsafe extern "C-unwind" fn(i32) -> i32;

/// The driver functions that direct launches need.
pub struct Driver {
    /// `cuLaunchKernel`.
    pub launch: LaunchFn,
    /// `cuLaunchKernelEx`, from CUDA 11.8 on.
    pub launch_ex: Option<LaunchEx>,
    current: Current,
    device: Device,
    retain: Retain,
    release: Release,
}

static FOUND: AtomicPtr<Driver> = AtomicPtr::new(std::ptr::null_mut());

/// The functions, if they were found before.
#[inline(always)]
pub fn known() -> Option<&'static Driver> {
    // SAFETY: null or leaked.
    unsafe { FOUND.load(Ordering::Acquire).as_ref() }
}

/// The functions; `None` where the driver is not loaded, or lacks one.
pub fn find(site: &'static Site) -> Option<&'static Driver> {
    if let Some(known) = known() {
        return Some(known);
    }
    let shown = life::global().is_some_and(|global| global.nested && global.recorder.is_some());
    let launch = |name: &CStr| match shown {
        true => {
            site.home.driver_site(name).filter(|s| !s.real().is_null()).map(|s| s.hook.0.addr())
        }
        false => device::function(name),
    };
    // SAFETY: the functions of these names have these signatures.
    let driver = unsafe {
        Driver {
            launch: std::mem::transmute::<usize, LaunchFn>(launch(c"cuLaunchKernel")?),
            launch_ex: launch(c"cuLaunchKernelEx")
                .map(|at| std::mem::transmute::<usize, LaunchEx>(at)),
            current: std::mem::transmute::<usize, Current>(device::function(c"cuCtxGetCurrent")?),
            device: std::mem::transmute::<usize, Device>(device::function(c"cuCtxGetDevice")?),
            retain: std::mem::transmute::<usize, Retain>(device::function(
                c"cuDevicePrimaryCtxRetain",
            )?),
            release: std::mem::transmute::<usize, Release>(
                device::function(c"cuDevicePrimaryCtxRelease_v2")
                    .or_else(|| device::function(c"cuDevicePrimaryCtxRelease"))?,
            ),
        }
    };
    FOUND.store(Box::into_raw(Box::new(driver)), Ordering::Release);
    known()
}

impl Driver {
    /// The calling thread's current context, 0 for none.
    #[inline(always)]
    pub fn context(&self) -> usize {
        let mut context = 0;
        // SAFETY: the function's signature; the place is valid.
        if unsafe { (self.current)(&mut context) } == 0 { context } else { 0 }
    }

    /// Whether `context`, which is current, is its device's primary one.
    pub fn is_primary(&self, context: usize) -> bool {
        let (mut device, mut primary) = (0, 0);
        // SAFETY: the functions' signatures; the places are valid. The context is in use, so it
        // survives the release.
        unsafe {
            if (self.device)(&mut device) != 0 || (self.retain)(&mut primary, device) != 0 {
                return false;
            }
            (self.release)(device);
        }
        primary == context
    }
}

/// The device of the runtime of `site` on this thread.
pub fn device(site: &Site) -> Option<i32> {
    let get = elf::next(c"cudaGetDevice", Version::Node(site.node?), |_| true)?;
    let mut device = 0;
    // SAFETY: the function's signature; the place is valid.
    let status = unsafe { std::mem::transmute::<usize, Device>(get)(&mut device) };
    (status == 0).then_some(device)
}
