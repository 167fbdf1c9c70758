//! Handlers of target regions in the forms of LLVM 12 to 14, which newer libraries still take.
//!
//! Owns their arguments. Must not know: how a region is recorded ([`super::region`]).

use cushim_abi::types::*;
use cushim_trace::layout::*;

use super::data::arrays;
use super::mapped::{Arrays, Mapped};
use super::region::{around, asked};
use crate::forward::stack;
use crate::site::Site;

/// What the older forms are called with.
fn of_target(
    location: Ptr,
    device: Device64,
    teams: i32,
    threads: i32,
    given: Arrays,
    bits: u16,
) -> Mapped {
    let (teams, threads) = (asked(teams), asked(threads));
    let body = MappedBody { device: device.0, teams, threads, bits, ..MappedBody::default() };
    Mapped { body, location: location.0 as u64, arrays: given }
}

/// `__tgt_target`.
pub unsafe fn target(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Device64, Func, i32, Ptr, Ptr, Ptr, Ptr) -> i32,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    let mapped = || of_target(Ptr(0), device_id, 1, 0, given, 0);
    // SAFETY: forwarded as it came.
    let call =
        || unsafe { real(device_id, host_ptr, arg_num, args_base, args, arg_sizes, arg_types) };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_nowait`.
pub unsafe fn target_nowait(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Device64,
        Func,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        i32,
        Ptr,
        i32,
        Ptr,
    ) -> i32,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    let mapped = || of_target(Ptr(0), device_id, 1, 0, given, MAPPED_NOWAIT);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            device_id,
            host_ptr,
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
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_mapper`.
pub unsafe fn target_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        Func,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
    ) -> i32,
    loc: Ptr,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    arg_names: Ptr,
    arg_mappers: Ptr,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    let mapped = || of_target(loc, device_id, 1, 0, given, 0);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            host_ptr,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            arg_names,
            arg_mappers,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_nowait_mapper`.
pub unsafe fn target_nowait_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        Func,
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
    ) -> i32,
    loc: Ptr,
    device_id: Device64,
    host_ptr: Func,
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
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    let mapped = || of_target(loc, device_id, 1, 0, given, MAPPED_NOWAIT);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            host_ptr,
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
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_teams`.
pub unsafe fn teams(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Device64, Func, i32, Ptr, Ptr, Ptr, Ptr, i32, i32) -> i32,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    num_teams: i32,
    thread_limit: i32,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    let mapped = || of_target(Ptr(0), device_id, num_teams, thread_limit, given, 0);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            device_id,
            host_ptr,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            num_teams,
            thread_limit,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_teams_nowait`.
pub unsafe fn teams_nowait(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Device64,
        Func,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        i32,
        i32,
        i32,
        Ptr,
        i32,
        Ptr,
    ) -> i32,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    num_teams: i32,
    thread_limit: i32,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, Ptr(0));
    let mapped = || of_target(Ptr(0), device_id, num_teams, thread_limit, given, MAPPED_NOWAIT);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            device_id,
            host_ptr,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            num_teams,
            thread_limit,
            dep_num,
            dep_list,
            no_alias_dep_num,
            no_alias_dep_list,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_teams_mapper`.
pub unsafe fn teams_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        Func,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        i32,
        i32,
    ) -> i32,
    loc: Ptr,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    arg_names: Ptr,
    arg_mappers: Ptr,
    num_teams: i32,
    thread_limit: i32,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    let mapped = || of_target(loc, device_id, num_teams, thread_limit, given, 0);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            host_ptr,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            arg_names,
            arg_mappers,
            num_teams,
            thread_limit,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}

/// `__tgt_target_teams_nowait_mapper`.
pub unsafe fn teams_nowait_mapper(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(
        Ptr,
        Device64,
        Func,
        i32,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        Ptr,
        i32,
        i32,
        i32,
        Ptr,
        i32,
        Ptr,
    ) -> i32,
    loc: Ptr,
    device_id: Device64,
    host_ptr: Func,
    arg_num: i32,
    args_base: Ptr,
    args: Ptr,
    arg_sizes: Ptr,
    arg_types: Ptr,
    arg_names: Ptr,
    arg_mappers: Ptr,
    num_teams: i32,
    thread_limit: i32,
    dep_num: i32,
    dep_list: Ptr,
    no_alias_dep_num: i32,
    no_alias_dep_list: Ptr,
) -> i32 {
    let given = arrays(arg_num, args, arg_sizes, arg_types, arg_names);
    let mapped = || of_target(loc, device_id, num_teams, thread_limit, given, MAPPED_NOWAIT);
    // SAFETY: forwarded as it came.
    let call = || unsafe {
        real(
            loc,
            device_id,
            host_ptr,
            arg_num,
            args_base,
            args,
            arg_sizes,
            arg_types,
            arg_names,
            arg_mappers,
            num_teams,
            thread_limit,
            dep_num,
            dep_list,
            no_alias_dep_num,
            no_alias_dep_list,
        )
    };
    // SAFETY: the program's arguments.
    unsafe { around(site, stack!(), host_ptr, mapped, call) }
}
