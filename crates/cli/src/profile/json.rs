//! The profile as JSON.

use cushim_profile::{Count, Counts};
use serde_json::{Map, Value, json};

use super::figures::Figures;
use super::gather::{Kernel, Profile, ProfiledLaunch};
use super::gpus::Gpu;
use super::rows::hot;

/// The document.
pub fn report(profile: &Profile, gpu: &Gpu) -> String {
    let metrics: Map<String, Value> = Count::ALL
        .iter()
        .filter(|count| !count.metric().is_empty())
        .map(|count| (count.name().to_owned(), json!(count.metric())))
        .collect();
    let kernels: Vec<Value> = profile.kernels.iter().map(|kernel| describe(kernel, gpu)).collect();
    let document = json!({
        "version": 1,
        "gpu": gpu,
        "processes": profile.processes,
        "nsight_compute_metrics": metrics,
        "kernels": kernels,
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// The counters by name.
fn counts(counts: &Counts) -> Value {
    let all = Count::ALL.iter().zip(counts.all());
    Value::Object(all.map(|(count, n)| (count.name().to_owned(), json!(n))).collect())
}

fn describe(kernel: &Kernel, gpu: &Gpu) -> Value {
    let launches: Vec<Value> = kernel.launches.iter().map(|l| launch(kernel, l, gpu)).collect();
    let lines: Vec<Value> = hot(kernel)
        .into_iter()
        .map(|(place, of)| match place.file.is_empty() {
            true => json!({ "ptx": place.ptx, "counters": counts(of) }),
            false => json!({ "file": place.file, "line": place.line, "counters": counts(of) }),
        })
        .collect();
    json!({
        "kernel": kernel.name,
        "symbol": kernel.symbol,
        "functions": kernel.functions,
        "registers_estimate": kernel.registers,
        "local_bytes": kernel.local,
        "instructions_by_class": kernel.classes,
        "counters": counts(&kernel.counts),
        "launches": launches,
        "lines": lines,
    })
}

fn launch(kernel: &Kernel, launch: &ProfiledLaunch, gpu: &Gpu) -> Value {
    let figures = Figures { counts: &launch.counts, written: launch.written };
    let [l2, dram] = figures.moved();
    let [arithmetic, memory] = figures.least(gpu);
    json!({
        "pid": launch.pid,
        "grid": launch.grid,
        "block": launch.block,
        "shared_bytes": launch.shared,
        "occupancy": gpu.occupancy(launch.threads(), kernel.registers, launch.shared),
        "counters": counts(&launch.counts),
        "model": { "l2_bytes": l2, "dram_bytes": dram },
        "flops_per_byte": figures.intensity(),
        "least_seconds": { "arithmetic": arithmetic, "memory": memory },
    })
}
