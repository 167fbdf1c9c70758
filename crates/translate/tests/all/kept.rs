//! The translator asks a compiler for its version and features only once, as long as its file is unchanged. The test
//! has its own compiler, which logs each start and copies its input if that begins as expected.

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_translate::{Cache, Compiler, Target};

/// It reads the expected beginning of a module from a file next to itself.
const COMPILER: &str = r#"
#include <stdio.h>
#include <string.h>

static char text[1 << 16], layout[256], path[4096];

static FILE *beside(const char *self, const char *name, const char *how) {
    snprintf(path, sizeof path, "%s.%s", self, name);
    return fopen(path, how);
}

int main(int argc, char **argv) {
    const char *out = NULL;
    int asks = 0;
    for (int i = 1; i < argc; i++) {
        asks |= !strcmp(argv[i], "-emit-llvm");
        if (!strcmp(argv[i], "-o") && i + 1 < argc) out = argv[i + 1];
    }
    FILE *starts = beside(argv[0], "starts", "a"), *wants = beside(argv[0], "layout", "r");
    fputs(asks ? "asks\n" : "compiles\n", starts);
    if (!wants || !fgets(layout, sizeof layout, wants)) return 2;
    if (asks) {
        printf("target datalayout = \"%s\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n!0 = !{!\"version\"}\n", layout);
        return 0;
    }
    size_t size = fread(text, 1, sizeof text - 1, stdin);
    if (!strstr(text, layout)) return 1;
    FILE *to = fopen(out, "w");
    return !to || fwrite(text, 1, size, to) != size || fclose(to);
}
"#;

struct Lab {
    folder: tempfile::TempDir,
    cache: Cache,
    program: PathBuf,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("compiler.c"), folder.path().join("compiler"));
        std::fs::write(&source, COMPILER).unwrap();
        let built = Command::new("cc").arg(&source).arg("-o").arg(&program).status().unwrap();
        assert!(built.success());
        let cache = Cache::at(&folder.path().join("kept"));
        let lab = Lab { folder, cache, program };
        lab.wants("one");
        lab
    }

    fn wants(&self, layout: &str) {
        std::fs::write(self.folder.path().join("compiler.layout"), layout).unwrap();
    }

    /// The purposes of its starts since the last call of this function.
    fn starts(&self) -> Vec<String> {
        let path = self.folder.path().join("compiler.starts");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(&path);
        text.lines().map(str::to_owned).collect()
    }

    fn compiler(&self, program: &Path) -> Compiler {
        Compiler::at(program, Some(&self.cache)).unwrap()
    }
}

fn target() -> Target {
    Target::from_name("gfx90a").unwrap()
}

#[test]
fn a_compiler_is_asked_once() {
    let lab = Lab::new();
    let first = lab.compiler(&lab.program);
    assert_eq!(lab.starts(), ["asks"]);
    let second = lab.compiler(&lab.program);
    assert_eq!(lab.starts(), [""; 0]);
    assert_eq!(first.version(), second.version());
    let code = second.compile("code", &target()).unwrap();
    assert_eq!(lab.starts(), ["compiles"]);
    assert!(code.ends_with(b"\ncode"));
    // Without a cache each look-up asks the compiler.
    assert!(Compiler::at(&lab.program, None).is_some());
    assert_eq!(lab.starts(), ["asks"]);
}

#[test]
fn another_file_is_asked_again() {
    let lab = Lab::new();
    lab.compiler(&lab.program);
    let (other, old) = (lab.folder.path().join("other"), &lab.program);
    std::fs::copy(old, &other).unwrap();
    std::fs::rename(&other, old).unwrap();
    lab.starts();
    lab.compiler(old);
    assert_eq!(lab.starts(), ["asks"]);
}

#[test]
fn a_script_is_asked_each_time() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let script = lab.folder.path().join("script");
    std::fs::write(&script, format!("#!/bin/sh\nexec {} \"$@\"\n", lab.program.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    lab.compiler(&script);
    lab.compiler(&script);
    assert_eq!(lab.starts(), ["asks", "asks"]);
}

/// The compiler's libraries changed: it refuses an input that it accepted before, and is asked again.
#[test]
fn a_compiler_that_changed_inside_is_asked_when_it_fails() {
    let lab = Lab::new();
    lab.compiler(&lab.program);
    lab.wants("two");
    lab.starts();
    let code = lab.compiler(&lab.program).compile("code", &target()).unwrap();
    assert_eq!(lab.starts(), ["compiles", "asks", "compiles"]);
    assert!(String::from_utf8(code).unwrap().contains("\"two\""));
}
