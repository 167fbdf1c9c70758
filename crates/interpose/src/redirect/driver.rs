//! Redirection where the driver (or the runtime's library functions) gives out images and kernels.
//!
//! Owns loading replacements beside the program's own modules and libraries. Must not know: launches.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::{ForLaunches, Replacement, plan};
use crate::layouts::Code;
use crate::library::LibraryLoad;
use crate::redirect::launch;
use crate::registry;
use crate::site::Site;
use crate::tools;

/// What was loaded for a program's module or library: per image, the handle that it became.
static LOADED: Mutex<Option<HashMap<(usize, usize), usize>>> = Mutex::new(None);

/// How a module comes into being: what its image must look like, and who loads and looks up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `cuModule*`: in the current context.
    Module,
    /// `cuLibrary*`, `cudaLibrary*`.
    Library,
}

/// The image to load in the place of the program's.
///
/// # Safety
/// `image` is what the program passed.
pub unsafe fn image(site: &Site, image: Ptr, kind: Kind) -> Ptr {
    let Some(plan) = plan() else { return image };
    // SAFETY: as the caller promises.
    let code = unsafe { Code::from_pointer(image.0) };
    if plan.is_ours(&code) {
        return image;
    }
    let replacement = match plan.whole(&code) {
        Some((planned, replacement)) => {
            planned.applied(format_args!(
                "image of {} replaced by {}",
                super::owner(&code),
                replacement.file()
            ));
            replacement
        }
        None => match tools::image(&code, site.name) {
            Some(replacement) => replacement,
            None => return image,
        },
    };
    Ptr(match kind {
        Kind::Module => replacement.fatbin(),
        Kind::Library => replacement.wrapper(),
    })
}

/// The program asked `owner` for the kernel `mangled` and was given `handle`: the handle that it gets.
pub fn kernel(site: &'static Site, owner: usize, mangled: &CStr, handle: Func) -> Func {
    let Some(plan) = plan() else { return handle };
    let (Some(module), Ok(name)) = (registry::module(owner), mangled.to_str()) else {
        return handle;
    };
    if plan.is_ours(module.code()) {
        return handle;
    }
    tools::function(name, module.code(), handle.0);
    for planned in plan.kernel(module.code(), name) {
        planned.matched.fetch_add(1, Ordering::Relaxed);
        let Some((replacement, kernel)) = planned.kernel_for(module.code(), name) else {
            launch::decide(handle.0, name, planned, None);
            continue;
        };
        let Some(other) = load(site, owner, replacement, &kernel) else {
            planned.refuse(format_args!("the driver refuses {}", replacement.file()));
            continue;
        };
        planned.applied(format_args!("{kernel} of {} in place", replacement.file()));
        if !planned.rule.is_for_launches() {
            return Func(other);
        }
        launch::decide(handle.0, name, planned, Some(other));
    }
    handle
}

/// The kernel's handle from a replacement, which is loaded once for each owner.
fn load(
    site: &'static Site,
    owner: usize,
    replacement: &Replacement,
    kernel: &str,
) -> Option<usize> {
    // `cudaLibraryGetKernel` has its loader beside it; so have the two ways of the driver.
    let (kind, loader) = match site.name.to_bytes() {
        b"cuModuleGetFunction" => (Kind::Module, c"cuModuleLoadData"),
        b"cuLibraryGetKernel" => (Kind::Library, c"cuLibraryLoadData"),
        _ => (Kind::Library, c"cudaLibraryLoadData"),
    };
    let loader = match site.node {
        Some(node) => site.home.runtime_site(loader, node)?,
        None => site.home.driver_site(loader)?,
    };
    let loader = Some(loader.real()).filter(|real| !real.is_null())?;
    let key = (owner, replacement.wrapper());
    let known =
        |loaded: &mut Option<HashMap<_, _>>| loaded.get_or_insert_default().get(&key).copied();
    let before = known(&mut LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let holder = match before {
        Some(holder) => holder,
        None => {
            let mut holder = Module(0);
            // SAFETY: the functions that the names say, with an image that stays for ever.
            let status = unsafe {
                match kind {
                    Kind::Module => {
                        type Load = unsafe extern "C-unwind" fn(Out<Module>, Ptr) -> i32;
                        let load = std::mem::transmute::<*mut (), Load>(loader);
                        load(Out(&mut holder), Ptr(replacement.fatbin()))
                    }
                    Kind::Library => {
                        let load = std::mem::transmute::<*mut (), LibraryLoad>(loader);
                        let (image, none) = (Ptr(replacement.wrapper()), Ptr(0));
                        load(Out(&mut holder), image, none, none, 0, none, none, 0)
                    }
                }
            };
            if status != 0 {
                return None;
            }
            registry::add_module(holder.0, replacement.code(), "cushim redirect");
            let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            loaded.get_or_insert_default().insert(key, holder.0);
            holder.0
        }
    };
    let name = CString::new(kernel).ok()?;
    let mut func = Func(0);
    type Get = unsafe extern "C-unwind" fn(Out<Func>, Module, Str) -> i32;
    // SAFETY: the real function of the call that is under way.
    let status = unsafe {
        std::mem::transmute::<*mut (), Get>(site.real())(
            Out(&mut func),
            Module(holder),
            Str(name.as_ptr().addr()),
        )
    };
    if status != 0 {
        return None;
    }
    registry::add_function(func.0, kernel.as_bytes(), registry::module(holder));
    Some(func.0)
}

/// The program unloads `owner`: forgets what was loaded for it. The replacement itself stays: launches of
/// it may still be under way.
pub fn unload(owner: usize) {
    if plan().is_none() {
        return;
    }
    let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(loaded) = loaded.as_mut() {
        loaded.retain(|(of, _), _| *of != owner);
    }
}
