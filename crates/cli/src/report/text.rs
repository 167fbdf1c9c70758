//! The report as text for people.
//!
//! Owns: what is shown by default, and the layout of tables. Must not know: trace files.

use std::io::{self, Write};

use cushim_names::elide;

use cushim_analysis::model::{self, Kernel, Report};

use super::options::Options;
use super::tables::{ALL, By, Cell, Table, table};
use crate::view::style::{Ink, Style};

/// Rows of the first table, and of the others.
const TOP: [usize; 2] = [20, 10];
/// A name is not shortened below this.
const NAME_MIN: usize = 24;
/// Cells before the last column are shortened to this.
const CELL_MAX: usize = 40;

/// Writes it.
pub fn write(out: &mut dyn Write, report: &Report, options: &Options) -> io::Result<()> {
    let style = Style { color: options.color, utf8: options.utf8 };
    head(out, report, style)?;
    // Shapes and counters are shown only on request; ranks where there are several.
    let unasked = |by: &By| {
        !matches!(by, By::Shape | By::Counter) && (*by != By::Rank || report.ranks.len() > 1)
    };
    let tables = match options.by {
        Some(by) => vec![by],
        None => ALL.into_iter().filter(unasked).collect(),
    };
    for (n, by) in tables.iter().enumerate() {
        let top = options.top.unwrap_or(TOP[n.min(1)]);
        let made = table(report, *by, options.sort);
        let small = matches!(by, By::Stream | By::Thread) && made.rows.len() < 2;
        if made.rows.is_empty() || small && options.by.is_none() {
            continue;
        }
        writeln!(out)?;
        write_table(out, &made, by.title(), top, options)?;
        if *by == By::Kernel {
            constants(out, report, &made, top, style)?;
        }
    }
    remarks(out, report, style)
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn head(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    for process in report.processes.iter().take(8) {
        let rank = process.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
        let end = if process.closed { "" } else { ", killed or still running" };
        let title = format!(
            "process {} on {}{rank}: {}",
            process.pid,
            process.host,
            process.argv.join(" ")
        );
        writeln!(out, "{}", style.paint(Ink::Head, &title))?;
        writeln!(
            out,
            "  {}, {}, {}{end}",
            style.duration(process.duration_ns as f64),
            plural(process.events, "event", "events"),
            plural(process.launches, "launch", "launches"),
        )?;
    }
    if report.processes.len() > 8 {
        writeln!(out, "{} processes more", report.processes.len() - 8)?;
    }
    if report.processes.len() > 1 {
        writeln!(
            out,
            "together {}, {}, {}",
            style.duration(report.duration_ns as f64),
            plural(report.events, "event", "events"),
            plural(report.launches, "launch", "launches"),
        )?;
    }
    let ns = report.calls.call_ns.total as f64;
    let whose = match report.gpu_streams.is_empty() {
        true => "not of the kernel on the GPU (which `cushim record --gpu-time` records)",
        false => "where no column says GPU",
    };
    writeln!(
        out,
        "{} in {}; times are those of the call on the host, {whose}",
        style.duration(ns),
        plural(report.calls.calls, "call", "calls")
    )
}

/// Writes a table with a title.
pub fn write_table(
    out: &mut dyn Write,
    table: &Table,
    title: &str,
    top: usize,
    options: &Options,
) -> io::Result<()> {
    let style = Style { color: options.color, utf8: options.utf8 };
    writeln!(out, "{}", style.paint(Ink::Head, title))?;
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .take(top)
        .map(|row| {
            let last = row.len().saturating_sub(1);
            let room = |n: usize| if n == last { usize::MAX } else { CELL_MAX };
            let text =
                |(n, cell): (usize, &Cell)| elide(&cell.text(style), room(n), style.ellipsis());
            row.iter().enumerate().map(text).collect()
        })
        .collect();
    let last = table.columns.len().saturating_sub(1);
    let used = table.columns_in_use();
    let widths: Vec<usize> = (0..=last)
        .map(|n| {
            let title = table.columns.get(n).map_or(0, |column| column.0.chars().count());
            let cells = rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count());
            cells.max().unwrap_or(0).max(title)
        })
        .collect();
    let shown = |n: &usize| used.get(*n).copied().unwrap_or(false);
    let taken: usize = (0..last).filter(shown).filter_map(|n| widths.get(n)).map(|w| w + 2).sum();
    let room = options.width.map_or(usize::MAX, |w| w.saturating_sub(taken + 2).max(NAME_MIN));
    let mut line = String::new();
    for n in (0..last).filter(shown) {
        let title = table.columns.get(n).map_or("", |column| column.0);
        line.push_str(&format!("  {title:>0$}", widths.get(n).copied().unwrap_or(0)));
    }
    let title = table.columns.get(last).map_or("", |column| column.0);
    writeln!(out, "{}", style.paint(Ink::Faint, &format!("{line}  {title}")))?;
    for row in &rows {
        for n in (0..last).filter(shown) {
            let (cell, width) = (row.get(n).map_or("", String::as_str), widths.get(n).copied());
            let padded = format!("  {cell:>0$}", width.unwrap_or(0));
            let is_bad = table.columns.get(n).is_some_and(|c| c.0 == "failed") && cell != "0";
            let padded = if is_bad { style.paint(Ink::Bad, &padded) } else { padded };
            write!(out, "{padded}")?;
        }
        let name = elide(row.last().map_or("", String::as_str), room, style.ellipsis());
        writeln!(out, "  {}", style.paint(Ink::Kernel, &name))?;
    }
    let more = table.rows.len().saturating_sub(top);
    if more > 0 {
        let line = format!("  {} {more} more (--top {})", style.ellipsis(), table.rows.len());
        writeln!(out, "{}", style.paint(Ink::Faint, &line))?;
    }
    Ok(())
}

