//! The report as one page: no network, no file beside it.
//!
//! Owns: what is put into the page. Its script and style are `page.js` and `page.css`. Must not know:
//! trace files.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Options;
use super::model::Report;
use super::tables::{self, Cell, table};
use crate::view::style::Style;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Rows of a table at most: a browser must still scroll it.
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
    let style = Style { color: false, utf8: true };
    let top = options.top.unwrap_or(ROWS_MAX).min(ROWS_MAX);
    let tables: Vec<Value> = tables::ALL
        .iter()
        .filter(|by| options.by.is_none_or(|wanted| wanted == **by))
        .map(|by| table(report, *by, options.sort))
        .filter(|table| !table.rows.is_empty())
        .map(|table| {
            let row = |row: &Vec<Cell>| row.iter().map(|c| cell(c, style)).collect::<Vec<_>>();
            json!({
                "id": table.by.title().split(' ').next(),
                "title": table.by.title(),
                "columns": table.columns.iter().map(|column| column.0).collect::<Vec<_>>(),
                "rows": table.rows.iter().take(top).map(row).collect::<Vec<_>>(),
                "of": table.rows.len(),
            })
        })
        .collect();
    let lanes: Vec<Value> = report.lanes.iter().map(lane).collect();
    let data = json!({
        "version": report.version,
        "start_ns": report.start_ns.map(|ns| ns.to_string()),
        "duration_ns": report.duration_ns,
        "events": report.events,
        "launches": report.launches,
        "processes": report.processes,
        "failures": report.failures,
        "notes": report.notes,
        "marks": report.marks,
        "tables": tables,
        "lanes": lanes,
    });
    // Inside a script element only `<` could end it: names come from other people's programs.
    let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
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
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Only bins that hold something: when it begins, four sums, launches.
fn lane(lane: &super::model::Lane) -> Value {
    let bins: Vec<Value> = lane
        .bins
        .bins()
        .filter(|(_, bin)| bin.launches > 0 || bin.ns.iter().any(|ns| *ns > 0))
        .map(|(at, bin)| {
            let [a, b, c, d] = bin.ns;
            json!([at.saturating_add(lane.at_ns), a, b, c, d, bin.launches])
        })
        .collect();
    json!({ "name": lane.name, "width_ns": 1u64 << lane.bins.shift(), "bins": bins })
}
