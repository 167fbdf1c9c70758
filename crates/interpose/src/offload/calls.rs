//! Handlers of libomptarget's calls that answer nothing, forwarded with their event.

use cushim_abi::types::*;

use crate::forward::recorded;
use crate::site::Site;

/// `__tgt_init_all_rtls`, `__tgt_rtl_init`, `__tgt_rtl_deinit`.
pub unsafe fn nothing(site: &'static Site, real: unsafe extern "C-unwind" fn()) {
    recorded!(site, [], real());
}

/// `__tgt_register_requires`.
pub unsafe fn requires(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Flags64),
    flags: Flags64,
) {
    recorded!(site, [flags.0], real(flags));
}

/// `omp_target_free` and its like.
pub unsafe fn free(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Device),
    ptr: Ptr,
    device: Device,
) {
    recorded!(site, [ptr.0, i64::from(device.0)], real(ptr, device));
}

/// `__llvmPushCallConfiguration`: what the launch that follows is told again.
pub unsafe fn push_configuration(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Dim3, Dim3, usize, Stream) -> u32,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
) -> u32 {
    let words = [grid.x, grid.y, grid.z, block.x, block.y, block.z].map(u64::from);
    let [a, b, c, d, e, f] = words;
    recorded!(
        site,
        [a, b, c, d, e, f, shared as u64, stream.0 as u64],
        real(grid, block, shared, stream)
    )
}

/// `__tgt_interop_init`.
pub unsafe fn interop_init(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Narrow, Ptr, Narrow, Narrow, Narrow, Ptr, Narrow),
    loc: Ptr,
    gtid: Narrow,
    interop: Ptr,
    kind: Narrow,
    device: Narrow,
    dep_num: Narrow,
    dep_list: Ptr,
    have_nowait: Narrow,
) {
    let narrow = |n: Narrow| i64::from(n.0 as i32) as u64;
    recorded!(
        site,
        [
            loc.0 as u64,
            narrow(gtid),
            interop.0 as u64,
            narrow(kind),
            narrow(device),
            narrow(dep_num),
            dep_list.0 as u64,
            narrow(have_nowait)
        ],
        real(loc, gtid, interop, kind, device, dep_num, dep_list, have_nowait)
    );
}

/// `__tgt_interop_use`, `__tgt_interop_destroy`.
pub unsafe fn interop_use(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Narrow, Ptr, Narrow, Narrow, Ptr, Narrow),
    loc: Ptr,
    gtid: Narrow,
    interop: Ptr,
    device: Narrow,
    dep_num: Narrow,
    dep_list: Ptr,
    have_nowait: Narrow,
) {
    let narrow = |n: Narrow| i64::from(n.0 as i32) as u64;
    recorded!(
        site,
        [
            loc.0 as u64,
            narrow(gtid),
            interop.0 as u64,
            narrow(device),
            narrow(dep_num),
            dep_list.0 as u64,
            narrow(have_nowait)
        ],
        real(loc, gtid, interop, device, dep_num, dep_list, have_nowait)
    );
}
