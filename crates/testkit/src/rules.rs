//! What fuzzing does with `cushim-rules`.
#![allow(clippy::panic, clippy::indexing_slicing)]

use std::path::Path;

use cushim_rules::{Error, Manifest};

/// Any text: reading ends, and an error's place is in the text.
pub fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = Manifest::replace(&text);
    match Manifest::parse(&text, Path::new("m.toml")) {
        Ok(manifest) => {
            for rule in &manifest.rules {
                let launch = &rule.matching.launch;
                assert!(!launch.holds([0; 3], [0; 3], 0) || launch.nth.is_none());
            }
        }
        Err(Error::Syntax { line, column, .. }) => {
            assert!(line >= 1 && line <= text.matches('\n').count() + 1 && column >= 1);
        }
        Err(error) => panic!("{error}: nothing was read"),
    }
}
