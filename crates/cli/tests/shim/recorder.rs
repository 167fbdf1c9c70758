//! Hard conditions for the recorder: kills at any moment, forks, threads, a full disk, no usable time-stamp
//! counter.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cushim_trace::layout::{ARGS_MAX, LAUNCH_ARGS_CUT, Lost};

use crate::lab::{How, Lab, library, stub};
use crate::trace::read;

/// The number of kills in the kill test; `scripts/kill-test` asks for more.
fn kills() -> u64 {
    std::env::var("CUSHIM_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// Runs `steps.c count` under the shim and kills it after `delay`; returns the number of launches that had
/// returned, and the trace.
fn kill_after(
    program: &Path,
    folder: &Path,
    delay: Duration,
    last: Option<&str>,
) -> (u32, PathBuf) {
    let counter = folder.join("count");
    let into = folder.join("trace.cushim");
    let _ = std::fs::remove_file(&into);
    std::fs::write(&counter, [0; 4096]).unwrap();
    let mut command = Command::new(program);
    command
        .args(["count", counter.to_str().unwrap(), "1000000000"])
        .env("LD_LIBRARY_PATH", stub())
        .env("LD_PRELOAD", library())
        .env("CUSHIM_OUTPUT", &into)
        .stdout(Stdio::null());
    if let Some(last) = last {
        command.env("CUSHIM_LAST", last);
    }
    let mut child = command.spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut done = [0; 4];
    File::open(&counter).unwrap().read_exact_at(&mut done, 0).unwrap();
    (u32::from_le_bytes(done), into)
}

/// The file holds every launch that returned, with its number and status, at most one more, and no
/// other.
#[test]
fn killed_at_any_moment() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let folder = tempfile::tempdir().unwrap();
    let mut random = 0x2545_f491_4f6c_dd1d_u64 ^ u64::from(std::process::id());
    let mut with_launches = 0;
    // On a busy machine the program takes longer to reach its first launch.
    let mut slower = 1;
    for _ in 0..kills() {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Loading alone takes a few milliseconds.
        let delay = Duration::from_micros(3000 + (random >> 33) % 40_000) * slower;
        let last = (random >> 20).is_multiple_of(3).then_some("256K");
        let (done, into) = kill_after(&program, folder.path(), delay, last);
        slower = if done == 0 { (slower * 2).min(64) } else { (slower / 2).max(1) };
        if !into.exists() || std::fs::metadata(&into).unwrap().len() == 0 {
            assert_eq!(done, 0, "launches came back before there was a file");
            continue;
        }
        let Ok(mut file) = cushim_trace::reader::TraceFile::open(&into) else {
            assert_eq!(done, 0, "launches came back before there was a first page");
            continue;
        };
        let mut next = None;
        let mut first = 0;
        file.poll(true, &mut |_, event| {
            let cushim_trace::event::Body::Launch(launch) = &event.body else { return };
            let number = u32::from_le_bytes(launch.args[8..12].try_into().unwrap());
            match next {
                None => first = number,
                Some(expected) => assert_eq!(number, expected, "after {delay:?}"),
            }
            assert!((launch.grid, launch.block) == ([1, 1, 1], [32, 1, 1]));
            assert!(event.status == Some(0) || number >= done, "launch {number} of {done}");
            next = Some(number + 1);
        })
        .unwrap();
        let end = next.unwrap_or(0);
        assert!(end == done || end == done + 1, "{end} recorded, {done} came back, {delay:?}");
        assert_eq!(file.damaged(), 0, "after {delay:?}");
        // A chunk that was being emptied at the kill is in neither count.
        let header = file.header();
        let missing = u64::from(first);
        match last {
            None => assert_eq!((missing, header.overwritten), (0, 0)),
            Some(_) => assert!(missing <= header.overwritten + 256, "{missing} {header:?}"),
        }
        with_launches += u64::from(done > 0);
    }
    assert!(
        with_launches * 2 >= kills(),
        "{with_launches} runs had launches: the test sees too little"
    );
    println!("{} kills, {with_launches} with launches", kills());
}

#[test]
fn fork_storms() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = lab.run(&program, &["launch", "3", "forks", "100", "5"], &How::shim());
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    assert_eq!(ran.traces.len(), 101);
    assert!(ran.traces.iter().all(crate::trace::Trace::is_whole));
    let launches: usize = ran.traces.iter().map(|trace| trace.launches().len()).sum();
    assert_eq!(launches, 503);
}

