//! Compares the approximate instructions with a GPU, whose results for all 2^32 operands were recorded as sums of hashes
//! (`scripts/record-approximations`; h200.txt).
//!
//! The ordinary test compares samples of operands. The exhaustive one takes minutes and needs an optimised build:
//!
//!     cargo test --release -p cushim-ptx --test approximate -- --ignored --nocapture
//!
//! `CUSHIM_APPROXIMATIONS=FILE` makes both compare with another recording, for example of another GPU.

mod forms;
mod sums;

use forms::Form;
use std::sync::atomic::{AtomicUsize, Ordering};
use sums::{BLOCKS, Recording, SAMPLE, SAMPLES};

fn recording() -> Recording {
    let text = match std::env::var("CUSHIM_APPROXIMATIONS") {
        Ok(path) => std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")),
        Err(_) => include_str!("h200.txt").to_owned(),
    };
    Recording::read(&text).unwrap_or_else(|e| panic!("recording: {e}"))
}

/// The operands of a sample.
fn operand(n: u32, bits: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) >> (32 - bits)
}

#[test]
fn samples_are_what_a_gpu_gives() {
    let recording = recording();
    let mut wrong = Vec::new();
    for form in forms::all() {
        let sums = recording.of(form.name);
        // Every fourth sample, as this build may be slow.
        for sample in (0..SAMPLES).step_by(4) {
            let first = (sample * SAMPLE) as u32;
            let range = first..first + SAMPLE as u32;
            let sum = range.clone().map(|n| {
                let x = operand(n, form.bits);
                sums::mix(x, form.evaluated(x))
            });
            let sum = sum.fold(0, u64::wrapping_add);
            if sum != sums[BLOCKS + sample] {
                wrong.push(format!("{}, sample {sample}", form.name));
            }
            for n in range.step_by(61) {
                let x = operand(n, form.bits);
                let (one, other) = ((form.quick)(x), form.evaluated(x));
                assert_eq!(one, other, "{} of {x:#x}: the two definitions differ", form.name);
            }
        }
    }
    assert!(wrong.is_empty(), "not as {} gives:\n{}", recording.device, wrong.join("\n"));
}

#[test]
#[ignore = "takes half an hour: cargo test --release -p cushim-ptx --test approximate -- --ignored"]
fn all_operands_give_what_a_gpu_gives() {
    let (recording, forms) = (recording(), forms::all());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: usize = std::thread::scope(|scope| {
        let work = || {
            let mut wrong = 0;
            while let Some(form) = forms.get(next.fetch_add(1, Ordering::Relaxed)) {
                wrong += compare(form, recording.of(form.name));
            }
            wrong
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|t| t.join().unwrap_or(1)).sum()
    });
    println!("{} forms and {}: {wrong} blocks of operands differ", forms.len(), recording.device);
    assert_eq!(wrong, 0);
}

/// Counts the blocks of operands with other results.
fn compare(form: &Form, sums: &[u64]) -> usize {
    let shift = form.bits - BLOCKS.trailing_zeros();
    let differ: Vec<usize> =
        (0..BLOCKS).filter(|b| (form.sum)((*b as u32) << shift, 1 << shift) != sums[*b]).collect();
    println!("{:<28} {} of {BLOCKS} blocks differ {differ:?}", form.name, differ.len());
    differ.len()
}

#[test]
fn damaged_recordings_are_refused() {
    let whole = include_str!("h200.txt");
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 5] {
        assert!(Recording::read(&whole[..length]).is_err(), "{length} bytes");
    }
    let other = whole.replace("ex2.approx.f16\n", "ex2.approx.f17\n");
    assert!(Recording::read(&other).is_err());
}
