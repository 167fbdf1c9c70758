//! The closing summary as text.
//!
//! Owns: the table by kernel, the table by function, and the notes that a user must read. Must not know: events.

use std::io::{self, Write};

use cushim_abi::errors;
use cushim_names::elide;

use super::options::ViewOptions;
use super::seen::Totals;
use super::stats::{Stats, Times};
use super::style::{Ink, Style};
use cushim_analysis::NameForm;
use cushim_analysis::known::Known;
use cushim_analysis::names::labels;
use cushim_analysis::words::printable;

/// A name is not shortened below this, however narrow the terminal.
const NAME_MIN: usize = 24;
/// The most kinds of failures, and of calls that did not return, that are named.
const FAILURES_MAX: usize = 5;

/// Writes it.
pub fn summary(
    out: &mut dyn Write,
    options: &ViewOptions,
    totals: &Totals,
    stats: &Stats,
    known: &Known,
    notes: &[String],
) -> io::Result<()> {
    let style = Style { color: options.color, utf8: options.utf8 };
    let (rows, apis) = (stats.kernels(known), stats.apis());
    if options.lines {
        writeln!(out)?;
    }
    if !rows.is_empty() {
        let labels = labels(options.names, &rows.iter().map(|row| row.0).collect::<Vec<_>>());
        let total: u64 = rows.iter().map(|row| row.1.times.total_ns).fold(0, u64::saturating_add);
        let launches: u64 = rows.iter().map(|row| row.1.times.calls).sum();
        let gpu: u64 = rows.iter().map(|row| row.1.gpu.total_ns).fold(0, u64::saturating_add);
        let gpu = match rows.iter().any(|row| row.1.gpu.calls > 0) {
            true => format!("; time on the GPU {}", style.duration(gpu as f64)),
            false if options.may_time_gpu => "; use --gpu-time for GPU times".to_owned(),
            false => String::new(),
        };
        let title = format!(
            "{} of {}: host time in the call {}{gpu}",
            count(launches, "launch", "launches"),
            count(rows.len() as u64, "kernel", "kernels"),
            style.duration(total as f64)
        );
        writeln!(out, "{}", style.paint(Ink::Head, &title))?;
        let lines = rows.iter().zip(labels).map(|((kernel, row), label)| Row {
            times: &row.times,
            shapes: Some(row.shapes.len()),
            gpu: Some(&row.gpu).filter(|gpu| gpu.calls > 0),
            number: format!("k{} ", kernel.number),
            name: label,
        });
        table(out, options, style, total, &lines.collect::<Vec<_>>())?;
    }
    if options.classes_chosen && !apis.is_empty() {
        let total: u64 = apis.iter().map(|row| row.1.total_ns).fold(0, u64::saturating_add);
        let calls: u64 = apis.iter().map(|row| row.1.calls).sum();
        let title = format!(
            "{}: host time in the call {}",
            count(calls, "other call", "other calls"),
            style.duration(total as f64)
        );
        writeln!(out, "{}", style.paint(Ink::Head, &title))?;
        let lines = apis.iter().map(|(api, times)| Row {
            times,
            shapes: None,
            gpu: None,
            number: String::new(),
            name: printable(api),
        });
        table(out, options, style, total, &lines.collect::<Vec<_>>())?;
    }
    if rows.is_empty() && totals.launches > 0 {
        writeln!(
            out,
            "none of {} is shown",
            count(totals.launches, "kernel launch", "kernel launches")
        )?;
    }
    remarks(out, style, totals, stats, notes)
}

fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

struct Row<'a> {
    times: &'a Times,
    shapes: Option<usize>,
    gpu: Option<&'a Times>,
    number: String,
    name: String,
}

