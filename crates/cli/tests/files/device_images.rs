//! `cushim ls` and `cushim extract`, as a user runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../image/tests/data").join(name)
}

fn cushim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cushim")).args(arguments).output().expect("cushim runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    let output = cushim(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn column<'a>(document: &'a Value, field: &str) -> Vec<&'a Value> {
    document["files"][0]["images"].as_array().unwrap().iter().map(|i| &i[field]).collect()
}

#[test]
fn images_are_listed() {
    let output = cushim(&["ls", data("group.fatbin").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 6, "{shown}");
    assert!(lines[0].contains("KIND") && lines[0].contains("UNPACKED"), "{shown}");
    assert!(lines[1].contains("ptx") && lines[1].contains("1091") && lines[1].contains("3536"));
    assert!(lines[2].contains("shared") && lines[2].contains("fatbin 0 group 1 entry 0"));
    assert!(lines[4].starts_with("3 images, 3.7 KiB packed, 24.2 KiB unpacked"), "{shown}");
    assert!(lines[5].contains("cubin: nvdisasm"), "{shown}");
}

#[test]
fn filters_choose() {
    let (group, lz4) = (data("group.fatbin"), data("lz4.fatbin"));
    let (group, lz4) = (group.to_str().unwrap(), lz4.to_str().unwrap());
    let numbers = |arguments: &[&str]| -> Vec<u64> {
        let document = json(&[&["ls", "--json"], arguments].concat());
        column(&document, "number").into_iter().map(|n| n.as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&[group]), [1, 2, 3]);
    assert_eq!(numbers(&[group, "--kind", "cubin"]), [2, 3]);
    assert_eq!(numbers(&[group, "--arch", "80"]), [1, 3]);
    assert_eq!(numbers(&[group, "--arch", "sm_75,sm_80", "--kind", "cubin"]), [2, 3]);
    assert_eq!(numbers(&[lz4, "--arch", "sm_90a"]), [1, 2]);
    assert_eq!(numbers(&[group, "-k", "^_Z5emptyv$"]), [1, 2, 3]);
    assert_eq!(numbers(&[group, "-k", r"tile<double>\(double\*"]), [1, 2, 3]);
    assert_eq!(numbers(&[group, "--sort", "unpacked", "--top", "1"]), [3]);
    let nothing = cushim(&["ls", lz4, "--arch", "sm_80"]);
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(1), 0));
    assert!(text(&nothing.stderr).contains("no device code"));
    let wrong = cushim(&["ls", lz4, "--kind", "elf"]);
    assert_eq!(wrong.status.code(), Some(125));
    assert!(text(&wrong.stderr).contains("unknown kind 'elf', expected one of cubin"));
}

#[test]
fn kernels_are_merged() {
    let path = data("group.fatbin");
    let document = json(&["ls", "--json", "--kernels", "--sort", "name", path.to_str().unwrap()]);
    let kernels = document["files"][0]["kernels"].as_array().unwrap();
    let names: Vec<_> = kernels.iter().map(|k| k["demangled"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "empty()",
            "mixed(int, float const*, Mixed, char)",
            "print(int)",
            "void tile<double>(double*, double)",
            "void tile<float>(float*, float)",
        ]
    );
    let mixed = kernels[1]["images"].as_array().unwrap();
    assert_eq!(mixed.len(), 3);
    for image in mixed {
        assert_eq!(image["params"].to_string(), "[[0,4],[8,8],[16,24],[40,1]]");
        assert_eq!(image["param_bytes"], 41);
    }
    // The format of `cuobjdump --dump-resource-usage`.
    let numbers: Vec<_> =
        mixed.iter().map(|i| (i["registers"].as_u64(), i["shared"].as_u64())).collect();
    assert_eq!(numbers, [(None, None), (Some(8), Some(0)), (Some(10), Some(0))]);
    assert_eq!(kernels[2]["images"][1]["externs"][0], "vprintf");
    let table = cushim(&["ls", "--kernels", "-k", "tile", path.to_str().unwrap()]);
    let shown = text(&table.stdout);
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert!(shown.contains("void tile<float>(float*, float)"), "{shown}");
    assert!(shown.contains("ptx:sm_80,sm_75,sm_80"), "{shown}");
}

#[test]
fn operations_of_kernels_are_counted() {
    let path = data("group.fatbin");
    let path = path.to_str().unwrap();
    let counted = cushim(&["ls", "--kernels", "--operations", "-k", "tile", path]);
    let shown = text(&counted.stdout);
    let (_, counts) = shown.split_once("void tile<double>(double*, double) (ptx:").expect(&shown);
    let counts = counts.split("\n\n").next().unwrap();
    assert!(counts.contains("for blocks of (128, 1, 1):"), "{shown}");
    for part in [" load (", " store (", " uniform, ", "accesses: ", " region", " for other lanes"] {
        assert!(counts.contains(part), "{part:?}: {shown}");
    }
    let alone = cushim(&["ls", "--operations", path]);
    assert_eq!(alone.status.code(), Some(125), "{}", text(&alone.stderr));
}

