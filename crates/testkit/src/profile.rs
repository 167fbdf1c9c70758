//! The body of the fuzz target for the input of `cushim profile`: reports of processes about their launches.

use cushim_cli::profile::{self, Gpu, gather};

/// Any lines: reading ends, no launch is reported twice, and the output is text and JSON.
pub fn gathered(data: &[u8]) {
    let profile = gather(data);
    let lines = data.split(|byte| *byte == b'\n').count();
    let launches: usize = profile.kernels.iter().map(|kernel| kernel.launches.len()).sum();
    assert!(launches <= lines && profile.processes.len() <= lines);
    assert!(profile.kernels.iter().all(|kernel| !kernel.launches.is_empty()));
    let Some(gpu) = Gpu::named("sm_90") else { return };
    let text = profile::text(&profile, &gpu, 5);
    assert!(text.ends_with('\n') && !text.chars().any(|c| c.is_control() && c != '\n'));
    let json = profile::json(&profile, &gpu);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}