/// Shapes and constant arguments of the kernels that the table shows, where there are any.
fn constants(
    out: &mut dyn Write,
    report: &Report,
    shown: &Table,
    top: usize,
    style: Style,
) -> io::Result<()> {
    let ids: Vec<&Cell> = shown.rows.iter().take(top).filter_map(|row| row.get(9)).collect();
    let find = |id: &&Cell| {
        report.kernels.iter().find(|kernel| **id == Cell::Text(kernel.kernel_id.clone()))
    };
    let lines: Vec<String> = ids.iter().filter_map(find).filter_map(constant_line).collect();
    if !lines.is_empty() {
        let title = "arguments that no launch changed (counted from 0)";
        writeln!(out, "\n{}", style.paint(Ink::Head, title))?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "  {line}"))
}

fn constant_line(kernel: &Kernel) -> Option<String> {
    let list = kernel.arguments.as_ref()?;
    let same: Vec<String> = list
        .iter()
        .filter_map(|argument| Some(format!("{}: {}", argument.index, argument.value.as_ref()?)))
        .collect();
    let all = if same.len() == list.len() { "all; " } else { "" };
    (!same.is_empty()).then(|| format!("{}  {all}{}", kernel.kernel_id, same.join(", ")))
}

fn remarks(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let mut lines = Vec::new();
    if report.graph_nodes + report.graph_launches > 0 {
        let launches = plural(report.graph_launches, "launch", "launches");
        let nodes = plural(report.graph_nodes, "kernel node", "kernel nodes");
        lines.push((Ink::Head, format!("graphs: {launches}; {nodes} made or changed")));
    }
    let counted = report.kernels.iter().filter(|kernel| kernel.counted.is_some()).count() as u64;
    if counted > 0 {
        let kernels = plural(counted, "kernel", "kernels");
        lines.push((Ink::Head, format!("counters: of {kernels}; --by counter shows their sums")));
    }
    for failure in report.failures.iter().take(10) {
        let name = failure.status_name.unwrap_or("unknown error");
        let (n, times) = (failure.calls, style.times());
        let line = format!("failed: {n} {times} {} = {} {name}", failure.api, failure.status);
        lines.push((Ink::Bad, line));
    }
    if report.calls.pending > 0 {
        let n = plural(report.calls.pending, "call", "calls");
        lines.push((Ink::Bad, format!("not returned: {n}")));
    }
    let sum = |field: fn(&model::Lost) -> u64| -> u64 {
        report.processes.iter().map(|process| field(&process.lost)).fold(0, u64::saturating_add)
    };
    let lost = [
        (sum(|l| l.limit), "lost: {} because the trace file reached its limit"),
        (sum(|l| l.no_space), "lost: {} because the file system was full"),
        (
            sum(|l| l.not_ready),
            "lost: {} while a process was starting, ending or in a signal handler",
        ),
        (sum(|l| l.cut_arguments), "arguments beyond 4096 bytes were cut in {}"),
        (sum(|l| l.file_size), "lost: {} because a file-size limit (ulimit -f) was reached"),
        (sum(|l| l.behind), "lost: {} because what was recorded was not read fast enough"),
        (sum(|l| l.overwritten), "{} overwritten by later ones"),
        (sum(|l| l.damaged), "{} skipped that cannot be read"),
    ];
    for (n, line) in lost.iter().filter(|(n, _)| *n > 0) {
        lines.push((Ink::Bad, line.replace("{}", &plural(*n, "event", "events"))));
    }
    lines.extend(report.notes.iter().map(|note| (Ink::Faint, format!("note: {note}"))));
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|(ink, line)| match ink {
        Ink::Bad => writeln!(out, "{}", style.paint(*ink, line)),
        _ => writeln!(out, "{line}"),
    })
}
