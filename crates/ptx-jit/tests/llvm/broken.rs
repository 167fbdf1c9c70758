//! The process with LLVM's library, or the program it works for, ends too early; and files named `cushim` that are not
//! cushim.

use crate::again::{NONE, again, library};
use crate::process::{long, long_text};
use crate::{device, launch};
use cushim_ptx_jit::{Cache, Kernel};
use cushim_testkit::device::Device;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const MARK: &str = "it is being compiled";

/// A folder with this program, and a program `cushim` beside it.
struct Folder(PathBuf);

impl Folder {
    /// With this build's `cushim`, or with a script.
    fn new(name: &str, script: Option<&str>) -> Folder {
        let name = format!("{name}-{}", std::process::id());
        let folder = Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let own = std::env::current_exe().unwrap();
        let link = |from: &Path, to: &str| {
            let to = folder.0.join(to);
            std::fs::hard_link(from, &to).or_else(|_| std::fs::copy(from, to).map(drop)).unwrap();
        };
        link(&own, "test");
        match script {
            None => link(&own.parent().unwrap().join("../cushim"), "cushim"),
            Some(script) => {
                let path = folder.0.join("cushim");
                std::fs::write(&path, script).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            }
        }
        folder
    }

    fn start(&self, test: &str) -> Child {
        self.command(test).spawn().unwrap()
    }

    fn command(&self, test: &str) -> Command {
        let mut command = Command::new(self.0.join("test"));
        command.args(["--exact", test, "--nocapture"]).stdout(Stdio::piped());
        command.env("CUSHIM_LLVM_WAIT", "0").stderr(Stdio::piped());
        if let Some(library) = library() {
            command.env("CUSHIM_LLVM", library);
        } else if std::env::var_os("CUSHIM_LLVM").is_none_or(|v| v == "off") {
            command.env("CUSHIM_LLVM", "auto");
        }
        command
    }

    /// The running processes of its `cushim`.
    fn processes(&self) -> Vec<i32> {
        let program = self.0.join("cushim");
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
        let runs = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(program.as_os_str().as_encoded_bytes())
        };
        numbers.filter(runs).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until a test in its own process compiles a kernel; false if there is no library.
fn compiles(child: &mut Child) -> bool {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    for line in lines {
        if line.contains(NONE) {
            println!("{NONE}");
            child.wait().unwrap();
            return false;
        }
        if line.contains(MARK) {
            return true;
        }
    }
    panic!("{:?}", child.wait());
}

/// In that process: waits until the compilation fails; the kernel keeps its code.
fn compile(expected: &str) {
    if !again("", "0") {
        return;
    }
    let d = Device::new(&long_text());
    let kernel = long(&d);
    println!("{MARK}");
    while kernel.by_llvm([32, 1, 1]).is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let why = kernel.by_llvm([32, 1, 1]).unwrap().unwrap_err();
    assert!(why.contains(expected), "{why}");
    d.launch("long", 1, 32, &[d.alloc(4096), 3]).unwrap();
}

#[test]
fn a_process_that_is_killed_leaves_a_kernel_as_it_is() {
    const TEST: &str = "broken::a_process_that_is_killed_leaves_a_kernel_as_it_is";
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        return compile("LLVM");
    }
    let folder = Folder::new("killed", None);
    let mut child = folder.start(TEST);
    if !compiles(&mut child) {
        return;
    }
    let mut killed = 0;
    while child.try_wait().unwrap().is_none() {
        for pid in folder.processes() {
            // SAFETY: ends a process of this test.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(killed > 0);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
}

#[test]
fn nothing_is_left_of_a_program_that_is_killed() {
    const TEST: &str = "broken::nothing_is_left_of_a_program_that_is_killed";
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        return compile("nobody waits for it");
    }
    let folder = Folder::new("left", None);
    let mut child = folder.start(TEST);
    if !compiles(&mut child) {
        return;
    }
    while folder.processes().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it was compiled before anybody saw that");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The process ends by itself; LLVM would take seconds, so poll often to keep the test short.
    for _ in 0..3000 {
        if folder.processes().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it is still there: {:?}", folder.processes());
}

#[test]
fn a_program_that_is_another_leaves_kernels_as_they_are() {
    const TEST: &str = "broken::a_program_that_is_another_leaves_kernels_as_they_are";
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        let why = cushim_ptx_jit::llvm().unwrap().unwrap_err();
        println!("it says: {why}");
        return;
    }
    let scripts = [
        ("ends", "exit 3\n", "the process that opens LLVM: "),
        ("talks", "printf 'what it says is no message' >&0\n", "the process that opens LLVM: "),
        ("answers", "printf '\\003\\0\\0\\0\\0\\0\\0\\0\\0x\\n' >&0\n", "of another build"),
    ];
    for (name, script, expected) in scripts {
        let folder = Folder::new(name, Some(&format!("#!/bin/sh\n{script}")));
        let done = folder.start(TEST).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let said = text.lines().find_map(|line| line.split_once("it says: "));
        assert!(said.is_some_and(|(_, why)| why.contains(expected)), "{name}: {done:?}");
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    }
}

#[test]
fn code_that_is_kept_is_used_by_another_process() {
    const TEST: &str = "broken::code_that_is_kept_is_used_by_another_process";
    const CACHE: &str = "CUSHIM_CACHE_DIR";
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        if again("", "1") {
            let (d, args) = device();
            let number = d.find("sums");
            let cache = Cache::open(Path::new(&std::env::var_os(CACHE).unwrap()), 1 << 28);
            let cache = Some(Arc::new(cache.unwrap()));
            let kernel = Kernel::with_cache(&d.module, number, [128, 1, 1], cache).unwrap();
            println!("it says: {:?}", kernel.by_llvm([128, 1, 1]));
            let params = d.module.functions[number as usize].packed(&args);
            kernel.run(&launch(&d, number, 3, 128, &params), &d.arena, &d, 1).unwrap();
        }
        return;
    }
    let makes = Folder::new("makes", None);
    // The first process reports the library; the next one fails.
    let real = makes.0.join("cushim");
    let script =
        format!("#!/bin/sh\nmkdir \"$0.once\" && exec {} \"$@\"\nexit 1\n", real.display());
    let uses = Folder::new("uses", Some(&script));
    let cache = makes.0.join("cache");
    std::fs::DirBuilder::new().mode(0o700).create(&cache).unwrap();
    for (folder, kept) in [(&uses, false), (&makes, true), (&uses, true)] {
        let _ = std::fs::remove_dir(folder.0.join("cushim.once"));
        let mut command = folder.command(TEST);
        let command = command.env(CACHE, &cache).env("CUSHIM_LLVM_WAIT", "1");
        let done = command.output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        if text.contains(NONE) {
            println!("{NONE}");
            return;
        }
        assert_eq!(text.contains("it says: Some(Ok(()))"), kept, "{done:?}");
        assert!(done.status.success() && text.contains("it says: Some("), "{done:?}");
    }
}
