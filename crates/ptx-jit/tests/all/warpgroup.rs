//! Matrix products by a warpgroup (wgmma): compares compiled code with an H200.

use crate::common;

use crate::cases::warpgroup::{self, Run};
use common::Device;

#[test]
fn compiled_code_multiplies_as_an_h200_however_factors_lie() {
    // Every fifth case: the interpreter's test runs all.
    warpgroup::all().into_iter().step_by(5).for_each(runs_as_recorded);
}

#[test]
fn sparse_products_are_of_the_elements_that_are_said() {
    warpgroup::sparse().into_iter().step_by(3).for_each(runs_as_recorded);
}

#[test]
fn warps_meet_at_the_product() {
    warpgroup::all().into_iter().step_by(40).map(Run::without_barrier).for_each(runs_as_recorded);
}

fn runs_as_recorded(run: Run) {
    let device = Device::new(&run.text);
    let input = device.upload(&run.input, |b| [*b]);
    let out = device.alloc(run.expected.len() as u64 * 4);
    let ended = device.launch("k", run.blocks, 128, &[input, out]);
    ended.unwrap_or_else(|e| panic!("{}: {e}", run.name));
    let found = device.u32s(out, run.expected.len());
    let wrong = found.iter().zip(&run.expected).filter(|(a, b)| a != b).count();
    assert_eq!(wrong, 0, "of {} words of {}", found.len(), run.name);
}
