//! Launches of a shared runtime that go straight to the driver (`CUSHIM_DIRECT`, experimental).
//!
//! Owns: the test whether a launch means the same to the driver as to the runtime, the driver's handles of the
//! runtime's kernels, and the forwarding. The runtime makes a kernel's first launch in a context, because it loads
//! the module. Then cushim asks the runtime for the kernel's driver handle. From then on launches go to the driver,
//! as long as
//! - the thread's current context is the one in which the runtime last launched on this thread, and is a primary
//!   context (runtimes of CUDA 11 make another device's context current only at the next call; for them the current
//!   device is compared, too);
//! - no stream is being captured (the runtime must create the graph's nodes);
//! - all launch attributes are of kinds that are identical in both APIs.
//!
//! If the driver refuses a launch, the runtime launches it again, so that the program sees the runtime's error and
//! last error. Only the forwarding changes: rules, tools and the recorder run before it.
//!
//! Must not know: recording, rules.

mod capture;
mod driver;
mod wanted;

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_abi::structs::{DriverLaunchConfig, LaunchAttribute, LaunchConfig};
use cushim_abi::types::*;
use cushim_process::table::PointerTable;

use crate::log::{self, Level};
use crate::redirect::launch::AskedLaunch;
use crate::registry::{self, Kernel};
use crate::site::Site;
use crate::{keep, life, lock, symbol, thread};
pub use capture::{begun, ended};
use driver::Driver;
pub use wanted::enabled;

/// Handles and verified contexts of an earlier generation are invalid: a device was reset.
static GENERATION: AtomicU32 = AtomicU32::new(1);
/// The host stub that a runtime's kernel handle stands for.
static STUBS: PointerTable<usize> = PointerTable::new();
/// Stubs by themselves.
static KEPT: PointerTable<usize> = PointerTable::new();
static KERNELS: AtomicU32 = AtomicU32::new(0);
static THROUGH: AtomicU32 = AtomicU32::new(0);
static REPEATED: AtomicU32 = AtomicU32::new(0);

pub(crate) type LaunchKernel =
    unsafe extern "C-unwind" fn(Func, Dim3, Dim3, Ptr, usize, Stream) -> i32;
pub(crate) type LaunchKernelEx = unsafe extern "C-unwind" fn(Ptr, Func, Ptr) -> i32;

/// The driver's name for the stream that a call means, also for the legacy one.
#[inline(always)]
fn stream_of(site: &Site, stream: usize) -> usize {
    const LEGACY: usize = 1;
    match site.stream(stream) {
        0 => LEGACY,
        stream => stream,
    }
}

/// `cudaLaunchKernel`, `__cudaLaunchKernel` and their `_ptsz` forms.
///
/// # Safety
/// `real` is the function of `site`, and `asked` what the program passed.
#[inline(always)]
pub unsafe fn launch_kernel(site: &'static Site, real: LaunchKernel, asked: &AskedLaunch) -> i32 {
    let AskedLaunch { func, grid, block, shared, stream, params: args, .. } = *asked;
    if let Some((driver, function)) = ready(site, func, args)
        && let Ok(bytes) = u32::try_from(shared)
    {
        let (on, none) = (stream_of(site, stream), Ptr(0));
        let (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz }) = (grid, block);
        // SAFETY: the driver's function, with the runtime's handle and the program's arguments.
        let status = unsafe {
            (driver.launch)(function, gx, gy, gz, bx, by, bz, bytes, Stream(on), args, none)
        };
        if status == 0 {
            return 0;
        }
        REPEATED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: forwarded as it came.
    let status = unsafe { real(func, grid, block, args, shared, Stream(stream)) };
    through(site, func, args, status);
    status
}

