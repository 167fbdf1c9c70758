//! Known findings that are not to be reported: the file of `--suppressions`, and the one that `--save-suppressions`
//! writes.
//!
//! Owns the file's language, which findings an entry matches, and the entry for a finding. Must not know how findings
//! are collected or shown.
//!
//! ```toml
//! [[suppress]]
//! name = "the counter needs no order"      # in the summary; else "suppress 1"
//! tool = "race"                            # one of the tools
//! kind = "race between *"                  # the kind of finding, as JSON and SARIF have it
//! kernel = "histogram*"                    # its symbol, its full name, or its name without parameters
//! source = "histogram.cu:40-52"            # FILE, FILE:LINE or FILE:FIRST-LAST of the kernel's code
//! host = ["Trainer::step", "main"]         # frames of one stack of the host, the innermost first
//! allocated = ["*Pool*"]                   # frames of who allocated the memory
//! ```
//!
//! Every key of an entry must match. All strings except `tool` are globs: `*` is any text, `?` one character, and `\`
//! makes the next character literal. Between two listed frames there may be others; a frame is a function, or FILE,
//! FILE:LINE or FILE:FIRST-LAST. A file is named by its whole path, or by any number of its last components.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use cushim_names::Name;
use cushim_rules::Error;
use serde::Deserialize;
use toml::Spanned;

use super::gather::{Found, Frame, Report, Suppressed, Trail};
use super::glob::{escaped, matches};

/// The tools that findings name.
const TOOLS: [&str; 6] = ["memory", "init", "race", "sync", "leak", "api"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: Option<String>,
    tool: Option<Spanned<String>>,
    kind: Option<String>,
    kernel: Option<String>,
    source: Option<Spanned<String>>,
    #[serde(default)]
    host: Vec<String>,
    #[serde(default)]
    allocated: Vec<String>,
}

/// A file, and a range of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    file: String,
    lines: Option<(u32, u32)>,
}

/// The conditions of one entry.
#[derive(Debug, Clone)]
struct Suppression {
    /// Its name in the summary.
    name: String,
    tool: Option<String>,
    kind: Option<String>,
    kernel: Option<String>,
    source: Option<Source>,
    host: Vec<String>,
    allocated: Vec<String>,
}

/// Findings that are not to be reported.
#[derive(Debug, Clone, Default)]
pub struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Reads the file.
    ///
    /// # Errors
    /// Where it cannot be read or is no such file, with the place.
    pub fn read(file: &Path) -> Result<Suppressions, Error> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::Read {
            file: file.to_owned(),
            why: e.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
        })?;
        Self::parse(&text, file)
    }

    /// The entries in `text`, which messages call `file`.
    ///
    /// # Errors
    /// Where it is no such file, with line and column.
    pub fn parse(text: &str, file: &Path) -> Result<Suppressions, Error> {
        let read: File = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            Error::at(file, text, at, e.message().trim().replace('\n', " "))
        })?;
        let here = |at: usize, why: &str| Error::at(file, text, at, why);
        let all = read.suppress.into_iter().enumerate();
        all.map(|(n, table)| entry(n, table, &here)).collect::<Result<_, _>>().map(Suppressions)
    }

    /// Adds those of another file.
    pub fn extend(&mut self, more: Suppressions) {
        self.0.extend(more.0);
    }

    /// Whether findings at one place in a kernel must be distinguished by the host's stacks.
    pub fn need_stacks(&self) -> bool {
        self.0.iter().any(|s| !s.host.is_empty() || !s.allocated.is_empty())
    }

    /// The first entry that matches a finding.
    fn of(&self, found: &Found) -> Option<&Suppression> {
        self.0.iter().find(|suppression| suppression.means(found))
    }

    /// Moves known findings to `suppressed`. Findings that were distinguished only for that are
    /// merged again.
    pub fn apply(&self, report: &mut Report) {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for mut found in std::mem::take(&mut report.found) {
            if let Some(by) = self.of(&found) {
                report.suppressed.push(Suppressed { by: by.name.clone(), found });
                continue;
            }
            let Some(fold) = found.fold.take() else {
                report.found.push(found);
                continue;
            };
            match places.get(&fold).and_then(|at| report.found.get_mut(*at)) {
                Some(first) => {
                    first.count = first.count.saturating_add(found.count);
                    first.processes.append(&mut found.processes);
                }
                None => {
                    places.insert(fold, report.found.len());
                    report.found.push(found);
                }
            }
        }
    }
}

