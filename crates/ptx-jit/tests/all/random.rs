//! Random valid kernels: compares the compiler with the interpreter.

use cushim_testkit::{corpus, jit};

/// A number from the environment, for long runs apart from the tests: other kernels, or more.
fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
        Err(_) => otherwise,
    }
}

#[test]
fn random_kernels_do_the_same() {
    let mut state = number("CUSHIM_RANDOM_SEED", 1);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u8
    };
    for n in 0..number("CUSHIM_RANDOM_KERNELS", 40) {
        let data: Vec<u8> = (0..400).map(|_| next()).collect();
        let run = || jit::run(&data);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("kernel {n}:\n{}", jit::program(&data));
        }
    }
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
        .env("CUSHIM_RANDOM_KERNELS", "12")
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
