//! Untrusted files: what is printed of them, how much time and memory they take, where output goes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use cushim_image::{Codec, codec, fatbin, offload};

/// Escape sequences that colour and clear a terminal, and a line that imitates cushim's.
const HOSTILE: &str = "x\x1b[31m\x1b[2J\ncushim: all is well\u{202e}\u{9b}1m";

fn cushim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cushim")).args(arguments).output().expect("cushim runs")
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn hostile_binary() -> Vec<u8> {
    let image = |kind, data| offload::Image {
        kind,
        producer: 1,
        strings: vec![("triple", HOSTILE), ("arch", HOSTILE)],
        data,
    };
    let ptx = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n";
    let broken = b".version 8.0\n.target sm_80\n.entry \x1b[31mred( }";
    let named =
        [b".version 8.0\n.target sm_80\n.global .\"\x1b[31m\n\" x;\n".as_slice(), ptx].concat();
    use offload::ImageKind::Ptx;
    let mut out = offload::write(&[image(Ptx, ptx), image(Ptx, broken), image(Ptx, &named)]);
    // Damage whose report quotes nothing: a magic number without a container.
    out.extend_from_slice(b"\x50\xed\x55\xba\x01\0\0\0");
    out
}

#[test]
fn no_escape_sequence_reaches_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{HOSTILE}.bin"));
    fs::write(&file, hostile_binary()).unwrap();
    let file = file.to_str().unwrap();
    let out = folder.path().join(HOSTILE);
    let none = folder.path().join(format!("none{HOSTILE}"));
    let none = none.to_str().unwrap();
    for arguments in [
        &["ls", file][..],
        &["ls", "--kernels", file],
        &["ls", "--verify", file, file],
        &["ls", "-k", "k", file],
        &["extract", file, "-o", out.to_str().unwrap()],
        &["extract", file, "-o", out.to_str().unwrap()],
        &["doctor", file],
        &["doctor", "--backend", "cpu", file],
        &["doctor", none],
        &["ls", none],
        &["report", none],
        &["report", file],
        &["export", file, "--to", "jsonl", "-o", "-"],
        &["redirect", "check", file],
        &["redirect", "new", file, "-k", "k", "-o", none],
        &["replay", none],
        &["run", none],
        &["trace", "-o", "/dev/null", none],
        &["record", none],
    ] {
        let output = cushim(arguments);
        for stream in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(stream).expect("UTF-8");
            let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(bad), "{arguments:?}: {text:?}");
            assert!(!text.contains("\ncushim: all is well"), "{arguments:?}: {text}");
        }
        assert!(output.status.code().is_some(), "{arguments:?}: {:?}", output.status);
    }
    let listed = cushim(&["ls", file]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("x\\u{1b}[31m\\u{1b}[2J\\ncushim"));
}

/// Three images of 400 KiB that compress to almost nothing.
fn bombs() -> Vec<u8> {
    let data = vec![7; 400 << 10];
    assert!(codec::pack(Codec::Zstd, &data, 3).unwrap().len() < 1000);
    let image = |number| fatbin::Image {
        kind: fatbin::Kind::Ptx,
        arch: cushim_image::Arch::parse(number),
        version: (8, 0),
        codec: Codec::Zstd,
        data: &data,
    };
    fatbin::write(&["sm_80", "sm_90", "sm_100"].map(image)).unwrap()
}

#[test]
fn all_images_together_have_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bombs.fatbin");
    fs::write(&file, bombs()).unwrap();
    let file = file.to_str().unwrap();
    let manifest = folder.path().join("rules.toml");
    fs::write(&manifest, "").unwrap();
    let manifest = manifest.to_str().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for command in [
        &["extract", "--max-total", "1", file, "-o", out][..],
        &["extract", "--max-total", "1", file, "-o", "-"],
        &["ls", "--verify", "--max-total", "1", file],
        &["ls", "--kernels", "--max-total", "1", file],
        &["redirect", "new", "--max-total", "1", file, "x", "-o", out],
        &["redirect", "check", "--max-total", "1", manifest, file],
    ] {
        let refused = cushim(command);
        let expected = if command[0] == "redirect" { 125 } else { 1 };
        assert_eq!(refused.status.code(), Some(expected), "{command:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        let one = said.lines().filter(|line| line.contains("unpacked images together")).count();
        assert!(one == 1 && said.contains("(max_total)"), "{command:?}: {said}");
    }
    assert_eq!(fs::read_dir(out).unwrap().count(), 3, "two images and the index");
    let all = cushim(&["extract", "-f", "--max-total", "2", file, "-o", out]);
    assert_eq!(all.status.code(), Some(0), "{}", String::from_utf8_lossy(&all.stderr));
    assert_eq!(fs::read_dir(out).unwrap().count(), 4);
}

#[test]
fn what_is_written_is_for_the_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bombs.fatbin");
    fs::write(&file, bombs()).unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    for name in ["1.sm_80.ptx", "index.json"] {
        symlink(&victim, out.join(name)).unwrap();
    }
    let file = file.to_str().unwrap();
    let refused = cushim(&["extract", file, "-o", out.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(125), "links are in the way");
    let made = folder.path().join("a/b");
    for target in [&out, &made] {
        let done = cushim(&["extract", "-f", file, "-o", target.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        for entry in fs::read_dir(target).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }
    assert_eq!((mode(&made), mode(made.parent().unwrap())), (0o700, 0o700));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
}