fn entry(
    number: usize,
    table: Spanned<Table>,
    error: &dyn Fn(usize, &str) -> Error,
) -> Result<Suppression, Error> {
    let at = table.span().start;
    let Table { name, tool, kind, kernel, source, host, allocated } = table.into_inner();
    if let Some(tool) = tool.as_ref().filter(|tool| !TOOLS.contains(&tool.get_ref().as_str())) {
        let why =
            format!("no tool is called {:?}; expected one of {}", tool.get_ref(), TOOLS.join(", "));
        return Err(error(tool.span().start, &why));
    }
    let says_nothing = tool.is_none() && kind.is_none() && kernel.is_none() && source.is_none();
    if says_nothing && host.is_empty() && allocated.is_empty() {
        let why = "this entry means every finding; expected one of tool, kind, kernel, source, host, allocated";
        return Err(error(at, why));
    }
    let source = source.map(|text| {
        let expected = "expected FILE, FILE:LINE or FILE:FIRST-LAST";
        lines(text.get_ref()).ok_or_else(|| error(text.span().start, expected))
    });
    Ok(Suppression {
        name: name.unwrap_or_else(|| format!("suppress {}", number + 1)),
        tool: tool.map(Spanned::into_inner),
        kind,
        kernel,
        source: source.transpose()?,
        host,
        allocated,
    })
}

/// A file with lines behind a colon; `None` where the text behind it is no range of lines.
fn lines(text: &str) -> Option<Source> {
    let whole = || Source { file: text.to_owned(), lines: None };
    let Some((file, lines)) = text.rsplit_once(':') else { return Some(whole()) };
    if !lines.starts_with(|c: char| c.is_ascii_digit()) {
        return (!lines.is_empty() && lines.contains('/')).then(whole);
    }
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && !file.is_empty())
        .then(|| Source { file: file.to_owned(), lines: Some((first, last)) })
}

impl Source {
    fn means(&self, file: &str, line: Option<u32>) -> bool {
        let within = |(first, last)| line.is_some_and(|line| (first..=last).contains(&line));
        // The path itself, or its part behind any slash.
        let mut ends =
            std::iter::once(file).chain(file.match_indices('/').map(|(at, _)| &file[at + 1..]));
        self.lines.is_none_or(within) && ends.any(|end| matches(&self.file, end))
    }
}

impl Suppression {
    fn means(&self, found: &Found) -> bool {
        let told = &found.told;
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|glob| matches(glob, text))
        };
        self.tool.as_ref().is_none_or(|tool| *tool == told.tool)
            && is(&self.kind, &told.kind)
            && self.kernel.as_ref().is_none_or(|glob| {
                let symbol = told.symbol.as_deref().unwrap_or_default();
                let full = told.kernel.as_deref().unwrap_or_default();
                let named = told.symbol.is_some() || told.kernel.is_some();
                named
                    && [symbol, full, &Name::new(symbol).short]
                        .iter()
                        .any(|name| matches(glob, name))
            })
            && self.source.as_ref().is_none_or(|source| {
                told.file.as_ref().is_some_and(|file| source.means(file, told.line))
            })
            && stack(&self.host, told.trails.iter())
            && stack(&self.allocated, told.trails.iter().filter(|trail| trail.what == "allocated"))
    }
}

/// Whether one of the stacks has such frames in this order.
fn stack<'a>(wanted: &[String], mut trails: impl Iterator<Item = &'a Trail>) -> bool {
    wanted.is_empty()
        || trails.any(|trail| {
            let mut frames = trail.frames.iter();
            wanted.iter().all(|glob| frames.any(|is| frame(glob, is)))
        })
}

fn frame(glob: &str, frame: &Frame) -> bool {
    let place = frame.place.as_deref().and_then(lines);
    let source = lines(glob)
        .zip(place)
        .is_some_and(|(glob, place)| glob.means(&place.file, place.lines.map(|(line, _)| line)));
    let bare = frame.function.split('(').next().unwrap_or_default();
    source || matches(glob, &frame.function) || matches(glob, bare)
}

/// An entry for each finding of a report, which matches it and what was folded with it. Findings
/// with only a tool and a kind get none, as the entry would match others too.
pub fn saved(report: &Report) -> String {
    let mut out =
        String::from("# Written by cushim check --save-suppressions; see docs/check.md.\n");
    for found in &report.found {
        let told = &found.told;
        let first = told.message.lines().next().unwrap_or_default();
        let first: String = first.chars().filter(|c| !c.is_control()).collect();
        let _ = write!(out, "\n# {first}\n");
        let frames = told.trails.first().map(|trail| &trail.frames[..]).unwrap_or_default();
        let inside = told.symbol.as_ref().or(told.kernel.as_ref());
        if inside.is_none() && frames.is_empty() {
            out += "# No entry: neither a kernel nor a frame of the host is known.\n";
            continue;
        }
        out += "[[suppress]]\n";
        if TOOLS.contains(&told.tool.as_str()) {
            let _ = writeln!(out, "tool = {}", quoted(&told.tool));
        }
        let _ = writeln!(out, "kind = {}", quoted(&escaped(&told.kind)));
        if inside.is_none() {
            let frames: Vec<String> =
                frames.iter().map(|frame| quoted(&escaped(&frame.function))).collect();
            let _ = writeln!(out, "host = [{}]", frames.join(", "));
            continue;
        }
        let name = told.kernel.as_ref().or(told.symbol.as_ref());
        let _ = writeln!(out, "kernel = {}", quoted(&escaped(name.map_or("", |name| name))));
        if let (Some(file), Some(line)) = (told.file.as_ref().filter(|f| !f.is_empty()), told.line)
        {
            let _ = writeln!(out, "source = {}", quoted(&format!("{}:{line}", escaped(file))));
        }
    }
    out
}

