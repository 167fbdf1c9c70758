//! The stub's log: the calls that reached it.

use std::collections::BTreeMap;
use std::path::Path;

/// One call that reached the stub.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// `cudart12`, `cuda` …
    pub library: String,
    /// The function.
    pub function: String,
    /// The rest of the line, unchanged.
    pub rest: String,
    /// The process that called.
    pub pid: u32,
}

/// The log's lines; none if there is no log.
pub fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let pid =
            word().parse().unwrap_or_else(|_| panic!("a torn line in the stub's log: {line}"));
        Line { pid, library: word(), function: word(), rest: word() }
    };
    text.lines().map(line).collect()
}

impl Line {
    /// The value of `key=value`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.rest.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// Whether it is a kernel launch or a kernel node.
    pub fn is_launch(&self) -> bool {
        self.value("grid").is_some() && self.value("kernel").is_some()
    }

    /// A launch as text, in the format of [`crate::trace::Launch`].
    pub fn launch(&self) -> String {
        let value = |key| self.value(key).unwrap_or("?");
        let stream = if self.function.contains("Graph") { "graph" } else { value("stream") };
        format!(
            "{} {}<<<{} | {}, {}, {stream}>>>({}) = {}",
            self.function,
            value("kernel"),
            value("grid"),
            value("block"),
            value("shared"),
            value("args"),
            value("status"),
        )
    }
}

/// Lines that are the same in two runs, in an order that does not depend on threads.
pub fn without_pids(log: &[Line]) -> Vec<String> {
    let mut lines: Vec<String> =
        log.iter().map(|l| format!("{} {} {}", l.library, l.function, l.rest)).collect();
    lines.sort();
    lines
}

/// The launches that reached `libraries`, by process, sorted.
pub fn launches(log: &[Line], libraries: &[&str]) -> BTreeMap<u32, Vec<String>> {
    let mut by_pid: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in log.iter().filter(|l| l.is_launch() && libraries.contains(&l.library.as_str())) {
        by_pid.entry(line.pid).or_default().push(line.launch());
    }
    by_pid.values_mut().for_each(|launches| launches.sort());
    by_pid
}
