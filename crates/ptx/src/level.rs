//! The instruction set of the processor, as one of the four levels of x86-64.
//!
//! Owns the detection, once, and the variable that lowers the level: code generation and dispatch ask here, so that
//! the code for older processors can be tested on any. Must not know: what code is generated, or which functions
//! there are.
//!
//! The levels are those of the x86-64 psABI ("micro-architecture levels"); a processor between two levels counts as
//! the lower one, and one of another architecture as the lowest.

use std::sync::OnceLock;

/// Names the level to use, at most: `x86-64`, `x86-64-v2`, `x86-64-v3` or `x86-64-v4`.
pub const VARIABLE: &str = "CUSHIM_CPU_LEVEL";

/// A level of x86-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// SSE2: every processor.
    V1,
    /// SSE4.2 and what came before it.
    V2,
    /// AVX2 and fused multiply-add.
    V3,
    /// AVX-512.
    V4,
}

/// Whether the processor has each of the features.
#[cfg(target_arch = "x86_64")]
macro_rules! all {
    ($($feature:tt),*) => { $(is_x86_feature_detected!($feature))&&* };
}

impl Level {
    /// From the lowest on.
    pub const ALL: [Level; 4] = [Level::V1, Level::V2, Level::V3, Level::V4];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Level::V1 => "x86-64",
            Level::V2 => "x86-64-v2",
            Level::V3 => "x86-64-v3",
            Level::V4 => "x86-64-v4",
        }
    }

    /// The highest that this processor has.
    #[cfg(target_arch = "x86_64")]
    pub fn of_processor() -> Level {
        if !all!("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cmpxchg16b") {
            Level::V1
        } else if !all!("avx", "avx2", "fma", "bmi1", "bmi2", "lzcnt") {
            Level::V2
        } else if !all!("avx512f", "avx512dq", "avx512vl", "avx512bw") {
            Level::V3
        } else {
            Level::V4
        }
    }

    /// The lowest: this is no x86-64.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn of_processor() -> Level {
        Level::V1
    }

    /// The level that this process uses: the processor's, or a lower one that [`VARIABLE`] names.
    ///
    /// # Errors
    /// The variable's value, if it is not a level.
    #[inline]
    pub fn in_use() -> Result<Level, &'static str> {
        static FOUND: OnceLock<Result<Level, String>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let most = Level::of_processor();
            let Some(asked) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
                return Ok(most);
            };
            match Level::ALL.iter().find(|level| asked == *level.name()) {
                Some(level) => Ok(most.min(*level)),
                None => Err(asked.to_string_lossy().into_owned()),
            }
        });
        found.as_ref().map(|level| *level).map_err(String::as_str)
    }

    /// Whether the level in use is at least this one.
    #[inline]
    pub fn is_there(self) -> bool {
        Level::in_use().is_ok_and(|level| level >= self)
    }
}
