//! The same algorithms in C, and their division among threads.

use std::ffi::{CString, c_void};

/// The C code, built in one way.
pub struct Native(*mut c_void);

impl Native {
    pub fn new(path: &str) -> Native {
        let path = CString::new(path).unwrap();
        // SAFETY: a path; the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{path:?} cannot be opened");
        Native(handle)
    }

    pub fn address(&self, name: &str) -> usize {
        let name = CString::new(name).unwrap();
        // SAFETY: a handle that was opened.
        let at = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!at.is_null(), "{name:?} is missing");
        at as usize
    }
}

/// A function of the C code by its name and type.
macro_rules! c {
    ($native:expr, $name:literal, ($($ty:ty),*) $(-> $out:ty)?) => {{
        // SAFETY: the function of native.c has this signature.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($ty),*) $(-> $out)?>($native.address($name)) }
    }};
}

/// Runs `part(k, from, to)` for equal parts of `total` on this many threads.
pub fn share(threads: usize, total: usize, part: &(dyn Fn(usize, i32, i32) + Sync)) {
    let at = |k: usize| (total * k / threads) as i32;
    std::thread::scope(|s| {
        for k in 1..threads {
            s.spawn(move || part(k, at(k), at(k + 1)));
        }
        part(0, at(0), at(1));
    });
}
pub(crate) use c;
