//! Functions that are not implemented: named once on stderr, counted; they return CUDA's "not supported".
//!
//! Must not know: which functions those are (the tables of the runtime and of the driver).

use std::sync::Mutex;

use cushim_abi::types::{ChannelDesc, Str};

/// `cudaErrorNotSupported`, `CUDA_ERROR_NOT_SUPPORTED`.
pub const NOT_SUPPORTED: i32 = 801;

static SEEN: Mutex<Vec<(&'static str, u64)>> = Mutex::new(Vec::new());

/// The result of an unsupported function.
pub trait Answer {
    /// The result.
    fn unsupported() -> Self;
}

impl Answer for () {
    fn unsupported() {}
}

impl Answer for i32 {
    fn unsupported() -> i32 {
        NOT_SUPPORTED
    }
}

impl Answer for u32 {
    fn unsupported() -> u32 {
        NOT_SUPPORTED as u32
    }
}

impl Answer for usize {
    fn unsupported() -> usize {
        0
    }
}

impl Answer for Str {
    fn unsupported() -> Str {
        Str(0)
    }
}

impl Answer for ChannelDesc {
    fn unsupported() -> ChannelDesc {
        ChannelDesc::default()
    }
}

/// Counts a call of `name`, says so on standard error the first time, and returns the result.
pub fn answer<R: Answer>(name: &'static str) -> R {
    note(name);
    R::unsupported()
}

/// Counts a call of `name`; says so on standard error the first time.
pub fn note(name: &'static str) {
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match seen.iter_mut().find(|(other, _)| *other == name) {
        Some((_, count)) => *count += 1,
        None => {
            seen.push((name, 1));
            drop(seen);
            cushim_accel::say(&format!(
                "{name} is not supported by backend {}",
                crate::backend::name()
            ));
        }
    }
}

/// The unsupported functions that were called, and how often.
pub fn seen() -> Vec<(&'static str, u64)> {
    SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}
