//! Sums and products that may be fused: compares the interpreter with a GPU's recorded results ([`contraction`]).

use crate::common;
use crate::contraction;

use common::device::Device;
use contraction::{Case, ROWS, SAMPLES};
use cushim_testkit::sample;

/// Runs a kernel; returns for each slot a value for each row.
fn run(case: &Case, fused: bool) -> Vec<[u64; ROWS]> {
    let text = contraction::head() + &case.text;
    let checked = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m));
    let mut module = checked.unwrap_or_else(|e| panic!("{e}\n{text}"));
    if fused {
        cushim_ptx::contract(&mut module);
    }
    let device = Device::of(module);
    let input = device.upload(&contraction::input(case.ty), |b| [*b]);
    let out = device.alloc((case.slots * ROWS * 8) as u64);
    let args = [&[input, out], case.params.as_slice()].concat();
    device.launch(&case.name, 1, ROWS as u32, &args).unwrap();
    let all = device.u64s(out, case.slots * ROWS);
    all.chunks(ROWS).map(|rows| rows.try_into().unwrap()).collect()
}

/// Compares a sample with its recording.
fn compare(name: &str) {
    let sample = SAMPLES.iter().find(|s| s.name == name).unwrap();
    let cases = sample.cases();
    let recorded = sample.recorded(&cases).unwrap();
    let unforetold = sample.unforetold();
    let (mut wrong, mut right, mut apart) = (Vec::new(), Vec::new(), 0);
    let all = cases.iter().zip(&recorded.columns).collect();
    let tried: Vec<(&Case, _)> = sample::of(all, 4);
    for (case, expected) in &tried {
        let expected = *expected;
        let ours = run(case, true);
        apart += usize::from(run(case, false) != *expected);
        let known = unforetold.contains(&case.name.as_str());
        if ours == *expected && known {
            right.push(&case.name);
        } else if ours != *expected && !known {
            let at = ours.iter().zip(expected).position(|(a, b)| a != b).unwrap();
            wrong.push(format!(
                "{} slot {at}: {:x?}, {} gives {:x?}\n{}",
                case.name, ours[at], recorded.device, expected[at], case.text
            ));
        }
    }
    // Without contraction many kernels differ.
    assert!(apart > tried.len() / 3, "{apart} kernels differ where nothing is fused");
    wrong.sort_by_key(String::len);
    assert!(
        wrong.is_empty(),
        "{name}: {} kernels differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
    assert!(right.is_empty(), "{right:?} are foretold now: take them out of {name}.txt");
}

#[test]
fn the_interpreter_fuses_where_a_gpu_does() {
    compare("first");
}

#[test]
fn so_it_does_in_others_of_the_same_kind() {
    compare("others");
}

#[test]
fn so_it_does_with_parameters_arms_and_memory() {
    compare("second");
}

#[test]
fn so_it_does_where_nobody_looked() {
    compare("third");
}

/// The only write to `a` is a guarded instruction that also reads `a`: its definitions form a cycle.
#[test]
fn a_value_that_comes_from_itself_alone() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .entry k(.param .u64 out) { .reg .pred p, q; .reg .f32 a, b; .reg .b32 n; .reg .b64 w; ld.param.u64 w, [out];
        mov.u32 n, %tid.x; setp.eq.u32 p, n, 0; mov.u32 n, 3;
        L: @p add.f32 a, a, 0f3f800000; mul.f32 b, a, a; add.f32 b, b, a;
        sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra L; st.global.f32 [w], b; ret; }";
    let mut module = cushim_ptx::parse(text).and_then(|m| cushim_ptx::check(&m)).unwrap();
    cushim_ptx::contract(&mut module);
    let code = &module.functions[0].code;
    let fused = |i: &&cushim_ptx::ir::Inst| {
        i.sem.float().is_some_and(|f| f.op == cushim_ptx::sem::FloatOp::Fma)
    };
    assert_eq!(code.iter().filter(fused).count(), 1);
}
