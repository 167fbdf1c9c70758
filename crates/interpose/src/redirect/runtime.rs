//! Redirection where the runtime learns of images and kernels.
//!
//! Owns registering replacements beside the program's own images, and taking them out with those. Must
//! not know: launches.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::{Planned, Replacement, plan};
use crate::layouts::Code;
use crate::redirect::launch;
use crate::registry;
use crate::runtime::{Fn1, RegisterFunction};
use crate::site::Site;
use crate::tools;

/// Handles that were registered for a program's handle, with the version of the runtime that has them.
static OURS: Mutex<Option<HashMap<usize, Vec<usize>>>> = Mutex::new(None);

/// The wrapper to register in the place of the program's, with the code behind it.
///
/// # Safety
/// `wrapper` is what the program passed to `__cudaRegisterFatBinary`.
pub unsafe fn wrapper(site: &Site, wrapper: Ptr) -> Ptr {
    let Some(plan) = plan() else { return wrapper };
    // SAFETY: as the caller promises.
    let code = unsafe { Code::from_pointer(wrapper.0) };
    match plan.whole(&code) {
        Some((planned, replacement)) => {
            planned.applied(format_args!(
                "image of {} replaced by {}",
                super::owner(&code),
                replacement.file()
            ));
            Ptr(replacement.wrapper())
        }
        None => match tools::image(&code, site.name) {
            Some(replacement) => Ptr(replacement.wrapper()),
            None => wrapper,
        },
    }
}

/// What a program registers a kernel with.
pub struct Registration {
    /// The program's handle.
    pub handle: Ptr,
    /// Host stub.
    pub stub: Func,
    /// Symbol.
    pub name: Str,
    /// `thread_limit`.
    pub limit: i32,
    /// The remaining pointers, mostly null.
    pub rest: [Ptr; 5],
}

/// Registers another kernel for this stub, if a rule says so; its answer if it did. A rule with conditions
/// registers its kernel beside the program's own, under a stub that nobody else has.
pub fn function(site: &'static Site, mangled: &str, given: &Registration) -> Option<i32> {
    let plan = plan()?;
    let module = registry::module(given.handle.0)?;
    tools::function(mangled, module.code(), given.stub.0);
    for planned in plan.kernel(module.code(), mangled) {
        planned.matched.fetch_add(1, Ordering::Relaxed);
        let always = !planned.is_for_launches();
        if planned.foreign().is_some() {
            launch::decide(given.stub.0, module, planned, None);
            continue;
        }
        let Some((replacement, kernel)) = planned.kernel_for(module.code(), mangled) else {
            launch::decide(given.stub.0, module, planned, None);
            continue;
        };
        let stub = match always {
            true => given.stub.0,
            // An address that is nobody's and stays ours.
            false => Box::leak(Box::new(0u64)) as *mut u64 as usize,
        };
        let Some(answer) = register(site, planned, replacement, &kernel, stub, given) else {
            continue;
        };
        if always {
            return Some(answer);
        }
        launch::decide(given.stub.0, module, planned, Some(stub));
    }
    None
}

fn register(
    site: &'static Site,
    planned: &Planned,
    replacement: &Replacement,
    kernel: &str,
    stub: usize,
    given: &Registration,
) -> Option<i32> {
    let name = CString::new(kernel).ok()?;
    let Some((answer, handle)) = bring(site, site.node?, replacement, &name, stub, given) else {
        planned.refuse(format_args!("the runtime refuses {}", replacement.file()));
        return None;
    };
    let mut ours = OURS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    ours.get_or_insert_default().entry(given.handle.0).or_default().push(handle);
    planned.applied(format_args!("{kernel} of {} in place", replacement.file()));
    Some(answer)
}

/// Registers a kernel of an image for a stub that nobody else has; the stub.
pub(super) fn beside(
    site: &'static Site,
    node: &CStr,
    replacement: &Replacement,
    kernel: &CStr,
) -> Option<usize> {
    // An address that is nobody's and stays ours.
    let stub = Box::leak(Box::new(0u64)) as *mut u64 as usize;
    let (handle, name) = (Ptr(0), Str(0));
    let given = Registration { handle, stub: Func(stub), name, limit: -1, rest: [Ptr(0); 5] };
    bring(site, node, replacement, kernel, stub, &given).map(|_| stub)
}

/// Registers an image, and a kernel of it for `stub`: what the runtime answered, and its handle.
fn bring(
    site: &'static Site,
    node: &CStr,
    replacement: &Replacement,
    kernel: &CStr,
    stub: usize,
    given: &Registration,
) -> Option<(i32, usize)> {
    let real =
        |name| site.home.runtime_site(name, node).map(Site::real).filter(|real| !real.is_null());
    let kept: &'static CString = Box::leak(Box::new(kernel.to_owned()));
    let name = Str(kept.as_ptr().addr());
    // SAFETY: the runtime's functions of these names, under the version of the one that was called.
    unsafe {
        let begin = std::mem::transmute::<*mut (), Fn1<usize>>(real(c"__cudaRegisterFatBinary")?);
        let function = real(c"__cudaRegisterFunction")?;
        let function = std::mem::transmute::<*mut (), RegisterFunction>(function);
        let handle = begin(Ptr(replacement.wrapper()));
        if handle == 0 {
            return None;
        }
        let [tid, bid, block, grid, warp] = given.rest;
        let stub = Func(stub);
        let answer =
            function(Ptr(handle), stub, name, name, given.limit, tid, bid, block, grid, warp);
        if let Some(end) = real(c"__cudaRegisterFatBinaryEnd") {
            std::mem::transmute::<*mut (), Fn1<()>>(end)(Ptr(handle));
        }
        let module = registry::add_module(handle, replacement.code(), "cushim redirect");
        registry::add_function(stub.0, kernel.to_bytes(), module);
        Some((answer, handle))
    }
}

/// The program takes back `handle`: what was registered for it goes, too.
pub fn unregister(real: Fn1<()>, handle: Ptr) {
    if plan().is_none() {
        return;
    }
    let ours = {
        let mut ours = OURS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        ours.as_mut().and_then(|ours| ours.remove(&handle.0)).unwrap_or_default()
    };
    for handle in ours {
        let module = registry::module(handle);
        // SAFETY: a handle that the runtime gave us, given back once.
        unsafe { real(Ptr(handle)) };
        registry::remove_module(handle, module);
    }
}
