//! The addresses of a module's variables in the current context, by name.
//!
//! Owns: asking the API that loaded the module, not through cushim's hooks, and the variables registered with the
//! runtime (`__cudaRegisterVar`), which returns their addresses by host variable only. Must not know: who asks.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cushim_abi::types::*;
use cushim_process::elf::{self, Version};

use crate::device;
use crate::given::Fn1;
use crate::life;
use crate::origin::Origin;
use crate::registry::Module;
use crate::site::Site;
use crate::thread;

/// A variable as a program registered it.
#[derive(Clone, Copy)]
pub struct Registered {
    /// The host variable, or where the program keeps a managed variable's address.
    pub host: usize,
    /// Bytes.
    pub size: u64,
    /// `__cudaRegisterManagedVar`.
    pub managed: bool,
    /// The version of the runtime.
    pub node: &'static CStr,
}

/// By the handle of the fat binary, and name.
type Variables = HashMap<(usize, String), Registered>;
static VARIABLES: Mutex<Option<Variables>> = Mutex::new(None);

/// What holds a module.
#[derive(Clone, Copy)]
pub enum Holder {
    /// The runtime, by the handle of a fat binary.
    Registered(usize),
    /// The driver, as a module of one context.
    Module(usize),
    /// The driver, as a library.
    Library(usize),
    /// A runtime of this version, as a library.
    RuntimeLibrary(usize, &'static CStr),
}

/// A variable of the fat binary `handle` was registered with the runtime.
pub fn register(handle: usize, name: &CStr, variable: Registered) {
    let mut variables = VARIABLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (handle, name.to_string_lossy().into_owned());
    variables.get_or_insert_default().insert(key, variable);
}

/// The fat binary `handle` is gone.
pub fn unregister(handle: usize) {
    let mut variables = VARIABLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(variables) = variables.as_mut() {
        variables.retain(|(of, _), _| *of != handle);
    }
}

fn registered(handle: usize, name: &str) -> Option<Registered> {
    let variables = VARIABLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    variables.as_ref()?.get(&(handle, name.to_owned())).copied()
}

/// Whether this variable was registered with the runtime.
pub fn is_registered(handle: usize, name: &str) -> bool {
    registered(handle, name).is_some()
}

impl Holder {
    /// What holds a module of the program's.
    pub fn of(module: &Module) -> Holder {
        let handle = module.handle();
        match (module.origin(), module.node()) {
            (Origin::Registered, _) => Holder::Registered(handle),
            (Origin::Module, _) => Holder::Module(handle),
            (Origin::Library, Some(node)) => Holder::RuntimeLibrary(handle, node),
            (Origin::Library | Origin::Other, _) => Holder::Library(handle),
        }
    }

    /// Address and bytes of a variable in the current context.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn variable(self, name: &str) -> Result<(u64, u64), String> {
        let text = CString::new(name).map_err(|_| "the name contains a NUL byte")?;
        match self {
            Holder::Registered(handle) => of_runtime(handle, name),
            Holder::Module(module) => ask(c"cuModuleGetGlobal_v2", None, module, &text),
            Holder::Library(library) => ask(c"cuLibraryGetGlobal", None, library, &text)
                .or_else(|why| ask(c"cuLibraryGetManaged", None, library, &text).map_err(|_| why)),
            Holder::RuntimeLibrary(library, node) => {
                ask(c"cudaLibraryGetGlobal", Some(node), library, &text).or_else(|why| {
                    ask(c"cudaLibraryGetManaged", Some(node), library, &text).map_err(|_| why)
                })
            }
        }
        .map_err(|why| format!("{name}: {why}"))
    }
}

/// The real function of this name, of the driver or of a runtime.
fn function(name: &CStr, node: Option<&'static CStr>) -> Option<usize> {
    match node {
        Some(node) => elf::next(name, Version::Node(node), |_| true)
            .or_else(|| elf::next(name, Version::Any, |_| true)),
        None => device::function(name),
    }
}

/// By functions of the form `(address, bytes, owner, name)`.
fn ask(
    by: &CStr,
    node: Option<&'static CStr>,
    owner: usize,
    name: &CStr,
) -> Result<(u64, u64), String> {
    type Get = unsafe extern "C-unwind" fn(*mut u64, *mut usize, usize, *const libc::c_char) -> i32;
    let missing = || format!("{} is missing", by.to_string_lossy());
    let get = function(by, node).ok_or_else(missing)?;
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the signature that all of them have; the owner is one that CUDA gave out and that is loaded.
    let status = hidden(|| unsafe {
        std::mem::transmute::<usize, Get>(get)(&mut address, &mut bytes, owner, name.as_ptr())
    });
    match status {
        0 if address != 0 => Ok((address, bytes as u64)),
        status => Err(format!("{} failed with {status}", by.to_string_lossy())),
    }
}

