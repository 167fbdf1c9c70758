//! Rows written and read back.

use cushim_trace::event::{self, LaunchEvent};
use cushim_trace::layout::{GpuBody, LaunchBody};
use cushim_trace::meta::{Kernel, Process};
use cushim_trace::testing::FileBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::*;
use crate::export::inputs::merge;
use crate::progress::Progress;

/// A file of `events` launches with three arguments, no two of which are the same.
fn written(events: u64, group: u64) -> SerializedFileReader<bytes::Bytes> {
    let mut file = FileBuilder::new(&Process::default());
    file.api(1, "cudaLaunchKernel", "launch", "");
    let params = Ok(vec![(0, 8), (8, 8), (16, 8)]);
    let mangled = "_Z1kPfS_S_".into();
    file.kernel(1, &Kernel { mangled, params, ..Kernel::default() });
    for n in 0..events {
        let args: Vec<u8> =
            (0..3).flat_map(|k| (0x7f00_0000_0000 + n * 3 + k).to_le_bytes()).collect();
        let (grid, block) = ([1 + n as u32 % 7, 1, 1], [32, 1, 1]);
        let (kernel, stream, context) = (1, n / 100, 0);
        let stored = LaunchBody { kernel, grid, block, stream, context, ..LaunchBody::default() };
        let body = LaunchEvent { stored, args: &args };
        file.event(&Event {
            id: 0,
            parent: None,
            tid: 5,
            api: 1,
            depth: 0,
            begin_ns: 1000 + n * 10,
            call_ns: (n % 5 > 0).then_some(n),
            status: (n % 5 > 0).then_some(0),
            link: 0,
            body: Body::Launch(body),
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cushim");
    file.write(&path).unwrap();
    let mut trace = TraceFile::open(&path).unwrap();
    let mut out = Parquet::new(Vec::new(), &trace).unwrap();
    assert_eq!(out.group, 1_000_000);
    out.group = group;
    let files = std::slice::from_mut(&mut trace);
    merge(files, &mut Progress::new(0), &mut |s, m, e| out.event(s, m, e)).unwrap();
    SerializedFileReader::new(bytes::Bytes::from(out.finish().unwrap())).unwrap()
}

fn get<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(column, _)| *column == name).unwrap().1
}

#[test]
fn a_row_group_each_so_many_rows() {
    let file = written(1_750, 500);
    let rows = |n: usize| file.metadata().row_group(n).num_rows();
    assert_eq!((0..file.num_row_groups()).map(rows).collect::<Vec<_>>(), [500, 500, 500, 250]);
    let ids = file.get_row_iter(None).unwrap().map(|row| get(&row.unwrap(), "id").clone());
    assert!(ids.eq((1..=1_750).map(Field::Long)));
    // What readers look at before they read.
    let column = file.metadata().row_group(3).column(0);
    let Some(parquet::file::statistics::Statistics::Int64(ids)) = column.statistics() else {
        panic!("{:?}", column.statistics());
    };
    assert_eq!((ids.min_opt(), ids.max_opt()), (Some(&1501), Some(&1750)));
    let class = file.metadata().row_group(0).column(4);
    let least = class.statistics().and_then(|s| s.min_bytes_opt().map(<[u8]>::to_vec));
    assert_eq!(least.as_deref(), Some(&b"launch"[..]));
}

/// More values than a dictionary takes: in two row groups, of which the second has few.
#[test]
fn values_that_never_come_again() {
    let (events, group) = (30_000, 25_000);
    let file = written(events, group);
    let mut count = 0;
    for (n, row) in file.get_row_iter(None).unwrap().enumerate() {
        let (n, row) = (n as u64, row.unwrap());
        let Field::ListInternal(list) = get(&row, "args") else { panic!("no list") };
        for (k, element) in list.elements().iter().enumerate() {
            let Field::Group(argument) = element else { panic!("no group") };
            let value = format!("{:#x}", 0x7f00_0000_0000 + n * 3 + k as u64);
            assert_eq!(get(argument, "value"), &Field::Str(value));
        }
        let took = if n % 5 > 0 { Field::Long(n as i64) } else { Field::Null };
        assert_eq!((get(&row, "call_ns"), list.len()), (&took, 3));
        assert_eq!(get(&row, "stream_handle"), &Field::Long((n / 100) as i64));
        assert_eq!(get(&row, "grid_x"), &Field::Long(1 + n as i64 % 7));
        count += 1;
    }
    assert_eq!(count, events);
}

/// A trace with counters has a column for each, filled for work that was counted.
#[test]
fn counters_are_columns() {
    let mut file = FileBuilder::new(&Process::default());
    file.counters(1, "lanes waits");
    // Another list of the same process, with names that no column can have.
    file.counters(2, "waits a;b turns");
    let values: Vec<u8> = [5u64, 6, 7].into_iter().flat_map(u64::to_le_bytes).collect();
    for (n, size) in [(1, 16), (2, 24), (0, 0)] {
        let counters = event::Counters { names: n, bytes: &values[..size] };
        let stored = GpuBody { what: GPU_KERNEL, ..GpuBody::default() };
        file.event(&Event {
            id: 0,
            parent: None,
            tid: 5,
            api: 0,
            depth: 0,
            begin_ns: 1000,
            call_ns: Some(1),
            status: Some(0),
            link: 0,
            body: Body::Gpu(Gpu { stored, counters }),
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cushim");
    file.write(&path).unwrap();
    let mut trace = TraceFile::open(&path).unwrap();
    let mut out = Parquet::new(Vec::new(), &trace).unwrap();
    let files = std::slice::from_mut(&mut trace);
    merge(files, &mut Progress::new(0), &mut |s, m, e| out.event(s, m, e)).unwrap();
    let read = SerializedFileReader::new(bytes::Bytes::from(out.finish().unwrap())).unwrap();
    let mut rows: Vec<[Field; 3]> = Vec::new();
    for row in read.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        rows.push(
            ["lanes", "waits", "turns"].map(|name| get(&row, &format!("counter_{name}")).clone()),
        );
        assert_eq!(
            row.get_column_iter().filter(|(name, _)| name.starts_with("counter_")).count(),
            3
        );
    }
    let n = Field::Long;
    let expected = [
        [n(5), n(6), Field::Null],
        [Field::Null, n(5), n(7)],
        [Field::Null, Field::Null, Field::Null],
    ];
    assert_eq!(rows, expected);
}