#[test]
fn verifying_hashes_the_contents() {
    // Same source, same compiler: the PTX is the same, whatever the container.
    let hashes: Vec<String> = ["group.fatbin", "zstd.fatbin"]
        .map(|name| {
            let path = data(name);
            let path = path.to_str().unwrap();
            let document = json(&["ls", "--json", "--verify", "--kind", "ptx", path]);
            column(&document, "content_hash")[0].as_str().unwrap().to_owned()
        })
        .to_vec();
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn images_are_extracted() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/er");
    let out = out.to_str().unwrap();
    let group = data("group.fatbin");
    let group = group.to_str().unwrap();
    let output = cushim(&["extract", group, "-o", out]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let mut names: Vec<_> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["1.sm_80.ptx", "2.sm_75.cubin", "3.sm_80.cubin", "index.json"]);
    let ptx = std::fs::read(Path::new(out).join("1.sm_80.ptx")).unwrap();
    assert_eq!(ptx.len(), 3535);
    assert!(ptx.starts_with(b"\n\n\n\n.version 9.5") || ptx.windows(8).any(|w| w == b".version"));
    let index = std::fs::read(Path::new(out).join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(index["version"], 1);
    assert_eq!(column(&index, "file"), ["1.sm_80.ptx", "2.sm_75.cubin", "3.sm_80.cubin"]);
    assert_eq!(column(&index, "bytes")[0], 3535);

    let again = cushim(&["extract", group, "-o", out]);
    assert_eq!(again.status.code(), Some(125));
    assert!(text(&again.stderr).contains("exists; --force overwrites it"));
    assert_eq!(cushim(&["extract", group, "-o", out, "--force"]).status.code(), Some(0));

    // Several files: one folder each.
    let both = folder.path().join("both");
    let lz4 = data("lz4.fatbin");
    let both = both.to_str().unwrap();
    let output = cushim(&["extract", group, lz4.to_str().unwrap(), "-o", both]);
    assert_eq!(output.status.code(), Some(0));
    assert!(Path::new(both).join("lz4.fatbin/1.sm_90a.cubin").exists());
    assert!(Path::new(both).join("group.fatbin/3.sm_80.cubin").exists());
}

#[test]
fn images_are_printed() {
    let path = data("zstd.fatbin");
    let path = path.to_str().unwrap();
    let ptx = cushim(&["extract", path, "--kind", "ptx", "-o", "-"]);
    assert_eq!(ptx.status.code(), Some(0));
    assert!(text(&ptx.stdout).contains(".visible .entry _Z5mixediPKf5Mixedc("));
    let cubin = cushim(&["extract", path, "--kind", "cubin", "-o", "-"]);
    assert!(cubin.stdout.starts_with(b"\x7fELF"));
    let both = cushim(&["extract", path, "-o", "-"]);
    assert_eq!((both.status.code(), both.stdout.len()), (Some(125), 0));
}

#[test]
fn damage_is_named_and_the_rest_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(data("zstd.fatbin")).unwrap();
    // The header of the zstd frame of the cubin.
    for byte in &mut bytes[84..100] {
        *byte ^= 0x5A;
    }
    let bad = folder.path().join("bad.fatbin");
    std::fs::write(&bad, &bytes).unwrap();
    let bad = bad.to_str().unwrap();
    assert_eq!(cushim(&["ls", bad]).status.code(), Some(0));
    let verified = cushim(&["ls", "--verify", bad]);
    assert_eq!(verified.status.code(), Some(1));
    let message = text(&verified.stderr);
    assert!(
        message.contains("bad.fatbin: fatbin 0 entry 0: zstd data at offset 0x50"),
        "{message}"
    );
    let out = folder.path().join("out");
    let extracted = cushim(&["extract", bad, "-o", out.to_str().unwrap()]);
    assert_eq!(extracted.status.code(), Some(1));
    assert!(out.join("2.sm_80.ptx").exists() && !out.join("1.sm_80.cubin").exists());
    let index = std::fs::read(out.join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(*column(&index, "file")[0], Value::Null);
    assert!(column(&index, "error")[0].as_str().unwrap().contains("zstd"));

    let cut = folder.path().join("cut.fatbin");
    std::fs::write(&cut, &bytes[..bytes.len() - 8]).unwrap();
    let listed = cushim(&["ls", cut.to_str().unwrap()]);
    assert_eq!(listed.status.code(), Some(1));
    assert!(text(&listed.stdout).starts_with("#  KIND"));
    assert!(text(&listed.stderr).contains("fatbin entry payload at offset"));
}

#[test]
fn folders_are_searched_quietly() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no code").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::copy(data("lz4.fatbin"), folder.path().join("sub/a.fatbin")).unwrap();
    let output = cushim(&["ls", folder.path().to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert!(text(&output.stdout).contains("sm_90a"));
    let missing = cushim(&["ls", folder.path().join("none").to_str().unwrap()]);
    assert_eq!(missing.status.code(), Some(125));
    assert!(text(&missing.stderr).contains("cannot open"));
}

/// `cushim ls | head` ends quietly.
#[test]
fn a_closed_pipe_is_no_failure() {
    let script = r#""$0" ls --json "$1" "$1" "$1" "$1" | head -n 1; echo "${PIPESTATUS[0]}""#;
    let output = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_cushim"), data("group.fatbin").to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).starts_with("{\n"));
}
