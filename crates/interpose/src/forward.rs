//! Building blocks for the handlers of both faces: forwarding a call and recording its event.
//!
//! Must not know: any particular function, or any effect of a call besides its event.

/// An address in the caller's frame, as [`crate::thread::Thread::enter`] wants it.
macro_rules! stack {
    () => {{
        let here = 0u8;
        (&raw const here).addr()
    }};
}
pub(crate) use stack;

/// Records a call that returns no status, with the given arguments as words; returns its result.
macro_rules! recorded {
    ($site:expr, [$($arg:expr),*], $call:expr) => {{
        let mut words = [0u64; $crate::record::slots::MOST_WORDS];
        let mut at = 0;
        $(at += $crate::observe::put(&mut words, at, $arg);)*
        let stack = $crate::forward::stack!();
        // SAFETY: the call's own arguments, which are there until it has come back.
        let call = unsafe { $crate::observe::begin($site, stack, words, at) };
        // SAFETY: forwarded as it came.
        let result = unsafe { $call };
        if let Some(call) = call {
            $crate::observe::end(call, 0, [None; $crate::record::slots::MOST_WORDS]);
        }
        result
    }};
}
pub(crate) use recorded;

/// Records a call with the given arguments as words; returns its status.
macro_rules! observed {
    ($site:expr, [$($arg:expr),*], $call:expr) => {{
        let mut words = [0u64; $crate::record::slots::MOST_WORDS];
        let mut at = 0;
        $(at += $crate::observe::put(&mut words, at, $arg);)*
        let stack = $crate::forward::stack!();
        // SAFETY: the call's own arguments, which are there until it has come back.
        let begun = unsafe { $crate::observe::begin($site, stack, words, at) };
        // SAFETY: forwarded as it came.
        let status: i32 = unsafe { $call };
        if let Some(begun) = begun {
            let mut outs = [None; $crate::record::slots::MOST_WORDS];
            if status == 0 {
                let mut at = 0;
                // SAFETY: an argument of the call, which has succeeded.
                $(at += unsafe { $crate::observe::put_out(&mut outs, at, $arg) };)*
                let _ = at;
            }
            $crate::observe::end(begun, status, outs);
        }
        status
    }};
}
pub(crate) use observed;

/// Records a launch around `$call`.
macro_rules! launched {
    ($site:expr, $launch:expr, $call:expr) => {
        $crate::forward::launched!($site, $crate::forward::stack!(), $launch, $call)
    };
    ($site:expr, $stack:expr, $launch:expr, $call:expr) => {{
        match $crate::record::Observed::enter($site, $stack) {
            // SAFETY: forwarded as it came.
            #[allow(unused_unsafe)]
            None => unsafe { $call },
            Some(observed) if !observed.wanted => {
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                // SAFETY: the arguments that were just forwarded.
                #[allow(unused_unsafe)]
                unsafe {
                    observed.finish_unkept(status, || $launch)
                };
                status
            }
            Some(observed) => {
                let launch = $launch;
                // SAFETY: the arguments that are about to be forwarded.
                #[allow(unused_unsafe)]
                let stored = unsafe { observed.launch(&launch) };
                // SAFETY: forwarded as it came.
                #[allow(unused_unsafe)]
                let status = unsafe { $call };
                // SAFETY: the arguments that were just forwarded.
                #[allow(unused_unsafe)]
                unsafe {
                    observed.finish_launch(stored, status, &launch)
                };
                status
            }
        }
    }};
}
pub(crate) use launched;
