//! The lines about a kernel: a name and a text for each aspect.
//!
//! Owns the wording, for text and HTML alike. Must not know the layout.

use std::cmp::Reverse;

use cushim_profile::{Count, Counts};

use super::figures::Figures;
use super::gather::{Kernel, Place};
use super::gpus::Gpu;

/// A name and a text.
pub type Row = (&'static str, String);

/// A figure as text, or a dash.
pub fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{:.1} %", 100.0 * value))
}

/// All rows of a kernel.
pub fn rows(kernel: &Kernel, gpu: &Gpu) -> Vec<Row> {
    let figures = Figures { counts: &kernel.counts, written: kernel.written };
    let mut all = ran(kernel, figures);
    all.extend(memory(&kernel.counts, figures));
    all.extend(on(kernel, figures, gpu));
    all
}

/// The kernel's lines, those with most instructions first.
pub fn hot(kernel: &Kernel) -> Vec<(&Place, &Counts)> {
    let mut lines: Vec<_> = kernel.lines.iter().collect();
    lines.sort_by_key(|(_, counts)| Reverse(counts.get(Count::Instructions)));
    lines
}

fn ran(kernel: &Kernel, figures: Figures<'_>) -> Vec<Row> {
    let n = |count| kernel.counts.get(count);
    let mut classes: Vec<_> = kernel.classes.iter().collect();
    classes.sort_by_key(|(_, n)| Reverse(**n));
    let classes: Vec<String> = classes.into_iter().map(|(c, n)| format!("{c} {n}")).collect();
    let shape = kernel.launches.last().map_or(String::new(), |last| {
        let ([x, y, z], [bx, by, bz]) = (last.grid, last.block);
        format!(", the last of ({x},{y},{z}) blocks of ({bx},{by},{bz}) threads")
    });
    vec![
        ("launches", format!("{}{shape}", kernel.launches.len())),
        ("instructions", format!("{}: {}", n(Count::Instructions), classes.join(", "))),
        (
            "lanes",
            format!(
                "{} of 32 active; {} of {} branches diverge",
                number(figures.active_lanes()),
                n(Count::DivergentBranches),
                n(Count::Branches)
            ),
        ),
        (
            "waiting",
            format!("{} warps at barriers, {} otherwise", n(Count::Barriers), n(Count::Waits)),
        ),
    ]
}

fn memory(counts: &Counts, figures: Figures<'_>) -> Vec<Row> {
    let n = |count| counts.get(count);
    let [load, store] = figures.sectors().map(number);
    let [load_lines, store_lines] = figures.lines().map(number);
    let [l2, dram] = figures.moved();
    vec![
        (
            "global memory",
            format!(
                "{} loads of {load} sectors in {load_lines} lines, {} stores of {store} in {store_lines}; {} of their bytes used",
                n(Count::LoadRequests),
                n(Count::StoreRequests),
                percent(figures.used())
            ),
        ),
        (
            "shared memory",
            format!(
                "{} loads with {} bank conflicts, {} stores with {}",
                n(Count::SharedLoads),
                n(Count::SharedLoadConflicts),
                n(Count::SharedStores),
                n(Count::SharedStoreConflicts)
            ),
        ),
        (
            "atomics",
            format!(
                "{} lanes, {} of them at one address; {} turns",
                n(Count::AtomicLanes),
                number(figures.contention()),
                n(Count::AtomicTurns)
            ),
        ),
        (
            "caches (model)",
            format!(
                "L1 has {}, L2 {}; {l2} bytes between them, {dram} to and from memory",
                percent(figures.l1()),
                percent(figures.l2())
            ),
        ),
    ]
}

fn on(kernel: &Kernel, figures: Figures<'_>, gpu: &Gpu) -> Vec<Row> {
    let [half, single, double, matrix] = figures.flops();
    let mut all = vec![(
        "arithmetic",
        format!(
            "{half} with 16 bits, {single} with 32, {double} with 64, {matrix} in matrices; {} for each byte of memory",
            number(figures.intensity())
        ),
    )];
    if let Some(last) = kernel.launches.last() {
        let fits = gpu.occupancy(last.threads(), kernel.registers, last.shared);
        all.push((
            "occupancy",
            format!(
                "{} of {} warps ({}), limited by {}; {} registers (estimate), {} bytes of shared memory, {} of local",
                fits.warps,
                fits.of,
                percent(Some(fits.warps as f64 / fits.of as f64)),
                fits.limit,
                kernel.registers,
                last.shared,
                kernel.local
            ),
        ));
    }
    let [arithmetic, memory] = figures.least(gpu);
    let bound = if arithmetic > memory { "arithmetic" } else { "memory" };
    let [arithmetic, memory] = [arithmetic, memory].map(nanoseconds);
    all.push((
        "roofline",
        format!("bound by {bound}: at least {arithmetic} ns of arithmetic, {memory} ns of memory"),
    ));
    all
}

/// Seconds as nanoseconds, with three digits where there are less than 100: a small kernel takes less than one.
fn nanoseconds(seconds: f64) -> String {
    let ns = seconds * 1e9;
    let digits = match ns {
        ns if ns == 0.0 || ns >= 99.95 => 0,
        ns if ns >= 9.995 => 1,
        ns if ns >= 0.9995 => 2,
        _ => 3,
    };
    format!("{ns:.digits$}")
}
