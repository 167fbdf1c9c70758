//! The differences between two reports, as a table.
//!
//! Must not know: what makes two kernels the same, how a table is written.

use std::io::{self, Write};

use cushim_analysis::compare::{Change, Changes, Fate, Side};

use super::options::Options;
use super::tables::{By, Cell, Table};
use super::{csv, text};

/// The most shapes named for a kernel.
const SHAPES_MAX: usize = 4;

fn cells(change: &Change) -> Vec<Cell> {
    let pair = |side: &Option<Side>| match side {
        Some(s) => [
            Cell::Count(s.launches),
            Cell::Ns(s.call_ns.total as f64),
            Cell::Ns(s.call_ns.p50 as f64),
        ],
        None => [Cell::None, Cell::None, Cell::None],
    };
    let ([a, b, c], [d, e, f]) = (pair(&change.before), pair(&change.after));
    let ratio = match (&change.before, &change.after) {
        (Some(before), Some(after)) if before.call_ns.total > 0 => {
            let ratio = after.call_ns.total as f64 / before.call_ns.total as f64;
            Cell::Text(format!("{ratio:.2}"))
        }
        _ => Cell::None,
    };
    let name = Cell::Text(change.name.clone());
    vec![
        Cell::Text(change.word().into()),
        a,
        d,
        b,
        e,
        ratio,
        c,
        f,
        Cell::Text(shapes(change)),
        name,
    ]
}

/// Shapes that only one of them used: `-<<<16, 256>>> +<<<32, 256>>>`.
fn shapes(change: &Change) -> String {
    if change.change != Fate::Changed {
        return String::new();
    }
    let [gone, new] = change.shapes();
    let gone = gone.iter().map(|shape| format!("-{shape}"));
    let mut all: Vec<String> = gone.chain(new.iter().map(|shape| format!("+{shape}"))).collect();
    let more = all.len().saturating_sub(SHAPES_MAX);
    all.truncate(SHAPES_MAX);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join(" ")
}

/// All changes as a table.
pub fn table(changes: &Changes) -> Table {
    let columns = vec![
        ("change", "change"),
        ("launches A", "launches_before"),
        ("B", "launches_after"),
        ("total A", "call_ns_total_before"),
        ("B", "call_ns_total_after"),
        ("B/A", "ratio"),
        ("p50 A", "call_ns_p50_before"),
        ("B", "call_ns_p50_after"),
        ("shapes", "shapes"),
        ("name", "kernel"),
    ];
    let rows = changes.kernels.iter().map(cells).collect();
    Table { by: By::Kernel, columns, rows }
}

/// For programs.
pub fn csv(out: &mut dyn Write, changes: &Changes, top: Option<usize>) -> io::Result<()> {
    csv::write(out, &table(changes), top)
}

/// In one line.
pub fn summary(changes: &Changes) -> String {
    let count = |fate: Fate| changes.kernels.iter().filter(|c| c.change == fate).count();
    format!(
        "from A to B: {} to {} launches; kernels: {} new, {} vanished, {} changed, {} the same",
        changes.launches[0],
        changes.launches[1],
        count(Fate::New),
        count(Fate::Vanished),
        count(Fate::Changed),
        count(Fate::Same)
    )
}

/// What the table shows.
pub const TITLE: &str = "host time in the call by kernel, the largest difference first";

/// For people.
pub fn text(out: &mut dyn Write, changes: &Changes, options: &Options) -> io::Result<()> {
    writeln!(out, "{}", summary(changes))?;
    if changes.kernels.is_empty() {
        return Ok(());
    }
    text::write_table(out, &table(changes), TITLE, options.top.unwrap_or(40), options)
}
