//! Another kernel for one launch, from an image that nothing was loaded of before.
//!
//! Owns: loading it by the face that launches, once for each context or runtime. Must not know: why it is
//! wanted.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;

use cushim_abi::types::*;

use super::{Replacement, runtime, same, shown};
use crate::device;
use crate::registry;
use crate::site::Site;

/// Who has a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// A context of the driver's.
    Context(usize),
    /// A runtime of this version, by stub or by handle.
    Runtime(&'static CStr, bool),
}

/// By image, kernel, and who has it.
type Key = (usize, String, Who);
static KNOWN: Mutex<Option<HashMap<Key, usize>>> = Mutex::new(None);

/// Whether `func` came of [`kernel`].
pub fn is_made(func: Func) -> bool {
    let known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.as_ref().is_some_and(|known| known.values().any(|made| *made == func.0))
}

/// What to launch by `site` in the place of `func`.
///
/// # Errors
/// Why that is not possible.
pub fn kernel(
    site: &'static Site,
    func: Func,
    image: &'static Replacement,
    wanted: &str,
) -> Result<Func, String> {
    let theirs = image.layout(wanted).ok_or_else(|| {
        format!("{} has no kernel {wanted}; it has {}", image.file(), image.kernels())
    })?;
    let ours = registry::find(func.0).ok_or("the kernel is not known")?.known_layout()?;
    if !same(ours, &theirs) {
        let (ours, theirs) = (shown(ours), shown(&theirs));
        return Err(format!("it takes {ours}, and {wanted} of {} takes {theirs}", image.file()));
    }
    let by_handle = site.name.to_bytes().starts_with(b"__cudaLaunchKernel");
    let holder = match site.node {
        Some(node) => Who::Runtime(node, by_handle),
        None => Who::Context(context()?),
    };
    let key = (image.wrapper(), wanted.to_owned(), holder);
    let find = || KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = find().get_or_insert_default().get(&key) {
        return Ok(Func(*known));
    }
    let name = CString::new(wanted).map_err(|_| "a name with a NUL")?;
    let found = match site.node {
        Some(node) => {
            let stub = runtime::beside(site, node, image, &name)
                .ok_or_else(|| format!("the runtime refuses {}", image.file()))?;
            if by_handle { handle(site, node, stub)? } else { stub }
        }
        None => device::relaxed(|| load(image, &name))?,
    };
    registry::add_function(found, wanted.as_bytes(), registry::module(image.fatbin()));
    find().get_or_insert_default().insert(key, found);
    Ok(Func(found))
}

/// The `cudaKernel_t` of a stub.
fn handle(site: &Site, node: &CStr, stub: usize) -> Result<usize, String> {
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    let get = site.home.runtime_site(c"__cudaGetKernel", node).map(Site::real);
    let get = get.filter(|real| !real.is_null()).ok_or("the runtime has no __cudaGetKernel")?;
    let mut handle = 0;
    // SAFETY: the runtime's function of that name, for a stub that was just registered.
    let status = unsafe { std::mem::transmute::<*mut (), Get>(get)(&mut handle, stub) };
    if status == 0 { Ok(handle) } else { Err(format!("the runtime answers {status}")) }
}

/// A context is gone, and with it what was loaded into it; 0 for all of them. Runtimes keep theirs.
pub fn context_gone(context: usize) {
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = known.as_mut() {
        known.retain(|(_, _, who), _| match *who {
            Who::Context(of) => context != 0 && of != context,
            Who::Runtime(..) => true,
        });
    }
}

/// The current context.
pub(super) fn context() -> Result<usize, String> {
    type Current = unsafe extern "C-unwind" fn(*mut usize) -> i32;
    let current = device::function(c"cuCtxGetCurrent").ok_or("there is no driver")?;
    let mut context = 0;
    // SAFETY: the function's signature.
    let status = unsafe { std::mem::transmute::<usize, Current>(current)(&mut context) };
    match (status, context) {
        (0, 1..) => Ok(context),
        (0, _) => Err("no context is current".to_owned()),
        (error, _) => Err(format!("asking for the context: error {error}")),
    }
}

/// A `CUfunction` of the current context.
fn load(image: &'static Replacement, name: &CStr) -> Result<usize, String> {
    type Load = unsafe extern "C-unwind" fn(*mut usize, usize) -> i32;
    type Get = unsafe extern "C-unwind" fn(*mut usize, usize, *const libc::c_char) -> i32;
    let load = device::function(c"cuModuleLoadData").ok_or("there is no cuModuleLoadData")?;
    let get = device::function(c"cuModuleGetFunction").ok_or("there is no cuModuleGetFunction")?;
    let (mut module, mut function) = (0, 0);
    // SAFETY: the functions' signatures; the image stays for ever.
    unsafe {
        match std::mem::transmute::<usize, Load>(load)(&mut module, image.fatbin()) {
            0 => {}
            error => return Err(format!("loading {}: error {error}", image.file())),
        }
        registry::add_module(image.fatbin(), image.code(), "cushim tool");
        match std::mem::transmute::<usize, Get>(get)(&mut function, module, name.as_ptr()) {
            0 => Ok(function),
            error => Err(format!("{} of {}: error {error}", name.to_string_lossy(), image.file())),
        }
    }
}
