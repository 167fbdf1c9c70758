//! Builds the stub and the programs, and runs them with a time limit.
//!
//! Must not know: what any program does.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::built;
use crate::log::{self, Line};
use crate::trace::{self, Trace};

/// No program here runs longer than a few seconds, also on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// libcushim_audit.so beside the program.
pub fn audit() -> PathBuf {
    library_of("libcushim_audit.so")
}

/// libcushim_capture.so beside the program.
pub fn capture() -> PathBuf {
    library_of("libcushim_capture.so")
}

/// libcushim.so beside the program, of the profile under test.
pub fn library() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| library_of("libcushim.so")).clone()
}

/// The path of the library; fails if a source that cargo's .d file beside it names is newer.
fn library_of(name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_BIN_EXE_cushim")).with_file_name(name);
    let hint = if library.parent().is_some_and(|p| p.ends_with("release")) {
        "cargo build --release --workspace"
    } else {
        "cargo build --workspace"
    };
    let time = |file: &Path| fs::metadata(file).and_then(|m| m.modified());
    let built = time(&library).unwrap_or_else(|_| {
        panic!("{} is missing: run `{hint}` first, cargo test does not build it", library.display())
    });
    let list = library.with_extension("d");
    let text = fs::read_to_string(&list)
        .unwrap_or_else(|e| panic!("{}: {e}: run `{hint}` first", list.display()));
    let sources = sources(&text);
    assert!(sources.len() > 5, "{} names {} sources", list.display(), sources.len());
    for file in sources {
        let newer = time(&file).map_or(true, |changed| changed > built);
        let library = library.display();
        assert!(!newer, "{library} is older than {}: run `{hint}` first", file.display());
    }
    library
}

/// The files after the colon of a makefile's rule; a backslash escapes blanks in names.
fn sources(rule: &str) -> Vec<PathBuf> {
    let (_, files) = rule.split_once(": ").expect("a rule");
    let files = files.replace("\\ ", "\0");
    files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))).collect()
}

/// Cargo's .d file names the library's sources: each crate that the exports import, and no test.
#[test]
fn sources_of_the_library_are_known() {
    let list = library().with_extension("d");
    let sources = sources(&fs::read_to_string(list).unwrap());
    for part in ["abi", "image", "interpose", "names", "process", "rules", "tool", "trace"] {
        let of = format!("crates/{part}/src/lib.rs");
        assert!(sources.iter().any(|file| file.ends_with(&of)), "{of}: {sources:?}");
    }
    assert_eq!(super::lab::sources("a: b\\ c d\n"), ["b c", "d"].map(PathBuf::from));
}

/// The file name of a runtime major's library.
pub fn cudart(major: u32) -> &'static str {
    match major {
        11 => "libcudart.so.11.0",
        12 => "libcudart.so.12",
        13 => "libcudart.so.13",
        other => panic!("no runtime major {other}"),
    }
}

/// A compiler with the flags of all programs.
fn compiler(name: &Path) -> Command {
    let mut command = Command::new(name);
    command.args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fexceptions", "-D_GNU_SOURCE"]);
    command
}

/// Runs a compiler; the test fails with its messages.
pub fn compile(arguments: &[OsString], into: &Path) {
    let cpp = arguments.iter().any(|a| a.to_string_lossy().ends_with(".cpp"));
    let mut command = compiler(Path::new(if cpp { "g++" } else { "gcc" }));
    let done = command.args(arguments).arg("-o").arg(into).output().expect("gcc is needed");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}\n{said}");
}

/// The folder with the test-only runtimes and driver, built once per run of this test binary.
pub fn stub() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stub");
        fs::create_dir_all(&folder).unwrap();
        let sources = root().join("c-tests/stub");
        let place = |name: &str| sources.join(name).into_os_string();
        let build = |name: &str, main: &str, map: &str, define: String| {
            let mut arguments: Vec<OsString> =
                vec!["-shared".into(), "-fPIC".into(), define.into()];
            arguments.extend([main, "control.c", "image.c"].map(place));
            arguments.push(format!("-Wl,-soname,{name},-Bsymbolic").into());
            arguments.push(format!("-Wl,--version-script,{}", sources.join(map).display()).into());
            arguments.push("-ldl".into());
            // Another run of this test may be using the library: rename replaces it atomically.
            let fresh = folder.join(format!("{name}.{}", std::process::id()));
            compile(&arguments, &fresh);
            fs::rename(fresh, folder.join(name)).unwrap();
        };
        for major in [11, 12, 13] {
            let define = format!("-DSTUB_MAJOR={major}");
            build(cudart(major), "cudart.c", &format!("cudart.{major}.map"), define);
        }
        build("libcuda.so.1", "cuda.c", "cuda.map", "-DSTUB_CUDA".to_owned());
        let fresh = folder.join(format!("libcupti.so.13.{}", std::process::id()));
        let flags = ["-shared", "-fPIC", "-Wl,-soname,libcupti.so.13", "-ldl", "-lpthread"];
        let flags = flags.map(OsString::from);
        compile(&[&[place("cupti.c")][..], &flags].concat(), &fresh);
        fs::rename(fresh, folder.join("libcupti.so.13")).unwrap();
        folder
    })
}

/// A test's folder and the files built in it.
pub struct Lab {
    folder: tempfile::TempDir,
}

