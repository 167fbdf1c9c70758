//! Mipmapped arrays: a chain of arrays, each half the size of the one before.
//!
//! Owns the objects; their levels are arrays with handles of their own. Source: CUDA Driver API,
//! `cuMipmappedArrayCreate`. Must not know: what samples them.

use std::sync::Arc;

use cushim_abi::types::*;

use super::array::{self, Array, Form};
use crate::argument::In;
use crate::context::{self, Context as Owner};
use crate::entry::entry;
use crate::handle::{Handles, handle};
use crate::state::{check, give};
use crate::status;
use crate::stream::capture;

/// A mipmapped array.
pub struct Mipmapped {
    /// Its levels, the largest first.
    pub levels: Vec<Arc<Array>>,
    context: u64,
}

static ALL: Handles<Mipmapped> = Handles::new();

/// The mipmapped array of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn by_handle(mipmap: Ptr) -> Result<Arc<Mipmapped>, i32> {
    check()?;
    ALL.get(mipmap.0).ok_or(status::INVALID_HANDLE)
}

/// Frees those of a context that ends. Its work has ended.
pub fn forget_context(context: &Owner) {
    for mipmap in ALL.all().iter().filter(|mipmap| mipmap.context == context.id) {
        ALL.remove(handle(mipmap));
    }
}

impl Drop for Mipmapped {
    fn drop(&mut self) {
        for level in &self.levels {
            array::forget(level);
        }
    }
}

/// The most levels of a form: down to one element.
fn most(form: &Form) -> u32 {
    let [width, height, depth] = form.extent;
    let layered = form.flags & (array::flag::LAYERED | array::flag::CUBEMAP) != 0;
    let longest = width.max(height).max(if layered { 0 } else { depth });
    longest.max(1).ilog2() + 1
}

entry! {
    fn cuMipmappedArrayCreate (pHandle: Out<Ptr>, pMipmappedArrayDesc: In<array::Words>, numMipmapLevels: u32) {
        let context = context::current()?;
        capture::refuse_unsafe()?;
        let form = array::form(pMipmappedArrayDesc.read()?);
        if pHandle.is_null() {
            return Err(status::INVALID_VALUE);
        }
        form.check()?;
        let mut mipmap = Mipmapped { levels: Vec::new(), context: context.id };
        for level in 0..numMipmapLevels.clamp(1, most(&form)) {
            mipmap.levels.push(array::make(&context, form.level(level), true)?);
        }
        give(pHandle, Ptr(ALL.add(Arc::new(mipmap))))
    }

    fn cuMipmappedArrayGetLevel (pLevelArray: Out<Ptr>, hMipmappedArray: Ptr, level: u32) {
        let mipmap = by_handle(hMipmappedArray)?;
        let found = mipmap.levels.get(level as usize).ok_or(status::INVALID_VALUE)?;
        give(pLevelArray, Ptr(found.handle()))
    }

    // Only deferred-mapping and sparse arrays have requirements.
    fn cuMipmappedArrayGetMemoryRequirements (memoryRequirements: Ptr, mipmap: Ptr, device: Device) {
        let _ = (memoryRequirements, device);
        by_handle(mipmap)?;
        Err(status::INVALID_VALUE)
    }

    fn cuMipmappedArrayGetSparseProperties (sparseProperties: Ptr, mipmap: Ptr) {
        let _ = sparseProperties;
        by_handle(mipmap)?;
        Err(status::INVALID_VALUE)
    }

    fn cuMipmappedArrayDestroy (hMipmappedArray: Ptr) {
        context::current()?;
        capture::refuse_unsafe()?;
        let mipmap = ALL.remove(hMipmappedArray.0).ok_or(status::INVALID_HANDLE)?;
        super::quiesce();
        drop(mipmap);
        Ok(())
    }
}
