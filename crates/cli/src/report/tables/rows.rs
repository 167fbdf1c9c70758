//! The rows and columns of each table.
//!
//! Must not know: their order.

use super::{By, Cell, Column, Table};
use cushim_analysis::model::{Calls, Gpu, Report};
use cushim_analysis::words::{dim, printable};

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

fn with_calls<'a>(
    by: By,
    all: u64,
    more: &[Column],
    rows: impl Iterator<Item = (&'a Calls, Vec<Cell>)>,
) -> Table {
    let rows = rows.map(|(times, cells)| [calls(times, all), cells].concat()).collect();
    Table { by, columns: [&CALLS[..], more].concat(), rows }
}

pub(super) fn kernels(report: &Report) -> Table {
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

/// A row for each counter that is not zero, by kernel.
pub(super) fn counters(report: &Report) -> Table {
    let kernels = report.kernels.iter().filter_map(|k| Some((k, k.counted.as_ref()?)));
    let rows = kernels.flat_map(|(k, counted)| {
        let sums = counted.sums.iter().filter(|(_, sum)| **sum > 0);
        sums.map(move |(counter, sum)| {
            let numbers = [Cell::Count(*sum), Cell::Count(counted.count)];
            let texts = [text(printable(counter)), text(&k.kernel_id), text(&k.label)];
            [&numbers[..], &texts].concat()
        })
    });
    let columns = [
        ("sum", "sum"),
        ("counted", "counted"),
        ("counter", "counter"),
        ("id", "kernel_id"),
        ("name", "kernel"),
    ];
    Table { by: By::Counter, columns: columns.to_vec(), rows: rows.collect() }
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

pub(super) fn gpu_copies(report: &Report) -> Table {
    let rows = report.gpu_copies.iter().map(|c| {
        let rate = c.bytes_per_s.map_or(Cell::None, Cell::Rate);
        [&gpu_cells(Some(&c.gpu))[..], &[Cell::Bytes(c.bytes), rate, text(c.direction)]].concat()
    });
    let more = [("bytes", "bytes"), ("bytes/GPU time", "bytes_per_s"), ("name", "direction")];
    Table { by: By::GpuCopy, columns: [&GPU[..], &more].concat(), rows: rows.collect() }
}

pub(super) fn gpu_streams(report: &Report) -> Table {
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

pub(super) fn ranges_of_program(report: &Report) -> Table {
    let all = whole(report.ranges.iter().map(|row| &row.calls));
    let rows = report
        .ranges
        .iter()
        .map(|r| (&r.calls, vec![Cell::Count(r.launches), text(&r.domain), text(&r.range)]));
    let more = [("launches", "launches"), ("domain", "domain"), ("name", "range")];
    with_calls(By::Range, all, &more, rows)
}

pub(super) fn mappings(report: &Report) -> Table {
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

pub(super) fn apis(report: &Report) -> Table {
    let all = whole(report.apis.iter().map(|row| &row.calls));
    let rows = report.apis.iter().map(|api| (&api.calls, vec![text(&api.class), text(&api.api)]));
    with_calls(By::Api, all, &[("class", "class"), ("name", "api")], rows)
}

pub(super) fn shapes(report: &Report) -> Table {
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

pub(super) fn streams(report: &Report) -> Table {
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

pub(super) fn threads(report: &Report) -> Table {
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

pub(super) fn ranks(report: &Report) -> Table {
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

pub(super) fn copies(report: &Report) -> Table {
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

pub(super) fn gaps(report: &Report) -> Table {
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
