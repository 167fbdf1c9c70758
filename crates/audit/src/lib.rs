//! libcushim_audit.so: redirects statically linked CUDA runtimes to the preloaded libraries.
//!
//! The loader calls an audit library (LD_AUDIT, rtld-audit(7)) after objects were mapped and before any of their
//! constructors runs, at the start and in every `dlopen`: the only moment at which a runtime inside a Python
//! extension can be redirected before it registers its kernels. In an object with such a runtime, the entry of each
//! runtime function is overwritten by a jump to the function of that name in the first preloaded library that has it:
//! libcushim.so, else the stand-in for that major's libcudart. The original function is destroyed, so this is done
//! only for backends other than `native`.
//!
//! If it cannot be done, the process goes on: over NVIDIA's driver (backend `driver`) the runtime works as before. On
//! other backends a message says so, and that runtime finds no driver (`cushim_refused` in libcushim.so), because
//! NVIDIA's runtime crashes over a driver that is not NVIDIA's.
//!
//! Audit libraries have their own namespace, with their own C library. Other objects are known by address only; the
//! loader's lock is held throughout.
//!
//! It also redirects NVIDIA's compilers inside a program (NVRTC, nvJitLink), cuBLAS' products and cuFFT to
//! libcushim_compilers.so, if that is preloaded.
//!
//! - [`archives`](mod@archives): where archives of a static runtime are;
//! - [`assembler`](mod@assembler): NVIDIA's ptxas as a separate process;
//! - [`compilers`](mod@compilers): NVIDIA's compilers, cuBLAS, cuFFT;
//! - [`heap`]: its memory;
//! - [`map`]: objects and files;
//! - [`names`]: further names of the preloaded libraries;
//! - [`object`]: what is done with one object;
//! - [`observe`]: what is mapped, for `cushim doctor`;
//! - [`write`](mod@write): memory;
//! - [`say`]: settings and messages.

mod archives;
mod assembler;
mod compilers;
mod heap;
mod map;
mod names;
mod object;
mod observe;
mod say;
mod write;

use std::ffi::{CStr, c_char, c_long, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use map::{LinkMap, Object};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

/// The program's namespace, LM_ID_BASE.
const PROGRAM: c_long = 0;
/// The moment at which all objects are mapped, LA_ACT_CONSISTENT.
const CONSISTENT: c_uint = 0;

/// A name as the program has it, LA_SER_ORIG.
const AS_ASKED: c_uint = 1;

/// Objects that were mapped since the last such moment.
static NEW: Mutex<Vec<Object>> = Mutex::new(Vec::new());

/// Runs `act`; reports a panic and stops it here.
fn guarded(act: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(act)).is_err() {
        say::error("auditing a loaded library failed; static CUDA runtimes may not be redirected");
    }
}

/// The handshake: the version of the interface, 0 to be left out.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    // `guarded` reports panics; the library has a std of its own, so no other hook is affected.
    std::panic::set_hook(Box::new(|_| {}));
    guarded(assembler::replace);
    let mut observes = false;
    guarded(|| observes = observe::begin());
    if say::wanted() || observes { version } else { 0 }
}

/// Stores a new object for later, because the libraries to which it is redirected may not be mapped yet.
///
/// # Safety
/// Called by the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    map: *const LinkMap,
    namespace: c_long,
    cookie: *mut usize,
) -> c_uint {
    // SAFETY: the loader's place for a word of ours.
    unsafe { cookie.write(map as usize) };
    if namespace == PROGRAM {
        guarded(|| {
            // SAFETY: the loader's description of an object that stays until la_objclose.
            let object = unsafe { Object::new(map) };
            if let Some(object) = &object {
                observe::mapped(object.path().as_os_str().as_bytes());
            }
            if !say::wanted() {
                return;
            }
            if let Some(object) = &object {
                names::loaded(object.path().as_os_str().as_bytes());
                object::opened(object);
            }
            if let (Some(object), Ok(mut new)) = (object, NEW.try_lock()) {
                new.push(object);
            }
        });
    }
    // Asks for no notice of bindings: function calls stay as fast as they are.
    0
}

/// A library is searched: if it is one of CUDA's under another name, the preloaded one is the result.
///
/// # Safety
/// Called by the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(
    name: *const c_char,
    cookie: *mut usize,
    flag: c_uint,
) -> *const c_char {
    let mut found = name;
    if flag == AS_ASKED && !name.is_null() {
        guarded(|| {
            // SAFETY: the loader's string.
            let asked = unsafe { CStr::from_ptr(name) };
            // Where nothing is redirected nothing is preloaded, and no name is known.
            let answer = names::answer(asked);
            if answer.is_none() {
                observe::asked(asked.to_bytes());
            }
            // SAFETY: what la_objopen wrote for the object that asks, which is loaded.
            let asks = unsafe { Object::new(cookie.read() as *const LinkMap) };
            // Only the program's namespace has the preloaded libraries.
            if let (Some(answer), Some(asks)) = (answer, asks)
                && asks
                    .all()
                    .any(|object| object.path().as_os_str().as_bytes() == answer.to_bytes())
            {
                found = answer.as_ptr();
            }
        });
    }
    found
}

/// Objects are loaded or unloaded; when all are mapped, the new ones are examined.
#[unsafe(no_mangle)]
pub extern "C" fn la_activity(_cookie: *mut usize, what: c_uint) {
    if what == CONSISTENT {
        guarded(|| {
            let new = NEW.try_lock().map(|mut new| std::mem::take(&mut *new)).unwrap_or_default();
            new.iter().for_each(object::redirect);
        });
    }
}

/// An object is unloaded.
///
/// # Safety
/// Called by the loader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objclose(cookie: *mut usize) -> c_uint {
    // SAFETY: what la_objopen wrote.
    let map = unsafe { cookie.read() };
    guarded(|| {
        if let Ok(mut new) = NEW.try_lock() {
            new.retain(|object| object.id() != map);
        }
        write::allow(map);
        compilers::gone(map);
    });
    0
}
