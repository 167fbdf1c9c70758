//! The profile as one HTML page: figures, a roofline, hot lines, and the source with counters beside its lines. No
//! script, no network.
//!
//! Owns the page. Must not know how figures are computed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use cushim_profile::{Count, Counts};

use super::figures::Figures;
use super::gather::{Kernel, Place, Profile};
use super::gpus::Gpu;
use super::rows::{hot, number, rows};

const STYLE: &str = "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:1px 8px;text-align:right;\
white-space:pre}td.t{text-align:left}td.c{text-align:left;font-family:monospace}tr:nth-child(even){background:#f4f4f4}\
svg text{font:11px sans-serif}";

/// Lines of the source around those that ran.
const AROUND: u32 = 3;
/// Hot lines that are listed.
const HOT: usize = 30;

/// A text as HTML shows it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page.
pub fn report(profile: &Profile, gpu: &Gpu) -> String {
    let mut out =
        String::from("<!doctype html><meta charset=\"utf-8\"><title>cushim profile</title>");
    let _ = write!(out, "<style>{STYLE}</style><h1>cushim profile</h1>");
    let _ = write!(out, "<p>For {} ({}).</p>", gpu.arch, gpu.name);
    roofline(&mut out, profile, gpu);
    for kernel in &profile.kernels {
        let _ = write!(out, "<h2>{}</h2><table>", escaped(&kernel.name));
        for (name, text) in rows(kernel, gpu) {
            let _ = write!(out, "<tr><td class=t>{name}<td class=t>{}", escaped(&text));
        }
        out += "</table><h3>Hot lines</h3>";
        head(&mut out);
        for (place, counts) in hot(kernel).into_iter().take(HOT) {
            line(&mut out, &place.short(), Some(counts), kernel);
        }
        out += "</table>";
        let files: BTreeSet<&str> = kernel.lines.keys().map(|place| &*place.file).collect();
        files.into_iter().for_each(|file| source(&mut out, kernel, file));
    }
    out + "\n"
}

fn head(out: &mut String) {
    *out += "<table><tr><th>instructions<th>%<th>lanes<th>sectors a load<th>a store<th>conflicts<th>atomic lanes an address<th>flops<th>";
}

/// A line with its counters.
fn line(out: &mut String, text: &str, counts: Option<&Counts>, kernel: &Kernel) {
    let Some(counts) = counts else {
        let _ = write!(out, "<tr><td><td><td><td><td><td><td><td><td class=c>{}", escaped(text));
        return;
    };
    let figures = Figures { counts, written: 0 };
    let (own, all) = (counts.get(Count::Instructions), kernel.counts.get(Count::Instructions));
    let [load, store] = figures.sectors().map(number);
    let conflicts = figures.all_conflicts();
    let share = 100.0 * own as f64 / all.max(1) as f64;
    let _ = write!(
        out,
        "<tr><td>{own}<td style=\"background:rgba(255,120,0,{:.2})\">{share:.1}<td>{}<td>{load}<td>{store}<td>{conflicts}<td>{}<td>{}<td class=c>{}",
        share / 100.0,
        number(figures.active_lanes()),
        number(figures.contention()),
        figures.flops().into_iter().fold(0, u64::saturating_add),
        escaped(text)
    );
}

/// The lines of a file that ran, with some around them, if the file is there.
fn source(out: &mut String, kernel: &Kernel, file: &str) {
    let Some(text) = (!file.is_empty()).then(|| fs::read(file).ok()).flatten() else { return };
    let of = |line| Place { file: file.to_owned(), line, ptx: String::new() };
    let ran: BTreeSet<u32> =
        kernel.lines.keys().filter(|place| place.file == file).map(|place| place.line).collect();
    let _ = write!(out, "<h3>{}</h3>", escaped(file));
    head(out);
    let mut gap = false;
    for (number, text) in (1..).zip(String::from_utf8_lossy(&text).lines()) {
        let around = number - AROUND.min(number)..=number + AROUND;
        if ran.range(around).next().is_none() {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            line(out, "…", None, kernel);
        }
        line(out, &format!("{number:>5} {text}"), kernel.lines.get(&of(number)), kernel);
    }
    *out += "</table>";
}

/// Kernels over their arithmetic intensity, below what the GPU can do.
fn roofline(out: &mut String, profile: &Profile, gpu: &Gpu) {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 320.0;
    // Powers of ten: operations for a byte, and 10^9 operations in a second.
    let (left, right, bottom, top) = (-3.0, 4.0, 0.0, 6.0);
    let x = |value: f64| (value.max(1e-3).log10() - left) / (right - left) * WIDTH;
    let y = |value: f64| HEIGHT - (value.max(1.0).log10() - bottom) / (top - bottom) * HEIGHT;
    let (peak, bandwidth) = (gpu.peak()[0] / 1e9, f64::from(gpu.bandwidth));
    let ridge = peak / bandwidth;
    let _ = write!(
        out,
        "<h2>Roofline</h2><svg width=\"{WIDTH}\" height=\"{}\" viewBox=\"0 0 {WIDTH} {}\">\
         <polyline fill=\"none\" stroke=\"black\" points=\"{:.1},{:.1} {:.1},{:.1} {WIDTH},{:.1}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{peak:.0} GFLOP/s, {bandwidth} GB/s</text>",
        HEIGHT + 20.0,
        HEIGHT + 20.0,
        x(1e-3),
        y(1e-3 * bandwidth),
        x(ridge),
        y(peak),
        y(peak),
        x(ridge),
        y(peak) - 5.0
    );
    for kernel in &profile.kernels {
        let figures = Figures { counts: &kernel.counts, written: kernel.written };
        let Some(intensity) = figures.intensity().filter(|n| *n > 0.0) else { continue };
        // The ridge point: arithmetic and memory take equal time.
        let [arithmetic, memory] = figures.least(gpu);
        let reached = figures.operations() as f64 / arithmetic.max(memory) / 1e9;
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#d40\"><title>{}</title></circle><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(intensity),
            y(reached),
            escaped(&kernel.name),
            x(intensity) + 6.0,
            y(reached) + 14.0,
            escaped(kernel.name.split('(').next().unwrap_or_default())
        );
    }
    let _ = write!(
        out,
        "<text x=\"4\" y=\"{}\">0.001 to 10,000 operations a byte, 1 to 10^6 GFLOP/s; each kernel where the GPU would be at best</text></svg>",
        HEIGHT + 15.0
    );
}
