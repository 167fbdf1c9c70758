//! The parts of a report to show, and their form.

use super::tables::{By, Sort};

/// How a report looks.
#[derive(Clone, Debug)]
pub struct Options {
    /// One table only.
    pub by: Option<By>,
    /// What rows are sorted by.
    pub sort: Sort,
    /// The most rows of each table; `None`: the format's default.
    pub top: Option<usize>,
    /// Columns of the terminal; `None`: nothing is shortened.
    pub width: Option<usize>,
    /// Colors.
    pub color: bool,
    /// Characters beyond ASCII.
    pub utf8: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (by, top, width) = (None, None, None);
        Options { by, sort: Sort::Total, top, width, color: false, utf8: true }
    }
}
