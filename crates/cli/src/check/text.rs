//! The report as text for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::gather::{Found, Report, Trail};

/// The findings, at most `limit`, and a line about all of them.
pub fn report(report: &Report, limit: usize) -> String {
    let mut out = String::new();
    for found in report.found.iter().take(limit) {
        finding(&mut out, found);
    }
    let more = report.found.len().saturating_sub(limit);
    if more > 0 {
        let _ = writeln!(out, "cushim check: {more} more, left out by --print-limit");
    }
    let _ = writeln!(out, "cushim check: {}", summary(report));
    // No escape sequence of the program's names gets through.
    let shown = cushim_names::lines(&out).to_string();
    if shown.ends_with('\n') { shown } else { shown + "\n" }
}

fn plural(n: usize, word: &str) -> String {
    match (n, word) {
        (1, _) => format!("1 {word}"),
        (_, "process") => format!("{n} processes"),
        _ => format!("{n} {word}s"),
    }
}

fn summary(report: &Report) -> String {
    let processes = plural(report.processes.len(), "process");
    let mut text = match report.found.len() {
        0 if report.processes.is_empty() => {
            "no process of the program said that it used CUDA".to_owned()
        }
        0 => format!("nothing found in {processes}"),
        n => {
            let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
            for found in &report.found {
                *tools.entry(&found.told.tool).or_default() += 1;
            }
            let tools: Vec<String> = tools.iter().map(|(tool, n)| format!("{tool} {n}")).collect();
            format!("{} in {processes} ({})", plural(n, "finding"), tools.join(", "))
        }
    };
    if !report.suppressed.is_empty() {
        let mut by: BTreeMap<&str, usize> = BTreeMap::new();
        for suppressed in &report.suppressed {
            *by.entry(&suppressed.by).or_default() += 1;
        }
        let by: Vec<String> = by.iter().map(|(name, n)| format!("{name}: {n}")).collect();
        let _ = write!(text, "; {} suppressed ({})", report.suppressed.len(), by.join(", "));
    }
    if !report.cut.is_empty() {
        let cut = plural(report.cut.len(), "process");
        let _ = write!(
            text,
            "; {cut} ended before the end of CUDA: leaks and counts there are not known"
        );
    }
    text
}

fn finding(out: &mut String, found: &Found) {
    let told = &found.told;
    let _ = writeln!(out, "cushim check: {}: {}", told.tool, told.message);
    if let Some(kernel) = &told.kernel {
        let _ = write!(out, "    in kernel {kernel}");
        if let Some(function) = &told.function {
            let _ = write!(out, ", in function {function}");
        }
        for (word, index) in [("block", told.block), ("thread", told.thread)] {
            if let Some([x, y, z]) = index {
                let _ = write!(out, ", {word} ({x},{y},{z})");
            }
        }
        if let Some(place) = &told.place {
            let _ = write!(out, ", {place}");
        }
        out.push('\n');
    }
    told.trails.iter().for_each(|trail| stack(out, trail));
    if found.count > 1 {
        let _ = writeln!(out, "    found {} times", found.count);
    }
}

/// A stack: its frames from the innermost on.
fn stack(out: &mut String, trail: &Trail) {
    let call = trail.call.as_ref().map(|call| format!(" by {call}")).unwrap_or_default();
    let mut before = format!("    {}{call}", trail.what);
    if trail.frames.is_empty() {
        let _ = writeln!(out, "{before}");
    }
    for frame in &trail.frames {
        let place = frame.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        let _ = writeln!(out, "{before} in {}{place}", frame.function);
        before = "       ".to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::gather;

    const LINES: &str = r#"{"begin":7}
{"pid":7,"key":"a","tool":"memory","kind":"out of bounds","message":"invalid write","kernel":"add(int*)","symbol":"_Z3addPi","block":[1,0,0],"thread":[2,3,0],"place":"a.cu:4, PTX 5:6","file":"/x/a.cu","line":4,"trails":[{"what":"launched","call":"cudaLaunchKernel","frames":[{"function":"go()","place":"a.cu:9"},{"function":"main"}]}]}
{"pid":7,"key":"b","tool":"leak","kind":"leak","message":"4 bytes","trails":[{"what":"allocated","frames":[]}]}
{"pid":7,"key":"a","count":3}
"#;

    #[test]
    fn a_report_names_places_and_counts() {
        let report = gather(LINES.as_bytes());
        let expected = "\
cushim check: memory: invalid write
    in kernel add(int*), block (1,0,0), thread (2,3,0), a.cu:4, PTX 5:6
    launched by cudaLaunchKernel in go() at a.cu:9
        in main
    found 3 times
cushim check: leak: 4 bytes
    allocated
cushim check: 2 findings in 1 process (leak 1, memory 1); 1 process ended before the end of CUDA: leaks and counts there are not known
";
        assert_eq!(super::report(&report, 100), expected);
        let short = super::report(&report, 1);
        assert!(short.contains("1 more, left out by --print-limit") && !short.contains("4 bytes"));
    }

    #[test]
    fn nothing_found_is_said() {
        let nothing = gather(b"{\"begin\":1}\n{\"end\":1}\n");
        assert_eq!(super::report(&nothing, 9), "cushim check: nothing found in 1 process\n");
        let none = gather(b"");
        assert_eq!(
            super::report(&none, 9),
            "cushim check: no process of the program said that it used CUDA\n"
        );
    }
}
