//! `cushim trace` while nobody reads its output: the buffered events have a bound; later ones are counted as lost, or the program waits.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cushim_testkit::needs::left_out;

use crate::lab::{Lab, library, stub};

const LAUNCHES: usize = 200_000;
/// A limit far below the size of the events.
const BACKLOG: u64 = 4 << 20;

struct Traced {
    launcher: Child,
    said: PathBuf,
}

impl Traced {
    fn start(lab: &Lab, name: &str, options: &[&str]) -> Self {
        let (program, said) = (lab.program("many.c", 12), lab.path(name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(["trace", "--backend", "native", "--format", "jsonl", "--backlog", "4M"]);
        command.args(options).arg(program).arg(LAUNCHES.to_string());
        command.env("CUSHIM_LIB", library()).env("LD_LIBRARY_PATH", stub());
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(File::create(&said).unwrap());
        Traced { launcher: command.spawn().unwrap(), said }
    }

    /// Waits for the program's end, and returns the number of launches that it reports.
    fn ended(&self) -> bool {
        let end = Instant::now() + Duration::from_secs(100);
        while Instant::now() < end {
            if fs::read_to_string(&self.said).unwrap() == format!("{LAUNCHES}\n") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// The size of the launcher's private folder.
    fn spooled(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.spool().map_or(0, |folder| {
            let files = fs::read_dir(folder).unwrap().flatten();
            files.filter_map(|f| Some(f.metadata().ok()?.blocks() * 512)).sum()
        })
    }

    fn spool(&self) -> Option<PathBuf> {
        let name = format!("cushim-spool-{}-", self.launcher.id());
        ["/dev/shm", "/tmp"].into_iter().find_map(|parent| {
            let found = fs::read_dir(parent).ok()?.flatten().map(|e| e.path());
            found.into_iter().find(|p| p.file_name().unwrap().to_string_lossy().starts_with(&name))
        })
    }

    /// Reads all output; returns the number of launches in it, and the summary.
    fn read(mut self) -> (usize, serde_json::Value) {
        let mut text = String::new();
        self.launcher.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.launcher.wait().unwrap().success());
        let launches = text.lines().filter(|l| l.contains("\"event\":\"launch\"")).count();
        let summary = text.lines().rfind(|l| l.contains("\"event\":\"summary\"")).unwrap();
        (launches, serde_json::from_str(summary).unwrap())
    }
}

#[test]
fn the_program_goes_on_and_what_is_lost_is_counted() {
    let lab = Lab::new();
    let traced = Traced::start(&lab, "lose", &[]);
    assert!(traced.ended(), "the program is not held up");
    let spooled = traced.spooled();
    assert!(spooled <= BACKLOG + (64 << 10), "{spooled} bytes");
    let (shown, summary) = traced.read();
    let lost = summary["lost"]["behind"].as_u64().unwrap() as usize;
    assert!(lost > LAUNCHES / 2, "{summary}");
    assert_eq!(shown + lost, LAUNCHES);
}

#[test]
fn or_it_waits_and_nothing_is_lost() {
    let lab = Lab::new();
    let traced = Traced::start(&lab, "wait", &["--when-behind", "wait"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(fs::read_to_string(&traced.said).unwrap(), "", "it waits");
    assert!(traced.spooled() <= BACKLOG + (64 << 10));
    let said = traced.said.clone();
    let (shown, summary) = traced.read();
    assert_eq!((shown, summary["lost"]["behind"].as_u64()), (LAUNCHES, Some(0)));
    assert_eq!(fs::read_to_string(said).unwrap(), format!("{LAUNCHES}\n"));
}

/// While nobody reads, a signal still reaches the program; after the program's end it ends the launcher.
#[test]
fn signals_reach_the_program_and_then_the_launcher() {
    use std::os::unix::process::ExitStatusExt;
    let lab = Lab::new();
    let mut traced = Traced::start(&lab, "signals", &["--when-behind", "wait"]);
    std::thread::sleep(Duration::from_millis(1500));
    let launcher = traced.launcher.id();
    let terminate = || {
        let done = Command::new("kill").args(["-TERM", &launcher.to_string()]).status();
        assert!(done.unwrap().success());
    };
    let children = format!("/proc/{launcher}/task/{launcher}/children");
    let program = fs::read_to_string(children).unwrap().trim().to_owned();
    let state = || {
        let status = fs::read_to_string(format!("/proc/{program}/status")).unwrap_or_default();
        status.lines().find(|l| l.starts_with("State:")).unwrap_or("gone").to_owned()
    };
    assert!(!state().contains('Z'), "{}", state());
    terminate();
    let end = Instant::now() + Duration::from_secs(20);
    while state() != "gone" && !state().contains('Z') {
        assert!(Instant::now() < end, "the program goes on: {}", state());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(traced.launcher.try_wait().unwrap().is_none(), "there is something left to show");
    terminate();
    let end = Instant::now() + Duration::from_secs(20);
    let ended = loop {
        if let Some(ended) = traced.launcher.try_wait().unwrap() {
            break ended;
        }
        assert!(Instant::now() < end, "the launcher goes on");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(ended.signal(), Some(libc::SIGTERM));
}

/// Each thread writes its own chunk, and 40 chunks exceed the limit. The program does not wait for a reader that
/// keeps up, as that could free nothing more.
#[test]
fn more_threads_than_the_room_has_chunks() {
    let lab = Lab::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
    command.args(["trace", "--backend", "native", "--format", "jsonl", "--backlog", "1M"]);
    command.args(["--when-behind", "wait"]).arg(lab.program("steps.c", 12));
    command.args(["threads", "40", "1500"]).stdin(Stdio::null());
    command.env("CUSHIM_LIB", library()).env("LD_LIBRARY_PATH", stub());
    command.env("STUB_LOG", "/dev/null");
    let ran = command.output().unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    let launches = text.lines().filter(|l| l.contains("\"event\":\"launch\"")).count();
    assert_eq!((launches, ran.status.success()), (60_000, true));
}

/// Files of processes that ended abruptly are read and removed while other processes run.
#[test]
fn files_of_processes_that_are_gone() {
    let lab = Lab::new();
    let (steps, said) = (lab.program("steps.c", 12), lab.path("forks"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
    command.args(["trace", "--backend", "native", "-c"]).arg(steps);
    command.args(["forks", "50", "2", "touch"]).arg(lab.path("done")).args(["await"]);
    command.arg(lab.path("go")).env("CUSHIM_LIB", library()).env("LD_LIBRARY_PATH", stub());
    command.env("STUB_LOG", "/dev/null").stdin(Stdio::null()).stderr(Stdio::piped());
    command.stdout(File::create(&said).unwrap());
    let traced = Traced { launcher: command.spawn().unwrap(), said };
    let end = Instant::now() + Duration::from_secs(60);
    let files = || traced.spool().map_or(0, |folder| fs::read_dir(folder).unwrap().count());
    // Only the program's own file is left.
    while !lab.path("done").exists() || files() > 1 {
        assert!(Instant::now() < end, "{} files", files());
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::write(lab.path("go"), "").unwrap();
    let ran = traced.launcher.wait_with_output().unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(text.contains("100 launches of 1 kernel") && text.contains("51 processes"), "{text}");
}

/// A process that starts after the run creates no folder that nobody would read, and says nothing: neither while
/// the launcher writes what it read, nor later.
#[test]
fn who_outlives_the_run_leaves_nothing() {
    let lab = Lab::new();
    for ended in [false, true] {
        outlives(&lab, ended);
    }
}

fn outlives(lab: &Lab, ended: bool) {
    let steps = lab.program("steps.c", 12);
    let paths = ["go", "said", "done"].map(|name| lab.path(&format!("{name}{ended}")));
    let [go, said, done] = paths.each_ref().map(|path| path.display());
    let wait = format!("until [ -e {go} ]; do sleep 0.05; done");
    let line = format!(
        "({wait}; {} launch 2 2>{said}; echo $? >{done}) >/dev/null 2>&1 &",
        steps.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
    command.args(["trace", "--backend", "native", "-c", "sh", "-c", &line]);
    command.env("CUSHIM_LIB", library()).env("LD_LIBRARY_PATH", stub()).stdin(Stdio::null());
    command.env("STUB_LOG", "/dev/null").stdout(File::create(lab.path("out")).unwrap());
    // The launcher waits for somebody who reads what it says at the end: that no launch was seen.
    let (mut reader, mut full) = std::io::pipe().unwrap();
    // SAFETY: an open pipe; no memory is touched.
    let size = unsafe { libc::fcntl(full.as_raw_fd(), libc::F_GETPIPE_SZ) };
    full.write_all(&vec![b'\n'; usize::try_from(size).unwrap()]).unwrap();
    command.stderr(full);
    let mut traced = Traced { launcher: command.spawn().unwrap(), said: lab.path("out") };
    drop(command);
    let end = Instant::now() + Duration::from_secs(60);
    let name = format!("/proc/{}/comm", traced.launcher.id());
    while traced.spool().is_some() || fs::read_to_string(&name).unwrap() != "cushim: writing\n" {
        assert!(Instant::now() < end, "the launcher does not remove its folder");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    if ended {
        reader.read_to_string(&mut text).unwrap();
        assert!(traced.launcher.wait().unwrap().success());
    }
    fs::write(&paths[0], "").unwrap();
    while fs::read_to_string(&paths[2]).unwrap_or_default() != "0\n" {
        assert!(Instant::now() < end, "the child does not end well");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(traced.spool(), None);
    assert_eq!(fs::read_to_string(&paths[1]).unwrap(), "", "ended: {ended}");
    if !ended {
        assert!(traced.launcher.try_wait().unwrap().is_none(), "the launcher waits");
        reader.read_to_string(&mut text).unwrap();
        assert!(traced.launcher.wait().unwrap().success());
    }
    assert!(text.contains("no kernel launch was seen"), "{text}");
}

/// A process that outlives the program is told, one that is gone is not: its number may be that of another process in
/// the launcher's PID namespace.
#[test]
fn who_is_still_running_is_told() {
    let lab = Lab::new();
    let steps = lab.program("steps.c", 12);
    let trace = |program: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(["trace", "--backend", "native", "-c"]).args(program);
        command.env("CUSHIM_LIB", library()).env("LD_LIBRARY_PATH", stub()).stdin(Stdio::null());
        let ran = command.env("STUB_LOG", "/dev/null").stdout(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    };
    let [launched, go] = ["launched", "go"].map(|name| lab.path(name));
    let [program, seen, end] = [&steps, &launched, &go].map(|path| path.display());
    let line = format!(
        "{program} launch 2 touch {seen} await {end} 2>/dev/null & until [ -e {seen} ]; do sleep 0.05; done"
    );
    let text = trace(&["sh", "-c", &line]);
    fs::write(&go, "").unwrap();
    assert!(text.contains("1 child process is still running"), "{text}");
    assert!(text.contains("2 launches of 1 kernel"), "{text}");
    if !Command::new("unshare").args(["-Urpf", "true"]).status().is_ok_and(|s| s.success()) {
        return left_out("a program in a PID namespace: this system lets nobody make one");
    }
    for last in ["sync", "exit"] {
        let program = steps.to_str().unwrap();
        let text = trace(&["unshare", "-Urpf", program, "launch", "2", last]);
        assert!(text.contains("2 launches of 1 kernel"), "{last}: {text}");
        assert!(!text.contains("still running"), "{last}: {text}");
    }
}

/// The program does not wait for a killed launcher, and the next launcher cleans up.
#[test]
fn a_launcher_that_is_killed_holds_nobody_up() {
    let lab = Lab::new();
    let mut traced = Traced::start(&lab, "killed", &["--when-behind", "wait"]);
    std::thread::sleep(Duration::from_millis(1500));
    let spool = traced.spool().unwrap();
    traced.launcher.kill().unwrap();
    traced.launcher.wait().unwrap();
    assert!(traced.ended(), "the program goes on without its launcher");
    // A launcher of another test may already have removed it.
    std::thread::sleep(Duration::from_millis(2500));
    let mut next = Command::new(env!("CARGO_BIN_EXE_cushim"));
    next.args(["trace", "--backend", "native", "true"]).env("CUSHIM_LIB", library());
    assert!(next.stderr(Stdio::null()).status().unwrap().success());
    assert!(!spool.exists(), "{} is still there", spool.display());
}
