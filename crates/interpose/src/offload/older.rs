//! Handlers of target regions in the forms before LLVM 15, which newer libraries still accept.
//!
//! Owns their arguments. Must not know: how a region is recorded ([`super::region`]).

use cushim_abi::types::*;
use cushim_trace::layout::*;

use super::data::arrays;
use super::mapped::{Arrays, Mapped};
use super::region::{around, asked};
use crate::forward::stack;
use crate::site::Site;

/// The arguments of the older forms.
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

/// A handler of one form, which passes its arguments on unchanged.
macro_rules! form {
    ($(#[$doc:meta])* $name:ident by $host:ident($($arg:ident: $ty:ty),*) = $mapped:expr) => {
        $(#[$doc])*
        pub unsafe fn $name(
            site: &'static Site,
            real: unsafe extern "C-unwind" fn($($ty),*) -> i32,
            $($arg: $ty),*
        ) -> i32 {
            let mapped = || $mapped;
            // SAFETY: forwarded as it came.
            let call = || unsafe { real($($arg),*) };
            // SAFETY: the program's arguments.
            unsafe { around(site, stack!(), $host, mapped, call) }
        }
    };
}

form! {
    /// `__tgt_target`.
    target by host_ptr(
        device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr
    ) = of_target(Ptr(0), device_id, 1, 0, arrays(arg_num, args, arg_sizes, arg_types, Ptr(0)), 0)
}

form! {
    /// `__tgt_target_nowait`.
    target_nowait by host_ptr(
        device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32,
        no_alias_dep_list: Ptr
    ) = of_target(Ptr(0), device_id, 1, 0, arrays(arg_num, args, arg_sizes, arg_types, Ptr(0)), MAPPED_NOWAIT)
}

form! {
    /// `__tgt_target_mapper`.
    target_mapper by host_ptr(
        loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr
    ) = of_target(loc, device_id, 1, 0, arrays(arg_num, args, arg_sizes, arg_types, arg_names), 0)
}

form! {
    /// `__tgt_target_nowait_mapper`.
    target_nowait_mapper by host_ptr(
        loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, dep_num: i32,
        dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr
    ) = of_target(loc, device_id, 1, 0, arrays(arg_num, args, arg_sizes, arg_types, arg_names), MAPPED_NOWAIT)
}

form! {
    /// `__tgt_target_teams`.
    teams by host_ptr(
        device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, num_teams: i32, thread_limit: i32
    ) = of_target(Ptr(0), device_id, num_teams, thread_limit, arrays(arg_num, args, arg_sizes, arg_types, Ptr(0)), 0)
}

form! {
    /// `__tgt_target_teams_nowait`.
    teams_nowait by host_ptr(
        device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, num_teams: i32, thread_limit: i32, dep_num: i32,
        dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr
    ) = of_target(Ptr(0), device_id, num_teams, thread_limit, arrays(arg_num, args, arg_sizes, arg_types, Ptr(0)), MAPPED_NOWAIT)
}

form! {
    /// `__tgt_target_teams_mapper`.
    teams_mapper by host_ptr(
        loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, num_teams: i32,
        thread_limit: i32
    ) = of_target(loc, device_id, num_teams, thread_limit, arrays(arg_num, args, arg_sizes, arg_types, arg_names), 0)
}

form! {
    /// `__tgt_target_teams_nowait_mapper`.
    teams_nowait_mapper by host_ptr(
        loc: Ptr, device_id: Device64, host_ptr: Func, arg_num: i32, args_base: Ptr, args: Ptr,
        arg_sizes: Ptr, arg_types: Ptr, arg_names: Ptr, arg_mappers: Ptr, num_teams: i32,
        thread_limit: i32, dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32,
        no_alias_dep_list: Ptr
    ) = of_target(loc, device_id, num_teams, thread_limit, arrays(arg_num, args, arg_sizes, arg_types, arg_names), MAPPED_NOWAIT)
}
