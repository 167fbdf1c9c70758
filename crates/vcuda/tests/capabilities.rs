//! The list of functions in docs/capabilities.md is what the tables and the code say.
//!
//! Owns the list: which functions CUDA exports (`cushim_abi`), which of them are ours, and which of the
//! runtime's need something of the driver that ours does not have. The last is read from the runtime's source:
//! every function of it is followed to the functions of the driver that it names, through the helpers of its
//! file. `scripts/capabilities --update` writes the list, the test compares.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use vcuda::{driver, runtime};

const BEGIN: &str = "<!-- generated: scripts/capabilities --update -->\n";
const END: &str = "<!-- end of what is generated -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources of the runtime, without its tests.
fn sources(folder: &Path, to: &mut Vec<String>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, to);
        } else if name.ends_with(".rs") && !name.contains("test") && name != "implemented.rs" {
            to.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The identifiers of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// The functions that a line begins: a helper, or one or two forms of a function of CUDA.
fn heads(line: &str) -> Vec<&str> {
    let text = line.trim_start();
    if let Some((before, after)) = text.split_once("fn ")
        && before.split_whitespace().all(|word| {
            ["pub", "pub(super)", "pub(crate)", "unsafe", "extern", "\"C\"", "const"]
                .contains(&word)
        })
    {
        return words(after).take(1).collect();
    }
    let named = text.split_once('(').map_or("", |(names, _)| names);
    let forms: Vec<_> = named.split('/').map(str::trim).collect();
    match forms.iter().all(|name| {
        (name.starts_with("cuda") || name.starts_with("__cuda")) && words(name).eq([*name])
    }) {
        true if line.starts_with("    ") => forms,
        _ => Vec::new(),
    }
}

fn is_driver(word: &str) -> bool {
    word.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// For each function of a file, the words of its body.
fn bodies(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut inside: Vec<String> = Vec::new();
    for line in source.lines().take_while(|line| !line.starts_with("mod tests {")) {
        let code = line.split("//").next().unwrap_or("");
        let begun = heads(code);
        if !begun.is_empty() {
            inside = begun.into_iter().map(String::from).collect();
        }
        for name in &inside {
            all.entry(name.clone()).or_default().extend(words(code).map(String::from));
        }
    }
    all
}

/// The functions of the driver that each function of the runtime comes to.
fn needs() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(&root().join("crates/vruntime/src"), &mut files);
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in files {
        let bodies = bodies(&source);
        for name in bodies.keys() {
            let (mut todo, mut seen) = (vec![name], BTreeSet::new());
            while let Some(next) = todo.pop() {
                if !seen.insert(next) {
                    continue;
                }
                for word in &bodies[next] {
                    if is_driver(word) {
                        needs.entry(name.clone()).or_default().insert(word.clone());
                    } else if let Some((helper, _)) = bodies.get_key_value(word)
                        && !helper.starts_with("cuda")
                    {
                        todo.push(helper);
                    }
                }
            }
        }
    }
    needs
}

/// What there is of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Yes,
    Driver,
    No,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Yes => "yes",
            State::Driver => "driver",
            State::No => "801",
        }
    }
}

/// A name without the ending of its form for per-thread default streams.
fn plain(name: &str) -> (&str, bool) {
    match name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")) {
        Some(plain) => (plain, true),
        None => (name, false),
    }
}

/// Names with something for each, the per-thread form beside its plain one.
struct Rows(BTreeMap<String, (BTreeMap<u32, State>, bool)>);

impl Rows {
    fn add(&mut self, name: &str, majors: &[u32], state: State) {
        let (plain, per_thread) = plain(name);
        let row = self.0.entry(plain.to_owned()).or_default();
        row.1 |= per_thread;
        for major in majors {
            // A row stands for both of its forms: it says what is true of the poorer one.
            let known = row.0.entry(*major).or_insert(state);
            *known = state.max(*known);
        }
    }
}

fn generated() -> String {
    let known: BTreeSet<&str> = cushim_abi::all_driver()
        .enumerate()
        .filter(|(index, _)| driver::is_implemented(*index))
        .map(|(_, row)| row.name)
        .collect();
    let needs = needs();
    let (mut runtime_rows, mut driver_rows) = (Rows(BTreeMap::new()), Rows(BTreeMap::new()));
    for (index, row) in cushim_abi::all_runtime().enumerate() {
        let wanting = needs
            .get(row.identifier)
            .is_some_and(|needs| needs.iter().any(|name| !known.contains(name.as_str())));
        let state = match (runtime::is_implemented(index), wanting) {
            (false, _) => State::No,
            (true, true) => State::Driver,
            (true, false) => State::Yes,
        };
        runtime_rows.add(row.name, row.majors, state);
    }
    for row in cushim_abi::all_driver() {
        let state = if known.contains(row.name) { State::Yes } else { State::Driver };
        driver_rows.add(row.name, &[0], state);
    }
    let mut text = String::new();
    let forms = |per_thread| if per_thread { ", …" } else { "" };
    let _ = writeln!(text, "| Runtime | 11 | 12 | 13 |\n|---|---|---|---|");
    for (name, (majors, per_thread)) in &runtime_rows.0 {
        let cell = |major| majors.get(&major).map_or("", |state| state.word());
        let (a, b, c) = (cell(11), cell(12), cell(13));
        let _ = writeln!(text, "| `{name}`{} | {a} | {b} | {c} |", forms(*per_thread));
    }
    let _ = writeln!(text, "\n| Driver | |\n|---|---|");
    for (name, (majors, per_thread)) in &driver_rows.0 {
        let state = majors.get(&0).map_or("", |state| state.word());
        let _ = writeln!(text, "| `{name}`{} | {state} |", forms(*per_thread));
    }
    text
}

#[test]
fn the_page_lists_what_there_is() {
    let page = root().join("docs/capabilities.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the mark before the list");
    let (list, after) = rest.split_once(END).expect("the mark behind the list");
    let wanted = generated();
    if std::env::var_os("CUSHIM_UPDATE").is_some() {
        std::fs::write(&page, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        return;
    }
    let differs = list.lines().zip(wanted.lines()).find(|(is, should)| is != should);
    assert!(
        list == wanted,
        "docs/capabilities.md is not what the code says (scripts/capabilities --update): {differs:?}"
    );
}

/// What the source is read for: if a function were written in a way that is not followed, these would tell.
#[test]
fn what_a_function_needs_is_found() {
    let needs = needs();
    let of = |name: &str, driver: &str| needs.get(name).is_some_and(|all| all.contains(driver));
    assert!(of("cudaGraphicsUnregisterResource", "cuGraphicsUnregisterResource"));
    assert!(of("cudaMallocMipmappedArray", "cuMipmappedArrayCreate"));
    assert!(of("cudaCreateTextureObject", "cuTexObjectCreate"));
    assert!(of("cudaBindTexture2D", "cuTexRefSetAddress2D_v3"));
    assert!(of("cudaMemcpy3DBatchAsync_13", "cuMemcpy3DBatchAsync_v2"));
    assert!(of("cudaExecutionCtxStreamCreate", "cuGreenCtxStreamCreate"));
    assert!(!of("cudaMalloc", "cuTexObjectCreate"));
    let all: BTreeSet<_> = cushim_abi::all_driver().map(|row| row.name).collect();
    for (name, needs) in &needs {
        let stray = needs.iter().find(|need| !all.contains(need.as_str()));
        assert_eq!(stray, None, "{name}");
    }
}
