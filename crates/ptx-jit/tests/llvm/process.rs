//! The process with LLVM's library: the program that it compiles for neither notices it nor waits for it.

use crate::again::{NONE, again, library};
use crate::launch;
use cushim_testkit::device::Device;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A kernel that takes LLVM seconds to compile, while it is being compiled.
pub fn long(d: &Device) -> Arc<cushim_ptx_jit::Kernel> {
    let number = d.find("long");
    let kernel = d.kernel(number).unwrap();
    let params = d.module.functions[number as usize].packed(&[d.alloc(4096), 1]);
    let many = launch(d, number, 128, 32, &params);
    let start = Instant::now();
    let begun = || threads().iter().any(|name| name == "cuda-llvm");
    // Each launch takes less time than LLVM.
    while start.elapsed() < Duration::from_secs(300) {
        kernel.run(&many, &d.arena, d, 1).unwrap();
        assert_eq!(kernel.by_llvm([32, 1, 1]), None, "it was compiled before anybody saw that");
        if begun() {
            // The process has received the IR by now, most likely.
            std::thread::sleep(Duration::from_millis(20));
            if begun() && kernel.by_llvm([32, 1, 1]).is_none() {
                return kernel;
            }
        }
    }
    panic!("nobody compiles it: {:?}", kernel.by_llvm([32, 1, 1]));
}

/// A module with a kernel of many instructions in a loop.
pub fn long_text() -> String {
    let step = |k: u32| {
        let (a, b) = (k % 8, (3 * k + 1) % 8);
        format!("mad.lo.u32 r{a}, r{b}, 77, r{a}; xor.b32 r{b}, r{b}, r{a};\n")
    };
    let body: String = (0..250).map(step).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry long(.param .u64 to, .param .u64 rounds) {{
.reg .u64 p; .reg .u64 n; .reg .u32 r<8>; .reg .pred c; ld.param.u64 p, [to]; ld.param.u64 n, [rounds];
mov.u32 r0, %tid.x; mov.u32 r1, 1; mov.u32 r2, 2; mov.u32 r3, 3; mov.u32 r4, 4; mov.u32 r5, 5; mov.u32 r6, 6; mov.u32 r7, 7;
LOOP: {body} sub.u64 n, n, 1; setp.ne.u64 c, n, 0; @c bra LOOP; st.global.u32 [p], r0; ret; }}"
    )
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let all = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    all.filter_map(|t| std::fs::read_to_string(t.path().join("comm")).ok())
        .map(|name| name.trim().to_owned())
        .collect()
}

fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn a_program_knows_nothing_of_the_process_that_compiles() {
    const TEST: &str = "process::a_program_knows_nothing_of_the_process_that_compiles";
    if !again(TEST, "0") {
        return;
    }
    let d = Device::new(&long_text());
    let before = files();
    let kernel = long(&d);
    assert_eq!(files(), before);
    // SAFETY: asks for any child of this process, of which there is none; a process that does nothing but run a kernel.
    unsafe {
        assert_eq!(libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG), -1);
        assert_eq!(*libc::__errno_location(), libc::ECHILD);
        let child = libc::fork();
        if child == 0 {
            let number = d.find("long");
            let params = d.module.functions[number as usize].packed(&[d.alloc(4096), 3]);
            let done = kernel.run(&launch(&d, number, 1, 32, &params), &d.arena, &d, 1);
            libc::_exit(i32::from(done.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    // LLVM's code gives the right results.
    while kernel.by_llvm([32, 1, 1]).is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(kernel.by_llvm([32, 1, 1]), Some(Ok(())));
    let number = d.find("long");
    assert_eq!(number, 0);
    d.launch("long", 1, 32, &[d.alloc(4096), 3]).unwrap();
}

#[test]
fn the_end_of_a_process_waits_for_nothing() {
    const MARK: &str = "it is being compiled";
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        if again("", "0") {
            let _kernel = long(&Device::new(&long_text()));
            println!("{MARK}");
            std::process::exit(7);
        }
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process::the_end_of_a_process_waits_for_nothing", "--nocapture"]);
    command
        .env("CUSHIM_LLVM", "auto")
        .env("CUSHIM_LLVM_WAIT", "0")
        .stdout(std::process::Stdio::piped());
    if let Some(library) = library() {
        command.env("CUSHIM_LLVM", library);
    }
    let mut child = command.spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    for line in lines.map_while(Result::ok) {
        if line.contains(NONE) {
            println!("{NONE}");
            child.wait().unwrap();
            return;
        }
        if line.contains(MARK) {
            let start = Instant::now();
            assert_eq!(child.wait().unwrap().code(), Some(7));
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            return;
        }
    }
    panic!("{:?}", child.wait());
}
