//! Frees memory to where it came from: at the program's calls, and with its context.
//!
//! Must not know: the calls.

use std::sync::Arc;

use super::{RANGES, Range, Source, array, find, ipc, mipmap, pool, quiesce, remove};
use crate::context::Context;
use crate::state::accelerator;
use crate::status;
use cushim_accel::locks::read;

/// Frees memory of `cuMemAlloc` and the like.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where it is not the first address of such a range.
pub fn free(base: u64, of: &[Source]) -> Result<(), i32> {
    let range = find(base).filter(|range| range.base == base && of.contains(&range.source));
    let wrong = || {
        if let Some(checks) = cushim_accel::checks() {
            checks.not_freed(base);
        }
        status::INVALID_VALUE
    };
    let range = range.ok_or_else(wrong)?;
    // Two threads may free one address: the first that removes it from the table frees it.
    remove(base).ok_or_else(wrong)?;
    quiesce();
    give_back(&range);
    Ok(())
}

fn give_back(range: &Range) {
    match range.source {
        Source::Device | Source::Host | Source::Managed => accelerator().free(range.base),
        Source::Registered => accelerator().unregister_host(range.base),
        Source::Pool | Source::ManagedPool => pool::give_back(range),
        Source::Imported => ipc::forget(range.base),
        Source::Mapped | Source::Graph | Source::Variable | Source::ManagedVariable => {}
    }
}

/// Frees memory of a context that ends.
pub fn forget_context(context: &Context) {
    let own = |range: &&Arc<Range>| {
        range.context == context.id
            && !matches!(
                range.source,
                Source::Graph | Source::Variable | Source::ManagedVariable | Source::Mapped
            )
    };
    let gone: Vec<_> = read(&RANGES).values().filter(own).cloned().collect();
    for range in gone.iter().filter_map(|range| remove(range.base)) {
        if let Some(checks) = cushim_accel::checks() {
            checks.abandoned(range.base);
        }
        give_back(&range);
    }
    mipmap::forget_context(context);
    array::forget_context(context);
    pool::reclaim_all();
}
