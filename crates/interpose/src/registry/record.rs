//! The records of kernels and modules.
//!
//! Owns: the data of each, and a module's record in the trace. Records are never freed, so holding one needs no lock.
//! Must not know: the tables that lead to them.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use cushim_trace::meta;
use cushim_trace::recorder::Recorder;

use crate::layouts::{Code, Layout};
use crate::origin::Origin;
use crate::state::Global;

/// A kernel: one name in one module.
pub struct Kernel {
    /// Its number in traces, from 1.
    pub number: u32,
    /// Host stub or handle by which it became known; the latest one.
    pub(super) address: AtomicUsize,
    /// The symbol; empty where it is not known.
    pub name: &'static str,
    /// The module that holds it.
    pub(super) module: Option<&'static Module>,
    /// The next kernel of the same module.
    pub(super) sibling: AtomicPtr<Kernel>,
    /// The previous kernel of the same address, if its module is still loaded; for an unregistered kernel, the
    /// next one that can be reused.
    pub(super) before: AtomicPtr<Kernel>,
    /// Whether it is registered, as far as its record is to be used again.
    pub(super) registered: AtomicBool,
    /// Whether `address` is a `CUfunction`, so that the driver can be asked about it.
    pub(super) of_driver: bool,
    /// Generation in which its record was written; its layout is known by then.
    pub(super) ready: AtomicU32,
    pub(super) layout: AtomicPtr<Layout>,
    /// What the driver launches for it.
    pub direct: crate::handle::Handles,
}

/// A registered fat binary, or a loaded module or library.
pub struct Module {
    /// What the program was given for it.
    pub(super) handle: AtomicUsize,
    /// Its image.
    pub(super) code: Code,
    /// Its images where it has several: a kernel may be in each of them.
    pub(super) images: Vec<meta::Image>,
    /// The function that took it.
    pub(super) api: &'static str,
    pub(super) origin: Origin,
    /// The version of the runtime whose library it is.
    pub(super) node: OnceLock<&'static CStr>,
    pub(super) alive: AtomicBool,
    pub(super) kernels: AtomicPtr<Kernel>,
    /// Generation in which its record was written.
    pub(super) ready: AtomicU32,
    pub(super) functions: AtomicUsize,
    /// The key that modules with equal records share.
    pub(super) key: Key,
    /// How many of its kernels are registered no more and wait to be used again; changed with the registry's lock.
    pub(super) spare: AtomicUsize,
    /// The next unloaded module with this key.
    pub(super) gone: AtomicPtr<Module>,
}

/// What tells a module from others, as far as its record and those of its kernels say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The same key: the same records.
    Same(u128),
    /// Its bytes were not looked at.
    Place(u128),
    /// Not to be compared.
    None,
}

impl Module {
    /// `kernel` is one of it.
    pub(super) fn link(&self, kernel: &'static Kernel) {
        let first = self.kernels.load(Ordering::Relaxed);
        kernel.sibling.store(first, Ordering::Relaxed);
        self.kernels.store(std::ptr::from_ref(kernel).cast_mut(), Ordering::Release);
    }

    /// What the program was given for it; the latest one.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Its image.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// How the module was loaded.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The version of the runtime whose library it is.
    pub fn node(&self) -> Option<&'static CStr> {
        self.node.get().copied()
    }

    /// Notes that it is a library of the runtime of this version, if there is one.
    pub fn of_runtime(&self, node: Option<&'static CStr>) {
        if let Some(node) = node {
            let _ = self.node.set(node);
        }
    }

    /// How many of its kernels were registered or looked up.
    pub fn functions(&self) -> usize {
        self.functions.load(Ordering::Relaxed)
    }

    /// Whether it was registered with images of its own for several kinds of device.
    pub fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Whether it is still loaded.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Writes its record once per trace.
    pub fn describe(&self, global: &Global, recorder: &Recorder) {
        if self.ready.swap(global.generation, Ordering::Relaxed) == global.generation {
            return;
        }
        for image in &self.images {
            recorder.write_meta(&image.encode());
        }
        if self.has_images() {
            return;
        }
        let (kind, size) = self.code.describe();
        recorder.write_meta(
            &meta::Image {
                handle: self.handle() as u64,
                api: self.api.to_owned(),
                owner: self.code.owner(),
                kind: kind.to_owned(),
                size,
            }
            .encode(),
        );
    }
}

impl Kernel {
    /// The module that holds it.
    pub fn module(&self) -> Option<&'static Module> {
        self.module
    }

    pub(super) const fn new(
        number: u32,
        name: &'static str,
        module: Option<&'static Module>,
        of_driver: bool,
    ) -> Self {
        Kernel {
            number,
            address: AtomicUsize::new(0),
            name,
            module,
            sibling: AtomicPtr::new(std::ptr::null_mut()),
            before: AtomicPtr::new(std::ptr::null_mut()),
            registered: AtomicBool::new(true),
            of_driver,
            ready: AtomicU32::new(0),
            layout: AtomicPtr::new(std::ptr::null_mut()),
            direct: crate::handle::Handles::none(),
        }
    }

    /// Host stub or handle by which it became known; the latest one.
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// The kernel that its address launches when it is gone.
    pub(super) fn before(&self) -> Option<&'static Kernel> {
        // SAFETY: null, or a record, which is never freed.
        let before = unsafe { self.before.load(Ordering::Relaxed).as_ref() };
        before.filter(|before| before.is_alive() && before.address() == self.address())
    }

    pub(super) fn is_alive(&self) -> bool {
        self.registered.load(Ordering::Relaxed) && self.module.is_none_or(Module::is_alive)
    }

    pub(super) fn same_module(&self, module: Option<&'static Module>) -> bool {
        match (self.module, module) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}
