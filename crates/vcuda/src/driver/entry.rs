//! How an entry point is written: its arguments as CUDA has them, a body that answers or fails.
//!
//! Owns the forms of one function: the plain one, whose stream 0 is the legacy stream, and the one with
//! suffix `_ptsz` or `_ptds`, whose stream 0 is the thread's own. Must not know: any function.

use cushim_abi::types as abi;

use super::stream::PER_THREAD;

/// Functions of one form; several names have one body.
macro_rules! entry {
    ($($(#[$doc:meta])* fn $($name:ident)+ ($($args:tt)*) $body:block)*) => {
        $($crate::driver::entry::entry!(@names {$($name)+} ($($args)*) $body);)*
    };
    (@names {$($name:ident)+} $args:tt $body:block) => {
        $($crate::driver::entry::entry!(@one $name {} $args $body);)+
    };
    (@one $name:ident {$($before:tt)*} ($($arg:ident : $type:ty),*) $body:block) => {
        #[allow(non_snake_case, missing_docs, unused_unsafe)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            $crate::driver::state::answer(|| {
                $($before)*
                // SAFETY: arguments are what the CUDA Driver API reference asks for: the caller's word.
                unsafe { $body }
            })
        }
    };
}

/// Functions of two forms with a stream among their arguments.
macro_rules! on_stream {
    ($stream:ident; $($(#[$doc:meta])* fn $name:ident $own:ident ($($args:tt)*) $body:block)*) => {$(
        $crate::driver::entry::entry!(@one $name {} ($($args)*) $body);
        $crate::driver::entry::entry!(@one $own
            { let $stream = $crate::driver::entry::own($stream); } ($($args)*) $body);
    )*};
}

/// Functions of two forms whose stream is no argument: `$stream` is defined.
macro_rules! in_default_stream {
    ($stream:ident; $($(#[$doc:meta])* fn $name:ident $own:ident ($($args:tt)*) $body:block)*) => {$(
        $crate::driver::entry::entry!(@one $name
            { let $stream = $crate::driver::stream::LEGACY; } ($($args)*) $body);
        $crate::driver::entry::entry!(@one $own
            { let $stream = $crate::driver::stream::PER_THREAD; } ($($args)*) $body);
    )*};
}

pub(crate) use {entry, in_default_stream, on_stream};

/// What a stream handle means in a function with suffix `_ptsz`.
pub fn own(stream: abi::Stream) -> abi::Stream {
    if stream.0 == 0 { PER_THREAD } else { stream }
}
