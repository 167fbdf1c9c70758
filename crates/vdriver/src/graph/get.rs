//! The parameters of any node as `CUgraphNodeParams`.
//!
//! Owns the inverse of [`super::params::any`]. Source: CUDA Driver API, `cuGraphNodeGetParams`; cuda.h 13.5. Must not
//! know: graphs' shape.

use cushim_abi::types::*;

use super::params::{MEMBER, give_alloc};
use super::work::RawKernel;
use super::{Payload, node};
use crate::entry::entry;
use crate::handle::handle;
use crate::state::{at, give};
use crate::status;
use cushim_accel::locks::lock;

/// Bytes of `CUgraphNodeParams`.
const BYTES: usize = 256;

/// Writes the union.
///
/// # Safety
/// `to` has room for the largest member.
unsafe fn member(payload: &Payload, to: Ptr) -> Result<(), i32> {
    // SAFETY: the caller's, here and below.
    unsafe {
        match payload {
            Payload::Kernel(kernel) => {
                kernel.give(at(to))?;
                // The function, or its kernel; its context, which the function tells.
                let behind = crate::kernel::of_function(kernel.dispatch.tag);
                give(at(Ptr(to.0 + size_of::<RawKernel>())), [behind, 0])
            }
            // Flags, padding, context, CUDA_MEMCPY3D.
            Payload::Copy(copy) => give(at(Ptr(to.0 + 16)), copy.shape),
            Payload::Fill(fill) => give(at(to), fill.raw),
            Payload::Host(function) => give(at(to), [function.function, function.data]),
            Payload::Child(child) => give(at(to), handle(child)),
            Payload::Empty => Ok(()),
            Payload::Wait(event) | Payload::Record(event) => give(at(to), handle(event)),
            Payload::Alloc(allocation) => give_alloc(allocation, at(to)),
            Payload::Free(address) => give(at(to), *address),
            Payload::Batch(batch) => give(at(to), batch.parameters()),
            Payload::Condition(condition) => give(at(to), condition.raw()),
        }
    }
}

entry! {
    fn cuGraphNodeGetParams (hNode: Node, nodeParams: Ptr) {
        let (node, _) = node(hNode)?;
        if nodeParams.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        let payload = lock(&node.payload);
        // SAFETY: a CUgraphNodeParams, or null; it begins with the kind.
        let (all, kind) = unsafe { (at(nodeParams), at(nodeParams)) };
        give(all, [0u8; BYTES])?;
        give(kind, payload.kind())?;
        // SAFETY: the union of that structure, which is not null.
        unsafe { member(&payload, Ptr(nodeParams.0 + MEMBER)) }
    }
}
