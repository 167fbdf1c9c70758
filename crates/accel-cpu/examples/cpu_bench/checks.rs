//! The cost of checking programs.
//!
//! Owns the candidates with checks and the table. Must not know the cases.

use crate::cases::{MIDDLE, ours};
use crate::measure::least_of_both;
use crate::side::Side;
use crate::warm_up;

const BYTES: usize = 64 << 20;
const TOOLS: [&str; 4] = ["memory", "init", "race", "sync"];

/// A side whose accelerator runs with checking tools.
fn checked(tool: &str, ptx: &str, folder: &std::path::Path) -> Side {
    let file = folder.join(tool);
    std::fs::write(&file, "").unwrap();
    // SAFETY: the accelerators' threads read no environment, and there are no others.
    unsafe {
        std::env::set_var("CUSHIM_CHECK", tool);
        std::env::set_var("CUSHIM_CHECK_FILE", &file);
    }
    let side = Side::new(1, "", ptx, BYTES);
    // SAFETY: the accelerators' threads read no environment, and there are no others.
    unsafe { std::env::remove_var("CUSHIM_CHECK") };
    side
}

/// Each tool's time on one core as a multiple of the time without checks, both in processor time.
pub fn table(ptx: &str, cases: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let plain = Side::new(1, "", ptx, BYTES);
    let sides = TOOLS.map(|tool| checked(tool, ptx, folder.path()));
    warm_up(&plain, cases, MIDDLE);
    sides.iter().for_each(|side| warm_up(side, cases, MIDDLE));
    println!("\n| 1 core, processor time | ms, unchecked | {} |", TOOLS.join(" | "));
    println!("|---|--:|{}", "--:|".repeat(TOOLS.len()));
    let mut products = [1.0; TOOLS.len()];
    for case in cases {
        let run: Vec<Box<dyn Fn() + '_>> = std::iter::once(&plain)
            .chain(&sides)
            .map(|side| Box::new(move || ours(side, case, MIDDLE)) as Box<dyn Fn()>)
            .collect();
        let candidates: Vec<&dyn Fn()> = run.iter().map(|run| &**run).collect();
        let times: Vec<f64> = least_of_both(3, &candidates).iter().map(|t| t[1]).collect();
        print!("| {case} | {:.2} |", times[0] * 1e3);
        for (product, time) in products.iter_mut().zip(&times[1..]) {
            *product *= time / times[0];
            print!(" {:.1}x |", time / times[0]);
        }
        println!();
    }
    print!("| geometric mean | |");
    products.iter().for_each(|all| print!(" {:.1}x |", all.powf(1.0 / cases.len() as f64)));
    println!();
}
