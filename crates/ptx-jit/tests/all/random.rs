//! Random valid kernels: compares the compiler with the interpreter.

use cushim_testkit::{corpus, jit, sample};

/// Kernels of each kind; fuzzing makes others.
fn kernels() -> u64 {
    if sample::all() { 40 } else { 16 }
}

#[test]
fn random_kernels_do_the_same() {
    jit::random(400, kernels(), &mut jit::run, &jit::program);
}

#[test]
fn random_kernels_whose_lanes_part_do_the_same() {
    let run = &mut |data: &[u8]| drop(jit::run_parting(data));
    jit::random(jit::PARTING, kernels(), run, &jit::parting);
}

/// Inputs with which fuzzing once found a fault.
#[test]
fn regressions() {
    corpus::regressions("jit_program", jit::run);
    corpus::regressions("jit_object", jit::object);
    corpus::regressions("jit_wire", jit::wire);
}

/// Runs this program again, for processors of another level.
fn again(level: &str) -> (bool, String) {
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "random::random_kernels_do_the_same"])
        .env(cushim_ptx::level::VARIABLE, level)
        .env("CUSHIM_RANDOM_KERNELS", if sample::all() { "12" } else { "4" })
        .output()
        .unwrap();
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn and_on_processors_that_have_less() {
    let most = cushim_ptx::Level::of_processor();
    for level in cushim_ptx::Level::ALL.into_iter().filter(|level| *level < most) {
        let (done, text) = again(level.name());
        assert!(done && text.contains("1 passed; 0 failed"), "{}:\n{text}", level.name());
    }
}

#[test]
fn levels_that_there_are_not_are_refused() {
    let (done, text) = again("x86-64-v9");
    let expected = "CUSHIM_CPU_LEVEL=x86-64-v9: expected x86-64, x86-64-v2, x86-64-v3 or x86-64-v4";
    assert!(!done && text.contains(expected), "{text}");
}
