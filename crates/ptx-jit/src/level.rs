//! What the processor can do, as one of four levels.
//!
//! Owns how that is found out, once, and how it is lowered: code is made for a level, and what is written in
//! Rust chooses its loops by it, so that whatever runs on a lesser processor can be tried on any. Must not know:
//! what code is made.
//!
//! The levels are those of the x86-64 psABI ("micro-architecture levels"); a processor with more than a level
//! and less than the next counts as the lower one.

use cranelift_codegen::settings::Configurable;
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

    /// The one that this process uses: the processor's, or a lower one that [`VARIABLE`] names.
    ///
    /// # Errors
    /// What the variable says, if that is none.
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
    pub(crate) fn is_there(self) -> bool {
        Level::in_use().is_ok_and(|level| level >= self)
    }

    /// Tells the code generator what it may use.
    pub(crate) fn enable(self, isa: &mut dyn Configurable) -> Result<(), String> {
        const V2: &[&str] =
            &["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"];
        const V3: &[&str] =
            &["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"];
        const V4: &[&str] = &["has_avx512f", "has_avx512dq", "has_avx512vl"];
        let mut flags = Vec::new();
        for (level, more) in [(Level::V2, V2), (Level::V3, V3), (Level::V4, V4)] {
            if self >= level {
                flags.extend(more);
            }
        }
        // Not of every processor with AVX-512.
        if self >= Level::V4 && all!("avx512vbmi") {
            flags.push("has_avx512vbmi");
        }
        if self >= Level::V4 && all!("avx512bitalg") {
            flags.push("has_avx512bitalg");
        }
        flags.iter().try_for_each(|flag| isa.enable(flag).map_err(|e| format!("{flag}: {e}")))
    }
}
