//! Reused HSA signals.
//!
//! Owns creating and reusing them. A signal counts down from 1, and dependents wait for 0; a failed copy leaves a
//! negative number. Must not know: what it stands for.

use std::sync::{Arc, Mutex};

use cushim_accel::Failure;
use cushim_accel::locks::lock;

use crate::api::Api;
use crate::ffi::{BLOCKED, LESS, Sig};

/// All signals of a process.
pub struct Signals {
    api: Api,
    free: Mutex<Vec<Sig>>,
}

/// A signal in use; freed when the last owner drops it.
pub struct Native {
    /// The runtime's handle.
    pub sig: Sig,
    home: Arc<Signals>,
}

impl Signals {
    /// None yet.
    pub fn new(api: Api) -> Arc<Signals> {
        Arc::new(Signals { api, free: Mutex::default() })
    }

    /// A signal at 1.
    ///
    /// # Errors
    /// The runtime's.
    pub fn take(self: &Arc<Signals>) -> Result<Arc<Native>, Failure> {
        let sig = match lock(&self.free).pop() {
            Some(sig) => {
                // SAFETY: a signal that nothing waits for.
                unsafe { (self.api.hsa_signal_store_relaxed)(sig, 1) };
                sig
            }
            None => {
                let mut sig = Sig(0);
                // SAFETY: a place for a handle; no list of consumers.
                let status =
                    unsafe { (self.api.hsa_signal_create)(1, 0, std::ptr::null(), &raw mut sig) };
                self.api.check("hsa_signal_create", status)?;
                sig
            }
        };
        Ok(Arc::new(Native { sig, home: self.clone() }))
    }
}

impl Native {
    /// The value now.
    pub fn value(&self) -> i64 {
        // SAFETY: an existing signal.
        unsafe { (self.home.api.hsa_signal_load_scacquire)(self.sig) }
    }

    /// Completes it in place of whoever should have.
    pub fn end(&self) {
        // SAFETY: an existing signal.
        unsafe { (self.home.api.hsa_signal_store_screlease)(self.sig, 0) };
    }

    /// Waits for the end; returns the value, negative where a copy has failed.
    pub fn wait(&self) -> i64 {
        loop {
            // SAFETY: an existing signal. The runtime may return early.
            let value = unsafe {
                (self.home.api.hsa_signal_wait_scacquire)(self.sig, LESS, 1, u64::MAX, BLOCKED)
            };
            if value < 1 {
                return value;
            }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        lock(&self.home.free).push(self.sig);
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let free = std::mem::take(&mut *lock(&self.free));
        for sig in free {
            // SAFETY: an unused signal.
            let _ = unsafe { (self.api.hsa_signal_destroy)(sig) };
        }
    }
}
