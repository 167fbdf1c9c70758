//! Redirection in driver calls (and the runtime's library functions) that load images or return kernels.
//!
//! Owns loading replacements beside the program's own modules and libraries. Must not know: launches.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cushim_abi::types::{Func, Module as ModuleHandle, Out, Ptr, Str};

use super::binding::{self, Binding};
use super::holder::Holder;
pub use super::kind::Kind;
use super::plan::{Chosen, plan};
use super::replacement::Replacement;
use super::{say, substitute};
use crate::device;
use crate::given::LibraryLoad;
use crate::layouts::Code;
use crate::origin::Origin;
use crate::redirect::launch;
use crate::registry::{self, Module};
use crate::site::Site;
use crate::tools;

/// What was loaded for a program's module or library, by its handle and the image.
static LOADED: Mutex<Option<HashMap<(usize, usize), Loaded>>> = Mutex::new(None);

/// A replacement that was loaded.
struct Loaded {
    /// The handle of what was loaded.
    handle: usize,
    /// The real function that unloads it; 0 where there is none.
    unload: usize,
    /// The context that it is in; 0 for a library, which is in all of them.
    context: usize,
    binding: Option<&'static Binding>,
}

/// The image to load instead of the program's.
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
    match instead(site, &code) {
        Some(replacement) => Ptr(replacement.as_taken(kind)),
        None => image,
    }
}

/// The image with which a rule or a tool replaces a whole image.
fn instead(site: &Site, code: &Code) -> Option<&'static Replacement> {
    match plan()?.whole(code) {
        Some((planned, replacement)) => {
            planned.applied(format_args!(
                "image of {} replaced by {}",
                say::owner(code),
                replacement.file()
            ));
            Some(replacement)
        }
        None => tools::image(code, site.name),
    }
}

/// The image to load instead of the file that the program names, and the real function that loads
/// it from memory: the one beside `site`, with the same arguments. CUDA refuses a file that cannot
/// be read.
///
/// # Safety
/// `file` is what the program passed.
pub unsafe fn file(site: &'static Site, file: Str, kind: Kind) -> Option<(Ptr, *mut (), Code)> {
    plan()?;
    // SAFETY: as the caller promises.
    let path = unsafe { crate::given::text(file) }?.to_string_lossy();
    let replacement = instead(site, &Code::from_file(&path, true))?;
    let loader = loader(site)?;
    Some((Ptr(replacement.as_taken(kind)), loader, replacement.code()))
}

/// The real function beside `site` that loads an image from memory.
fn loader(site: &'static Site) -> Option<*mut ()> {
    beside(
        site,
        match site.name.to_bytes() {
            b"cuModuleGetFunction" | b"cuModuleLoad" => c"cuModuleLoadData",
            b"cuLibraryGetKernel" | b"cuLibraryLoadFromFile" => c"cuLibraryLoadData",
            _ => c"cudaLibraryLoadData",
        },
    )
}

/// The real function of that name, of the same face and version.
fn beside(site: &'static Site, name: &CStr) -> Option<*mut ()> {
    let found = match site.node {
        Some(node) => site.home.runtime_site(name, node)?,
        None => site.home.driver_site(name)?,
    };
    Some(found.real()).filter(|real| !real.is_null())
}

/// The program asked `owner` for the kernel `mangled`, and CUDA returned `handle`: returns the
/// handle that the program gets.
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
        if planned.foreign().is_some() {
            launch::decide(handle.0, module, planned, None, None);
            continue;
        }
        let Some(chosen) = planned.kernel_for(module, name) else {
            launch::decide(handle.0, module, planned, None, None);
            continue;
        };
        let Some((other, binding)) = load(site, owner, module, &chosen) else {
            planned.refuse(format_args!("the driver cannot load {}", chosen.image.file()));
            continue;
        };
        planned.applied(format_args!("{} of {} in place", chosen.kernel, chosen.image.file()));
        if !planned.is_for_launches() {
            launch::decide(other, module, planned, None, binding);
            return Func(other);
        }
        launch::decide(handle.0, module, planned, Some(other), binding);
    }
    handle
}

