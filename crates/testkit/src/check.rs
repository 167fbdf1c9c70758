//! The bodies of the fuzz targets for the input of `cushim check`: reports of processes, and suppressions.

use std::path::Path;

use cushim_cli::check::{self, Suppressions, gather, saved};

/// Any lines: reading ends, no finding is reported twice, and the saved suppressions match all findings whose kernel or
/// frame is known.
pub fn gathered(data: &[u8]) {
    let mut report = gather(data);
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(report.found.len() <= lines && report.processes.len() <= lines);
    assert!(report.cut.is_subset(&report.processes));
    for found in &report.found {
        assert!(found.count > 0 && !found.processes.is_empty());
    }
    for text in [report.json(), check::sarif(&report)] {
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
    let text = check::text(&report, lines);
    assert!(text.ends_with('\n') && !text.chars().any(|c| c.is_control() && c != '\n'));
    let known = Suppressions::parse(&saved(&report), Path::new("saved"));
    let known = known.unwrap_or_else(|error| panic!("{error}"));
    known.apply(&mut report);
    for found in &report.found {
        let told = &found.told;
        let first = told.trails.first().is_some_and(|trail| !trail.frames.is_empty());
        assert!(told.symbol.is_none() && told.kernel.is_none() && !first, "{found:?}");
    }
}

/// Any text: entries, or an error with its position; the entries can be applied.
pub fn suppressions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Suppressions::parse(text, Path::new("s")) {
        Ok(known) => {
            let line = br#"{"pid":1,"key":"a","tool":"race","kind":"k","message":"m","kernel":"f(int)","symbol":"_Z1fi","file":"/a/b.cu","line":4,"trails":[{"what":"allocated","frames":[{"function":"main","place":"b.cu:9"}]}]}"#;
            let mut report = gather(line);
            known.apply(&mut report);
            assert_eq!(report.found.len() + report.suppressed.len(), 1);
        }
        Err(error) => {
            let told = error.to_string();
            let mut place = told.split(':').skip(1).take(2).map(str::parse::<usize>);
            let lines = text.matches('\n').count() + 1;
            assert!(
                place.next().is_some_and(|line| line.is_ok_and(|line| (1..=lines).contains(&line)))
            );
            assert!(place.next().is_some_and(|column| column.is_ok_and(|column| column > 0)));
        }
    }
}
