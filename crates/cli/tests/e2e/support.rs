//! A bench for one test: a folder, a compiler, a stub of the preloaded library, and the program.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cushim_trace::layout::{CALL_WORDS, CallBody, EVENT_CALL, EVENT_LAUNCH, EventHead};
use cushim_trace::layout::{LAUNCH_ARGS, LaunchBody, slots};
use cushim_trace::meta::{Api, Kernel, Process};
use cushim_trace::recorder::Recorder;
use tempfile::TempDir;

/// Longer than any command here takes; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The stub of the preloaded library: it copies the trace file that $FAKE_TRACE names to the path
/// that CUSHIM_OUTPUT gives for the process.
const LIBRARY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
    const char *from = getenv("FAKE_TRACE"), *pattern = getenv("CUSHIM_OUTPUT");
    if (!from || !pattern) return;
    char to[4096];
    const char *mark = strstr(pattern, "%p");
    if (!mark) return;
    snprintf(to, sizeof to, "%.*s%d%s", (int)(mark - pattern), pattern, (int)getpid(), mark + 2);
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (!in || !out) return;
    char buffer[65536];
    size_t n, at = 0;
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0) {
        int pid = getpid();
        if (at == 0) memcpy(buffer + 16, &pid, 4);
        fwrite(buffer, 1, n, out);
        at += n;
    }
    fclose(in);
    fclose(out);
}
"#;

/// Variables of the test machine that would change the results.
const FOREIGN: [&str; 14] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "NO_COLOR",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "RANK",
    "WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "CUDA_VISIBLE_DEVICES",
    "XDG_CACHE_HOME",
];

/// The bench.
pub struct Bench {
    pub dir: TempDir,
    pub library: PathBuf,
}

/// The result of a finished command.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("ended by {:?}: {self:?}", self.status.signal()))
    }
}

/// A running command, whose output goes to files.
pub struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// Waits until standard output contains `text`.
    pub fn until(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.stdout().contains(text) {
            assert!(Instant::now() < end, "{text:?} never came: {:?}", self.stdout());
            assert!(self.child.try_wait().unwrap().is_none(), "ended before {text:?} came");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn done(mut self) -> Done {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                self.child.kill().unwrap();
                panic!("it hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Done { status, stdout: text(&self.out), stderr: text(&self.err) }
    }
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("libcushim.so");
        let bench = Bench { dir, library };
        bench.compile("libcushim.so", LIBRARY, &["-shared", "-fPIC"]);
        bench
    }

    /// A path in the bench's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles C source in the bench's folder.
    pub fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let input = self.path(&format!("{name}.c"));
        fs::write(&input, source).unwrap();
        let output = self.path(name);
        let done = Command::new("cc")
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .args(flags)
            .current_dir(self.dir.path())
            .output()
            .expect("a C compiler called cc");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        output
    }

    /// The program, to run in the bench's folder. Its environment has no variable of cushim's but the
    /// path of the library.
    pub fn cushim(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(arguments).current_dir(self.dir.path());
        for name in FOREIGN {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CUSHIM_") {
                command.env_remove(name);
            }
        }
        command.env("CUSHIM_LIB", &self.library).env("HOME", self.dir.path());
        command
    }

    /// Puts empty libraries next to the library, under the names that the backends other than native
    /// need; the only libcuda on the path is the one of `libcuda`.
    pub fn backends(&self) {
        for name in [
            "libcushim_cudart11",
            "libcushim_cudart12",
            "libcushim_cudart13",
            "libcushim_cuda",
            "libcushim_compilers",
            "libcushim_nvml",
            "libvcuda",
        ] {
            self.compile(&format!("{name}.so"), "int nothing;", &["-shared", "-fPIC"]);
        }
        let audit = "unsigned la_version(unsigned version) { return version; }";
        self.compile("libcushim_audit.so", audit, &["-shared", "-fPIC"]);
    }

    /// Runs `cushim ARGUMENTS` and waits for its end.
    pub fn run(&self, arguments: &[&str]) -> Done {
        self.start(&mut self.cushim(arguments)).done()
    }

    /// Starts a command, with its output in files.
    pub fn start(&self, command: &mut Command) -> Running {
        let file = |name: &str| {
            let path = tempfile::Builder::new().prefix(name).tempfile_in(self.dir.path()).unwrap();
            path.into_temp_path().keep().unwrap()
        };
        let (out, err) = (file("stdout"), file("stderr"));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        command.stdin(Stdio::null());
        // A new program is busy (ETXTBSY) while a child that another test has just forked holds its
        // descriptor: until that child's exec.
        let child = loop {
            match command.spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                other => break other.unwrap(),
            }
        };
        Running { child, out, err }
    }

    /// A trace file with one launch of `step<float>` and one failed copy, for $FAKE_TRACE.
    pub fn trace_file(&self) -> PathBuf {
        let path = self.path("fake.cushim");
        let process = Process {
            pid: 1,
            ppid: 1,
            exe: "/usr/bin/fake".into(),
            argv: vec!["fake".into()],
            host: "here".into(),
            rank: None,
            version: "0".into(),
        };
        let recorder = Recorder::create(&path, 1 << 20, None, &process).unwrap();
        recorder.write_meta(&Api::encode(1, "cudaLaunchKernel", "launch", ""));
        recorder.write_meta(&Api::encode(2, "cudaMemcpy", "copy", ""));
        let kernel = Kernel {
            mangled: "_Z4stepIfEvPT_".into(),
            address: 0x10,
            owner: "/usr/bin/fake".into(),
            params: Ok(vec![(0, 8)]),
            types: String::new(),
        };
        recorder.write_meta(&kernel.encode(1));
        let mut buffer = recorder.attach(1).unwrap();
        let head = |api| EventHead { api, begin: recorder.ticks(), ..EventHead::default() };
        let launch = LaunchBody {
            kernel: 1,
            grid: [16, 1, 1],
            block: [256, 1, 1],
            arg_bytes: 8,
            ..LaunchBody::default()
        };
        let count = slots(LAUNCH_ARGS + 8);
        let at = buffer.reserve(&recorder, count, true).unwrap();
        // SAFETY: the slots have room for a launch with eight bytes of arguments.
        unsafe {
            at.store_head(head(1));
            at.at::<LaunchBody>(32).write(launch);
            at.at::<u64>(LAUNCH_ARGS).write_unaligned(0x7f00);
            at.publish(EVENT_LAUNCH, count);
            at.finish(recorder.ticks(), 0);
        }
        let count = slots(CALL_WORDS);
        let at = buffer.reserve(&recorder, count, true).unwrap();
        // SAFETY: the slots have room for a call without words.
        unsafe {
            at.store_head(head(2));
            at.at::<CallBody>(32).write(CallBody::default());
            at.publish(EVENT_CALL, count);
            at.finish(recorder.ticks(), 1);
        }
        recorder.close();
        path
    }
}

/// The permission bits of a file.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
