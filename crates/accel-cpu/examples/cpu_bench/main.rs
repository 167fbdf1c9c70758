//! Compares the CPU accelerator with C: see `scripts/bench-cpu`, which builds the kernels and the C code, and runs this.
//!
//!     cpu_bench KERNELS.ptx STRICT.so FAST.so [cores|scaling|launches|interpreter|checks|llvm|CASE]…
//!
//! Prints tables in Markdown: the named tables, for the named cases; without names all tables but `checks` and `llvm`, for all cases. Figures are
//! minima over several rounds, in each of which every candidate has its turn: the machine may be doing other things.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod checks;
mod compile;
mod llvm;
mod measure;
mod more;
mod native;
mod side;

use std::time::Duration;

use cases::{FULL, SMALL, Size, check, native, ours};
use measure::{least, least_of_both};
use native::Native;
use side::Side;

const TABLES: [&str; 4] = ["cores", "scaling", "launches", "interpreter"];
/// Tables that are printed only if they are named.
const CHECKS: &str = "checks";
const LLVM: &str = "llvm";
const BYTES: usize = 256 << 20;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, ptx, strict, fast, names @ ..] = args.as_slice() else {
        panic!("usage: cpu_bench KERNELS.ptx STRICT.so FAST.so [TABLE|CASE]…")
    };
    let all = cases::all();
    for name in names {
        let known = TABLES.iter().chain(&all).chain(&[CHECKS, LLVM]).any(|k| k == name);
        assert!(known, "'{name}' is none of {TABLES:?} and {all:?}");
    }
    let pick = |all: &[&'static str]| -> Vec<&'static str> {
        let named: Vec<_> = all.iter().copied().filter(|k| names.iter().any(|n| n == k)).collect();
        if named.is_empty() { all.to_vec() } else { named }
    };
    let cases = pick(&all);
    let checks = names.iter().any(|name| name == CHECKS);
    let others = names.iter().any(|name| TABLES.contains(&name.as_str()));
    let by_llvm = names.iter().any(|name| name == LLVM);
    let tables = if (checks || by_llvm) && !others { Vec::new() } else { pick(&TABLES) };
    let ptx = std::fs::read_to_string(ptx).unwrap();
    // Compiled kernels of this run only.
    let folder = tempfile::tempdir().unwrap();
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("CUSHIM_CACHE_DIR", folder.path()) };
    if checks {
        checks::table(&ptx, &cases);
    }
    if tables.is_empty() && !by_llvm {
        return;
    }
    let (strict, fast) = (Native::new(strict), Native::new(fast));
    if by_llvm {
        llvm::table(&ptx, [&strict, &fast], &cases);
        return;
    }
    cushim_ptx_jit::without_llvm(true);
    let one = Side::new(1, "", &ptx, BYTES);
    check(&one, &strict);
    for table in tables {
        match table {
            "cores" => cores(&one, &ptx, [&strict, &fast], &cases),
            "scaling" => scaling(&one, &ptx, [&strict, &fast], &cases),
            "launches" => compile::tables(&one),
            _ => interpreter(&one, &ptx, &cases),
        }
    }
}

/// Runs all cases twice. The optimised code, which a kernel asks for when its first code has run for a while, is made beside
/// them and in the half second after each time; nothing waits for it beyond that.
fn warm_up(side: &Side, cases: &[&str], size: Size) {
    for _ in 0..2 {
        cases.iter().for_each(|case| ours(side, case, size));
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One core and all cores, compared with C on as many.
fn cores(one: &Side, ptx: &str, [strict, fast]: [&Native; 2], cases: &[&str]) {
    let cores = available();
    let all = Side::new(cores, "", ptx, BYTES);
    check(&all, fast);
    warm_up(one, cases, FULL);
    warm_up(&all, cases, FULL);
    println!(
        "\n| ms | ours, 1 core, processor time | C | C fast-math | of the faster | ours, {cores} cores, by the wall | C | C fast-math | of the faster |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for case in cases {
        let times = least_of_both(
            5,
            &[
                &|| ours(one, case, FULL),
                &|| native(strict, one, case, FULL, 1),
                &|| native(fast, one, case, FULL, 1),
                &|| ours(&all, case, FULL),
                &|| native(strict, &all, case, FULL, cores),
                &|| native(fast, &all, case, FULL, cores),
            ],
        );
        // One core: processor time. All cores: elapsed time.
        let ms: Vec<f64> =
            times.iter().enumerate().map(|(k, t)| t[usize::from(k < 3)] * 1e3).collect();
        println!(
            "| {case} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            ms[0],
            ms[1],
            ms[2],
            ms[1].min(ms[2]) / ms[0],
            ms[3],
            ms[4],
            ms[5],
            ms[4].min(ms[5]) / ms[3],
        );
    }
}

/// Each power of two of threads, and all threads, compared with the faster C on as many: the speed-up over one thread.
fn scaling(one: &Side, ptx: &str, both: [&Native; 2], cases: &[&str]) {
    let most = available();
    let mut counts: Vec<usize> = (0..).map(|k| 1 << k).take_while(|n| *n < most).collect();
    counts.push(most);
    let head: Vec<String> = counts.iter().map(|n| format!("{n}: ms | times | C, times")).collect();
    println!("\n| threads, by the wall | {} |", head.join(" | "));
    println!("|---|{}", "--:|--:|--:|".repeat(counts.len()));
    let mut rows: Vec<String> = cases.iter().map(|case| format!("| {case} |")).collect();
    let mut first = vec![[0.0; 2]; cases.len()];
    for n in counts {
        let many = (n > 1).then(|| Side::new(n, "", ptx, BYTES));
        let side = many.as_ref().unwrap_or(one);
        warm_up(side, cases, FULL);
        for ((case, row), first) in cases.iter().zip(&mut rows).zip(&mut first) {
            let c = |k: usize| native(both[k], side, case, FULL, n);
            let t = least(5, &[&|| ours(side, case, FULL), &|| c(0), &|| c(1)]);
            let now = [t[0], t[1].min(t[2])];
            if n == 1 {
                *first = now;
            }
            let [times, of_c] = [first[0] / now[0], first[1] / now[1]];
            *row += &format!(" {:.2} | {times:.2} | {of_c:.2} |", now[0] * 1e3);
        }
    }
    println!("{}", rows.join("\n"));
}

fn interpreter(one: &Side, ptx: &str, cases: &[&str]) {
    let slow = Side::new(1, "interpreter", ptx, 16 << 20);
    println!("\n| ms of the processor, small sizes, 1 core | interpreter | compiled | times |");
    println!("|---|--:|--:|--:|");
    for case in cases {
        let candidates: [&dyn Fn(); 2] = [&|| ours(&slow, case, SMALL), &|| ours(one, case, SMALL)];
        let t: Vec<f64> = least_of_both(5, &candidates).iter().map(|t| t[1]).collect();
        println!("| {case} | {:.2} | {:.3} | {:.0} |", t[0] * 1e3, t[1] * 1e3, t[0] / t[1]);
    }
}