/// The environment in which a program runs.
#[derive(Clone, Default)]
pub struct How {
    /// Variables besides the usual ones; later ones win.
    pub environment: Vec<(String, String)>,
    /// Whether libcushim.so is preloaded.
    pub shim: bool,
}

impl How {
    /// Without the shim.
    pub fn bare() -> Self {
        How::default()
    }
    /// With the shim, which records every class of events.
    pub fn shim() -> Self {
        How { shim: true, ..How::default() }
    }
    /// With `name` set to `value`.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }
}

/// The result of a run.
pub struct Ran {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// `exit 3` or `signal 9`.
    pub end: String,
    /// The calls that reached the stub.
    pub log: Vec<Line>,
    /// The recorded traces, one per file, sorted by file name.
    pub traces: Vec<Trace>,
    /// The folder in which it ran, with the traces in `trace`.
    pub folder: PathBuf,
}

impl Lab {
    /// A lab with an empty folder.
    pub fn new() -> Self {
        Lab { folder: tempfile::tempdir().unwrap() }
    }

    /// A path in the test's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds `c-tests/shim/SOURCE` as `name`, with these compiler arguments.
    pub fn build(&self, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
        let into = self.path(name);
        let mut all: Vec<OsString> = vec![root().join("c-tests/shim").join(source).into()];
        all.push("-I".into());
        all.push(root().join("c-tests/stub").into());
        all.extend(arguments.iter().map(OsString::from));
        // Files that the test made may change.
        let own = self.folder.path().to_string_lossy();
        if all.iter().any(|a| a.to_string_lossy().contains(&*own)) {
            compile(&all, &into);
        } else {
            built::copy(&all, &into);
        }
        into
    }

    /// As [`Lab::build`] with another compiler; `None` if that compiler does not support the arguments.
    pub fn build_by(
        &self,
        by: &Path,
        name: &str,
        source: &str,
        arguments: &[&str],
    ) -> Option<PathBuf> {
        let into = self.path(name);
        let mut command = compiler(by);
        command.arg(root().join("c-tests/shim").join(source)).args(arguments);
        command.arg("-I").arg(root().join("c-tests/stub")).arg("-o").arg(&into);
        let done = command.output().unwrap_or_else(|e| panic!("{}: {e}", by.display()));
        if !done.status.success() {
            eprintln!("{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
        }
        done.status.success().then_some(into)
    }

    /// Builds a program that is linked with the stub runtime of `major`.
    pub fn program(&self, source: &str, major: u32) -> PathBuf {
        let define = format!("-DMAJOR={major}");
        let folder = format!("-L{}", stub().display());
        let library = format!("-l:{}", cudart(major));
        let name = format!("{}-{major}", source.replace('.', "-"));
        self.build(&name, source, &[&define, &folder, &library, "-lpthread"])
    }

    /// Builds a program with the stub runtime of `major` inside, as nvcc links by default.
    pub fn static_program(&self, source: &str, major: u32) -> PathBuf {
        let name = format!("{}-{major}-static", source.replace('.', "-"));
        self.with_static_runtime(&name, source, major, &["-lpthread", "-ldl"])
    }

    /// Builds a program with the stub runtime of `major` inside; functions are aligned as in NVIDIA's runtime.
    pub fn with_static_runtime(
        &self,
        name: &str,
        source: &str,
        major: u32,
        more: &[&str],
    ) -> PathBuf {
        let define = format!("-DMAJOR={major}");
        let stub = root().join("c-tests/stub");
        let parts = ["cudart.c", "control.c", "image.c"].map(|part| stub.join(part));
        let parts = parts.each_ref().map(|part| part.to_str().unwrap());
        let runtime = format!("-DSTUB_MAJOR={major}");
        let flags = ["-DSTUB_STATIC", "-falign-functions=16", &define, &runtime];
        self.build(name, source, &[&parts[..], &flags[..], more].concat())
    }

    /// Builds a plug-in with its own kernels, linked with the stub runtime of `major`.
    pub fn plugin(&self, name: &str, major: u32, grid: u32) -> PathBuf {
        let define = format!("-DMAJOR={major}");
        let grid = format!("-DGRID={grid}");
        let folder = format!("-L{}", stub().display());
        let library = format!("-l:{}", cudart(major));
        self.build(name, "plugin.c", &["-shared", "-fPIC", &define, &grid, &folder, &library])
    }

    /// Runs `program` in a folder of its own.
    pub fn run(&self, program: &Path, arguments: &[&str], how: &How) -> Ran {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        fs::create_dir(folder.join("trace")).unwrap();
        let (out, err) = (folder.join("stdout"), folder.join("stderr"));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder).stdin(Stdio::null());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LD_LIBRARY_PATH", stub()).env("STUB_LOG", folder.join("log"));
        command.env("CUSHIM_OUTPUT", folder.join("trace/%p.cushim")).env("CUSHIM_EVENTS", "all");
        if how.shim {
            command.env("LD_PRELOAD", library());
        }
        for (name, value) in &how.environment {
            command.env(name, value);
        }
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > TIME_LIMIT {
                child.kill().unwrap();
                panic!("{} {arguments:?} hangs (shim: {})", program.display(), how.shim);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (_, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        Ran {
            stdout: text(&out),
            stderr: text(&err),
            end,
            log: log::read(&folder.join("log")),
            traces: trace::read_all(&folder.join("trace")),
            folder,
        }
    }
}
