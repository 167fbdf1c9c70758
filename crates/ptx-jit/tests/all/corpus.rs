//! nvcc's PTX for the repository's CUDA programs compiles, or the refusal names a known reason.

#[path = "../../../ptx/tests/common/mod.rs"]
mod nvcc;

use cushim_ptx_jit::Kernel;
use cushim_testkit::sample;
use std::path::Path;
use std::sync::Arc;

/// Known reasons for which a kernel stays with the interpreter, as parts of the message.
const REASONS: [&str; 4] = [
    "calls through pointers are not compiled",
    "calls of the module's functions are not compiled",
    "not compiled yet",
    "vectors of 8 are not compiled",
];

#[test]
fn every_kernel_compiles_or_says_why() {
    // Only the newest toolkit: the output of the others differs little and takes as long again.
    if let Some((nvcc, arch)) = nvcc::newest() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(root.join("../../c-tests/cuda")).unwrap();
        let mut sources: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        sources.retain(|s| s.extension().is_some_and(|e| e == "cu"));
        sources.sort();
        // scripts/cpu-check runs them all.
        let mut sources = sample::of(sources, 3);
        sources.push(root.join("../ptx/tests/features.cu"));
        let (mut compiled, mut kept) = (0, Vec::new());
        for source in &sources {
            // Older toolkits lack calls that some programs make.
            let Ok(text) = nvcc::ptx(&nvcc, arch, source, &[]) else { continue };
            let module = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m)).unwrap();
            let module = Arc::new(module);
            for (n, f) in module.functions.iter().enumerate() {
                if !f.entry {
                    continue;
                }
                match Kernel::new(&module, n as u32, [32, 1, 1]) {
                    Ok(_) => compiled += 1,
                    Err(e) => {
                        let e = e.to_string();
                        assert!(
                            REASONS.iter().any(|r| e.ends_with(r)),
                            "{}: {e}",
                            source.display()
                        );
                        kept.push(e);
                    }
                }
            }
        }
        println!("{}: {compiled} compiled, {} interpreted", nvcc.display(), kept.len());
        kept.iter().for_each(|e| println!("  {e}"));
        assert!(compiled >= 5 * kept.len(), "{compiled} compiled, interpreted: {kept:#?}");
    }
}
