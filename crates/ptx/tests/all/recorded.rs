//! Every form of every instruction that computes, and sequences of them: compares the interpreter
//! with a GPU's recorded results ([`cases`]).

use crate::cases;
use crate::common;

use cases::kernels::{self, Case, Lanes, ROWS};
use cases::matrix;
use cases::results::{self, Results};
use cases::sequences::{self, Shown};
use cases::tally::Tally;
use common::device::Device;
use cushim_testkit::sample;

/// Runs a kernel; returns a column for each result of each form.
fn run(case: &Case) -> Vec<Vec<u64>> {
    let device = Device::new(&(kernels::head(case.forms[0].device) + &case.text(Lanes::Threads)));
    let input = device.upload(&case.input(), |b| [*b]);
    let out = device.alloc(case.bytes() as u64);
    device.launch(&case.name, 1, ROWS as u32, &[input, out]).unwrap();
    device.u64s(out, case.slots() * ROWS).chunks(ROWS).map(<[u64]>::to_vec).collect()
}

fn check(cases: Vec<Case>, kept: Results) {
    let mut tally = Tally::new(kept);
    let mut unrecorded = Vec::new();
    // The tests of compiled code interpret a sample, too.
    for case in sample::of(cases, 3) {
        let columns = run(&case);
        let mut rest = columns.as_slice();
        for form in &case.forms {
            let (ours, after) = rest.split_at(form.results.len());
            rest = after;
            tally.add(&case, form, ours);
            if !form.device {
                unrecorded.push(form.name.clone());
            }
        }
    }
    // The recording must have all forms that an sm_90 can run.
    assert_eq!(tally.missing, unrecorded);
    tally.finish("interpreter");
}

#[test]
fn the_interpreter_gives_what_a_gpu_gives() {
    check(kernels::all(), results::kept());
}

#[test]
fn the_interpreter_gives_what_a_gpu_gives_of_sequences() {
    check(sequences::all(Shown::Digest), results::of_sequences());
}

#[test]
fn the_interpreter_gives_what_a_gpu_gives_of_matrices() {
    check(matrix::all(), results::of_matrices());
}

#[test]
fn damaged_results_are_refused() {
    let whole = include_bytes!("../cases/results.bin");
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 5] {
        assert!(results::read(&whole[..length]).is_err(), "{length} bytes");
    }
}