/// The kernel's handle from a replacement, which is loaded once for each owner.
fn load(
    site: &'static Site,
    owner: usize,
    module: &'static Module,
    chosen: &Chosen,
) -> Option<(usize, Option<&'static Binding>)> {
    let replacement = chosen.image;
    // `cudaLibraryGetKernel` has its loader beside it; so have the driver's two functions.
    let (kind, unload) = match site.name.to_bytes() {
        b"cuModuleGetFunction" => (Kind::Module, c"cuModuleUnload"),
        b"cuLibraryGetKernel" => (Kind::Library, c"cuLibraryUnload"),
        _ => (Kind::Library, c"cudaLibraryUnload"),
    };
    let loader = loader(site)?;
    let unload = beside(site, unload).map_or(0, |unload| unload as usize);
    let key = (owner, replacement.wrapper());
    let find = || {
        let loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = loaded.as_ref().and_then(|loaded| loaded.get(&key));
        known.map(|loaded| (loaded.handle, loaded.binding))
    };
    let (holder, binding) = match find() {
        Some(known) => known,
        None => {
            let mut holder = ModuleHandle(0);
            // SAFETY: the functions that the names say, with an image that stays for ever.
            let status = unsafe {
                match kind {
                    Kind::Module => {
                        type Load = unsafe extern "C-unwind" fn(Out<ModuleHandle>, Ptr) -> i32;
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
            registry::add_module(holder.0, replacement.code(), "cushim redirect", Origin::Other);
            let context = match kind {
                Kind::Module => device::context().unwrap_or(0),
                Kind::Library => 0,
            };
            let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let ours = match (kind, site.node) {
                (Kind::Module, _) => Holder::Module(holder.0),
                (Kind::Library, Some(node)) => Holder::RuntimeLibrary(holder.0, node),
                (Kind::Library, None) => Holder::Library(holder.0),
            };
            let binding = chosen.variant.map(|variant| Binding::new(module, variant, ours));
            let entry = Loaded { handle: holder.0, unload, context, binding };
            loaded.get_or_insert_default().insert(key, entry);
            (holder.0, binding)
        }
    };
    let kernel = chosen.kernel.as_str();
    let name = CString::new(kernel).ok()?;
    let mut func = Func(0);
    type Get = unsafe extern "C-unwind" fn(Out<Func>, ModuleHandle, Str) -> i32;
    // SAFETY: the real function of the call that is under way.
    let status = unsafe {
        std::mem::transmute::<*mut (), Get>(site.real())(
            Out(&mut func),
            ModuleHandle(holder),
            Str(name.as_ptr().addr()),
        )
    };
    if status != 0 {
        return None;
    }
    registry::add_function(func.0, kernel.as_bytes(), registry::module(holder));
    Some((func.0, binding))
}

/// The program has unloaded `owner`: unloads what was loaded for it.
pub fn unload(owner: usize) {
    if plan().is_none() {
        return;
    }
    for Loaded { handle, unload, .. } in take(|of, _| of == owner) {
        let module = registry::module(handle);
        if unload != 0 {
            type Unload = unsafe extern "C-unwind" fn(ModuleHandle) -> i32;
            // SAFETY: the unload function for the function that loaded this handle; called once.
            unsafe { std::mem::transmute::<usize, Unload>(unload)(ModuleHandle(handle)) };
        }
        registry::remove_module(handle, module);
    }
    binding::gone();
}

/// A context is gone, and with it the modules that were loaded into it, the program's and cushim's; 0 for all.
pub fn context_gone(context: usize) {
    if plan().is_none() {
        return;
    }
    substitute::context_gone(context);
    binding::gone();
    let gone = |loaded: &Loaded| loaded.context != 0 && [0, loaded.context].contains(&context);
    for Loaded { handle, .. } in take(|_, loaded| gone(loaded)) {
        registry::remove_module(handle, registry::module(handle));
    }
}

/// The program was given `owner` anew: forgets what was known of an earlier owner with this handle.
pub fn fresh(owner: usize) {
    if plan().is_some() {
        take(|of, _| of == owner);
    }
}

/// Takes out entries, by owner and what was loaded for it.
fn take(which: impl Fn(usize, &Loaded) -> bool) -> Vec<Loaded> {
    let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(loaded) = loaded.as_mut() else { return Vec::new() };
    loaded.extract_if(|(of, _), loaded| which(*of, loaded)).map(|(_, loaded)| loaded).collect()
}
