//! The bodies of the fuzz targets for `cushim report` and `cushim export`, on trace files.
//!
//! A function panics only if the code under test breaks a promise: whatever a trace holds, a report's sums are
//! consistent, and the readers of an export's format can read it.
#![allow(clippy::panic, clippy::indexing_slicing, clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cushim_analysis::analyse;
use cushim_cli::export::{self, ExportArgs, To};
use cushim_cli::report::options::Options;
use cushim_cli::report::show::{Output, write, write_changes};
use cushim_cli::report::tables::{ALL, By};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use tempfile::TempDir;

/// The input as a trace file, in its own folder, which is removed when the first value is dropped: in memory
/// if there is such a file system.
fn put(data: &[u8]) -> Option<(TempDir, PathBuf)> {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.ok()?;
    let path = folder.path().join("x.cushim");
    fs::File::create(&path).and_then(|mut file| file.write_all(data)).ok()?;
    Some((folder, path))
}

/// Runs `cushim report` in every format.
pub fn report(data: &[u8]) {
    let Some((_folder, path)) = put(data) else { return };
    let options = Options { width: Some(80), ..Options::default() };
    if let Ok(report) = analyse(&[path.clone(), path.clone()], &cushim_analysis::Options::default())
    {
        let launches: u64 = report.kernels.iter().map(|kernel| kernel.calls.calls).sum();
        assert_eq!(launches, report.launches, "launches are those of all kernels");
        for kernel in &report.kernels {
            let shaped: u64 = kernel.shapes.iter().map(|shape| shape.calls.calls).sum();
            assert_eq!(shaped + kernel.other_shapes, kernel.calls.calls, "each launch has a shape");
            let ns = kernel.calls.call_ns;
            assert!(ns.p50 <= ns.p99 && ns.p99 <= ns.max && ns.max <= ns.total, "{ns:?}");
        }
        let text = |output: Output, by: Option<By>| {
            let mut out = Vec::new();
            write(&mut out, &report, output, &Options { by, ..options.clone() }).unwrap();
            String::from_utf8(out).unwrap()
        };
        // No foreign text may control a terminal.
        let plain = |text: &str| !text.chars().any(|c| c.is_control() && !"\n\r".contains(c));
        assert!(plain(&text(Output::Text, None)), "control characters in the text");
        for by in ALL {
            text(Output::Csv, Some(by));
        }
        let json: Value = serde_json::from_str(&text(Output::Json, None)).unwrap();
        assert_eq!(json["launches"], report.launches);
        let page = text(Output::Html, None);
        assert_eq!(page.matches("</script").count(), 2, "only our scripts end in the page");
        let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["events"], report.events);
        for output in [Output::Text, Output::Json, Output::Csv] {
            write_changes(&mut Vec::new(), (&report, &report), output, &options).unwrap();
        }
    }
}

/// Runs `cushim export` to every format.
pub fn export(data: &[u8]) {
    let Some((folder, path)) = put(data) else { return };
    for to in [To::Jsonl, To::Chrome, To::Perfetto, To::Parquet] {
        let output = folder.path().join(if to == To::Parquet { "lake" } else { "out" });
        let files = vec![path.clone()];
        let args = ExportArgs { files, to, output: output.clone(), run: None, force: true };
        let Ok(files) = export::write(&args) else { break };
        match to {
            To::Jsonl => {
                let text = fs::read_to_string(&output).unwrap();
                text.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
            }
            To::Chrome => {
                let text = fs::read_to_string(&output).unwrap();
                let json: Value = serde_json::from_str(&text).unwrap();
                assert!(json["traceEvents"].is_array());
            }
            To::Perfetto => packets(&fs::read(&output).unwrap()),
            To::Parquet => table(&output),
        }
        drop(files);
    }
}

/// A list of packets, each with its length before it.
fn packets(mut bytes: &[u8]) {
    while let Some((tag, rest)) = bytes.split_first() {
        assert_eq!(*tag, 0x0a, "no packet begins here");
        let (mut size, mut shift, mut at) = (0usize, 0, 0);
        loop {
            let byte = rest[at];
            size |= usize::from(byte & 0x7f) << shift;
            (at, shift) = (at + 1, shift + 7);
            if byte < 0x80 {
                break;
            }
        }
        bytes = &rest[at + size..];
    }
}

/// Reads every row of every file below the folder.
fn table(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            table(&path);
            continue;
        }
        let file = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
        let rows = file.metadata().file_metadata().num_rows();
        assert_eq!(file.get_row_iter(None).unwrap().map(Result::unwrap).count() as i64, rows);
    }
}
