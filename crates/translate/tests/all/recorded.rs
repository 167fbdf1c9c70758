//! Every form of every instruction that computes, and sequences of them: compares translated code on the emulated GPU with
//! the interpreter and an NVIDIA GPU's recorded results. The cases belong to the interpreter's crate.
//!
//! Here any NaN of a double equals any other: translated code leaves its payload to AMD's instructions.

use crate::cases;
use crate::common;

use cases::kernels::{self, Case, ROWS};
use cases::results::{self, Results};
use cases::sequences::{self, Shown};
use cases::tally::Tally;
use common::{Buffer, Loaded, compiler, parameters};
use cushim_ptx::types::Scalar;
use cushim_testkit::sample;
use cushim_translate::abi::Lanes;
use cushim_translate::{Compiler, Target, amdgpu};
use std::collections::BTreeMap;

/// Kernels in one module, which is compiled as a whole.
const KERNELS: usize = 16;

/// A column for each result of each form.
fn run(loaded: &Loaded, case: &Case, lanes: Lanes) -> Vec<Vec<u64>> {
    let (input, out) = (Buffer::with(&case.input()), Buffer::new(case.bytes()));
    let given = parameters(&[input.address(), out.address()]);
    let shape = [[1, 1, 1], [ROWS as u32, 1, 1]];
    let done = loaded.launch(&case.name, shape, 0, lanes, &given, &[&input, &out]);
    done.unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
    out.u64s(case.slots() * ROWS).chunks(ROWS).map(<[u64]>::to_vec).collect()
}

/// Replaces the payload of a double NaN by the GPU's, if the GPU's result is a NaN.
fn same_nans(case: &Case, form: usize, ours: &mut [Vec<u64>], kept: &Results) {
    let form = &case.forms[form];
    let Some(gpu) = kept.get(case.key(form)) else { return };
    for ((ours, gpu), ty) in ours.iter_mut().zip(gpu).zip(&form.results) {
        if *ty != Scalar::F64 && *ty != Scalar::B64 {
            continue;
        }
        for (a, b) in ours.iter_mut().zip(gpu) {
            let nan = |v: u64| f64::from_bits(v).is_nan();
            if form.types.contains(&Scalar::F64) && nan(*a) && nan(*b) {
                *a = *b;
            }
        }
    }
}

fn check(all: Vec<Case>, kept: impl Fn() -> Results, who: &str) {
    let Some(compiler) = compiler() else { return };
    let (mut tally, results) = (Tally::within_bounds(kept()), kept());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let wanted = std::env::var("CUSHIM_TEST_FORM").unwrap_or_default();
    let all: Vec<Case> =
        all.into_iter().filter(|c| c.forms.iter().any(|f| f.name.contains(&wanted))).collect();
    let modules = all.chunk_by(|a, b| a.forms[0].device == b.forms[0].device);
    for some in modules.flat_map(|m| m.chunks(KERNELS)) {
        let (loaded, not) = translated(&compiler, some);
        for what in not.values() {
            *refused.entry(what.clone()).or_default() += 1;
        }
        for case in some.iter().filter(|c| !not.contains_key(&c.name)) {
            let columns = run(&loaded, case, Lanes::Half);
            assert_eq!(columns, run(&loaded, case, Lanes::Full), "{}: in both layouts", case.name);
            let mut at = 0;
            for (n, form) in case.forms.iter().enumerate() {
                let mut ours = columns[at..at + form.results.len()].to_vec();
                at += form.results.len();
                same_nans(case, n, &mut ours, &results);
                tally.add(case, form, &ours);
            }
        }
    }
    println!("not translated: {refused:?}");
    tally.finish(who);
}

/// The kernels of the cases, and the refused kernels with the reasons.
fn translated(compiler: &Compiler, some: &[Case]) -> (Loaded, BTreeMap<String, String>) {
    let text: String = some.iter().map(|c| c.text(kernels::Lanes::Threads)).collect();
    let module = common::module(&(kernels::head(some[0].forms[0].device) + &text));
    let target = Target::from_name("gfx90a").unwrap();
    let text = amdgpu::emit(&module, &target);
    if let Some(path) = std::env::var_os("CUSHIM_TEST_IR") {
        std::fs::write(path, &text.ir).unwrap();
    }
    let object = compiler.compile(&text.ir, &target).unwrap_or_else(|e| panic!("{e}"));
    let refused = text.refused.iter().map(|r| (r.kernel.clone(), r.what.clone())).collect();
    (Loaded::new(&object, text.kernels), refused)
}

#[test]
fn translated_code_gives_what_a_gpu_gives() {
    check(sample::of(kernels::all(), 3), results::kept, "translated code");
}

#[test]
fn translated_code_gives_the_same_of_sequences() {
    let all = sequences::all(Shown::Digest).into_iter().step_by(7).collect();
    let all = sample::of(all, 3);
    check(all, results::of_sequences, "translated code of sequences");
}