fn table(
    out: &mut dyn Write,
    options: &ViewOptions,
    style: Style,
    total: u64,
    rows: &[Row<'_>],
) -> io::Result<()> {
    let with_shapes = rows.iter().any(|row| row.shapes.is_some());
    let mut heads = vec!["share", "total", "calls", "avg", "max", "failed"];
    if with_shapes {
        heads.push("shapes");
    }
    let with_gpu = rows.iter().any(|row| row.gpu.is_some());
    if with_gpu {
        heads.extend(["GPU total", "GPU avg", "GPU max"]);
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let share = 100.0 * row.times.total_ns as f64 / total.max(1) as f64;
            let mut cells = vec![
                format!("{share:.1} %"),
                style.duration(row.times.total_ns as f64),
                row.times.calls.to_string(),
                style.duration(row.times.average_ns()),
                style.duration(row.times.max_ns as f64),
                row.times.failed.to_string(),
            ];
            if with_shapes {
                cells.push(row.shapes.map(|n| n.to_string()).unwrap_or_default());
            }
            if with_gpu {
                let times = row.gpu.map(|gpu| {
                    [gpu.total_ns as f64, gpu.average_ns(), gpu.max_ns as f64]
                        .map(|ns| style.duration(ns))
                });
                cells.extend(times.unwrap_or_default());
            }
            cells
        })
        .collect();
    let width = |column: usize| {
        let column =
            cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        column.max().unwrap_or(0)
    };
    let widths: Vec<usize> = heads.iter().enumerate().map(|(n, h)| width(n).max(h.len())).collect();
    let used: usize = widths.iter().map(|w| w + 2).sum::<usize>() + 2;
    let mut head = String::new();
    for (head_text, width) in heads.iter().zip(&widths) {
        head.push_str(&format!("  {head_text:>width$}"));
    }
    writeln!(out, "{}", style.paint(Ink::Faint, &format!("{head}  name")))?;
    for (row, cells) in rows.iter().zip(&cells) {
        for ((cell, width), head) in cells.iter().zip(&widths).zip(&heads) {
            let padded = format!("  {cell:>width$}");
            let bad = *head == "failed" && cell != "0";
            let painted = if bad { style.paint(Ink::Bad, &padded) } else { padded };
            write!(out, "{painted}")?;
        }
        let room = match options.width {
            Some(width) if options.names == NameForm::Short => {
                width.saturating_sub(used + row.number.len()).max(NAME_MIN)
            }
            _ => usize::MAX,
        };
        let name = elide(&row.name, room, style.ellipsis());
        let number = style.paint(Ink::Faint, &row.number);
        writeln!(out, "  {number}{}", style.paint(Ink::Kernel, &name))?;
    }
    Ok(())
}

/// Further remarks to the user, a line each.
fn remarks(
    out: &mut dyn Write,
    style: Style,
    totals: &Totals,
    stats: &Stats,
    notes: &[String],
) -> io::Result<()> {
    let graphs = stats.apis().into_iter().filter(|(api, _)| cushim_abi::work::launches_graph(api));
    let graphs: u64 = graphs.map(|(_, times)| times.calls).sum();
    if totals.nodes + graphs > 0 {
        let graphs = count(graphs, "launch", "launches");
        let nodes = count(totals.nodes, "kernel node", "kernel nodes");
        writeln!(out, "graphs: {graphs}; {nodes} made or changed")?;
    }
    if totals.processes > 1 {
        writeln!(out, "{} processes", totals.processes)?;
    }
    let failures = stats.failures();
    for (api, status, n) in failures.iter().take(FAILURES_MAX) {
        let name = errors::error_name(api, *status).unwrap_or("unknown error");
        let line = format!("failed: {n} {} {} = {status} {name}", style.times(), printable(api));
        writeln!(out, "{}", style.paint(Ink::Bad, &line))?;
    }
    let further: u64 = failures.iter().skip(FAILURES_MAX).map(|row| row.2).sum();
    if further > 0 {
        writeln!(out, "{}", style.paint(Ink::Bad, &format!("failed: {further} in other ways")))?;
    }
    for (api, n) in stats.not_returned().iter().take(FAILURES_MAX) {
        writeln!(out, "not returned: {n} {} {}", style.times(), printable(api))?;
    }
    const LOST: [&str; 6] = [
        "lost: {} because the trace file reached its limit",
        "lost: {} because the file system was full",
        "lost: {} because the process was starting, ending or in a signal handler",
        "arguments beyond 4096 bytes were cut in {}",
        "lost: {} because a file-size limit (ulimit -f) was reached",
        "lost: {} because the recording was not read fast enough (--backlog, --when-behind wait)",
    ];
    for (n, text) in totals.lost.iter().zip(LOST).filter(|(n, _)| **n > 0) {
        let line = text.replace("{}", &count(*n, "event", "events"));
        writeln!(out, "{}", style.paint(Ink::Bad, &line))?;
    }
    if totals.overwritten > 0 {
        let each = if totals.processes > 1 { " of each process" } else { "" };
        let earlier = count(totals.overwritten, "earlier event was", "earlier events were");
        writeln!(out, "kept the last {}{each}: {earlier} overwritten", size(totals.keep))?;
    }
    if totals.damaged > 0 {
        let line =
            format!("skipped: {} that cannot be read", count(totals.damaged, "record", "records"));
        writeln!(out, "{}", style.paint(Ink::Bad, &line))?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "note: {}", printable(note)))
}

/// A size in the unit in which it is a whole number.
pub fn size(bytes: u64) -> String {
    match bytes {
        b if b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b >> 10),
    }
}
