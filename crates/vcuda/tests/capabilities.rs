//! The list of functions in docs/functions.md matches the tables and the code.
//!
//! Owns the list: the functions that CUDA exports (`cushim_abi`), those that cushim implements (the tables of driver
//! and runtime), and the runtime's functions that need a driver function that cushim's driver lacks
//! (`runtime::needs`). `scripts/capabilities --update` writes the list, and this test compares it.

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

/// How far a function is implemented.
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

/// A name without the suffix for per-thread default streams, and whether it had one.
fn plain(name: &str) -> (&str, bool) {
    match name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")) {
        Some(plain) => (plain, true),
        None => (name, false),
    }
}

/// Names with a state for each major; the per-thread form shares the row of the plain one.
struct Rows(BTreeMap<String, (BTreeMap<u32, State>, bool)>);

impl Rows {
    fn add(&mut self, name: &str, majors: &[u32], state: State) {
        let (plain, per_thread) = plain(name);
        let row = self.0.entry(plain.to_owned()).or_default();
        row.1 |= per_thread;
        for major in majors {
            // A row stands for both forms: it has the state of the less complete one.
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
    let (mut runtime_rows, mut driver_rows) = (Rows(BTreeMap::new()), Rows(BTreeMap::new()));
    for (index, row) in cushim_abi::all_runtime().enumerate() {
        let wanting =
            runtime::needs(index).iter().any(|need| !driver::is_implemented(*need as usize));
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
    let page = root().join("docs/functions.md");
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
        "docs/functions.md is not what the code says (scripts/capabilities --update): {differs:?}"
    );
}
