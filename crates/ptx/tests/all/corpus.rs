//! nvcc's PTX for the repository's CUDA programs is accepted completely and can
//! run: no instruction is refused.

use crate::common;

use cushim_testkit::sample;
use std::path::Path;

#[test]
fn every_cuda_program_is_accepted() {
    std::thread::scope(|s| {
        for (place, (nvcc, arch)) in common::toolkits().into_iter().enumerate() {
            s.spawn(move || programs(&nvcc, arch, place));
        }
    });
}

/// Usually each program by one toolkit, the `place`th.
fn programs(nvcc: &Path, arch: &str, place: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cuda = root.join("../../c-tests/cuda");
    let mut sources = vec![root.join("tests/features.cu")];
    // Without the programs that compute: they are many, a compiler takes seconds for each, and scripts/cpu-check
    // runs them all.
    for entry in std::fs::read_dir(cuda).unwrap() {
        sources.push(entry.unwrap().path());
    }
    sources.retain(|s| s.extension().is_some_and(|e| e == "cu"));
    sources.sort();
    let turn = |n: usize| sample::all() || (n + place).is_multiple_of(3);
    let (mut accepted, enough) = (0, if sample::all() { 20 } else { 5 });
    for (_, source) in sources.iter().enumerate().filter(|(n, _)| turn(*n)) {
        // 11.8 and 12.4 lack functions that some programs call.
        let Ok(text) = common::ptx(nvcc, arch, source, &[]) else { continue };
        let name = source.display();
        let module = match cushim_ptx::parse(&text) {
            Ok(m) => m,
            Err(e) => panic!("{}: {name}: {e}", nvcc.display()),
        };
        assert_eq!(module.address_size, 64, "{name}");
        let entries = module.functions.iter().filter(|f| f.entry).count();
        assert_eq!(entries, text.matches(".entry").count(), "{name}");
        let checked = match cushim_ptx::check(&module) {
            Ok(m) => m,
            Err(e) => panic!("{}: {name}: {e}", nvcc.display()),
        };
        for f in &checked.functions {
            assert_eq!(f.refusals, [], "{name}: {}", f.name);
        }
        accepted += 1;
    }
    assert!(accepted >= enough, "{}: only {accepted} programs compiled", nvcc.display());
}
