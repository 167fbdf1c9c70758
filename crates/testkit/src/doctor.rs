//! The body of the fuzz target for the audit library's report of a run.

use cushim_cli::doctor::told;

/// Any lines: reading ends, and each file is absolute and appears once.
pub fn told(data: &[u8]) {
    let loaded = told::read(data);
    let lines = data.split(|b| *b == b'\n').count();
    assert!(loaded.files.len() + loaded.missing.len() <= lines && loaded.processes.len() <= lines);
    let mut seen = std::collections::BTreeSet::new();
    for file in &loaded.files {
        assert!(file.is_absolute() && seen.insert(file));
    }
}
