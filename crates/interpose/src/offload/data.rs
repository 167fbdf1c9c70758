//! Handlers of mappings that begin, end and are updated.

use cushim_abi::types::*;
use cushim_trace::layout::*;

use super::mapped::{self, Arrays, Mapped};
use crate::forward::stack;
use crate::record::Observed;
use crate::site::Site;

/// What the function's name says it does.
fn what(site: &Site) -> u8 {
    let name = site.name.to_bytes();
    let says = |word: &[u8]| name.windows(word.len()).any(|part| part == word);
    match () {
        () if says(b"_begin") => MAP_BEGIN,
        () if says(b"_end") => MAP_END,
        () => MAP_UPDATE,
    }
}

/// A call that maps data, around `call`.
///
/// # Safety
/// The arguments of the call.
#[inline(always)]
unsafe fn around(
    site: &'static Site,
    stack: usize,
    location: Ptr,
    device: Device64,
    arrays: Arrays,
    bits: u16,
    call: impl FnOnce(),
) {
    let Some(observed) = Observed::enter(site, stack) else { return call() };
    let body = MappedBody { device: device.0, what: what(site), bits, ..MappedBody::default() };
    let mapped = Mapped { body, location: location.0 as u64, arrays };
    // SAFETY: as the caller promises.
    let stored = unsafe { mapped::begin(&observed, EVENT_MAP, &mapped) };
    call();
    observed.finish_kept(stored, 0);
}

/// The arrays of a call.
#[inline(always)]
pub(super) fn arrays(count: i32, pointers: Ptr, sizes: Ptr, types: Ptr, names: Ptr) -> Arrays {
    Arrays {
        count: u32::try_from(count).unwrap_or(0),
        pointers: pointers.0 as u64,
        sizes: sizes.0 as u64,
        types: types.0 as u64,
        names: names.0 as u64,
    }
}

/// `__tgt_target_data_begin`, `_end`, `_update`.
pub unsafe fn data(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Device64, i32, Ptr, Ptr, Ptr, Ptr),
    device_id: Device64,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
) {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(device_id, arg_num, args_base, args, arg_sizes, arg_types) };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), Ptr(0), device_id, given, 0, call) }
}

/// `__tgt_target_data_begin_nowait` and its like.
pub unsafe fn data_nowait(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Device64, i32, Ptr, Ptr, Ptr, Ptr, i32, Ptr, i32, Ptr),
    device_id: Device64,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            device_id,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            dep_num,
            dep_list,
            no_alias_dep_num,
            no_alias_dep_list,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), Ptr(0), device_id, given, MAPPED_NOWAIT, call) }
}

/// `__tgt_target_data_begin_mapper` and its like: what clang calls since LLVM 12.
pub unsafe fn data_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Ptr, Device64, i32, Ptr, Ptr, Ptr, Ptr, Ptr, Ptr),
    loc: Ptr,
    device_id: Device64,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    arg_names: Ptr,
    arg_mappers: Ptr,
) {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(loc, device_id, arg_num, args_base, args, arg_sizes, arg_types, arg_names, arg_mappers)
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), loc, device_id, given, 0, call) }
}

/// `__tgt_target_data_begin_nowait_mapper` and its like.
pub unsafe fn data_nowait_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        i32,
        Ptr,
        i32,
        Ptr,
    ),
    loc: Ptr,
    device_id: Device64,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    arg_names: Ptr,
    arg_mappers: Ptr,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            arg_names,
            arg_mappers,
            dep_num,
            dep_list,
            no_alias_dep_num,
            no_alias_dep_list,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), loc, device_id, given, MAPPED_NOWAIT, call) }
}
