//! The report as one page: no network, no file beside it.
//!
//! Owns: the contents of the page. Its scripts and style are in `page/`. Must not know: trace files.

use std::io::{self, Write};

use serde_json::{Value, json};

use cushim_analysis::compare::Changes;
use cushim_analysis::model::{Kernel, Lane, Mark, Report};

use super::changes as change_table;
use super::options::Options;
use super::tables::{self, Cell, Table, table};
use crate::view::style::Style;

const STYLE: &str = include_str!("page/style.css");
/// In this order: shared functions, the head of the page, the overview, the tables.
const SCRIPTS: [&str; 4] = [
    include_str!("page/base.js"),
    include_str!("page/head.js"),
    include_str!("page/overview.js"),
    include_str!("page/tables.js"),
];
/// The most rows of a table, so that a browser can still scroll it.
const ROWS_MAX: usize = 20_000;

fn cell(cell: &Cell, style: Style) -> Value {
    let text = cell.text(style);
    match cell {
        Cell::Text(_) | Cell::None => json!(text),
        other => json!([other.number(), text]),
    }
}

/// Writes it.
pub fn write(out: &mut dyn Write, report: &Report, options: &Options) -> io::Result<()> {
    page(out, &data(report, options))
}

/// Writes the report `after` with the changes since the other one.
pub fn write_changes(
    out: &mut dyn Write,
    changes: &Changes,
    after: &Report,
    options: &Options,
) -> io::Result<()> {
    let style = Style { color: false, utf8: true };
    let top = options.top.unwrap_or(ROWS_MAX).min(ROWS_MAX);
    let mut data = data(after, options);
    let mut table = rows(&change_table::table(changes), top, style);
    // In text, a column `B` is beside its `A`; here each is sorted alone.
    let mut of = String::new();
    for title in table["columns"].as_array_mut().into_iter().flatten() {
        match title.as_str() {
            Some("B") => *title = json!(format!("{of}B")),
            title => of = title.unwrap_or_default().trim_end_matches('A').to_owned(),
        }
    }
    table["id"] = json!("change");
    table["title"] = json!(change_table::TITLE);
    if let Some(tables) = data["tables"].as_array_mut() {
        tables.insert(0, table);
    }
    data["compared"] = json!(change_table::summary(changes));
    page(out, &data)
}

/// The data for the page's scripts.
fn data(report: &Report, options: &Options) -> Value {
    let style = Style { color: false, utf8: true };
    let top = options.top.unwrap_or(ROWS_MAX).min(ROWS_MAX);
    let mut tables: Vec<Value> = tables::ALL
        .iter()
        .filter(|by| options.by.is_none_or(|wanted| wanted == **by))
        .map(|by| table(report, *by, options.sort))
        .filter(|table| !table.rows.is_empty())
        .map(|table| rows(&table, top, style))
        .collect();
    if options.by.is_none() && !report.marks.is_empty() {
        tables.push(marks(&report.marks, top, style));
    }
    let kernels = report.kernels.iter().take(ROWS_MAX).map(|k| (k.kernel_id.clone(), details(k)));
    let kernels: serde_json::Map<String, Value> = kernels.collect();
    let lanes: Vec<Value> = report.lanes.iter().map(lane).collect();
    json!({
        "version": report.version,
        "start_ns": report.start_ns.map(|ns| ns.to_string()),
        "duration_ns": report.duration_ns,
        "events": report.events,
        "launches": report.launches,
        "calls": report.calls,
        "graph_launches": report.graph_launches,
        "graph_nodes": report.graph_nodes,
        "processes": report.processes,
        "failures": report.failures,
        "notes": report.notes,
        "marks": report.marks,
        "tables": tables,
        "kernels": kernels,
        "lanes": lanes,
    })
}

fn page(out: &mut dyn Write, data: &Value) -> io::Result<()> {
    // Inside a script element only `<` could end it: names come from other people's programs.
    let data = serde_json::to_string(data)?.replace('<', "\\u003c");
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>cushim report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page needs JavaScript; `cushim report` without --format html prints the same \
         as text.</noscript>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        SCRIPTS.concat()
    )
}

/// A table without its empty columns.
fn rows(table: &Table, top: usize, style: Style) -> Value {
    let used = table.columns_in_use();
    let used = |n: &usize| used.get(*n).copied().unwrap_or(true);
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate().filter(|(n, _)| used(n));
        cells.map(|(_, c)| cell(c, style)).collect::<Vec<_>>()
    };
    let columns = table.columns.iter().enumerate().filter(|(n, _)| used(n));
    json!({
        "id": table.by.word(),
        "title": table.by.title(),
        "columns": columns.map(|(_, column)| column.0).collect::<Vec<_>>(),
        "rows": table.rows.iter().take(top).map(row).collect::<Vec<_>>(),
        "of": table.rows.len(),
    })
}

fn marks(marks: &[Mark], top: usize, style: Style) -> Value {
    let row = |mark: &Mark| {
        let at = cell(&Cell::Ns(mark.at_ns as f64), style);
        json!([at, mark.pid.to_string(), mark.text])
    };
    json!({
        "id": "mark",
        "title": "marks",
        "columns": ["at", "process", "name"],
        "rows": marks.iter().take(top).map(row).collect::<Vec<_>>(),
        "of": marks.len(),
    })
}

/// The details of a kernel's row.
fn details(kernel: &Kernel) -> Value {
    json!({
        "declaration": kernel.demangled,
        "symbol": kernel.mangled,
        "owner": kernel.owner,
        "graph_nodes": kernel.graph_nodes,
        "other_shapes": kernel.other_shapes,
        "arguments": kernel.arguments,
    })
}

/// Only bins that hold something: when it begins, four sums, launches.
fn lane(lane: &Lane) -> Value {
    let bins: Vec<Value> = lane
        .bins
        .bins()
        .filter(|(_, bin)| bin.launches > 0 || bin.ns.iter().any(|ns| *ns > 0))
        .map(|(at, bin)| {
            let [a, b, c, d] = bin.ns;
            json!([at.saturating_add(lane.at_ns), a, b, c, d, bin.launches])
        })
        .collect();
    json!({ "name": lane.name, "gpu": lane.is_gpu, "width_ns": 1u64 << lane.bins.shift(), "bins": bins })
}
