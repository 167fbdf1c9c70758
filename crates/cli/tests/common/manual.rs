//! Whether every field that is written is in the manual.
//!
//! Must not know: what the fields mean.

use std::path::Path;

use serde_json::Value;

/// Fails at the first field of `value` that the page below docs/ does not name.
pub fn documented(value: &Value, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    fields(value, page, &std::fs::read_to_string(file).unwrap());
}

fn fields(value: &Value, page: &str, manual: &str) {
    match value {
        Value::Object(all) => {
            for (name, value) in all {
                assert!(manual.contains(&format!("`{name}`")), "docs/{page} lacks {name}");
                fields(value, page, manual);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, page, manual)),
        _ => {}
    }
}
