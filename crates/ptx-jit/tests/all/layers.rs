//! Imports between the crate's parts: the planning of warps knows no code generator and no execution, and an
//! emitter uses neither the other emitter nor the scheduler.

use std::path::{Path, PathBuf};

fn files(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_file() {
        found.push(at.to_owned());
        return;
    }
    for entry in std::fs::read_dir(at).unwrap() {
        files(&entry.unwrap().path(), found);
    }
}

/// Source code without its comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn imports_go_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table = [
        ("simt", &["cranelift", "crate::emit", "crate::run", "crate::cache", "crate::code"][..]),
        ("warp", &["cranelift", "crate::emit", "crate::run", "crate::cache", "crate::code"]),
        ("emit", &["crate::run", "crate::cache", "crate::code", "crate::source"]),
        (
            "llvm",
            &[
                "cranelift",
                "crate::emit",
                "crate::run",
                "crate::cache",
                "crate::code",
                "crate::source",
            ],
        ),
        ("count.rs", &["cranelift", "crate::emit", "crate::run", "crate::cache", "crate::code"]),
    ];
    let mut looked_at = 0;
    for (part, forbidden) in table {
        let mut all = Vec::new();
        files(&src.join(part), &mut all);
        for path in all {
            looked_at += 1;
            let code = code(&path);
            for word in forbidden {
                assert!(!code.contains(word), "{} names {word}", path.display());
            }
        }
    }
    assert!(looked_at > 50, "{looked_at} files");
}
