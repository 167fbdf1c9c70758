//! The bodies of the fuzz targets for `cushim-manifest` and `cushim-rules`.
#![allow(clippy::panic, clippy::indexing_slicing)]

use std::path::Path;

use cushim_manifest::Manifest;
use cushim_rules::{Error, Rule, compiled};

/// Any text: reading ends, and an error's position is in the text. Compiled rules are the same when they are read
/// again.
pub fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = Rule::replace(&text);
    let file = Path::new("m.toml");
    match Manifest::parse(&text, file) {
        Ok(manifest) => {
            for rule in &manifest.rules {
                let launch = &rule.matching.launch;
                assert!(!launch.holds([0; 3], [0; 3], 0) || launch.nth.is_none());
            }
            same(file, &manifest.rules);
        }
        Err(Error::Syntax { line, column, .. }) => {
            assert!(line >= 1 && line <= text.matches('\n').count() + 1 && column >= 1);
        }
        Err(error) => panic!("{error}: nothing was read"),
    }
}

/// Any text as compiled rules: read or refused; rules that were read are the same after writing and reading.
pub fn handed_over(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match compiled::read(&text) {
        Ok((file, rules)) => same(&file, &rules),
        Err(field) => assert!(field >= 1 && field <= text.matches(',').count() + 1),
    }
}

fn same(file: &Path, rules: &[Rule]) {
    let text = compiled::write(file, rules);
    let (from, again) =
        compiled::read(&text).unwrap_or_else(|field| panic!("field {field} of {text}"));
    assert_eq!((from.as_path(), format!("{rules:?}")), (file, format!("{again:?}")));
}
