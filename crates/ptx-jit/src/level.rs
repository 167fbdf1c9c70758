//! The processor features that the code generator may use.
//!
//! Owns its names for the features of each level. Must not know: which level is used, or what code is generated.

use cranelift_codegen::settings::Configurable;
use cushim_ptx::Level;

/// Enables the code generator's features for processors of a level.
pub(crate) fn enable(level: Level, isa: &mut dyn Configurable) -> Result<(), String> {
    const V2: &[&str] =
        &["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"];
    const V3: &[&str] = &["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"];
    const V4: &[&str] = &["has_avx512f", "has_avx512dq", "has_avx512vl"];
    let mut flags = Vec::new();
    for (least, more) in [(Level::V2, V2), (Level::V3, V3), (Level::V4, V4)] {
        if level >= least {
            flags.extend(more);
        }
    }
    // Not of every processor with AVX-512.
    if level >= Level::V4 && is_x86_feature_detected!("avx512vbmi") {
        flags.push("has_avx512vbmi");
    }
    if level >= Level::V4 && is_x86_feature_detected!("avx512bitalg") {
        flags.push("has_avx512bitalg");
    }
    flags.iter().try_for_each(|flag| isa.enable(flag).map_err(|e| format!("{flag}: {e}")))
}
