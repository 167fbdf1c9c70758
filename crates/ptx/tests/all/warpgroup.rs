//! Matrix products by a warpgroup (wgmma): compares the interpreter with an H200.

use crate::common;

use crate::cases::warpgroup::{self, Run};
use common::device::Device;

#[test]
fn the_interpreter_multiplies_as_an_h200_however_factors_lie() {
    warpgroup::all().into_iter().for_each(runs_as_recorded);
}

#[test]
fn sparse_products_are_of_the_elements_that_are_said() {
    warpgroup::sparse().into_iter().for_each(runs_as_recorded);
}

#[test]
fn warps_meet_at_the_product() {
    warpgroup::all().into_iter().step_by(10).map(Run::without_barrier).for_each(runs_as_recorded);
}

fn runs_as_recorded(run: Run) {
    let device = Device::new(&run.text);
    let input = device.upload(&run.input, |b| [*b]);
    let out = device.alloc(run.expected.len() as u64 * 4);
    device
        .launch("k", run.blocks, 128, &[input, out])
        .unwrap_or_else(|e| panic!("{}: {e}", run.name));
    let found = device.u32s(out, run.expected.len());
    let wrong = found.iter().zip(&run.expected).filter(|(a, b)| a != b).count();
    assert_eq!(wrong, 0, "of {} words of {}", found.len(), run.name);
}

/// With a scale of 0 the accumulator is not read; an unknown instruction is refused by name.
#[test]
fn what_is_not_added_is_not_looked_at() {
    let run = warpgroup::all().remove(0);
    let never = run.text.replace("setp.eq.u32 p, t, t;", "setp.ne.u32 p, t, t;");
    let device = Device::new(&never);
    let mut other = run.input.clone();
    let each = run.input.len() / run.blocks as usize;
    let results = run.expected.len() * 4 / run.blocks as usize;
    // Other accumulators, the same products.
    for case in other.chunks_exact_mut(each) {
        case[each - results..].fill(0x41);
    }
    let outputs: Vec<Vec<u32>> = [&run.input, &other]
        .map(|input| {
            let input = device.upload(input, |b| [*b]);
            let out = device.alloc(run.expected.len() as u64 * 4);
            device.launch("k", run.blocks, 128, &[input, out]).unwrap();
            device.u32s(out, run.expected.len())
        })
        .into();
    assert_eq!(outputs[0], outputs[1]);
    assert_ne!(outputs[0], run.expected);
}

#[test]
fn operands_are_checked() {
    let text = warpgroup::all().remove(0).text;
    let check = |text: &str| {
        cushim_ptx::parse(text)
            .and_then(|m| cushim_ptx::check(&m))
            .map(drop)
            .map_err(|e| e.to_string())
    };
    assert_eq!(check(&text), Ok(()));
    for (old, new, why) in [
        (", p, 1, 1, 0;", ", p, 1, 1;", "2 constants, expected 3"),
        (", p, 1, 1, 0;", ", p, 1, 2, 0;", "1 or -1"),
        ("{d0, ", "{", "11 results, expected 12"),
        ("{a0, a1, ", "{", "2 registers, expected 4"),
        ("wait_group.sync.aligned 0", "wait_group.sync.aligned t", "a number of groups"),
        (".target sm_90a", ".target sm_90", "expected .target sm_90a"),
        (".version 8.7", ".version 7.8", "expected .version 8.0"),
    ] {
        let why_not = check(&text.replace(old, new)).unwrap_err();
        assert!(why_not.contains(why), "{why_not}");
    }
    let text = warpgroup::sparse().remove(0).text;
    assert_eq!(check(&text), Ok(()));
    for (old, new, why) in [
        (", y, m, 0, p", ", y, m, 2, p", "a constant below 2"),
        (", y, m, 0, p", ", y, m, c, p", "another selector"),
        (", y, m, 0, p", ", y, p", "1 constants, expected 3"),
        (".version 8.7", ".version 8.1", "expected .version 8.2"),
    ] {
        let why_not = check(&text.replace(old, new)).unwrap_err();
        assert!(why_not.contains(why), "{why_not}");
    }
}
