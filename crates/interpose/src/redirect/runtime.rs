//! Redirection in runtime calls that register images and kernels.
//!
//! Owns registering replacements beside the program's own images, and unregistering them together. Must not know:
//! launches.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cushim_abi::types::*;

use super::binding::{self, Binding};
use super::holder::{self, Registered};
use super::plan::{Chosen, Planned, plan};
pub use super::registered::Registration;
use super::registered::Runtime;
use super::say;
use crate::given::Fn1;
use crate::layouts::Code;
use crate::redirect::launch;
use crate::registry::{self, Module};
use crate::site::Site;
use crate::tools;

/// The replacements registered for a program's handle.
static OURS: Mutex<Option<HashMap<usize, Vec<Ours>>>> = Mutex::new(None);

/// A replacement that was registered: once for all of a handle's kernels, which share its variables.
struct Ours {
    handle: usize,
    /// Its image.
    wrapper: usize,
    /// Whether the program has completed its registration, and so have we.
    complete: bool,
    binding: Option<&'static Binding>,
}

fn ours<R>(work: impl FnOnce(&mut HashMap<usize, Vec<Ours>>) -> R) -> R {
    let mut ours = OURS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work(ours.get_or_insert_default())
}

/// The wrapper to register instead of the program's, with its code.
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
                say::owner(&code),
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

/// Registers another kernel for this stub, if a rule says so; returns the runtime's result if it
/// did. A rule with conditions registers its kernel beside the program's own, under a new stub.
pub fn function(site: &'static Site, mangled: &str, given: &Registration) -> Option<i32> {
    let plan = plan()?;
    let module = registry::module(given.handle.0)?;
    tools::function(mangled, module.code(), given.stub.0);
    for planned in plan.kernel(module.code(), mangled) {
        planned.matched.fetch_add(1, Ordering::Relaxed);
        let always = !planned.is_for_launches();
        if planned.foreign().is_some() {
            launch::decide(given.stub.0, module, planned, None, None);
            continue;
        }
        let Some(chosen) = planned.kernel_for(module, mangled) else {
            launch::decide(given.stub.0, module, planned, None, None);
            continue;
        };
        let stub = match always {
            true => given.stub.0,
            // A new address that nothing else uses.
            false => Box::leak(Box::new(0u64)) as *mut u64 as usize,
        };
        let Some((answer, binding)) = register(site, planned, module, &chosen, stub, given) else {
            continue;
        };
        if always {
            launch::decide(given.stub.0, module, planned, None, binding);
            return Some(answer);
        }
        launch::decide(given.stub.0, module, planned, Some(stub), binding);
    }
    None
}

fn register(
    site: &'static Site,
    planned: &Planned,
    module: &'static Module,
    chosen: &Chosen,
    stub: usize,
    given: &Registration,
) -> Option<(i32, Option<&'static Binding>)> {
    let name = CString::new(chosen.kernel.as_str()).ok()?;
    let image = chosen.image;
    let known = ours(|ours| {
        let list = ours.get(&given.handle.0)?;
        let found =
            list.iter().find(|known| known.wrapper == image.wrapper() && !known.complete)?;
        Some((found.handle, found.binding))
    });
    let bring = || {
        let runtime = Runtime::of(site, site.node?)?;
        let (handle, binding) = match known {
            Some(known) => known,
            None => {
                let handle = runtime.begin(image)?;
                let bind = |variant| runtime.bind(handle, module, variant);
                let binding = chosen.variant.map(bind);
                let wrapper = image.wrapper();
                let entry = Ours { handle, wrapper, complete: false, binding };
                ours(|ours| ours.entry(given.handle.0).or_default().push(entry));
                (handle, binding)
            }
        };
        Some((runtime.function(handle, &name, stub, given), binding))
    };
    let Some(brought) = bring() else {
        planned.refuse(format_args!("the runtime cannot load {}", image.file()));
        return None;
    };
    planned.applied(format_args!("{} of {} in place", chosen.kernel, image.file()));
    Some(brought)
}

/// The program has completed the registration of `handle`: completes those of its replacements.
/// Variables that the program's kernels have and its host code does not know are registered before.
pub fn complete(site: &'static Site, handle: Ptr) {
    if plan().is_none() {
        return;
    }
    let Some(runtime) = site.node.and_then(|node| Runtime::of(site, node)) else { return };
    let open = ours(|ours| {
        let open = ours.get_mut(&handle.0).into_iter().flatten().filter(|known| !known.complete);
        let open = open.map(|known| {
            known.complete = true;
            (known.handle, known.binding)
        });
        open.collect::<Vec<_>>()
    });
    for (ours, binding) in open {
        for bound in binding.into_iter().flat_map(|binding| binding.bound()) {
            let Ok(name) = CString::new(bound.name.as_str()) else { continue };
            if !holder::is_registered(handle.0, &bound.name) {
                runtime.variable(handle.0, &name, bound.space, bound.size);
            }
        }
        runtime.end(ours);
    }
}

/// The program registers a variable.
pub fn variable(
    site: &'static Site,
    handle: Ptr,
    host: Ptr,
    name: Str,
    size: usize,
    managed: bool,
) {
    if plan().is_none() {
        return;
    }
    // SAFETY: registration code passes the symbol's name.
    let name = unsafe { crate::given::text(name) };
    if let (Some(name), Some(node)) = (name, site.node) {
        let size = size as u64;
        holder::register(handle.0, name, Registered { host: host.0, size, managed, node });
    }
}

/// The program unregisters `handle`: unregisters what was registered for it.
pub fn unregister(real: Fn1<()>, handle: Ptr) {
    if plan().is_none() {
        return;
    }
    holder::unregister(handle.0);
    for Ours { handle, .. } in ours(|ours| ours.remove(&handle.0)).unwrap_or_default() {
        let module = registry::module(handle);
        // SAFETY: a handle that the runtime gave us, given back once.
        unsafe { real(Ptr(handle)) };
        registry::remove_module(handle, module);
        holder::unregister(handle);
    }
    binding::gone();
}
