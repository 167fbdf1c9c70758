//! A code object that the runtime has loaded.
//!
//! Owns loading and unloading it. Must not know: what is in it.

use std::sync::Arc;

use cushim_accel::Failure;

use crate::ffi::*;
use crate::runtime::Core;

/// An executable that the runtime has loaded, freed once.
pub struct Loaded {
    core: Arc<Core>,
    /// Its handle.
    pub executable: Executable,
    reader: Option<Reader>,
    /// The object, which the runtime may read as long as it is loaded.
    _object: Box<[u8]>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded, and nothing of it is in use.
        unsafe {
            let _ = (self.core.api.hsa_executable_destroy)(self.executable);
            if let Some(reader) = self.reader {
                let _ = (self.core.api.hsa_code_object_reader_destroy)(reader);
            }
        }
    }
}

impl Loaded {
    /// Loads an object.
    ///
    /// # Errors
    /// As [`crate::code::HsaCode::load`].
    pub fn new(core: &Arc<Core>, device: usize, object: &[u8]) -> Result<Loaded, Failure> {
        let (api, agent) = (&core.api, core.device(device)?.gpu.agent);
        let object: Box<[u8]> = object.into();
        let mut executable = Executable(0);
        // SAFETY: a place for a handle; an empty text.
        let status = unsafe {
            let (profile, rounding) = (PROFILE_FULL, ROUNDING_DEFAULT);
            (api.hsa_executable_create_alt)(profile, rounding, c"".as_ptr(), &raw mut executable)
        };
        api.check("hsa_executable_create_alt", status)?;
        let (at, bytes) = (object.as_ptr(), object.len());
        // From here on a failure frees what exists.
        let mut loaded = Loaded { core: core.clone(), executable, reader: None, _object: object };
        let mut reader = Reader(0);
        // SAFETY: the object, which stays as long as it is loaded.
        let status = unsafe {
            (api.hsa_code_object_reader_create_from_memory)(at.cast(), bytes, &raw mut reader)
        };
        api.check("hsa_code_object_reader_create_from_memory", status)?;
        loaded.reader = Some(reader);
        let invalid = |call: &str, status: Status| match status {
            SUCCESS => Ok(()),
            OUT_OF_RESOURCES => Err(Failure::OutOfMemory),
            INVALID_ISA => Err(Failure::NoImage(format!("{call}: {}", api.text(status)))),
            status => Err(Failure::InvalidImage(format!("{call}: {}", api.text(status)))),
        };
        // SAFETY: handles of this executable; no options.
        let status = unsafe {
            let (options, nowhere) = (c"".as_ptr(), std::ptr::null_mut());
            (api.hsa_executable_load_agent_code_object)(executable, agent, reader, options, nowhere)
        };
        invalid("hsa_executable_load_agent_code_object", status)?;
        // SAFETY: the handle of this executable, which is loaded and not yet frozen.
        let status = unsafe { (api.hsa_executable_freeze)(executable, c"".as_ptr()) };
        invalid("hsa_executable_freeze", status)?;
        Ok(loaded)
    }
}
