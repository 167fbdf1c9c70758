//! Products and sums that a GPU fuses (contraction), in PTX that a program loads, without a GPU and without a toolkit: in
//! the interpreter and in compiled code, with `--fmad=off`, and with a cache from runs with the other setting.

use std::path::Path;
use std::process::Command;

/// `fma(a, a, -a * a)` of four numbers, exact as one `fma` computes it, each before the unfused, rounded difference.
const FUSED: &str = "3359faa4 0 b45f7770 0 34904448 0 b537dddc 0";
const ROUNDED: &str = "0 0 0 0 0 0 0 0";

#[test]
fn sums_are_fused_but_where_the_user_or_the_program_says_otherwise() {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = folder.join("contraction");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual/contraction.c");
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(cc);
    command.args(["-O1", "-w", "-o"]).arg(&program).arg(source).arg("-ldl");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // The second round uses the code that the first has cached.
    for _ in 0..2 {
        for (options, variables, fused) in [
            (&[][..], &[][..], true),
            (&["--fmad=off"], &[], false),
            (&[], &[("CUSHIM_FMAD", "off")], false),
            (&["--fmad=on"], &[("CUSHIM_FMAD", "off")], true),
            (&[], &[("CUSHIM_CPU", "interpreter")], true),
            (&["--fmad=off"], &[("CUSHIM_CPU", "interpreter")], false),
        ] {
            let mut command = Command::new("timeout");
            command.args(["-s", "KILL", "100", cushim, "run", "--backend", "cpu"]);
            command.args(options).arg(&program).env_remove("CUSHIM_FMAD");
            command.envs(variables.iter().copied()).env("CUSHIM_CACHE_DIR", folder.join("kept"));
            let done = command.output().unwrap();
            let way = if fused { FUSED } else { ROUNDED };
            let expected = format!(
                "first: {way}\nlast: {way}\nnot optimised, first: {ROUNDED}\nnot optimised, last: {ROUNDED}\n"
            );
            let said = String::from_utf8_lossy(&done.stderr);
            let what = format!("{options:?} {variables:?}: {said}");
            assert_eq!(String::from_utf8_lossy(&done.stdout), expected, "{what}");
            assert!(done.status.success(), "{what}");
        }
    }
}
