//! How an entry point is written: its arguments as CUDA has them, a body that answers or fails.
//!
//! Owns what all entry points share: no panic leaves them, and a failure is a code. Must not know: any
//! function.

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

pub(crate) use entry;
