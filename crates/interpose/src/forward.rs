//! What handlers of both faces are made of: forwarding a call with its event around it, and reading what it was given
//! and has answered.
//!
//! Must not know: any particular function, what becomes of a call besides its event.

use std::ffi::CStr;

use cushim_abi::types::*;

/// An address in the caller's frame, as [`crate::thread::Thread::enter`] wants it.
macro_rules! stack {
    () => {{
        let here = 0u8;
        (&raw const here).addr()
    }};
}
pub(crate) use stack;

/// Records a call with the given words around `$call`; answers its result.
macro_rules! recorded {
    ($site:expr, [$($word:expr),*], $call:expr) => {{
        let mut words = [0u64; $crate::record::slots::MOST_WORDS];
        let given = [$($word as u64),*];
        for (to, from) in words.iter_mut().zip(given) {
            *to = from;
        }
        let call = $crate::observe::begin($site, $crate::forward::stack!(), words, given.len());
        // SAFETY: forwarded as it came.
        let result = unsafe { $call };
        if let Some(call) = call {
            $crate::observe::end(call, 0, [None; $crate::record::slots::MOST_WORDS]);
        }
        result
    }};
}
pub(crate) use recorded;

/// Records a call whose words are the given arguments; answers its status.
macro_rules! observed {
    ($site:expr, [$($arg:expr),*], $call:expr) => {{
        let mut words = [0u64; $crate::record::slots::MOST_WORDS];
        let mut at = 0;
        $(at += $crate::observe::put(&mut words, at, $arg);)*
        let begun = $crate::observe::begin($site, $crate::forward::stack!(), words, at);
        // SAFETY: forwarded as it came.
        let status: i32 = unsafe { $call };
        if let Some(begun) = begun {
            let mut outs = [None; $crate::record::slots::MOST_WORDS];
            if status == 0 {
                let mut at = 0;
                $(at += $crate::observe::put_out(&mut outs, at, $arg);)*
                let _ = at;
            }
            $crate::observe::end(begun, status, outs);
        }
        status
    }};
}
pub(crate) use observed;

/// Records a launch around `$call`.
macro_rules! launched {
    ($site:expr, $launch:expr, $call:expr) => {
        $crate::forward::launched!($site, $crate::forward::stack!(), $launch, $call)
    };
    ($site:expr, $stack:expr, $launch:expr, $call:expr) => {{
        match $crate::record::Observed::enter($site, $stack) {
            // SAFETY: forwarded as it came.
            #[allow(unused_unsafe)]
            None => unsafe { $call },
            Some(observed) if !observed.wanted => {
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                observed.finish_unkept(status, || $launch);
                status
            }
            Some(observed) => {
                let launch = $launch;
                let stored = observed.launch(&launch);
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                observed.finish_launch(stored, status, &launch);
                status
            }
        }
    }};
}
pub(crate) use launched;

/// The C string at `at`, if there is one.
///
/// # Safety
/// `at` is null or points to a NUL-terminated string that stays for the call.
pub unsafe fn text<'a>(at: Str) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    (at.0 != 0).then(|| unsafe { CStr::from_ptr(at.0 as *const libc::c_char) })
}

/// What the call that answered `status` wrote to its own `out`; `None` where it failed or had nowhere to.
pub fn answered<T: Copy>(status: i32, out: Out<T>) -> Option<T> {
    if status != 0 || out.0.is_null() {
        return None;
    }
    // SAFETY: CUDA was given this place, and has written there and said so.
    Some(unsafe { out.0.read_unaligned() })
}

/// A function of one handle.
pub type Fn1<R> = unsafe extern "C-unwind" fn(Ptr) -> R;

/// `__cudaRegisterFunction`.
pub type RegisterFunction =
    unsafe extern "C-unwind" fn(Ptr, Func, Str, Str, i32, Ptr, Ptr, Ptr, Ptr, Ptr) -> i32;

/// `__cudaRegisterVar`, `__cudaRegisterManagedVar`.
pub type RegisterVar = unsafe extern "C-unwind" fn(Ptr, Ptr, Str, Str, i32, usize, i32, i32);

/// `cudaLibraryLoadData`, `cuLibraryLoadData`.
pub type LibraryLoad =
    unsafe extern "C-unwind" fn(Out<Module>, Ptr, Ptr, Ptr, u32, Ptr, Ptr, u32) -> i32;
/// `cudaLibraryLoadFromFile`, `cuLibraryLoadFromFile`.
pub type LibraryLoadFile =
    unsafe extern "C-unwind" fn(Out<Module>, Str, Ptr, Ptr, u32, Ptr, Ptr, u32) -> i32;
