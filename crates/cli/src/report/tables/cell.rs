//! One value of a table, and how it is written.
//!
//! Must not know: the table.

use std::cmp::Ordering;

use crate::view::style::Style;

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A duration, ns.
    Ns(f64),
    /// An amount, bytes.
    Bytes(u64),
    /// Bytes per second.
    Rate(f64),
    /// A part of the whole, 0 to 1.
    Share(f64),
    /// Not known, or it does not apply.
    None,
}

impl Cell {
    /// The plain number, for sorting.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Cell::Count(n) | Cell::Bytes(n) => Some(n as f64),
            Cell::Ns(n) | Cell::Rate(n) | Cell::Share(n) => Some(n),
            Cell::Text(_) | Cell::None => None,
        }
    }
    /// As a person reads it.
    pub fn text(&self, style: Style) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(n) => n.to_string(),
            Cell::Ns(ns) => style.duration(*ns),
            Cell::Bytes(n) => bytes(*n as f64),
            Cell::Rate(n) => format!("{}/s", bytes(*n)),
            Cell::Share(n) => format!("{:.1} %", n * 100.0),
            Cell::None => String::new(),
        }
    }
    /// As a program reads it: whole units, no separators.
    pub fn plain(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(n) | Cell::Bytes(n) => n.to_string(),
            Cell::Ns(n) | Cell::Rate(n) => format!("{:.0}", n),
            Cell::Share(n) => format!("{n:.6}"),
            Cell::None => String::new(),
        }
    }
    /// The order of rows: the largest number first, texts alphabetically.
    pub(super) fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (a, b) => {
                let number = |cell: &Cell| cell.number().unwrap_or(f64::MIN);
                number(b).total_cmp(&number(a))
            }
        }
    }
}

fn bytes(n: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut n, mut unit) = (n, 0);
    while n >= 1023.5 && unit + 1 < UNITS.len() {
        (n, unit) = (n / 1024.0, unit + 1);
    }
    let name = UNITS.get(unit).unwrap_or(&"");
    let digits = if unit == 0 || n >= 99.95 { 0 } else { 1 };
    format!("{n:.digits$} {name}")
}
