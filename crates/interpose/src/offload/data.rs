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

/// Handlers: `$name ($arguments) = $location, $names, $bits;`: the place in the source, the
/// arguments' names (null where the function has none), and `MAPPED_*` bits. The first arguments
/// after the location are the same in all.
macro_rules! handlers {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident: $kind:ty),*) = $location:expr, $names:expr, $bits:expr;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name(
            site: &'static Site,
            real: unsafe extern "C-unwind" fn($($kind),*),
            $($arg: $kind),*
        ) {
            // SAFETY: forwarded as it came.
            let call = || unsafe { real($($arg),*) };
            handlers!(@given ($location, $names, $bits) site call $($arg)*)
        }
    )*};
    // Functions whose first argument is the location, and others.
    (@given $told:tt $site:ident $call:ident loc $($rest:ident)*) => {
        handlers!(@given $told $site $call $($rest)*)
    };
    (@given ($location:expr, $names:expr, $bits:expr) $site:ident $call:ident
        $device:ident $count:ident $base:ident $args:ident $sizes:ident $types:ident $($rest:ident)*) => {{
        let given = arrays($count, $args, $sizes, $types, $names);
        // SAFETY: the program's arguments.
        unsafe { around($site, stack!(), $location, $device, given, $bits, $call) }
    }};
}

handlers! {
    /// `__tgt_target_data_begin`, `_end`, `_update`.
    data(
        device: Device64, count: i32, base: Ptr, args: Ptr, sizes: Ptr, types: Ptr
    ) = Ptr(0), Ptr(0), 0;
    /// `__tgt_target_data_begin_nowait` and its like.
    data_nowait(
        device: Device64, count: i32, base: Ptr, args: Ptr, sizes: Ptr, types: Ptr,
        dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr
    ) = Ptr(0), Ptr(0), MAPPED_NOWAIT;
    /// `__tgt_target_data_begin_mapper` and its like: what clang calls since LLVM 12.
    data_mapper(
        loc: Ptr, device: Device64, count: i32, base: Ptr, args: Ptr, sizes: Ptr, types: Ptr, names: Ptr, mappers: Ptr
    ) = loc, names, 0;
    /// `__tgt_target_data_begin_nowait_mapper` and its like.
    data_nowait_mapper(
        loc: Ptr, device: Device64, count: i32, base: Ptr, args: Ptr, sizes: Ptr, types: Ptr, names: Ptr, mappers: Ptr,
        dep_num: i32, dep_list: Ptr, no_alias_dep_num: i32, no_alias_dep_list: Ptr
    ) = loc, names, MAPPED_NOWAIT;
}
