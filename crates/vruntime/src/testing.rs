//! A driver for unit tests of the runtime: a test's own functions under the driver's names.
//!
//! Owns a lock: the table of driver functions belongs to the process, so only one test at a time uses it.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use super::context;
use cushim_vbase::api;

/// A symbol of libvcuda.so; empty until [`with_driver`].
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static vcuda_driver: [AtomicPtr<()>; api::COUNT] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; api::COUNT];

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    /// The current context of the fake driver.
    pub static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// How often a primary context was retained since [`with_driver`].
pub static RETAINED: AtomicUsize = AtomicUsize::new(0);

/// Devices of the fake driver; the primary context of device `n` is `PRIMARY + n`.
pub const DEVICES: i32 = 2;
/// The primary context of device 0.
pub const PRIMARY: usize = 0x1000;

/// Fills the driver table with the basics (cuInit, contexts) and `more`, which go first. The calling
/// thread has no context yet.
pub fn with_driver(more: &[(Driver, *const ())]) -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let basics = [
        (Driver::cuInit, init as *const ()),
        (Driver::cuDeviceGetCount, count as *const ()),
        (Driver::cuCtxGetCurrent, get_current as *const ()),
        (Driver::cuCtxSetCurrent, set_current as *const ()),
        (Driver::cuCtxGetDevice, get_device as *const ()),
        (Driver::cuDevicePrimaryCtxRetain, retain as *const ()),
        (Driver::cuDevicePrimaryCtxRelease_v2, release as *const ()),
        (Driver::cuDevicePrimaryCtxReset_v2, release as *const ()),
    ];
    let all: Vec<_> = more.iter().chain(&basics).copied().collect();
    let given = |index| all.iter().find(|(id, _)| *id as usize == index).map(|(_, at)| *at);
    // SAFETY: the tests' functions are written for their rows; the others are our driver's.
    unsafe { api::fill(|index| given(index).or_else(|| cushim_vdriver::unsupported(index))) };
    CURRENT.set(0);
    RETAINED.store(0, Ordering::Relaxed);
    for device in 0..DEVICES {
        context::forget(device);
    }
    super::thread::state().device.set(0);
    super::thread::state().chosen.set(false);
    super::error::take_last();
    turn
}

unsafe extern "C" fn init(_: Flags) -> i32 {
    0
}

unsafe extern "C" fn count(count: Out<i32>) -> i32 {
    // SAFETY: the caller's place for it.
    unsafe { count.0.write(DEVICES) };
    0
}

unsafe extern "C" fn get_current(context: Out<Context>) -> i32 {
    // SAFETY: the caller's place for it.
    unsafe { context.0.write(Context(CURRENT.get())) };
    0
}

unsafe extern "C" fn set_current(context: Context) -> i32 {
    CURRENT.set(context.0);
    0
}

unsafe extern "C" fn get_device(device: Out<Device>) -> i32 {
    let context = CURRENT.get();
    if !(PRIMARY..PRIMARY + DEVICES as usize).contains(&context) {
        return 201;
    }
    // SAFETY: the caller's place for it.
    unsafe { device.0.write(Device((context - PRIMARY) as i32)) };
    0
}

unsafe extern "C" fn retain(context: Out<Context>, device: Device) -> i32 {
    RETAINED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller's place for it.
    unsafe { context.0.write(Context(PRIMARY + device.0 as usize)) };
    0
}

unsafe extern "C" fn release(_: Device) -> i32 {
    0
}