/// By the host variable.
fn of_runtime(handle: usize, name: &str) -> Result<(u64, u64), String> {
    let known = registered(handle, name);
    let known = known.ok_or("the program did not register it with the runtime")?;
    type Get<T> = unsafe extern "C-unwind" fn(*mut T, usize) -> i32;
    if known.managed {
        let init = function(c"__cudaInitModule", Some(known.node));
        let init = init.ok_or("the runtime has no __cudaInitModule")?;
        // SAFETY: the runtime's function, for a handle that it gave out; it stores the address in
        // the program's variable for it.
        let address = hidden(|| unsafe {
            std::mem::transmute::<usize, Fn1<libc::c_char>>(init)(Ptr(handle));
            (known.host as *const u64).read_unaligned()
        });
        return match address {
            0 => Err("the managed variable has no address".to_owned()),
            address => Ok((address, known.size)),
        };
    }
    let get = function(c"cudaGetSymbolAddress", Some(known.node));
    let get = get.ok_or("the runtime has no cudaGetSymbolAddress")?;
    let mut address = 0u64;
    // SAFETY: the runtime's function, for a host variable that was registered.
    let status =
        hidden(|| unsafe { std::mem::transmute::<usize, Get<u64>>(get)(&mut address, known.host) });
    match status {
        0 if address != 0 => {}
        status => return Err(format!("cudaGetSymbolAddress failed with {status}")),
    }
    let mut size = 0usize;
    let measured = function(c"cudaGetSymbolSize", Some(known.node)).is_some_and(|get| {
        // SAFETY: the runtime's function, for a host variable that was registered; the place is valid.
        let status = hidden(|| unsafe {
            std::mem::transmute::<usize, Get<usize>>(get)(&mut size, known.host)
        });
        status == 0
    });
    Ok((address, if measured { size as u64 } else { known.size }))
}

/// `cudaGetDevice` of each major, once found; 0 before.
static GET_DEVICE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// A runtime may have been unloaded: forgets its functions.
pub fn forget_runtime() {
    for known in &GET_DEVICE {
        known.store(0, Ordering::Release);
    }
}

/// The runtime's device on this thread. Looks the function up only once.
pub fn runtime_device(node: &'static CStr) -> i32 {
    type Get = unsafe extern "C-unwind" fn(*mut i32) -> i32;
    let [eleven, twelve, thirteen] = &GET_DEVICE;
    let known = match cushim_abi::runtime_major(node.to_bytes()) {
        Some(11) => eleven,
        Some(12) => twelve,
        _ => thirteen,
    };
    let mut get = known.load(Ordering::Acquire);
    if get == 0 {
        let Some(found) = function(c"cudaGetDevice", Some(node)) else { return -1 };
        known.store(found, Ordering::Release);
        get = found;
    }
    let mut device = -1;
    // SAFETY: the function's signature.
    hidden(|| unsafe { std::mem::transmute::<usize, Get>(get)(&mut device) });
    device
}

/// Has the runtime fail with "invalid device symbol", so that this is also the thread's last error;
/// returns the status.
pub fn fail(site: &Site) -> i32 {
    const NO_SYMBOL: i32 = 13;
    static NOTHING: u64 = 0;
    type Get = unsafe extern "C-unwind" fn(*mut u64, usize) -> i32;
    let Some(get) = function(c"cudaGetSymbolAddress", site.node) else { return NO_SYMBOL };
    let mut address = 0;
    // SAFETY: the function's signature; any host address may be asked about.
    let status = hidden(|| unsafe {
        std::mem::transmute::<usize, Get>(get)(&mut address, (&raw const NOTHING).addr())
    });
    if status == 0 { NO_SYMBOL } else { status }
}

/// Runs `work` without recording CUDA calls inside: they are not the program's.
pub fn hidden<R>(work: impl FnOnce() -> R) -> R {
    let here = 0u8;
    let stack = (&raw const here).addr();
    // SAFETY: the reference is dropped before the work begins.
    let thread = life::global().and_then(|global| unsafe { thread::current(global) });
    let Some(thread) = thread else { return work() };
    let outermost = !thread.is_inside(stack);
    let Some(depth) = thread.enter(stack, false) else { return work() };
    let recorded = thread.recorded;
    if outermost {
        thread.recorded = false;
    }
    let result = work();
    // SAFETY: the work is done, and nothing is called below.
    if let Some(thread) = unsafe { thread::current_if_any() } {
        thread.leave(depth);
        thread.recorded = recorded;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_known_until_their_fat_binary_is_gone() {
        let (handle, other) = (0x7e51_0001, 0x7e51_0002);
        let variable = Registered { host: 64, size: 4, managed: false, node: c"libcudart.so.12" };
        assert!(!is_registered(handle, "total"));
        register(handle, c"total", variable);
        register(other, c"total", Registered { host: 128, ..variable });
        assert!(is_registered(handle, "total") && !is_registered(handle, "totals"));
        assert_eq!(registered(other, "total").map(|found| found.host), Some(128));
        unregister(handle);
        assert!(!is_registered(handle, "total") && is_registered(other, "total"));
        unregister(other);
    }
}
