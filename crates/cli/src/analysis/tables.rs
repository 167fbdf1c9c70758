//! The report as tables: one definition of columns for text, CSV and HTML.
//!
//! Owns: which columns there are, and how rows are sorted. Must not know: how a table is written.

use std::cmp::Ordering;

use clap::ValueEnum;

use super::model::{Calls, Gpu, Report};
use crate::view::style::{Style, dim};

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
pub const ALL: [By; 12] = [
    By::Kernel,
    By::Shape,
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
    fn order(&self, other: &Cell) -> Ordering {
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

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What its rows stand for.
    pub by: By,
    /// Headings for people and for programs; the last column of a table is what a row is called.
    pub columns: Vec<(&'static str, &'static str)>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Which columns say something to people: one in which nothing stands says nothing.
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

type Column = (&'static str, &'static str);

const CALLS: [Column; 8] = [
    ("share", "share"),
    ("total", "call_ns_total"),
    ("calls", "calls"),
    ("mean", "call_ns_mean"),
    ("p50", "call_ns_p50"),
    ("p99", "call_ns_p99"),
    ("max", "call_ns_max"),
    ("failed", "failed"),
];

fn calls(calls: &Calls, whole: u64) -> Vec<Cell> {
    let ns = calls.call_ns;
    vec![
        Cell::Share(ns.total as f64 / whole.max(1) as f64),
        Cell::Ns(ns.total as f64),
        Cell::Count(calls.calls),
        Cell::Ns(ns.mean),
        Cell::Ns(ns.p50 as f64),
        Cell::Ns(ns.p99 as f64),
        Cell::Ns(ns.max as f64),
        Cell::Count(calls.failed),
    ]
}

fn text(text: impl ToString) -> Cell {
    Cell::Text(text.to_string())
}

fn whole<'a>(rows: impl Iterator<Item = &'a Calls>) -> u64 {
    rows.fold(0, |sum, calls| sum.saturating_add(calls.call_ns.total))
}

/// The table of the report that has these rows, sorted.
pub fn table(report: &Report, by: By, sort: Sort) -> Table {
    let mut table = match by {
        By::Kernel => kernels(report),
        By::Shape => shapes(report),
        By::Api => apis(report),
        By::Stream => streams(report),
        By::Thread => threads(report),
        By::Rank => ranks(report),
        By::Copy => copies(report),
        By::GpuCopy => gpu_copies(report),
        By::GpuStream => gpu_streams(report),
        By::Range => ranges_of_program(report),
        By::Mapping => mappings(report),
        By::Gap => gaps(report),
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

fn with_calls<'a>(
    by: By,
    all: u64,
    more: &[Column],
    rows: impl Iterator<Item = (&'a Calls, Vec<Cell>)>,
) -> Table {
    let rows = rows.map(|(times, cells)| [calls(times, all), cells].concat()).collect();
    Table { by, columns: [&CALLS[..], more].concat(), rows }
}

fn kernels(report: &Report) -> Table {
    let all = whole(report.kernels.iter().map(|row| &row.calls));
    let rows = report.kernels.iter().map(|k| {
        let shapes = k.shapes.len() as u64 + k.other_shapes.min(1);
        let mut cells = vec![Cell::Count(shapes), text(&k.kernel_id)];
        cells.extend(gpu_cells(k.gpu.as_ref()));
        cells.push(text(&k.label));
        (&k.calls, cells)
    });
    let [runs, total, mean, p50, p99, max] = GPU;
    let more = [
        ("shapes", "shapes"),
        ("id", "kernel_id"),
        runs,
        total,
        mean,
        p50,
        p99,
        max,
        ("name", "kernel"),
    ];
    with_calls(By::Kernel, all, &more, rows)
}

const GPU: [Column; 6] = [
    ("GPU runs", "gpu_count"),
    ("GPU total", "gpu_ns_total"),
    ("GPU mean", "gpu_ns_mean"),
    ("GPU p50", "gpu_ns_p50"),
    ("GPU p99", "gpu_ns_p99"),
    ("GPU max", "gpu_ns_max"),
];

fn gpu_cells(gpu: Option<&Gpu>) -> [Cell; 6] {
    let Some(Gpu { count, gpu_ns: ns }) = gpu else { return [const { Cell::None }; 6] };
    [
        Cell::Count(*count),
        Cell::Ns(ns.total as f64),
        Cell::Ns(ns.mean),
        Cell::Ns(ns.p50 as f64),
        Cell::Ns(ns.p99 as f64),
        Cell::Ns(ns.max as f64),
    ]
}

fn gpu_copies(report: &Report) -> Table {
    let rows = report.gpu_copies.iter().map(|c| {
        let rate = c.bytes_per_s.map_or(Cell::None, Cell::Rate);
        [&gpu_cells(Some(&c.gpu))[..], &[Cell::Bytes(c.bytes), rate, text(c.direction)]].concat()
    });
    let more = [("bytes", "bytes"), ("bytes/GPU time", "bytes_per_s"), ("name", "direction")];
    Table { by: By::GpuCopy, columns: [&GPU[..], &more].concat(), rows: rows.collect() }
}

fn gpu_streams(report: &Report) -> Table {
    let rows = report.gpu_streams.iter().map(|s| {
        let busy = s.gpu.gpu_ns.total as f64 / s.span_ns.max(1) as f64;
        let more = [
            Cell::Count(s.kernels),
            Cell::Bytes(s.bytes),
            Cell::Ns(s.span_ns as f64),
            Cell::Share(busy),
            text(&s.host),
            text(s.pid),
            text(s.device),
            text(s.gpu_stream),
        ];
        [&gpu_cells(Some(&s.gpu))[..], &more].concat()
    });
    let more = [
        ("kernels", "kernels"),
        ("bytes", "bytes"),
        ("span", "span_ns"),
        ("busy", "busy"),
        ("host", "host"),
        ("process", "pid"),
        ("device", "device"),
        ("name", "gpu_stream"),
    ];
    Table { by: By::GpuStream, columns: [&GPU[..], &more].concat(), rows: rows.collect() }
}

fn ranges_of_program(report: &Report) -> Table {
    let all = whole(report.ranges.iter().map(|row| &row.calls));
    let rows = report
        .ranges
        .iter()
        .map(|r| (&r.calls, vec![Cell::Count(r.launches), text(&r.domain), text(&r.range)]));
    let more = [("launches", "launches"), ("domain", "domain"), ("name", "range")];
    with_calls(By::Range, all, &more, rows)
}

fn mappings(report: &Report) -> Table {
    let all = whole(report.mappings.iter().map(|row| &row.calls));
    let rows = report.mappings.iter().map(|m| {
        let cells = vec![
            Cell::Bytes(m.bytes_to),
            Cell::Bytes(m.bytes_from),
            Cell::Count(m.again),
            text(m.kind),
            text(&m.place),
            text(&m.mapping),
        ];
        (&m.calls, cells)
    });
    let more = [
        ("to", "bytes_to"),
        ("from", "bytes_from"),
        ("again", "again"),
        ("kind", "kind"),
        ("place", "place"),
        ("name", "mapping"),
    ];
    with_calls(By::Mapping, all, &more, rows)
}

fn apis(report: &Report) -> Table {
    let all = whole(report.apis.iter().map(|row| &row.calls));
    let rows = report.apis.iter().map(|api| (&api.calls, vec![text(&api.class), text(&api.api)]));
    with_calls(By::Api, all, &[("class", "class"), ("name", "api")], rows)
}

fn shapes(report: &Report) -> Table {
    let all = whole(report.kernels.iter().map(|row| &row.calls));
    let rows = report.kernels.iter().flat_map(|k| {
        k.shapes.iter().map(move |shape| {
            let cluster = shape.cluster.map_or(Cell::None, |c| text(dim(c.map(u32::from))));
            let cells = vec![
                text(dim(shape.grid)),
                text(dim(shape.block)),
                cluster,
                Cell::Bytes(shape.shared.into()),
                text(&k.kernel_id),
                text(&k.label),
            ];
            (&shape.calls, cells)
        })
    });
    let more = [
        ("grid", "grid"),
        ("block", "block"),
        ("cluster", "cluster"),
        ("shared", "shared"),
        ("id", "kernel_id"),
        ("name", "kernel"),
    ];
    with_calls(By::Shape, all, &more, rows)
}

fn streams(report: &Report) -> Table {
    let all = whole(report.streams.iter().map(|row| &row.calls));
    let rows = report.streams.iter().map(|s| {
        let cells = vec![
            Cell::Count(s.other_calls),
            Cell::Ns(s.other_ns as f64),
            Cell::Bytes(s.bytes),
            text(&s.host),
            text(s.pid),
            text(&s.stream),
        ];
        (&s.calls, cells)
    });
    let more = [
        ("other calls", "other_calls"),
        ("time in them", "other_ns"),
        ("bytes", "bytes"),
        ("host", "host"),
        ("process", "pid"),
        ("name", "stream"),
    ];
    with_calls(By::Stream, all, &more, rows)
}

fn threads(report: &Report) -> Table {
    let all = whole(report.threads.iter().map(|row| &row.calls));
    let rows = report.threads.iter().map(|t| {
        let cells = vec![
            Cell::Count(t.launches),
            Cell::Ns(t.gaps.p50 as f64),
            Cell::Ns(t.gaps.max as f64),
            text(&t.host),
            text(t.pid),
            text(t.tid),
        ];
        (&t.calls, cells)
    });
    let more = [
        ("launches", "launches"),
        ("pause p50", "gap_ns_p50"),
        ("pause max", "gap_ns_max"),
        ("host", "host"),
        ("process", "pid"),
        ("name", "tid"),
    ];
    with_calls(By::Thread, all, &more, rows)
}

fn ranks(report: &Report) -> Table {
    let all = whole(report.ranks.iter().map(|row| &row.calls));
    let rows = report.ranks.iter().map(|r| {
        let pids: Vec<String> = r.pids.iter().map(u32::to_string).collect();
        let name = r.rank.map_or_else(|| "none".to_owned(), |rank| format!("rank {rank}"));
        let cells =
            vec![Cell::Ns(r.duration_ns as f64), text(&r.host), text(pids.join(" ")), text(name)];
        (&r.calls, cells)
    });
    let more =
        [("duration", "duration_ns"), ("host", "host"), ("processes", "pids"), ("name", "rank")];
    with_calls(By::Rank, all, &more, rows)
}

fn copies(report: &Report) -> Table {
    let all = whole(report.copies.iter().map(|row| &row.calls));
    let rows = report.copies.iter().map(|c| {
        let name = format!("{}{}", c.direction, if c.r#async { ", asynchronous" } else { "" });
        let cells = vec![
            Cell::Bytes(c.bytes),
            c.host_bytes_per_s.map_or(Cell::None, Cell::Rate),
            Cell::Count(c.size_unknown),
            text(name),
        ];
        (&c.calls, cells)
    });
    let more = [
        ("bytes", "bytes"),
        ("bytes/host time", "host_bytes_per_s"),
        ("size unknown", "size_unknown"),
        ("name", "direction"),
    ];
    with_calls(By::Copy, all, &more, rows)
}

fn gaps(report: &Report) -> Table {
    let rows = report.gaps.iter().map(|gap| {
        vec![
            Cell::Ns(gap.ns as f64),
            Cell::Ns(gap.at_ns as f64),
            text(gap.pid),
            text(gap.tid),
            text(&gap.before),
            text(&gap.after),
        ]
    });
    let columns = vec![
        ("pause", "gap_ns"),
        ("at", "at_ns"),
        ("process", "pid"),
        ("thread", "tid"),
        ("after", "before_gap"),
        ("before", "after_gap"),
    ];
    Table { by: By::Gap, columns, rows: rows.collect() }
}