#[test]
fn five_hundred_threads() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = How::shim().with("STUB_LOG", "/dev/null").with("CUSHIM_EVENTS", "launch");
    for last in ["0", "1M"] {
        let how = how.clone().with("CUSHIM_LAST", last);
        let ran = lab.run(&program, &["threads", "500", "40"], &how);
        assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
        let trace = &ran.traces[0];
        assert!(trace.is_whole(), "{:?}", trace.lost);
        let file = cushim_trace::reader::TraceFile::open(&trace.path).unwrap();
        let overwritten = file.header().overwritten;
        assert_eq!(trace.launches().len() as u64 + overwritten, 20_000, "--last {last}");
        // Each thread's events are in program order, whichever buffer they are in.
        let mut per_thread = std::collections::BTreeMap::<u32, usize>::new();
        trace.calls.iter().for_each(|call| *per_thread.entry(call.tid).or_default() += 1);
        assert!(per_thread.values().all(|&n| n <= 40), "{per_thread:?}");
    }
}

/// However a process ends, its file holds the events before the end.
#[test]
fn however_it_ends() {
    let lab = Lab::new();
    let program = lab.program("many.c", 12);
    for (way, end, launches) in [
        ("kill", "signal 9", 700),
        ("term", "signal 15", 700),
        ("abort", "signal 6", 700),
        ("fault", "signal 11", 700),
        ("_exit", "exit 3", 700),
        ("quick", "exit 3", 700),
        ("call", "exit 3", 700),
        ("last", "exit 3", 1400),
    ] {
        let how = How::shim().with("CUSHIM_EVENTS", "launch");
        let ran = lab.run(&program, &["700", way], &how);
        assert_eq!(ran.end, end, "{way}: {}", ran.stderr);
        let trace = &ran.traces[0];
        assert!(trace.damaged == 0 && trace.lost.iter().all(|&n| n == 0), "{way}");
        assert_eq!(trace.launches().len(), launches, "{way}");
        assert!(trace.calls.iter().all(|call| call.status == Some(0)), "{way}");
        assert_eq!(trace.closed, way == "last", "{way}");
    }
}

/// A launch in the steady state takes no lock, allocates nothing and makes no system call: the kernel would
/// kill the program for one.
#[test]
fn the_steady_state() {
    let lab = Lab::new();
    let program = lab.program("steady.c", 12);
    for (threads, last) in [("1", "0"), ("3", "0"), ("2", "64M")] {
        let how = How::shim().with("CUSHIM_EVENTS", "launch").with("STUB_QUIET", "1");
        let ran = lab.run(&program, &[threads], &how.with("CUSHIM_LAST", last));
        let count: usize = threads.parse().unwrap();
        assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""));
        assert_eq!(ran.stdout, "allocations 0\n".repeat(count));
        assert_eq!(ran.traces[0].launches().len(), 410 * count);
    }
}

/// More than 4 KiB of arguments are cut; each launch is marked, and the trace counts them.
#[test]
fn many_argument_bytes() {
    let lab = Lab::new();
    let ran = lab.run(&lab.program("bigargs.c", 12), &[], &How::shim());
    assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 0", "done\n"), "{}", ran.stderr);
    let mut file = cushim_trace::reader::TraceFile::open(&ran.traces[0].path).unwrap();
    let mut grids = Vec::new();
    file.poll(true, &mut |_, event| {
        let cushim_trace::event::Body::Launch(launch) = &event.body else { return };
        grids.push(launch.grid[0]);
        assert_eq!(
            (launch.flags & LAUNCH_ARGS_CUT, launch.args.len()),
            (LAUNCH_ARGS_CUT, ARGS_MAX)
        );
        // The cut keeps whole parameters: the second parameter did not fit.
        let kept = launch.args.iter().enumerate().take(3000);
        assert!(kept.clone().all(|(at, &byte)| usize::from(byte) == at % 251));
        assert!(launch.args[3000..].iter().all(|&byte| byte == 0));
    })
    .unwrap();
    assert_eq!(grids, [1, 2, 3, 4, 5]);
    assert_eq!(file.header().lost[Lost::CutArguments as usize], 5);
}

