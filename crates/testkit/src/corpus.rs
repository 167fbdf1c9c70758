//! Inputs of fuzz targets: those that once failed, which are kept in `fuzz/regressions/TARGET`, and seeds.
//!
//! Owns where both are. Must not know what a target does with an input. A target that does not exist fails the test: a
//! misspelt name would find no inputs, and test nothing.

use std::path::{Path, PathBuf};

/// Names a folder; the tests write their seeds there (`scripts/fuzz`).
const SEEDS: &str = "CUSHIM_FUZZ_SEEDS";

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn failed(path: &Path, error: &std::io::Error) -> ! {
    panic!("{}: {error}", path.display());
}

/// Panics if the repository has no fuzz target of this name.
fn exists(target: &str) {
    let source = fuzz().join("fuzz_targets").join(format!("{target}.rs"));
    assert!(source.is_file(), "there is no fuzz target {target}: expected {}", source.display());
}

/// Gives each input on which the target once failed to `run`. A target that never failed has no folder.
pub fn regressions(target: &str, run: impl Fn(&[u8])) {
    exists(target);
    let all = fuzz().join("regressions");
    assert!(all.is_dir(), "{} is missing", all.display());
    let folder = all.join(target);
    if !folder.exists() {
        return;
    }
    let entries = std::fs::read_dir(&folder).and_then(|all| all.collect::<Result<Vec<_>, _>>());
    for entry in entries.unwrap_or_else(|error| failed(&folder, &error)) {
        let path = entry.path();
        // A test that fails shows what it printed last.
        println!("{}", path.display());
        run(&std::fs::read(&path).unwrap_or_else(|error| failed(&path, &error)));
    }
}

/// Writes the inputs with which fuzzing of the target begins, if `scripts/fuzz` asks for them.
pub fn seeds<Input: AsRef<[u8]>>(target: &str, inputs: impl IntoIterator<Item = Input>) {
    exists(target);
    let Some(folder) = std::env::var_os(SEEDS) else { return };
    let folder = Path::new(&folder).join(target);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| failed(&folder, &error));
    for (number, input) in inputs.into_iter().enumerate() {
        let path = folder.join(format!("seed-{number}"));
        std::fs::write(&path, input).unwrap_or_else(|error| failed(&path, &error));
    }
}
