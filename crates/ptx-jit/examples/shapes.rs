//! Measures the time to compile kernels of every shape, phase by phase, and how it grows with their size:
//!
//!     cargo run --release --workspace --example shapes -- [--size N] [SHAPE]…
//!     cargo run --release --workspace --example shapes -- FILE.ptx… [KERNEL]
//!
//! Each shape has about N (1000), 2N, 4N and 8N instructions; `grows` is the factor by which the last
//! doubling increased each phase. `scripts/bench-plan` makes tables of it. For files, which are linked, it prints the phases of each
//! kernel. Processor milliseconds, the minimum of three runs.
#![allow(clippy::unwrap_used)]

#[path = "../tests/shapes/mod.rs"]
mod shapes;

use cushim_ptx::ir::Module;
use cushim_ptx_jit::{Made, NotCompiled, phases};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NAMES: [&str; PHASES] =
    ["parse", "check", "contract", "calls", "plan", "emit", "order", "quick", "best", "all quick"];
const PHASES: usize = 10;

/// A shape that takes longer is stopped, and not tried at larger sizes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Row {
    instructions: usize,
    ms: [f64; PHASES],
    /// Both codes, or the reason why there are none.
    made: Result<[Made; 2], NotCompiled>,
}

/// Processor time of this thread.
fn clock() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn kernel(module: &Module, kernel: u32, before: [Duration; 3]) -> Row {
    let mut ms = [0.0; PHASES];
    let made = phases(module, kernel, [32, 1, 1], clock);
    ms.iter_mut().zip(before).for_each(|(ms, time)| *ms = time.as_secs_f64() * 1e3);
    let made = made.map(|(all, sizes)| {
        for p in all {
            if let Some(n) = NAMES.iter().position(|n| *n == p.name) {
                ms[n] += p.time.as_secs_f64() * 1e3;
            }
        }
        sizes
    });
    ms[PHASES - 1] = ms[..PHASES - 2].iter().sum();
    let instructions = module.functions.iter().map(|f| f.code.len()).sum();
    Row { instructions, ms, made }
}

/// A loaded module, and the times of parsing, checking (with linking) and contracting.
fn loaded(texts: &[String]) -> (Module, [Duration; 3]) {
    let mut times = [Duration::ZERO; 3];
    let mut timed = |n: usize, start: Duration| times[n] += clock() - start;
    let mut modules = Vec::new();
    for text in texts {
        let start = clock();
        let tree = cushim_ptx::parse(text).unwrap_or_else(|e| panic!("{e}"));
        timed(0, start);
        let start = clock();
        modules.push(cushim_ptx::check(&tree).unwrap_or_else(|e| panic!("{e}")));
        timed(1, start);
    }
    let start = clock();
    let mut module = match modules.len() {
        1 => modules.remove(0),
        _ => cushim_ptx::link(modules).unwrap_or_else(|e| panic!("{e}")),
    };
    timed(1, start);
    let start = clock();
    cushim_ptx::contract(&mut module);
    timed(2, start);
    (module, times)
}

fn least(text: &str, rounds: usize) -> Row {
    let once = || {
        let (module, times) = loaded(&[text.into()]);
        let k = module.functions.iter().position(|f| f.entry && f.defined).unwrap();
        kernel(&module, k as u32, times)
    };
    let mut row = once();
    for _ in 1..rounds {
        let other = once();
        row.ms.iter_mut().zip(other.ms).for_each(|(a, b)| *a = a.min(b));
    }
    row
}

fn print(name: &str, row: &Row) {
    print!("{name:20} {:7}", row.instructions);
    row.ms.iter().for_each(|ms| print!(" {ms:9.2}"));
    match &row.made {
        Ok([quick, best]) => println!(" {:9} {:9}", best.code, quick.stack),
        Err(why) => println!(" {why}"),
    }
}

fn head() {
    print!("{:20} {:>7}", "ms", "instr.");
    NAMES.iter().for_each(|n| print!(" {n:>9}"));
    println!(" {:>9} {:>9}", "bytes", "stack");
}

fn files(args: &[String]) {
    let (paths, only) = args.split_at(args.iter().take_while(|a| a.contains('.')).count());
    let read = |path: &String| std::fs::read_to_string(path).unwrap();
    let texts: Vec<String> =
        paths.iter().map(read).map(|text| text.trim_end_matches('\0').into()).collect();
    let (module, times) = loaded(&texts);
    head();
    for (n, f) in module.functions.iter().enumerate().filter(|(_, f)| f.entry && f.defined) {
        if only.first().is_none_or(|only| f.name.contains(only.as_str())) {
            let row = kernel(&module, n as u32, times);
            let name: Vec<char> = f.name.chars().collect();
            print(&name[name.len().saturating_sub(20)..].iter().collect::<String>(), &row);
        }
    }
}

/// One shape at one size, in its own process, which can be stopped: its row as numbers.
fn apart(name: &str, size: usize) -> Option<Vec<f64>> {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--one", name, &size.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    Some(text.split_whitespace().map(|n| n.parse().unwrap()).collect())
}

/// Runs once, and if that was quick, this many times.
fn one(name: &str, size: usize, rounds: usize) {
    let (_, make) = shapes::ALL.iter().find(|s| s.0 == name).unwrap();
    let work = {
        let make = *make;
        move || {
            let mut row = least(&make(size), 1);
            if rounds > 1 && row.ms.iter().sum::<f64>() < 1500.0 {
                row = least(&make(size), rounds);
            }
            row.ms.iter().for_each(|ms| print!("{ms} "));
            match &row.made {
                Ok([quick, best]) => {
                    println!("{} {} {}", row.instructions, quick.stack, best.code);
                }
                Err(why) => {
                    eprintln!("{why}");
                    println!("{} 0 0", row.instructions);
                }
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--one") => {
            let rounds = args.get(3).map_or(3, |n| n.parse().unwrap());
            return one(&args[1], args[2].parse().unwrap(), rounds);
        }
        Some(path) if path.contains('.') => return files(&args),
        _ => {}
    }
    let mut size = 1000;
    if args.first().is_some_and(|a| a == "--size") {
        size = args[1].parse().unwrap();
        args.drain(..2);
    }
    head();
    let wanted = |s: &&shapes::Shape| args.is_empty() || args.iter().any(|a| a == s.0);
    for (name, _) in shapes::ALL.iter().filter(wanted) {
        let mut last: Option<Vec<f64>> = None;
        for times in [1, 2, 4, 8] {
            let Some(row) = apart(name, size * times) else {
                println!("{name:20} {:7} more than {PATIENCE:?}", size * times);
                break;
            };
            print!("{name:20} {:7}", row[PHASES]);
            row[..PHASES].iter().for_each(|ms| print!(" {ms:9.2}"));
            println!(" {:9} {:9}", row[PHASES + 2], row[PHASES + 1]);
            if times == 8
                && let Some(last) = &last
            {
                print!("{:>28}", "grows");
                row[..PHASES]
                    .iter()
                    .zip(last)
                    .for_each(|(a, b)| print!(" {:9.1}", a / b.max(1e-6)));
                println!();
            }
            last = Some(row);
        }
    }
}
