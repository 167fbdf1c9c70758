//! A kernel's parameters, and its record in the trace.
//!
//! Owns: when a kernel's parameter layout is read, and that its record is written before the first event that refers
//! to it. Must not know: how images are read.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;

use cushim_trace::meta;
use cushim_trace::recorder::Recorder;

use super::record::{Kernel, Module};
use crate::keep;
use crate::layouts::{self, Layout, ParamType};
use crate::state::Global;

impl Kernel {
    /// Its parameter layout, where it can be known. Its record is in the trace afterwards.
    #[inline(always)]
    pub fn layout(&self, global: &Global, recorder: &Recorder) -> Option<&'static Layout> {
        if self.ready.load(Ordering::Acquire) != global.generation {
            self.describe(global, recorder);
        }
        // SAFETY: null or leaked.
        unsafe { self.layout.load(Ordering::Acquire).as_ref() }
    }

    /// Its number; its record is in the trace afterwards.
    #[inline(always)]
    pub fn named(&self, global: &Global, recorder: &Recorder) -> u32 {
        self.layout(global, recorder);
        self.number
    }

    #[cold]
    fn describe(&self, global: &Global, recorder: &Recorder) {
        // SAFETY: errno is this thread's; what follows reads files and allocates.
        let errno = unsafe { *libc::__errno_location() };
        let known = std::panic::catch_unwind(AssertUnwindSafe(|| self.find_layout()))
            .unwrap_or_else(|_| Err("reading the image failed".to_owned()));
        let owner = self.module.map(|m| m.code.owner()).unwrap_or_default();
        if let Some(module) = self.module {
            module.describe(global, recorder);
        }
        let types = known.as_ref().map(|l| l.types.iter().copied().map(letter).collect());
        let record = meta::Kernel {
            types: types.unwrap_or_default(),
            mangled: self.name.to_owned(),
            address: self.address() as u64,
            owner,
            params: known.map(|l| l.params.iter().map(|p| (p.offset, p.size)).collect()),
        };
        recorder.write_meta(&record.encode(self.number));
        self.ready.store(global.generation, Ordering::Release);
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = errno };
    }

    /// Its parameter layout without a trace.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn known_layout(&self) -> Result<&'static Layout, String> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.find_layout()))
            .unwrap_or_else(|_| Err("reading the image failed".to_owned()))
    }

    fn find_layout(&self) -> Result<&'static Layout, String> {
        if self.module.is_some_and(Module::has_images) {
            return Err("a region has mappings, not parameters".to_owned());
        }
        // SAFETY: null or leaked.
        if let Some(layout) = unsafe { self.layout.load(Ordering::Acquire).as_ref() } {
            return Ok(layout);
        }
        let layout = match self.module {
            Some(module) if !self.name.is_empty() => module.code.layout(self.name)?,
            _ if self.of_driver => layouts::ask_driver(self.address()).ok_or_else(|| {
                "the driver does not report parameter layouts (it does from CUDA 12.4 on)"
                    .to_owned()
            })?,
            _ => return Err("its registration was not seen".to_owned()),
        };
        let layout: &'static Layout = keep::forever(layout);
        self.layout.store(std::ptr::from_ref(layout).cast_mut(), Ordering::Release);
        Ok(layout)
    }
}

/// The trace's letter for a parameter's type.
fn letter(of: ParamType) -> char {
    match of {
        ParamType::Unknown => meta::types::UNKNOWN,
        ParamType::Float => meta::types::FLOAT,
        ParamType::Double => meta::types::DOUBLE,
        ParamType::Signed => meta::types::SIGNED,
        ParamType::Pointer => meta::types::POINTER,
    }
}