/// `cudaLaunchKernelExC` and its `_ptsz` form, whose configuration is `c`.
///
/// # Safety
/// `real` is the function of `site`, and the arguments are what the program passed.
#[inline(always)]
pub unsafe fn launch_kernel_ex(
    site: &'static Site,
    real: LaunchKernelEx,
    config: Ptr,
    c: &LaunchConfig,
    func: Func,
    args: Ptr,
) -> i32 {
    if let Some((driver, function)) = ready(site, func, args)
        && let Some(launch) = driver.launch_ex
        && let Ok(shared) = u32::try_from(c.shared)
        // SAFETY: the attributes of the program's configuration.
        && unsafe { alike(c.attributes, c.attribute_count) }
    {
        let (grid, block, stream) = (c.grid, c.block, stream_of(site, c.stream));
        let (attributes, attribute_count) = (c.attributes, c.attribute_count);
        let asked = DriverLaunchConfig { grid, block, shared, stream, attributes, attribute_count };
        // SAFETY: the driver's function, with the runtime's handle, a configuration of ours and the program's arguments.
        if unsafe { launch(Ptr((&raw const asked).addr()), function, args, Ptr(0)) } == 0 {
            return 0;
        }
        REPEATED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: forwarded as it came.
    let status = unsafe { real(config, func, args) };
    through(site, func, args, status);
    status
}

/// Whether all attributes are of kinds with the same number and the same value on both faces: none,
/// cooperative, cluster shape and scheduling, programmatic serialization, priority.
///
/// # Safety
/// `attributes` is null or points to `count` launch attributes.
unsafe fn alike(attributes: usize, count: u32) -> bool {
    const SAME: [u32; 6] = [0, 2, 4, 5, 6, 8];
    /// More than there are kinds: a longer list is invalid.
    const MOST: u32 = 64;
    if attributes == 0 || count > MOST {
        return count == 0;
    }
    let attributes = attributes as *const LaunchAttribute;
    // SAFETY: as the caller promises.
    (0..count as usize).all(|i| SAME.contains(&unsafe { attributes.add(i).read_unaligned() }.id))
}

/// The driver and its function to launch instead of `func`, where that is equivalent.
#[inline(always)]
fn ready(site: &Site, func: Func, args: Ptr) -> Option<(&'static Driver, Func)> {
    let kernel = registry::find(func.0)?;
    if !kernel.direct.any() || args.0 == 0 || capture::any() {
        return None;
    }
    // SAFETY: it is looked at, and let go of.
    let verified = unsafe { thread::current_if_any() }?.verified;
    let driver = driver::known()?;
    let context = driver.context();
    let generation = GENERATION.load(Ordering::Acquire);
    if context == 0 || (verified.context, verified.generation) != (context, generation) {
        return None;
    }
    if site.major == Some(11) && driver::device(site) != Some(verified.device) {
        return None;
    }
    let function = kernel.direct.get(context, generation).filter(|function| *function != 0)?;
    Some((driver, Func(function)))
}

/// The runtime has launched `func`: finds what is needed to launch it by the driver next time.
#[cold]
fn through(site: &'static Site, func: Func, args: Ptr, status: i32) {
    THROUGH.fetch_add(1, Ordering::Relaxed);
    if status == 0 && args.0 != 0 && !capture::any() {
        let kernel = registry::find(func.0).filter(|kernel| !kernel.name.is_empty());
        // SAFETY: errno is this thread's; the program may be about to read it.
        let errno = unsafe { *libc::__errno_location() };
        if let Some(kernel) = kernel {
            learn(site, func, kernel);
        }
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = errno };
    }
}

fn learn(site: &'static Site, func: Func, kernel: &'static Kernel) -> Option<()> {
    let global = life::global()?;
    // SAFETY: the reference is read and dropped at once: the calls below may enter our hooks.
    let verified = unsafe { thread::current(global) }?.verified;
    let driver = driver::find(site)?;
    let (context, generation) = (driver.context(), GENERATION.load(Ordering::Acquire));
    if context == 0 {
        return None;
    }
    let known = (verified.context, verified.generation) == (context, generation);
    if !known && !driver.is_primary(context) {
        return None;
    }
    let device = if site.major == Some(11) { Some(driver::device(site)) } else { None };
    // SAFETY: it is written to, and let go of.
    let thread = unsafe { thread::current(global) }?;
    thread.verified.context = context;
    thread.verified.generation = generation;
    if let Some(device) = device {
        thread.verified.device = device?;
    }
    if kernel.direct.get(context, generation).is_some() {
        return None;
    }
    let stub = STUBS.get(func.0).copied().unwrap_or(func.0);
    let function = symbol::function(site, stub)?.unwrap_or(0);
    kernel.direct.set(context, generation, function);
    if function != 0 {
        KERNELS.fetch_add(1, Ordering::Relaxed);
    }
    Some(())
}

/// The runtime gave out `handle` for the host stub `stub`.
pub fn handle_of_stub(handle: usize, stub: usize) {
    if enabled() && handle != stub && STUBS.get(handle) != Some(&stub) {
        lock::registry(|held| {
            // Kept once for each stub: libraries come again and again, and their handles differ.
            let kept = KEPT.get(stub).unwrap_or_else(|| keep::forever(stub));
            KEPT.set(&mut held.tables, stub, Some(kept));
            STUBS.set(&mut held.tables, handle, Some(kept));
        });
    }
}

/// A device is about to be reset or a context destroyed: every handle may become invalid.
pub fn forget() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// The process ends: reports how many launches went directly.
pub fn finish() {
    if !wanted::known() {
        return;
    }
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    log::line(
        Level::Info,
        format_args!(
            "direct: {} kernels were launched by the driver; {} launches went through the runtime, {} of \
             them again after the driver",
            count(&KERNELS),
            count(&THROUGH),
            count(&REPEATED)
        ),
    );
}
