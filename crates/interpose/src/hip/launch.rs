//! HIP launches with plain arguments: by host stub or by function, with a grid in blocks or in work-items.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::launch_param;
use cushim_abi::types::*;
use cushim_trace::layout::{LAUNCH_ARGS_BUFFER, LAUNCH_COOPERATIVE};

use crate::arguments::{Arguments, ended_by};
use crate::forward::launched;
use crate::record::launch::LaunchRecord;
use crate::registry;
use crate::site::Site;

/// A launch to record: `params` is an array of argument pointers, `extra` HIP's list with an argument buffer, or
/// null.
#[inline(always)]
pub(super) fn record(
    func: Func,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: usize,
    [params, extra]: [Ptr; 2],
    flags: u8,
) -> LaunchRecord {
    // SAFETY: HIP's own lists, which the runtime is about to read.
    let args = unsafe { ended_by(launch_param::HIP_END, params.0, extra.0) };
    let buffer = if matches!(args, Arguments::Buffer(..)) { LAUNCH_ARGS_BUFFER } else { 0 };
    LaunchRecord {
        kernel: registry::find_or_unknown(func.0),
        grid,
        block,
        cluster: [0; 3],
        shared,
        stream,
        args,
        flags: flags | buffer,
    }
}

/// No list.
const NONE: Ptr = Ptr(0);

/// `hipLaunchKernel`, what `<<<>>>` calls.
pub unsafe fn launch_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, Dim3, Dim3, Ptr, usize, Stream) -> i32,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
) -> i32 {
    launched!(
        site,
        record(func, grid, block, shared, stream.0, [args, NONE], 0),
        real(func, grid, block, args, shared, stream)
    )
}

/// `hipExtLaunchKernel`: with events around it.
pub unsafe fn ext_launch_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Func,
        Dim3,
        Dim3,
        Ptr,
        usize,
        Stream,
        Event,
        Event,
        i32,
    ) -> i32,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
    start: Event,
    stop: Event,
    flags: i32,
) -> i32 {
    launched!(
        site,
        record(func, grid, block, shared, stream.0, [args, NONE], 0),
        real(func, grid, block, args, shared, stream, start, stop, flags)
    )
}

/// `hipLaunchCooperativeKernel`.
pub unsafe fn launch_cooperative_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, Dim3, Dim3, Ptr, u32, Stream) -> i32,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: u32,
    stream: Stream,
) -> i32 {
    launched!(
        site,
        record(func, grid, block, shared as usize, stream.0, [args, NONE], LAUNCH_COOPERATIVE),
        real(func, grid, block, args, shared, stream)
    )
}

/// `hipModuleLaunchKernel`.
pub unsafe fn module_launch_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Func,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        Stream,
        Ptr,
        Ptr,
    ) -> i32,
    f: Func,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: Stream,
    params: Ptr,
    extra: Ptr,
) -> i32 {
    let (grid, block) = (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz });
    launched!(
        site,
        record(f, grid, block, shared as usize, stream.0, [params, extra], 0),
        real(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
    )
}

/// `hipModuleLaunchCooperativeKernel`.
pub unsafe fn module_launch_cooperative_kernel(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Func, u32, u32, u32, u32, u32, u32, u32, Stream, Ptr) -> i32,
    f: Func,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: Stream,
    params: Ptr,
) -> i32 {
    let (grid, block) = (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz });
    launched!(
        site,
        record(f, grid, block, shared as usize, stream.0, [params, NONE], LAUNCH_COOPERATIVE),
        real(f, gx, gy, gz, bx, by, bz, shared, stream, params)
    )
}

/// The number of blocks for `items` work-items; the last block may be partial.
fn blocks(items: Dim3, block: Dim3) -> Dim3 {
    let of = |items: u32, block: u32| items.div_ceil(block.max(1));
    Dim3 { x: of(items.x, block.x), y: of(items.y, block.y), z: of(items.z, block.z) }
}

/// A launch whose grid is given in work-items, with start and stop events; `$more` are the arguments after these.
macro_rules! by_items {
    ($(#[$attribute:meta])* $name:ident $(, $more:ident: $kind:ty)?) => {
        $(#[$attribute])*
        pub unsafe fn $name(
            site: &'static Site,
            real: unsafe extern "C-unwind" fn(
                Func, u32, u32, u32, u32, u32, u32, usize, Stream, Ptr, Ptr, Event, Event $(, $kind)?
            ) -> i32,
            f: Func,
            gx: u32,
            gy: u32,
            gz: u32,
            bx: u32,
            by: u32,
            bz: u32,
            shared: usize,
            stream: Stream,
            params: Ptr,
            extra: Ptr,
            start: Event,
            stop: Event
            $(, $more: $kind)?
        ) -> i32 {
            let block = Dim3 { x: bx, y: by, z: bz };
            let grid = blocks(Dim3 { x: gx, y: gy, z: gz }, block);
            launched!(
                site,
                record(f, grid, block, shared, stream.0, [params, extra], 0),
                real(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, start, stop $(, $more)?)
            )
        }
    };
}

by_items! {
    /// `hipExtModuleLaunchKernel`.
    ext_module_launch_kernel, flags: Flags
}

by_items! {
    /// `hipHccModuleLaunchKernel`.
    hcc_module_launch_kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_items_make_blocks() {
        let dim = |x, y, z| Dim3 { x, y, z };
        assert_eq!(blocks(dim(256, 6, 1), dim(64, 2, 1)), dim(4, 3, 1));
        assert_eq!(blocks(dim(65, 1, 0), dim(64, 0, 1)), dim(2, 1, 0));
    }
}
