//! The report as tables: one definition of columns for text, CSV and HTML.
//!
//! Owns: which columns there are, and how rows are sorted. Must not know: how a table is written.

use std::cmp::Ordering;

use clap::ValueEnum;

use cushim_analysis::Report;

mod cell;
mod rows;

pub use cell::Cell;

/// What rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Kernels.
    Kernel,
    /// Streams of each process.
    Stream,
    /// Threads.
    Thread,
    /// Ranks; processes where there are no ranks.
    Rank,
    /// Kernels and the shapes that they were launched with.
    Shape,
    /// Kernels and what was counted of them (`cushim profile -o`).
    Counter,
    /// Functions.
    Api,
    /// Copies and sets by direction.
    Copy,
    /// Copies and sets that GPUs did, by direction.
    GpuCopy,
    /// Streams of GPUs.
    GpuStream,
    /// The program's own ranges (NVTX).
    Range,
    /// Data that are mapped for target regions (LLVM's offloading).
    Mapping,
    /// The largest pauses between launches on one thread.
    Gap,
}

/// All of them, in the order in which they are shown.
pub const ALL: [By; 13] = [
    By::Kernel,
    By::Shape,
    By::Counter,
    By::Api,
    By::Copy,
    By::GpuCopy,
    By::GpuStream,
    By::Range,
    By::Mapping,
    By::Stream,
    By::Thread,
    By::Rank,
    By::Gap,
];

impl By {
    /// What `--by` takes.
    pub fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
    /// The table's heading.
    pub fn title(self) -> &'static str {
        match self {
            By::Kernel => "kernels",
            By::Stream => "streams",
            By::Thread => "threads",
            By::Rank => "ranks",
            By::Shape => "shapes",
            By::Counter => "counters, summed over launches",
            By::Api => "functions",
            By::Copy => "copies and sets",
            By::GpuCopy => "GPU copies and sets",
            By::GpuStream => "GPU streams",
            By::Range => "ranges",
            By::Mapping => "mappings",
            By::Gap => "largest pauses between launches of one thread",
        }
    }
}

/// What rows are sorted by, the largest first (names: alphabetically).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Sum of host time in the call.
    #[default]
    Total,
    /// Number of calls.
    Calls,
    /// Mean host time.
    Mean,
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// The longest.
    Max,
    /// Failures.
    Failed,
    /// Sum of time on the GPU, where it was recorded.
    Gpu,
    /// Bytes, where there are any.
    Bytes,
    /// Name.
    Name,
}

impl Sort {
    fn column(self) -> &'static str {
        match self {
            Sort::Total => "total",
            Sort::Calls => "calls",
            Sort::Mean => "mean",
            Sort::P50 => "p50",
            Sort::P99 => "p99",
            Sort::Max => "max",
            Sort::Failed => "failed",
            Sort::Gpu => "GPU total",
            Sort::Bytes => "bytes",
            Sort::Name => "name",
        }
    }
}

/// A column's headings, for people and for programs.
type Column = (&'static str, &'static str);

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What its rows stand for.
    pub by: By,
    /// Headings for people and for programs; the last column of a table is the row's name.
    pub columns: Vec<(&'static str, &'static str)>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Which columns are shown to people: not the empty ones.
    pub fn columns_in_use(&self) -> Vec<bool> {
        const QUIET: [&str; 4] = ["failed", "size unknown", "cluster", "domain"];
        let one = |(n, (title, _)): (usize, &Column)| {
            let says = |cell: &Cell| match cell {
                Cell::None | Cell::Count(0) => false,
                Cell::Text(text) => !text.is_empty(),
                _ => true,
            };
            !QUIET.contains(title) && !title.starts_with("GPU ")
                || self.rows.iter().filter_map(|row| row.get(n)).any(says)
        };
        self.columns.iter().enumerate().map(one).collect()
    }
}

/// The report's table with these rows, sorted.
pub fn table(report: &Report, by: By, sort: Sort) -> Table {
    let mut table = match by {
        By::Kernel => rows::kernels(report),
        By::Shape => rows::shapes(report),
        By::Counter => rows::counters(report),
        By::Api => rows::apis(report),
        By::Stream => rows::streams(report),
        By::Thread => rows::threads(report),
        By::Rank => rows::ranks(report),
        By::Copy => rows::copies(report),
        By::GpuCopy => rows::gpu_copies(report),
        By::GpuStream => rows::gpu_streams(report),
        By::Range => rows::ranges_of_program(report),
        By::Mapping => rows::mappings(report),
        By::Gap => rows::gaps(report),
    };
    let wanted = match (by, sort) {
        (By::Gap, Sort::Total) => "pause",
        (By::GpuCopy | By::GpuStream, Sort::Total) => "GPU total",
        _ => sort.column(),
    };
    if let Some(place) = table.columns.iter().position(|(title, _)| *title == wanted) {
        let order = |a: &Vec<Cell>, b: &Vec<Cell>| {
            a.get(place).zip(b.get(place)).map_or(Ordering::Equal, |(a, b)| a.order(b))
        };
        table.rows.sort_by(order);
    }
    table
}
