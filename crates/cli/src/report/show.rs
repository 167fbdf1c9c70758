//! Reports as text, CSV, JSON and HTML.
//!
//! Must not know: trace files, how a report is computed, the command line.

use std::io::{self, Write};

use cushim_analysis::Report;
use cushim_analysis::compare::compare;

use super::options::Options;
use super::tables::{self, By};
use super::{changes, csv, html, text};

/// Output formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// `docs/report-json.md`.
    Json,
    /// One table, RFC 4180.
    Csv,
    /// One self-contained page.
    Html,
}

/// Writes it.
pub fn write(
    out: &mut dyn Write,
    report: &Report,
    output: Output,
    options: &Options,
) -> io::Result<()> {
    match output {
        Output::Text => text::write(out, report, options),
        Output::Csv => {
            let by = options.by.unwrap_or(By::Kernel);
            csv::write(out, &tables::table(report, by, options.sort), options.top)
        }
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, report)?;
            writeln!(out)
        }
        Output::Html => html::write(out, report, options),
    }
}

/// Writes what changed from one report to another.
pub fn write_changes(
    out: &mut dyn Write,
    (before, after): (&Report, &Report),
    output: Output,
    options: &Options,
) -> io::Result<()> {
    let changed = compare(before, after);
    match output {
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, &changed)?;
            writeln!(out)
        }
        Output::Csv => changes::csv(out, &changed, options.top),
        Output::Html => html::write_changes(out, &changed, after, options),
        Output::Text => changes::text(out, &changed, options),
    }
}
