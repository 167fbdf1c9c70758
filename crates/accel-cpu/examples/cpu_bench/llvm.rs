//! Compares LLVM's code with Cranelift's and C's, on one core.

use crate::cases::{FULL, check, native, ours};
use crate::measure::least_of_both;
use crate::native::Native;
use crate::side::Side;
use crate::{BYTES, warm_up};
use std::time::Instant;

/// Prints the table. Every kernel that LLVM accepts runs by its code, whether that is faster or not; for other
/// kernels both sides are Cranelift's.
pub fn table(ptx: &str, both: [&Native; 2], cases: &[&str]) {
    if std::env::var_os("CUSHIM_LLVM").is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("CUSHIM_LLVM", "auto") };
    }
    match cushim_ptx_jit::llvm() {
        Some(Ok(library)) => {
            let [major, minor, patch] = library.version;
            println!("LLVM {major}.{minor}.{patch}, {}", library.path);
        }
        Some(Err(why)) => panic!("no LLVM: {why}"),
        None => panic!("CUSHIM_LLVM=off"),
    }
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("CUSHIM_LLVM_WAIT", "1") };
    cushim_ptx_jit::without_llvm(true);
    let usual = Side::new(1, "", ptx, BYTES);
    check(&usual, both[0]);
    warm_up(&usual, cases, FULL);
    cushim_ptx_jit::without_llvm(false);
    let other = Side::new(1, "", ptx, BYTES);
    let start = Instant::now();
    check(&other, both[0]);
    println!(
        "All kernels are compiled, and checked against C, after {:.1} s.",
        start.elapsed().as_secs_f64()
    );
    warm_up(&other, cases, FULL);
    println!(
        "\n| ms of the processor, 1 core | Cranelift | LLVM | times | C | C fast-math | Cranelift, of the faster | LLVM | the faster of both |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut sums = [0.0; 4];
    for case in cases {
        let candidates: [&dyn Fn(); 4] = [
            &|| ours(&usual, case, FULL),
            &|| ours(&other, case, FULL),
            &|| native(both[0], &usual, case, FULL, 1),
            &|| native(both[1], &usual, case, FULL, 1),
        ];
        let times = least_of_both(5, &candidates);
        let ms: Vec<f64> = times.iter().map(|t| t[1] * 1e3).collect();
        let (c, best) = (ms[2].min(ms[3]), ms[0].min(ms[1]));
        let ratios = [ms[0] / ms[1], c / ms[0], c / ms[1], c / best];
        sums.iter_mut().zip(ratios).for_each(|(sum, ratio)| *sum += ratio.ln());
        println!(
            "| {case} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            ms[0], ms[1], ratios[0], ms[2], ms[3], ratios[1], ratios[2], ratios[3],
        );
    }
    let mean = sums.map(|sum| (sum / cases.len() as f64).exp());
    println!(
        "| geometric mean | | | {:.2} | | | {:.2} | {:.2} | {:.2} |",
        mean[0], mean[1], mean[2], mean[3],
    );
}
