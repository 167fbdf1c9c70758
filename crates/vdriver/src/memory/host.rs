//! Page-locked host memory: allocated by CUDA, or registered.
//!
//! Source: CUDA Driver API, "Memory Management". Must not know: copies.

use cushim_abi::types::*;

use super::release::free;
use super::take::allocate;
use super::{Range, Source};
use crate::argument::Place;
use crate::context::{current, current_to_free};
use crate::entry::entry;
use crate::state::{accelerator, give, offer};
use crate::status;
use crate::stream::capture;
use cushim_accel::MemoryKind;
use std::sync::Arc;

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP`, `_WRITECOMBINED`.
const ALLOC_FLAGS: u32 = 7;
/// `CU_MEMHOSTREGISTER_PORTABLE`, `_DEVICEMAP`, `_READ_ONLY`; not `_IOMEMORY`, which a program's memory is not.
const REGISTER_FLAGS: u32 = 11;
/// The flags that are read back; the flag for mapped memory always is.
const READ_BACK: u32 = 3;
/// `CU_MEMHOSTALLOC_DEVICEMAP`.
const MAPPED: u32 = 2;

fn host_memory(to: Place<Ptr>, bytes: usize, flags: u32) -> Result<(), i32> {
    let context = current()?;
    capture::refuse_unsafe()?;
    if to.is_null() || flags & !ALLOC_FLAGS != 0 {
        return Err(status::INVALID_VALUE);
    }
    if bytes == 0 {
        return give(to, Ptr(0));
    }
    let address = allocate(context.device, MemoryKind::Host, bytes)?;
    super::add(&context, Source::Host, address, bytes, flags);
    give(to, Ptr(address as usize))
}

fn host_range(address: Ptr) -> Result<Arc<Range>, i32> {
    let of_host = |range: &Arc<Range>| {
        matches!(range.source, Source::Host | Source::Registered | Source::Managed)
    };
    super::find(address.0 as u64).filter(of_host).ok_or(status::INVALID_VALUE)
}

entry! {
    fn cuMemAllocHost_v2 (pp: Out<Ptr>, bytesize: usize) {
        host_memory(pp, bytesize, 0)
    }

    fn cuMemHostAlloc (pp: Out<Ptr>, bytesize: usize, flags: Flags) {
        host_memory(pp, bytesize, flags.0)
    }

    fn cuMemFreeHost (p: Ptr) {
        current_to_free(p)?;
        if p.0 == 0 {
            return Ok(());
        }
            free(p.0 as u64, &[Source::Host])
    }

    fn cuMemHostRegister_v2 (p: Ptr, bytesize: usize, flags: Flags) {
        let context = current()?;
            let end = p.0.checked_add(bytesize);
        if p.0 == 0 || bytesize == 0 || end.is_none() || flags.0 & !REGISTER_FLAGS != 0 {
            return Err(status::INVALID_VALUE);
        }
        let last = Ptr(p.0 + bytesize - 1);
        if [p, last].iter().any(|at| super::find(at.0 as u64).is_some()) {
            return Err(status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let address = accelerator()
            .register_host(p.0 as u64, bytesize)
            .map_err(|failure| status::of(&failure))?;
        let range = super::add(&context, Source::Registered, p.0 as u64, bytesize, flags.0 & READ_BACK);
        if address != range.base {
            let other = Range { device_address: address, ..copy(&range) };
            super::insert(Arc::new(other));
        }
        Ok(())
    }

    fn cuMemHostUnregister (p: Ptr) {
        current()?;
            free(p.0 as u64, &[Source::Registered]).map_err(|_| status::HOST_MEMORY_NOT_REGISTERED)
    }

    fn cuMemHostGetDevicePointer_v2 (pdptr: Out<Ptr>, p: Ptr, flags: Flags) {
        current()?;
        // A failing call leaves a null there (measured).
        offer(pdptr, Ptr(0));
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        let range = host_range(p)?;
        give(pdptr, Ptr((range.device_address + (p.0 as u64 - range.base)) as usize))
    }

    fn cuMemHostGetFlags (pFlags: Out<u32>, p: Ptr) {
        current()?;
        let range = host_range(p)?;
        // Everything is mapped with unified addressing.
        give(pFlags, range.flags | MAPPED)
    }
}

fn copy(range: &Range) -> Range {
    Range { sync: 0.into(), ..*range }
}
