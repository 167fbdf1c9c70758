//! One hook: its number and name, and the real function that it hooks.
//!
//! The real function is found on first use, without the loader's lock ([`cushim_process::elf`]): for a runtime hook
//! the definition with the same version node in the first object after libcushim.so, else one without a version, else
//! any; for a driver hook the definition in the driver. `dlsym` and `cuGetProcAddress` set it when the program gets a
//! function from them.
//!
//! Must not know: what the function does.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cushim_abi::Class;

use cushim_process::elf::{self, Version};

/// A hook, as the export tables declare it.
pub struct Site {
    /// Number of the function, see [`cushim_abi::function`].
    pub id: u16,
    /// The function's class.
    pub class: Class,
    /// The exported name.
    pub name: &'static CStr,
    /// The version node it is exported under; `None` for the driver.
    pub node: Option<&'static CStr>,
    /// The major of the runtime; `None` for the driver.
    pub major: Option<usize>,
    /// A stream of 0 means the thread's own ([`cushim_abi::Function::own_stream`]).
    pub own_stream: bool,
    /// Calls put work on a GPU ([`cushim_abi::Function::work`]).
    pub puts_work: bool,
    /// The exported hook.
    pub hook: Hook,
    /// All hooks of this library.
    pub home: &'static Home,
    /// The real function, null before it is known.
    pub real: AtomicPtr<()>,
}

/// The address of a hook.
#[derive(Clone, Copy)]
pub struct Hook(pub *const ());

// SAFETY: the address of a function.
unsafe impl Sync for Hook {}
// SAFETY: the address of a function, which every thread may have.
unsafe impl Send for Hook {}

/// All hooks of the library.
pub struct Home {
    /// The runtime's, one site per function and version.
    pub runtime: &'static [&'static [Site]],
    /// The driver's.
    pub driver: &'static [Site],
    /// LLVM's libomptarget's.
    pub offload: &'static [Site],
    /// HIP's runtime's.
    pub hip: &'static [Site],
}

/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: usize = 2;

impl Site {
    /// The driver's handle of the stream that a call of this function means.
    #[inline(always)]
    pub fn stream(&self, stream: usize) -> usize {
        if stream == 0 && self.own_stream { PER_THREAD } else { stream }
    }

    /// The real function, or null if no later object defines one.
    #[inline(always)]
    pub fn real(&self) -> *mut () {
        let real = self.real.load(Ordering::Acquire);
        if real.is_null() { self.find() } else { real }
    }

    #[cold]
    fn find(&self) -> *mut () {
        let found = match self.node {
            Some(node) => elf::next(self.name, Version::Node(node), |_| true)
                .or_else(|| elf::next(self.name, Version::Any, |_| true)),
            None => elf::next(self.name, Version::Any, |_| true),
        };
        let real = found.unwrap_or(0) as *mut ();
        if !real.is_null() {
            self.real.store(real, Ordering::Release);
        }
        real
    }
}

impl Home {
    /// Forgets the real functions of the runtimes and of libomptarget: a library that held one may be going away.
    pub fn forget_runtime(&self) {
        let others = self.offload.iter().chain(self.hip);
        for site in self.runtime.iter().copied().flatten().chain(others) {
            site.real.store(std::ptr::null_mut(), Ordering::Release);
        }
    }

    /// The driver hook with this exported name.
    pub fn driver_site(&self, name: &CStr) -> Option<&'static Site> {
        self.driver.iter().find(|site| site.name == name)
    }

    /// The hook of libomptarget's function with this exported name.
    pub fn offload_site(&self, name: &CStr) -> Option<&'static Site> {
        self.offload.iter().find(|site| site.name == name)
    }

    /// The hook of HIP's function with this exported name.
    pub fn hip_site(&self, name: &CStr) -> Option<&'static Site> {
        self.hip.iter().find(|site| site.name == name)
    }

    /// The runtime hook with this exported name and version node.
    pub fn runtime_site(&self, name: &CStr, node: &CStr) -> Option<&'static Site> {
        let sites = self.runtime.iter().copied().flatten();
        sites.into_iter().find(|site| site.name == name && site.node == Some(node))
    }
}
