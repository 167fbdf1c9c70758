//! Checks that the manual names every field that the program writes.
//!
//! Must not know: the meaning of the fields.

use std::path::Path;

use serde_json::Value;

/// Fails at the first field of `value` that this page of docs/ does not name.
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
