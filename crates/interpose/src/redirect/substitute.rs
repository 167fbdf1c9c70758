//! A different kernel for one launch, from an image that is not loaded yet.
//!
//! Owns: loading it through the face that launches, once for each context or runtime. Must not know: why it is
//! needed.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;

use cushim_abi::Runtime;
use cushim_abi::types::Func;

use super::binding::Binding;
use super::holder::Holder;
use super::layout::{same, shown};
use super::replacement::Replacement;
use super::{registered, variant};
use crate::device;
use crate::origin::Origin;
use crate::registry;
use crate::site::Site;

/// The functions that CUDA 13's `<<<>>>` calls, which take a handle and no stub.
const BY_HANDLE: [u16; 2] =
    [Runtime::__cudaLaunchKernel as u16, Runtime::__cudaLaunchKernel_ptsz as u16];

/// What holds a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// A context of the driver's.
    Context(usize),
    /// A runtime of this version, by stub or by handle.
    Runtime(&'static CStr, bool),
}

/// By image, kernel, the program's module (0 where that does not matter), and its holder.
type Key = (usize, String, usize, Who);
/// What is launched, and what must be bound before.
type Made = (usize, Option<&'static Binding>);
static KNOWN: Mutex<Option<HashMap<Key, Made>>> = Mutex::new(None);
/// Whether [`kernel`] returned `func`.
pub fn is_made(func: Func) -> bool {
    let known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.as_ref().is_some_and(|known| known.values().any(|(made, _)| *made == func.0))
}

/// The kernel to launch by `site` instead of `func`.
///
/// # Errors
/// The reason why that is not possible.
pub fn kernel(
    site: &'static Site,
    func: Func,
    image: &'static Replacement,
    wanted: &str,
) -> Result<(Func, Option<&'static Binding>), String> {
    let theirs = image.layout(wanted).ok_or_else(|| {
        format!("{} has no kernel {wanted}; it has {}", image.file(), image.kernels())
    })?;
    let kernel = registry::find(func.0).ok_or("the kernel is unknown")?;
    let ours = kernel.known_layout()?;
    if !same(ours, &theirs) {
        let (ours, theirs) = (shown(ours), shown(&theirs));
        return Err(format!("it takes {ours}, but {wanted} of {} takes {theirs}", image.file()));
    }
    let served = match kernel.module() {
        Some(module) => variant::without_rule(image, module)?.map(|variant| (module, variant)),
        None => None,
    };
    let image = served.map_or(image, |(_, variant)| &variant.image);
    let by_handle = BY_HANDLE.contains(&site.id);
    let holder = match site.node {
        Some(node) => Who::Runtime(node, by_handle),
        None => Who::Context(device::context()?),
    };
    let of = served.map_or(0, |(module, _)| std::ptr::from_ref(module).addr());
    let key = (image.wrapper(), wanted.to_owned(), of, holder);
    let find = || KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((known, binding)) = find().get_or_insert_default().get(&key) {
        return Ok((Func(*known), *binding));
    }
    let name = CString::new(wanted).map_err(|_| "the name contains a NUL byte")?;
    let (found, binding) = match site.node {
        Some(node) => {
            let (stub, binding) = registered::beside(site, node, image, &name, served)
                .ok_or_else(|| format!("the runtime cannot load {}", image.file()))?;
            (if by_handle { handle(site, node, stub)? } else { stub }, binding)
        }
        None => {
            let (function, loaded) = device::relaxed(|| load(image, &name))?;
            let bind = |(module, variant)| Binding::new(module, variant, Holder::Module(loaded));
            (function, served.map(bind))
        }
    };
    registry::add_function(found, wanted.as_bytes(), registry::module(image.fatbin()));
    find().get_or_insert_default().insert(key, (found, binding));
    Ok((Func(found), binding))
}

/// The `cudaKernel_t` of a stub.
fn handle(site: &Site, node: &CStr, stub: usize) -> Result<usize, String> {
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    let get = site.home.runtime_site(c"__cudaGetKernel", node).map(Site::real);
    let get = get.filter(|real| !real.is_null()).ok_or("the runtime has no __cudaGetKernel")?;
    let mut handle = 0;
    // SAFETY: the runtime's function of that name, for a stub that was just registered.
    let status = unsafe { std::mem::transmute::<*mut (), Get>(get)(&mut handle, stub) };
    if status == 0 { Ok(handle) } else { Err(format!("__cudaGetKernel failed with {status}")) }
}

/// A context was destroyed, with everything that was loaded into it; 0 for all of them. Runtimes keep theirs.
pub fn context_gone(context: usize) {
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = known.as_mut() {
        known.retain(|(_, _, _, who), _| match *who {
            Who::Context(of) => context != 0 && of != context,
            Who::Runtime(..) => true,
        });
    }
}

/// A `CUfunction` of the current context, and its module.
fn load(image: &'static Replacement, name: &CStr) -> Result<(usize, usize), String> {
    type Load = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize, *const libc::c_char) -> i32;
    let load = device::function(c"cuModuleLoadData").ok_or("the driver has no cuModuleLoadData")?;
    let get =
        device::function(c"cuModuleGetFunction").ok_or("the driver has no cuModuleGetFunction")?;
    let (mut module, mut function) = (0, 0);
    // SAFETY: the functions' signatures; the image stays for ever.
    unsafe {
        match std::mem::transmute::<usize, Load>(load)(&mut module, image.fatbin()) {
            0 => {}
            error => return Err(format!("loading {} failed with error {error}", image.file())),
        }
        registry::add_module(image.fatbin(), image.code(), "cushim tool", Origin::Other);
        match std::mem::transmute::<usize, Get>(get)(&mut function, module, name.as_ptr()) {
            0 => Ok((function, module)),
            error => Err(format!("{} of {}: error {error}", name.to_string_lossy(), image.file())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_forgotten_with_their_context() {
        let of = |made: usize, who| ((made, "k".to_owned(), 0, who), (made, None));
        let runtime = Who::Runtime(c"libcudart.so.12", false);
        let all = [of(1, Who::Context(64)), of(2, Who::Context(128)), of(3, runtime)];
        let made = || [1, 2, 3].map(|func| is_made(Func(func)));
        KNOWN.lock().unwrap().get_or_insert_default().extend(all);
        assert_eq!(made(), [true; 3]);
        context_gone(64);
        assert_eq!(made(), [false, true, true]);
        context_gone(0);
        assert_eq!(made(), [false, false, true]);
    }
}
