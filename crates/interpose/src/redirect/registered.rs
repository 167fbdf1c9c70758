//! Registers replacement images with a runtime.
//!
//! Owns: the runtime's functions for that, called directly and not through cushim's hooks. Must not know: rules,
//! launches.

use std::ffi::{CStr, CString};

use cushim_abi::types::*;
use cushim_bind::Space;

use super::binding::Binding;
use super::holder::{self, Holder, Registered};
use super::replacement::Replacement;
use super::variant::Variant;
use crate::given::{Fn1, RegisterFunction, RegisterVar};
use crate::origin::Origin;
use crate::registry::{self, Module};
use crate::site::Site;

/// The arguments of a kernel's registration.
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

/// Registers a kernel of an image for a new stub; returns the stub, and what must be bound before
/// launches.
pub fn beside(
    site: &'static Site,
    node: &'static CStr,
    image: &Replacement,
    kernel: &CStr,
    variant: Option<(&'static Module, &'static Variant)>,
) -> Option<(usize, Option<&'static Binding>)> {
    // An address that nothing else uses, for ever.
    let stub = Box::leak(Box::new(0u64)) as *mut u64 as usize;
    let (handle, name) = (Ptr(0), Str(0));
    let given = Registration { handle, stub: Func(stub), name, limit: -1, rest: [Ptr(0); 5] };
    let runtime = Runtime::of(site, node)?;
    let handle = runtime.begin(image)?;
    let binding = variant.map(|(module, variant)| runtime.bind(handle, module, variant));
    runtime.function(handle, kernel, stub, &given);
    runtime.end(handle);
    Some((stub, binding))
}

/// A runtime, by its functions for registration.
pub struct Runtime {
    site: &'static Site,
    node: &'static CStr,
}

impl Runtime {
    /// The runtime of a call.
    pub fn of(site: &'static Site, node: &'static CStr) -> Option<Runtime> {
        let runtime = Runtime { site, node };
        let needed = [c"__cudaRegisterFatBinary", c"__cudaRegisterFunction", c"__cudaRegisterVar"];
        needed.iter().all(|name| runtime.real(name).is_some()).then_some(runtime)
    }

    fn real(&self, name: &CStr) -> Option<*mut ()> {
        let site = self.site.home.runtime_site(name, self.node)?;
        Some(site.real()).filter(|real| !real.is_null())
    }

    /// Registers an image; its handle.
    pub fn begin(&self, image: &Replacement) -> Option<usize> {
        let begin = self.real(c"__cudaRegisterFatBinary")?;
        // SAFETY: the runtime's function of that name, with an image that stays.
        let handle =
            unsafe { std::mem::transmute::<*mut (), Fn1<usize>>(begin)(Ptr(image.wrapper())) };
        (handle != 0).then(|| {
            registry::add_module(handle, image.code(), "cushim redirect", Origin::Other);
            handle
        })
    }

    /// Registers a kernel of it for `stub`; returns the runtime's result.
    pub fn function(&self, handle: usize, kernel: &CStr, stub: usize, given: &Registration) -> i32 {
        let Some(real) = self.real(c"__cudaRegisterFunction") else { return 0 };
        let name = Str(kept(kernel));
        let [tid, bid, block, grid, warp] = given.rest;
        // SAFETY: the runtime's function of that name; the strings stay.
        let answer = unsafe {
            let real = std::mem::transmute::<*mut (), RegisterFunction>(real);
            real(Ptr(handle), Func(stub), name, name, given.limit, tid, bid, block, grid, warp)
        };
        registry::add_function(stub, kernel.to_bytes(), registry::module(handle));
        answer
    }

    /// Registers the variables of a rewritten image that the host must reach.
    pub fn bind(
        &self,
        handle: usize,
        module: &'static Module,
        variant: &'static Variant,
    ) -> &'static Binding {
        let table = (cushim_bind::TABLE, Space::Const, 8 * variant.bound.len() as u64);
        let fixups = variant.fixups.iter().map(|f| (f.variable.as_str(), f.space, f.size));
        for (name, space, size) in std::iter::once(table).chain(fixups) {
            let Ok(name) = CString::new(name) else { continue };
            if !holder::is_registered(handle, &name.to_string_lossy()) {
                self.variable(handle, &name, space, size);
            }
        }
        Binding::new(module, variant, Holder::Registered(handle))
    }

    /// Registers a variable under a new host variable.
    pub fn variable(&self, handle: usize, name: &CStr, space: Space, size: u64) {
        let Some(real) = self.real(c"__cudaRegisterVar") else { return };
        let host = Box::leak(Box::new(0u64)) as *mut u64 as usize;
        let (text, constant) = (Str(kept(name)), i32::from(space == Space::Const));
        // SAFETY: the runtime's function of that name; the string stays.
        unsafe {
            let real = std::mem::transmute::<*mut (), RegisterVar>(real);
            real(Ptr(handle), Ptr(host), text, text, 0, size as usize, constant, 0);
        }
        holder::register(handle, name, Registered { host, size, managed: false, node: self.node });
    }

    /// Ends the registration.
    pub fn end(&self, handle: usize) {
        if let Some(end) = self.real(c"__cudaRegisterFatBinaryEnd") {
            // SAFETY: the runtime's function of that name.
            unsafe { std::mem::transmute::<*mut (), Fn1<()>>(end)(Ptr(handle)) };
        }
    }
}

/// A string that stays for ever.
fn kept(text: &CStr) -> usize {
    let kept: &'static CString = Box::leak(Box::new(text.to_owned()));
    kept.as_ptr().addr()
}
