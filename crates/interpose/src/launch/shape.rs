//! Builds the launch to record from the arguments of the runtime's calls.
//!
//! Must not know: that a call is forwarded.

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::*;

use crate::arguments::Arguments;
use crate::record::launch::LaunchRecord;
pub use crate::redirect::launch::AskedLaunch as Asked;
use crate::registry;

/// An array of argument pointers, or none.
pub fn pointers(args: Ptr) -> Arguments {
    if args.0 == 0 { Arguments::None } else { Arguments::Pointers(args.0 as *const *const u8) }
}

/// A launch by a stub or handle, with an array of argument pointers, as the call hands it over.
#[inline(always)]
pub fn by_stub(
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
) -> Asked {
    Asked { func, grid, block, shared, stream: stream.0, params: args, extra: Ptr(0) }
}

/// A launch in the form that is recorded.
#[inline(always)]
pub fn plain(asked: &Asked, flags: u8) -> LaunchRecord {
    LaunchRecord {
        kernel: registry::find_or_unknown(asked.func.0),
        grid: asked.grid,
        block: asked.block,
        cluster: [0; 3],
        shared: asked.shared,
        stream: asked.stream,
        args: pointers(asked.params),
        flags,
    }
}

/// What the attributes of a launch say about its shape: cluster, `LAUNCH_*` bits.
///
/// # Safety
/// `attributes` is null or points to `count` launch attributes.
pub unsafe fn attributes(attributes: usize, count: u32) -> ([u8; 3], u8) {
    let (mut cluster, mut flags) = ([0; 3], 0);
    if attributes == 0 || count > 64 {
        return (cluster, flags);
    }
    for i in 0..count as usize {
        // SAFETY: as the caller promises; an attribute is 72 bytes in every version.
        let attribute = unsafe { (attributes as *const LaunchAttribute).add(i).read_unaligned() };
        let [x, y, z, ..] = attribute.value;
        match attribute.id {
            ATTRIBUTE_COOPERATIVE if x != 0 => flags |= LAUNCH_COOPERATIVE,
            ATTRIBUTE_CLUSTER_DIMENSION => cluster = [x, y, z].map(|n| n.min(255) as u8),
            _ => {}
        }
    }
    (cluster, flags)
}
