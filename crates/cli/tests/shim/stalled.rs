//! `cushim trace` whose output nobody reads: what is recorded meanwhile has a bound, and the rest is counted, or waits.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, library, stub};

const LAUNCHES: usize = 200_000;
/// Far less than the events take.
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

    /// Waits until the program has ended, which says how often it launched.
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

    /// What the launcher's private folder takes.
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

    /// Reads all of the output: how many launches it shows, and the summary.
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

/// Nobody is waited for who is gone, and the next launcher tidies up.
#[test]
fn a_launcher_that_is_killed_holds_nobody_up() {
    let lab = Lab::new();
    let mut traced = Traced::start(&lab, "killed", &["--when-behind", "wait"]);
    std::thread::sleep(Duration::from_millis(1500));
    let spool = traced.spool().unwrap();
    traced.launcher.kill().unwrap();
    traced.launcher.wait().unwrap();
    assert!(traced.ended(), "the program goes on without its launcher");
    assert!(spool.exists());
    std::thread::sleep(Duration::from_millis(2500));
    let mut next = Command::new(env!("CARGO_BIN_EXE_cushim"));
    next.args(["trace", "--backend", "native", "true"]).env("CUSHIM_LIB", library());
    assert!(next.stderr(Stdio::null()).status().unwrap().success());
    assert!(!spool.exists(), "{} is still there", spool.display());
}