/// Thousands of threads, as many at a time as the machine allows.
#[test]
fn thousands_of_threads() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = How::shim().with("STUB_LOG", "/dev/null").with("CUSHIM_EVENTS", "launch");
    let ran = lab.run(&program, &["threads", "3000", "5"], &how);
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    let trace = &ran.traces[0];
    assert!(trace.is_whole(), "{:?}", trace.lost);
    assert_eq!(trace.launches().len(), 15_000);
}

#[test]
fn without_a_counter() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = How::shim().with("CUSHIM_CLOCK", "monotonic");
    let ran = lab.run(&program, &["launch", "1", "sleep", "50", "launch", "1"], &how);
    let trace = &ran.traces[0];
    let mut file = cushim_trace::reader::TraceFile::open(&trace.path).unwrap();
    assert!(!file.header().tsc);
    let mut times = Vec::new();
    file.poll(true, &mut |_, event| {
        if let cushim_trace::event::Body::Launch(_) = event.body {
            times.push((event.begin_ns, event.call_ns.unwrap()));
        }
    })
    .unwrap();
    let [(first, took), (second, _)] = times[..] else { panic!("{times:?}") };
    assert!(second - first >= 50_000_000 && took < 10_000_000_000, "{times:?}");
}

/// A small file system of its own; `None` if the user may not mount one.
struct Small(PathBuf);

impl Small {
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success()).then_some(Small(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    for (n, (size, last)) in
        [("400k", "0"), ("64k", "0"), ("8k", "0"), ("400k", "4M")].iter().enumerate()
    {
        let Some(small) = Small::mount(lab.path(&format!("small{n}")), size) else {
            cushim_testkit::needs::left_out("a full disk: this user may not mount a tmpfs");
            return;
        };
        let into = small.0.join("x.cushim");
        let how = How::shim()
            .with("STUB_LOG", "/dev/null")
            .with("CUSHIM_EVENTS", "launch")
            .with("CUSHIM_OUTPUT", into.to_str().unwrap())
            .with("CUSHIM_LAST", *last);
        let ran = lab.run(&program, &["launch", "20000"], &how);
        assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 0", "20000 launches\n"));
        let trace = read(&into);
        let file = cushim_trace::reader::TraceFile::open(&into).unwrap();
        let kept = trace.launches().len() as u64;
        let header = file.header();
        assert_eq!(kept + header.lost.iter().sum::<u64>() + header.overwritten, 20_000, "{size}");
        assert_eq!(trace.damaged, 0);
        // A ring reuses the room that there is.
        assert_eq!(*last != "0", header.lost.iter().sum::<u64>() == 0, "{header:?}");
    }
}

/// If no file had room from the beginning, the launcher names the full disk as cause and not the program.
#[test]
fn a_disk_that_is_full_from_the_beginning() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let Some(small) = Small::mount(lab.path("small-full"), "8k") else {
        cushim_testkit::needs::left_out("a full disk: this user may not mount a tmpfs");
        return;
    };
    std::fs::write(small.0.join("fill"), [0; 8 << 10]).unwrap();
    let record = |into: &std::path::Path, limit: &str| {
        let script =
            format!("{limit} exec \"$0\" record --backend native -o \"$1\" -- \"$2\" launch 3");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_cushim")).arg(into).arg(&program);
        let done = command.env("LD_LIBRARY_PATH", crate::lab::stub()).output().unwrap();
        assert_eq!(done.status.code(), Some(0));
        String::from_utf8(done.stderr).unwrap()
    };
    let said = record(&small.0.join("x.cushim"), "");
    assert!(said.contains("No space left on device") && said.contains("is full"), "{said}");
    assert!(!said.contains("no kernel launch was seen"), "{said}");
    // The limit does not apply to pipes.
    let said = record(&lab.path("y.cushim"), "ulimit -f 1;");
    let told = said.matches("a file-size limit (ulimit -f)").count();
    assert!(told == 2 && !said.contains("No space left"), "{said}");
}
