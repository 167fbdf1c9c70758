//! Reads back Parquet files and checks their folders.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use crate::sample::{STEP, STREAM, cushim, program, tree};

/// The rows of a file; panics if it is no Parquet file.
pub fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect()
}

fn get<'a>(row: &'a Row, column: &str) -> &'a Field {
    let found = row.get_column_iter().find(|(name, _)| *name == column);
    found.unwrap_or_else(|| panic!("no column {column}")).1
}

fn text(field: &Field) -> Option<&str> {
    match field {
        Field::Str(text) => Some(text),
        Field::Null => None,
        other => panic!("{other:?}"),
    }
}

fn number(field: &Field) -> Option<i64> {
    match field {
        Field::Long(number) => Some(*number),
        Field::Null => None,
        other => panic!("{other:?}"),
    }
}

/// Name, type and value of each argument.
fn args(row: &Row) -> Option<Vec<[Option<&str>; 3]>> {
    let list = match get(row, "args") {
        Field::ListInternal(list) => list,
        Field::Null => return None,
        other => panic!("{other:?}"),
    };
    Some(
        list.elements()
            .iter()
            .map(|element| match element {
                Field::Group(row) => ["name", "type", "value"].map(|name| text(get(row, name))),
                other => panic!("{other:?}"),
            })
            .collect(),
    )
}

#[test]
fn rows_are_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    program(4242, Some(3)).write(&at.join("app.4242.cushim")).unwrap();
    let (status, _, err) = cushim(at, &["export", ".", "--to", "parquet", "-o", "lake"]);
    assert_eq!(status, 0, "{err}");
    let files = tree(&at.join("lake"));
    assert_eq!(files, ["run=20231114T221321Z/rank=3/app.4242.parquet"]);
    let rows = rows(&at.join("lake").join(&files[0]));
    // 44 calls and a mark, sorted by begin.
    assert_eq!(rows.len(), 45);
    let times: Vec<i64> = rows.iter().map(|row| number(get(row, "t_ns")).unwrap()).collect();
    assert!(times.is_sorted());
    assert_eq!(times[0], 1_700_000_001_000_000_000);
    let of = |api: &str| {
        rows.iter()
            .find(|row| text(get(row, "api")) == Some(api))
            .unwrap_or_else(|| panic!("{api}"))
    };
    let launch = of("cudaLaunchKernel");
    assert_eq!(text(get(launch, "kernel")), Some(STEP.0));
    assert_eq!(text(get(launch, "declaration")), Some(STEP.1));
    let numbers =
        ["grid_x", "grid_y", "grid_z", "block_x", "shared", "device", "call_ns", "status"];
    let numbers = numbers.map(|name| number(get(launch, name)).unwrap());
    assert_eq!(numbers, [16, 2, 1, 256, 64, 1, 5000, 0]);
    assert_eq!(number(get(launch, "cluster_x")), None);
    let expected = [
        [None, Some("float*"), Some("0x7f3a00000000")],
        [None, Some("int"), Some("7")],
        [None, Some("float"), Some("0.01f")],
    ];
    let got = args(launch).unwrap();
    assert_eq!(got[..2], expected[..2]);
    assert!(got[2][1] == expected[2][1] && got[2][2].unwrap().starts_with("0.01"), "{got:?}");
    let nested = of("cuLaunchKernel");
    assert_eq!(number(get(nested, "parent")), number(get(launch, "id")));
    let copy = of("cudaMemcpyAsync_ptsz");
    assert_eq!(number(get(copy, "bytes")), Some(4096));
    assert_eq!(text(get(copy, "copy_kind")), Some("cudaMemcpyHostToDevice"));
    assert_eq!(number(get(copy, "stream_handle")), Some(STREAM as i64));
    assert_eq!(args(copy).unwrap()[2], [Some("count"), Some("size"), Some("4096")]);
    let sync = of("cudaDeviceSynchronize");
    assert_eq!((number(get(sync, "call_ns")), args(sync)), (None, Some(Vec::new())));
    let mark = rows.iter().find(|row| text(get(row, "class")) == Some("mark")).unwrap();
    assert!(text(get(mark, "text")).unwrap().starts_with("epoch 2") && args(mark).is_none());
    let failed = rows.iter().filter(|row| *get(row, "failed") == Field::Bool(true));
    let failed: Vec<_> = failed.map(|row| text(get(row, "status_name")).unwrap()).collect();
    assert_eq!(failed, ["cudaErrorInvalidDeviceFunction"]);
}

#[test]
fn folders_by_run_and_rank() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("n2")).unwrap();
    program(1, Some(0)).write(&at.join("app.1.cushim")).unwrap();
    program(1, Some(0)).write(&at.join("n2/app.1.cushim")).unwrap();
    program(2, None).write(&at.join("app.2.cushim")).unwrap();
    let export = |from: &str, out: &str, run: &str| {
        cushim(at, &["export", from, "--to", "parquet", "-o", out, "--run", run])
    };
    let (status, _, err) = export(".", "a", "first");
    assert_eq!(status, 0, "{err}");
    let files = [
        "run=first/rank=0/app.1-2.parquet",
        "run=first/rank=0/app.1.parquet",
        "run=first/rank=__HIVE_DEFAULT_PARTITION__/app.2.parquet",
    ];
    assert_eq!(tree(&at.join("a")), files);
    // Without any rank the job has rank 0.
    assert_eq!(export("app.2.cushim", "b", "x").0, 0);
    assert_eq!(tree(&at.join("b")), ["run=x/rank=0/app.2.parquet"]);
    for run in ["", "a/b", "a=b"] {
        let (status, _, err) = export(".", "c", run);
        assert!(status == 125 && err.contains("--run"), "{err}");
    }
    let (status, _, err) = cushim(at, &["export", ".", "--to", "parquet", "-o", "-"]);
    assert!(status == 125 && err.contains("folder"), "{err}");
    assert!(!at.join("c").exists());
}
