//! How an entry point is declared: its arguments as in CUDA, and a body that returns a value or an error.
//!
//! Owns the forms of one function: the plain one, whose stream 0 is the legacy stream, and the one with
//! suffix `_ptsz` or `_ptds`, whose stream 0 is the thread's own. Must not know: any function.
//!
//! What a caller guarantees (CUDA Driver API) and what a body may rely on, by the type of a parameter
//! ([`crate::argument`]). The body receives a token that only the macro can create, so the body is safe code.
//! - *A handle* is a number: looked up in the table of its kind ([`super::handle`]), and never followed.
//! - *An address of the device, or of registered memory* is a number: looked up in the table of ranges with all its
//!   bytes ([`super::memory`]) before it is accessed.
//! - *Memory of the program* in copies is in no range: only the caller can guarantee that it exists and is long
//!   enough.
//! - *A pointer for a result* (`Out<T>`; `At<T>` if the tables have an untyped pointer) is null or has room.
//! - *A structure* (`In<T>`) is null or contains a `T`.
//! - *A string* (`Str`) is null or ends with a NUL.
//! - *A list*, a structure with a list in it, and one that depends on another parameter are a `Ptr`: the body reads
//!   them by [`super::state::take`] and [`super::state::take_all`], with a reason of its own.
//! - *A function of the program*, with its argument, may be called as the reference says until the object that holds
//!   it is destroyed.
//! - *An image* is measured by its own headers, within what is mapped ([`cushim_vbase::code`]).
//! - *Numbers and flags* are compared, and never used as an index unchecked.

use cushim_abi::types as abi;

/// `CU_STREAM_LEGACY`.
pub const LEGACY: abi::Stream = abi::Stream(1);
/// `CU_STREAM_PER_THREAD`.
pub const PER_THREAD: abi::Stream = abi::Stream(2);

/// Functions of one form; several names have one body.
macro_rules! entry {
    ($($(#[$doc:meta])* fn $($name:ident)+ ($($args:tt)*) $body:block)*) => {
        $($crate::entry::entry!(@names {$($name)+} ($($args)*) $body);)*
    };
    (@names {$($name:ident)+} $args:tt $body:block) => {
        $($crate::entry::entry!(@one $name {} $args $body);)+
    };
    (@one $name:ident {$($before:tt)*} ($($arg:ident : $type:ty),*) $body:block) => {
        #[allow(non_snake_case, missing_docs)]
        pub unsafe extern "C" fn $name($($arg: <$type as $crate::argument::Argument>::Abi),*) -> i32 {
            $crate::state::answer(|| {
                $($before)*
                $(
                    // SAFETY: a caller passes for each parameter what CUDA's reference says; the
                    // parameter's type in `argument` states that.
                    let $arg = unsafe { <$type as $crate::argument::Argument>::token($arg) };
                )*
                $body
            })
        }
    };
}

/// Functions of two forms with a stream among their arguments.
macro_rules! on_stream {
    ($stream:ident; $($(#[$doc:meta])* fn $name:ident $own:ident ($($args:tt)*) $body:block)*) => {$(
        $crate::entry::entry!(@one $name {} ($($args)*) $body);
        $crate::entry::entry!(@one $own
            { let $stream = $crate::entry::own($stream); } ($($args)*) $body);
    )*};
}

/// Functions of two forms whose stream is no argument: `$stream` is defined.
macro_rules! in_default_stream {
    ($stream:ident; $($(#[$doc:meta])* fn $name:ident $own:ident ($($args:tt)*) $body:block)*) => {$(
        $crate::entry::entry!(@one $name
            { let $stream = $crate::entry::LEGACY; } ($($args)*) $body);
        $crate::entry::entry!(@one $own
            { let $stream = $crate::entry::PER_THREAD; } ($($args)*) $body);
    )*};
}

pub(crate) use {entry, in_default_stream, on_stream};

/// The stream that a handle means in a function with suffix `_ptsz`.
pub fn own(stream: abi::Stream) -> abi::Stream {
    if stream.0 == 0 { PER_THREAD } else { stream }
}
