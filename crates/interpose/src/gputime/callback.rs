//! CUPTI's callback on driver calls, which gives the correlation id of each call.
//!
//! Owns: the subscription to the driver calls that submit work to a GPU (by the tables), and the layout of the
//! callback's data (cupti_callbacks.h, the same in CUDA 11.8, 12.4 and 13.0: compared with a C compiler's
//! `offsetof`). The runtime calls the driver, and the records of GPU work carry the driver call's correlation id. So
//! callbacks on driver calls suffice, also for a static runtime.
//!
//! This costs less than CUPTI's own records of calls together with an external correlation id per call. Must not
//! know: what a link is for.

use std::ffi::{CStr, c_char, c_void};

use cushim_abi::work::Work;
use cushim_trace::clock;

use super::{begun, told};
use crate::thread;

/// `CUPTI_CB_DOMAIN_DRIVER_API`.
const DRIVER: u32 = 1;
/// `CUPTI_API_ENTER`.
const ENTER: u32 = 0;
/// Where `CUpti_CallbackData::correlationId` stands.
const NUMBER: usize = 64;
/// The driver has 800 functions today; numbers behind the last have no name.
const MOST: u32 = 4096;

/// `cuptiSubscribe`, `cuptiEnableCallback`, `cuptiGetCallbackName`.
pub type Subscribe = unsafe extern "C" fn(*mut *mut c_void, Callback, *mut c_void) -> i32;
pub type Enable = unsafe extern "C" fn(u32, *mut c_void, u32, u32) -> i32;
pub type Name = unsafe extern "C" fn(u32, u32, *mut *const c_char) -> i32;
/// `CUpti_CallbackFunc`.
pub type Callback = extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// Has CUPTI call back in all calls that give the GPU work. The error is CUPTI's, with the function
/// that failed.
///
/// # Safety
/// CUPTI's functions, of a library that stays loaded.
pub unsafe fn ask(
    subscribe: Subscribe,
    enable: Enable,
    name: Name,
) -> Result<(), (i32, &'static str)> {
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: the place is valid; the callback is there for good.
    let status = unsafe { subscribe(&mut subscriber, called, std::ptr::null_mut()) };
    if status != 0 {
        return Err((status, "cuptiSubscribe"));
    }
    for call in 1..MOST {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the place is valid; numbers without a call are an error.
        let known = unsafe { name(DRIVER, call, &mut text) } == 0 && !text.is_null();
        if !known {
            continue;
        }
        // SAFETY: CUPTI's own string.
        let work = work(unsafe { CStr::from_ptr(text) });
        if !work.is_some() {
            continue;
        }
        // SAFETY: the subscriber of above.
        let status = unsafe { enable(1, subscriber, DRIVER, call) };
        if status != 0 {
            return Err((status, "cuptiEnableCallback"));
        }
        if work == Work::Graph {
            begun::graph(call);
        }
    }
    Ok(())
}

/// CUPTI's names are those that libcuda exports.
fn work(name: &CStr) -> Work {
    name.to_str().map_or(Work::Nothing, Work::of_driver)
}

/// A driver function begins or ends. Work of a call that is not recorded gets no link.
extern "C" fn called(_: *mut c_void, domain: u32, call: u32, data: *const c_void) {
    if domain != DRIVER || data.is_null() {
        return;
    }
    // SAFETY: CUPTI's data of a call in this domain, which begins with the call's phase and has its
    // number at NUMBER.
    unsafe {
        if data.cast::<u32>().read() != ENTER {
            return;
        }
        let link = thread::link();
        if link != 0 {
            let number = data.byte_add(NUMBER).cast::<u32>().read();
            told::tell(number, link);
            if begun::is_graph(call) {
                begun::tell(number, clock::clock_ns(libc::CLOCK_MONOTONIC));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static ENABLED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

    unsafe extern "C" fn subscribe(
        subscriber: *mut *mut c_void,
        _: Callback,
        _: *mut c_void,
    ) -> i32 {
        // SAFETY: a valid place.
        unsafe { *subscriber = std::ptr::without_provenance_mut(8) };
        0
    }
    unsafe extern "C" fn busy(_: *mut *mut c_void, _: Callback, _: *mut c_void) -> i32 {
        39
    }
    unsafe extern "C" fn enable(on: u32, subscriber: *mut c_void, domain: u32, call: u32) -> i32 {
        assert_eq!((on, subscriber.addr(), domain), (1, 8, DRIVER));
        ENABLED.lock().unwrap_or_else(|broken| broken.into_inner()).push(call);
        0
    }
    unsafe extern "C" fn name(_: u32, call: u32, text: *mut *const c_char) -> i32 {
        let found = match call {
            2 => c"cuInit",
            3 => c"cuLaunchKernel_ptsz",
            5 => c"cuMemcpyHtoD_v2",
            6 => c"cuMemAlloc",
            7 => c"cuGraphLaunch",
            8 => c"cuLaunchHostFunc",
            9 => c"cuMemcpyInvented",
            10 => c"cuMemcpy3DBatchAsync_v2",
            11 => c"cuMemsetD2D32Async_ptsz",
            _ => return 1,
        };
        // SAFETY: a valid place.
        unsafe { *text = found.as_ptr() };
        0
    }

    #[test]
    fn calls_with_work_are_asked_for() {
        // SAFETY: functions of these signatures.
        unsafe {
            assert_eq!(ask(busy, enable, name), Err((39, "cuptiSubscribe")));
            assert_eq!(ask(subscribe, enable, name), Ok(()));
        }
        assert_eq!(*ENABLED.lock().unwrap_or_else(|broken| broken.into_inner()), [3, 5, 7, 10, 11]);
        assert!([3, 5].iter().all(|call| !begun::is_graph(*call)) && begun::is_graph(7));
    }
}
