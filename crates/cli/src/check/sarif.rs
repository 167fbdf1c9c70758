//! The findings as SARIF 2.1.0 (OASIS), which tools for code review read.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::gather::{Found, Report};

/// The document.
pub fn report(report: &Report) -> String {
    let known = report.suppressed.iter();
    let all = report.found.iter().chain(known.clone().map(|known| &known.found));
    let kinds: BTreeSet<(&str, &str)> =
        all.map(|found| (&*found.told.tool, &*found.told.kind)).collect();
    let rules: Vec<Value> = kinds
        .iter()
        .map(|(tool, kind)| json!({ "id": rule(tool, kind), "shortDescription": { "text": kind } }))
        .collect();
    let mut results: Vec<Value> = report.found.iter().map(result).collect();
    results.extend(known.map(|known| {
        let mut result = result(&known.found);
        result["suppressions"] = json!([{ "kind": "external", "justification": known.by }]);
        result
    }));
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cushim check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// The name of a kind of finding: `memory/out-of-bounds`.
fn rule(tool: &str, kind: &str) -> String {
    format!("{tool}/{}", kind.replace(' ', "-"))
}

fn result(found: &Found) -> Value {
    let told = &found.told;
    let mut text = told.message.clone();
    if let Some(kernel) = &told.kernel {
        text += &format!("; kernel {kernel}");
    }
    if let Some(place) = &told.place {
        text += &format!(", {place}");
    }
    let mut result = json!({
        "ruleId": rule(&told.tool, &told.kind),
        "level": "error",
        "message": { "text": text },
        "occurrenceCount": found.count,
    });
    let mut location = json!({});
    if let Some((file, line)) = place(found) {
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": file },
            "region": { "startLine": line },
        });
    }
    if let Some(variable) = &told.variable {
        location["logicalLocations"] = json!([{
            "name": variable.name,
            "decoratedName": variable.symbol,
            "kind": "variable",
        }]);
        result["properties"] = json!({ "variable": variable });
    }
    if location.as_object().is_some_and(|location| !location.is_empty()) {
        result["locations"] = json!([location]);
    }
    result
}

/// The line of the source: the kernel's, else that of the program's innermost frame which has one.
fn place(found: &Found) -> Option<(String, u32)> {
    let told = &found.told;
    if let (Some(file), Some(line)) = (&told.file, told.line) {
        return Some((file.clone(), line));
    }
    let mut frames = told.trails.iter().flat_map(|trail| &trail.frames);
    let (file, line) = frames.find_map(|frame| frame.place.as_deref()?.rsplit_once(':'))?;
    Some((file.to_owned(), line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::gather::gather;
    use super::*;

    #[test]
    fn a_result_has_rule_message_and_place() {
        let line = r#"{"pid":7,"key":"a","tool":"memory","kind":"out of bounds","message":"m","kernel":"k()","file":"/x/a.cu","line":4,"variable":{"name":"k()::tile","symbol":"_ZZ1kvE4tile","space":"shared","offset":40,"bytes":40},"trails":[]}
{"pid":7,"key":"b","tool":"leak","kind":"leak","message":"l","trails":[{"what":"allocated","frames":[{"function":"f"},{"function":"g","place":"b.cu:12"}]}]}"#;
        let text = super::report(&gather(line.as_bytes()));
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let results = &value["runs"][0]["results"];
        assert_eq!(results[0]["ruleId"], "memory/out-of-bounds");
        assert_eq!(results[0]["message"]["text"], "m; kernel k()");
        let location = |n: usize| &results[n]["locations"][0]["physicalLocation"];
        assert_eq!(location(0)["artifactLocation"]["uri"], "/x/a.cu");
        let logical = &results[0]["locations"][0]["logicalLocations"][0];
        assert_eq!((&logical["name"], &logical["kind"]), (&json!("k()::tile"), &json!("variable")));
        assert_eq!(results[0]["properties"]["variable"]["offset"], 40);
        assert_eq!(location(1)["region"]["startLine"], 12);
        assert_eq!(value["runs"][0]["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(2));
    }
}
