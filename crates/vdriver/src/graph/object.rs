//! User objects: the program's objects that live as long as graphs need them.
//!
//! Source: CUDA Driver API, `cuUserObjectCreate`, `cuGraphRetainUserObject`. Must not know: what they are.

use std::sync::{Arc, Mutex};

use cushim_abi::types::Ptr;

use crate::handle::{Handles, handle};
use crate::host::{self, Function};
use crate::state::check;
use crate::status;
use cushim_accel::locks::lock;

/// A user object.
pub struct Object {
    /// Called with the last reference.
    pub destroy: Function,
    /// References: the program's and those of graphs.
    pub count: Mutex<u64>,
}

/// User objects by handle.
pub static OBJECTS: Handles<Object> = Handles::new();

impl Object {
    /// Adds references.
    pub fn add(&self, by: u64) {
        *lock(&self.count) += by;
    }

    /// Releases references; the last one calls the program's function.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for more than there are.
    pub fn release(self: &Arc<Self>, by: u64) -> Result<(), i32> {
        let mut count = lock(&self.count);
        *count = count.checked_sub(by).ok_or(status::INVALID_VALUE)?;
        if *count == 0 {
            OBJECTS.remove(handle(self));
            let destroy = self.destroy;
            host::run(move || destroy.call());
        }
        Ok(())
    }
}

/// References that a graph holds.
pub struct Held {
    /// The object.
    pub object: Arc<Object>,
    /// How many.
    pub count: u64,
}

impl Clone for Held {
    fn clone(&self) -> Self {
        self.object.add(self.count);
        Held { object: self.object.clone(), count: self.count }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // As many as it added: there are enough.
        let _ = self.object.release(self.count);
    }
}

/// The user object of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn by_handle(object: Ptr) -> Result<Arc<Object>, i32> {
    check()?;
    OBJECTS.get(object.0).ok_or(status::INVALID_VALUE)
}