/// A TOML string: as in JSON, with one more character escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::gather::gather;
    use super::*;

    const LINES: &str = r#"{"pid":1,"key":"a 1","fold":"a","tool":"race","kind":"race in a block","message":"m","kernel":"add(int*)","symbol":"_Z3addPi","file":"/x/src/a.cu","line":4,"trails":[{"what":"launched","frames":[{"function":"go(int)","place":"b.py:9"},{"function":"main"}]},{"what":"allocated","frames":[{"function":"Pool::get(unsigned long)"}]}]}
{"pid":1,"key":"a 2","fold":"a","tool":"race","kind":"race in a block","message":"m","kernel":"add(int*)","symbol":"_Z3addPi","file":"/x/src/a.cu","line":4,"trails":[{"what":"launched","frames":[{"function":"other()"},{"function":"main"}]}]}
{"pid":1,"key":"b","tool":"leak","kind":"leak","message":"l","trails":[{"what":"allocated","frames":[{"function":"load"},{"function":"main"}]}]}"#;

    /// The findings of the three that remain.
    fn left(text: &str) -> Vec<String> {
        let known = Suppressions::parse(text, Path::new("s.toml")).unwrap();
        let mut report = gather(LINES.as_bytes());
        known.apply(&mut report);
        report.found.iter().map(|found| format!("{} {}", found.told.tool, found.count)).collect()
    }

    #[test]
    fn all_that_an_entry_says_must_hold() {
        assert_eq!(left(""), ["race 2", "leak 1"], "folded where no entry tells them apart");
        let none: [&str; 0] = [];
        assert_eq!(left("[[suppress]]\nkind = '*'"), none);
        for entry in [
            "tool = 'race'",
            "kind = 'race in *'",
            "kernel = 'add'",
            r"kernel = 'add(int\*)'",
            "kernel = '_Z3*'",
            "source = 'a.cu'",
            "source = 'src/a.cu:4'",
            "source = '/x/*:1-9'",
        ] {
            assert_eq!(left(&format!("[[suppress]]\n{entry}")), ["leak 1"], "{entry}");
        }
        for entry in [
            "tool = 'init'",
            "kernel = 'add2'",
            "source = 'a.cu:5'",
            "source = 'c.cu'",
            "tool = 'race'\nkernel = 'mul'",
            "host = ['main', 'go']",
            "host = ['load', 'go']",
            "allocated = ['go']",
        ] {
            assert_eq!(left(&format!("[[suppress]]\n{entry}")), ["race 2", "leak 1"], "{entry}");
        }
    }

    #[test]
    fn stacks_tell_findings_at_one_place_apart() {
        for entry in ["host = ['go', 'main']", "host = ['b.py:9']", "allocated = ['Pool::*']"] {
            assert_eq!(left(&format!("[[suppress]]\n{entry}")), ["race 1", "leak 1"], "{entry}");
        }
        assert_eq!(left("[[suppress]]\nhost = ['load']"), ["race 2"]);
    }

    #[test]
    fn what_is_saved_means_what_was_found() {
        let report = gather(LINES.as_bytes());
        let none: [&str; 0] = [];
        assert_eq!(left(&saved(&report)), none, "{}", saved(&report));
        assert!(saved(&report).contains(r#"kernel = "add(int\\*)""#));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let error =
            |text: &str| Suppressions::parse(text, Path::new("s.toml")).unwrap_err().to_string();
        let told = error("[[suppress]]\ntool = 'race'\nkernal = 'x'");
        assert!(told.starts_with("s.toml:3:1: ") && told.contains("kernal"), "{told}");
        assert!(told.contains("kernel"), "what is expected: {told}");
        let told = error("[[suppress]]\ntool = 'rice'");
        assert!(told.starts_with("s.toml:2:8: no tool is called \"rice\""), "{told}");
        let told = error("\n[[suppress]]\nname = 'x'");
        assert!(told.starts_with("s.toml:2:1: this entry means every finding"), "{told}");
        let told = error("[[suppress]]\nsource = 'a.cu:9-4'");
        assert!(told.starts_with("s.toml:2:10: expected FILE"), "{told}");
        assert!(error("[[suppres]]").starts_with("s.toml:1:3: "), "{}", error("[[suppres]]"));
        assert!(error("tool =").starts_with("s.toml:1:"), "{}", error("tool ="));
    }
}
