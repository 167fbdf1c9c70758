//! The body of an exported hook: it finds the real function, then calls `observe` or the function's handler.

use cushim_abi::types::{Ptr, SYMBOL_NOT_FOUND};

/// What a hook returns if there is no real function.
pub(crate) trait Missing {
    fn missing() -> Self;
}

impl Missing for () {
    fn missing() {}
}

impl Missing for i32 {
    fn missing() -> i32 {
        SYMBOL_NOT_FOUND
    }
}

impl Missing for u32 {
    fn missing() -> u32 {
        SYMBOL_NOT_FOUND as u32
    }
}

impl Missing for Ptr {
    fn missing() -> Ptr {
        Ptr(0)
    }
}

impl Missing for usize {
    /// A handle that registration code may dereference.
    fn missing() -> usize {
        static NOTHING: [usize; 4] = [0; 4];
        (&raw const NOTHING).addr()
    }
}

/// A NUL-terminated string literal.
macro_rules! c {
    ($($text:expr),*) => {
        match std::ffi::CStr::from_bytes_with_nul(concat!($($text,)* "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => c"",
        }
    };
}

/// Calls the real function of `$site` through `observe` or the handler named in `$how`.
macro_rules! hook_body {
    ($face:ident, $site:expr, $how:tt, ($($arg:ident : $type:ty),*) -> $ret:ty) => {{
        let real = $site.real();
        if real.is_null() {
            return <$ret as crate::hook::Missing>::missing();
        }
        type Real = unsafe extern "C-unwind" fn($($type),*) -> $ret;
        // SAFETY: the real function of this name and version has this signature: the table's claim,
        // checked against the headers.
        let real = unsafe { std::mem::transmute::<*mut (), Real>(real) };
        hook_body!(@$face $how $site, real, ($($arg: $type),*))
    }};
    (@$face:ident observe $site:expr, $real:ident, ($($arg:ident : $type:ty),*)) => {{
        use cushim_interpose::{observe, record::slots::MOST_WORDS};
        hook_body!(@words words, at, ($($arg: $type),*));
        let here = 0u8;
        // SAFETY: the call's own arguments, which are there until it has come back.
        let call = unsafe { observe::begin($site, (&raw const here).addr(), words, at) };
        // SAFETY: forwarded as it came.
        let status = unsafe { $real($($arg),*) };
        if let Some(call) = call {
            #[allow(unused_mut)]
            let mut outs = [None; MOST_WORDS];
            if status == 0 {
                let at = 0usize;
                // SAFETY: an argument of the call, which has succeeded.
                $(let at = at + unsafe { observe::put_out(&mut outs, at, $arg) };)*
                let _ = at;
            }
            observe::end(call, status, outs);
        }
        status
    }};
    // The function returns a value instead of a status; it is recorded after the arguments.
    (@$face:ident value $site:expr, $real:ident, ($($arg:ident : $type:ty),*)) => {{
        use cushim_interpose::{observe, record::slots::MOST_WORDS};
        hook_body!(@words words, at, ($($arg: $type),*));
        let here = 0u8;
        // SAFETY: the call's own arguments, which are there until it has come back.
        let call = unsafe { observe::begin($site, (&raw const here).addr(), words, at + 1) };
        // SAFETY: forwarded as it came.
        let answer = unsafe { $real($($arg),*) };
        if let Some(call) = call {
            let mut outs = [None; MOST_WORDS];
            let mut word = [0u64; MOST_WORDS];
            observe::put(&mut word, 0, answer);
            if let Some(out) = outs.get_mut(at) {
                *out = word.first().copied();
            }
            observe::end(call, 0, outs);
        }
        answer
    }};
    // The function returns nothing, or a value that is neither a status nor of interest.
    (@$face:ident record $site:expr, $real:ident, ($($arg:ident : $type:ty),*)) => {{
        use cushim_interpose::{observe, record::slots::MOST_WORDS};
        hook_body!(@words words, at, ($($arg: $type),*));
        let here = 0u8;
        // SAFETY: the call's own arguments, which are there until it has come back.
        let call = unsafe { observe::begin($site, (&raw const here).addr(), words, at) };
        // SAFETY: forwarded as it came.
        let answer = unsafe { $real($($arg),*) };
        if let Some(call) = call {
            observe::end(call, 0, [None; MOST_WORDS]);
        }
        answer
    }};
    // Puts the arguments into `$words`, and their number into `$at`. It is no block with a value: that would copy the call.
    (@words $words:ident, $at:ident, ($($arg:ident : $type:ty),*)) => {
        #[allow(unused_mut)]
        let mut $words = [0u64; MOST_WORDS];
        let $at = 0usize;
        $(let $at = $at + observe::put(&mut $words, $at, $arg);)*
    };
    (@$face:ident ($handler:ident) $site:expr, $real:ident, ($($arg:ident : $type:ty),*)) => {
        // SAFETY: the handler gets what the hook got.
        unsafe { cushim_interpose::$face::$handler($site, $real, $($arg),*) }
    };
}
