//! Paths of exports, for all formats.

use std::fs;

use crate::parquet::rows;
use crate::sample::{cushim, one, program, stdout, tree};

#[test]
fn json_lines_are_those_of_report() {
    let (folder, _) = one();
    program(4243, Some(3)).write(&folder.path().join("b.cushim")).unwrap();
    let lines = stdout(folder.path(), "jsonl", ".");
    let report = ["report", "--format", "jsonl", "-e", "all", "--nested", "."];
    let (_, expected, _) = cushim(folder.path(), &report);
    assert!(lines == expected && lines.len() > 10_000);
}

#[test]
fn nothing_is_overwritten_or_left_half_written() {
    let (folder, path) = one();
    let at = folder.path();
    let export = |out: &str, force: bool| {
        let mut args = vec!["export", "app.4242.cushim", "--to", "perfetto", "-o", out];
        args.extend(force.then_some("--force"));
        cushim(at, &args)
    };
    let (status, out, err) = export("x.pftrace", false);
    assert!(status == 0 && out.is_empty(), "{err}");
    // The export says that events were lost.
    assert!(err.contains("app.4242.cushim: 12 events are missing"), "{err}");
    let first = fs::read(at.join("x.pftrace")).unwrap();
    fs::write(at.join("x.pftrace"), "mine").unwrap();
    let (status, _, err) = export("x.pftrace", false);
    assert!(status == 125 && err.contains("--force") && err.lines().count() == 1, "{err}");
    assert_eq!(fs::read(at.join("x.pftrace")).unwrap(), b"mine");
    assert_eq!(export("x.pftrace", true).0, 0);
    assert!(fs::read(at.join("x.pftrace")).unwrap() == first);
    // Output that is the trace itself, a folder, or in a folder that does not exist.
    let trace = fs::read(&path).unwrap();
    for (out, force) in [("app.4242.cushim", true), (".", true), ("none/x", false)] {
        let (status, _, err) = export(out, force);
        assert!(status == 125 && err.lines().count() == 1, "{out}: {err}");
    }
    assert!(fs::read(&path).unwrap() == trace);
    // A second input that is no trace stops the export before it writes anything.
    fs::write(at.join("z.cushim"), "not a trace").unwrap();
    let (status, _, err) = cushim(at, &["export", ".", "--to", "perfetto", "-o", "y"]);
    assert!(status == 125 && err.contains("z.cushim"), "{err}");
    assert_eq!(tree(at), ["app.4242.cushim", "x.pftrace", "z.cushim"]);
}

#[test]
fn a_full_disk_is_an_error() {
    let (folder, _) = one();
    for format in ["perfetto", "jsonl", "chrome"] {
        let args = ["export", ".", "--to", format, "-o", "/dev/full"];
        let (status, _, err) = cushim(folder.path(), &args);
        assert!(status == 125 && err.contains("No space left"), "{format}: {err}");
    }
}

/// Any bytes in a file give an answer or an error, and no panic.
#[test]
fn damaged_traces_are_exported_as_far_as_they_go() {
    let whole = program(4242, Some(1)).bytes();
    let folder = tempfile::tempdir().unwrap();
    let mut seed = 11u64;
    let mut exported = 0;
    for round in 0..40 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 20) as usize % bytes.len();
            bytes[at] = (seed >> 56) as u8;
        }
        bytes.truncate(if round % 3 == 0 { bytes.len() / 2 + round } else { bytes.len() });
        fs::write(folder.path().join("x.cushim"), &bytes).unwrap();
        for format in ["perfetto", "jsonl", "chrome", "parquet"] {
            let out = format!("out-{format}");
            let mut args = vec!["export", "x.cushim", "--to", format, "-o", &out, "--force"];
            args.extend((format == "parquet").then_some("--run=x"));
            let (status, _, err) = cushim(folder.path(), &args);
            assert!(matches!(status, 0 | 125) && !err.contains("panicked"), "{format}: {err}");
            exported += usize::from(status == 0);
            if status == 0 {
                let out = folder.path().join(&out);
                match format {
                    "perfetto" => drop(crate::perfetto::decode(&fs::read(out).unwrap())),
                    "chrome" => drop(crate::chrome::parse(&fs::read(out).unwrap())),
                    "parquet" => tree(&out).iter().for_each(|f| drop(rows(&out.join(f)))),
                    _ => {}
                }
            }
        }
    }
    assert!(exported > 80, "{exported}");
}
