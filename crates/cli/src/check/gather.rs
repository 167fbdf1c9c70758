//! Merges the findings of all processes of a program into one report.
//!
//! Owns the line format of the findings' file, and which findings of several processes are the same. Must not know
//! how a report looks, or which findings are suppressed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    begin: Option<u32>,
    end: Option<u32>,
    pid: Option<u32>,
    key: Option<String>,
    fold: Option<String>,
    count: Option<u64>,
    #[serde(flatten)]
    told: Option<Told>,
}

/// A finding as a process reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Which tool found it.
    pub tool: String,
    /// What kind of finding it is.
    pub kind: String,
    /// What was found.
    pub message: String,
    /// The kernel as in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kernel's symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<[u32; 3]>,
    /// The thread in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<[u32; 3]>,
    /// The place in the source and in the PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The function, where it is not the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source's file, with its folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The variable that is accessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<Variable>,
    /// Related actions of the program, such as the launch or the allocation.
    #[serde(default)]
    pub trails: Vec<Trail>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// As in the source.
    pub name: String,
    /// As the PTX calls it.
    pub symbol: String,
    /// The memory that it is in.
    pub space: String,
    /// Offset of the access from the variable's first byte.
    pub offset: i64,
    /// Bytes of the variable.
    pub bytes: u64,
}

/// An action, and the stack that did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {
    /// What was done.
    pub what: String,
    /// CUDA's function that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The program's functions, the innermost first.
    #[serde(default)]
    pub frames: Vec<Frame>,
}

/// A function of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// File and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The finding as the first process reported it.
    #[serde(flatten)]
    pub told: Told,
    /// How often it was found, by all processes.
    pub count: u64,
    /// The processes that found it.
    pub processes: BTreeSet<u32>,
    /// A key that is equal for findings that are shown as one, where processes distinguished more
    /// of them.
    #[serde(skip)]
    pub(super) fold: Option<String>,
}

/// A known finding, which is not reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suppressed {
    /// The name of the entry that matches it.
    pub by: String,
    /// The finding.
    #[serde(flatten)]
    pub found: Found,
}

/// All findings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// The findings, in the order in which they were reported.
    #[serde(rename = "findings")]
    pub found: Vec<Found>,
    /// The known findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppressed>,
    /// The processes that used CUDA.
    pub processes: BTreeSet<u32>,
    /// Those of them that did not end normally: findings made at the end are missing for them.
    pub cut: BTreeSet<u32>,
}

impl Report {
    /// As a JSON document.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Reads the file. Invalid lines are skipped: a process may have been killed while it wrote one.
pub fn gather(bytes: &[u8]) -> Report {
    let mut report = Report::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if let Some(pid) = line.begin {
            report.processes.insert(pid);
            report.cut.insert(pid);
        }
        if let Some(pid) = line.end {
            report.cut.remove(&pid);
        }
        let (Some(pid), Some(key)) = (line.pid, line.key) else { continue };
        let at = places.get(&key).copied();
        match (at.and_then(|at| report.found.get_mut(at)), line.told, line.count) {
            (Some(found), _, count) => {
                // The first report of a process was counted when it was read.
                found.count = found.count.saturating_add(count.map_or(1, |n| n.saturating_sub(1)));
                found.processes.insert(pid);
            }
            (None, Some(told), _) => {
                places.insert(key, report.found.len());
                report.found.push(Found {
                    told,
                    count: 1,
                    processes: BTreeSet::from([pid]),
                    fold: line.fold,
                });
            }
            (None, None, _) => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_several_processes_are_folded() {
        let told = |pid: u32, message: &str| {
            format!(
                r#"{{"pid":{pid},"key":"k","tool":"memory","kind":"x","message":"{message}","trails":[]}}"#
            )
        };
        let lines = [
            r#"{"begin":1}"#,
            &told(1, "first"),
            "nonsense",
            r#"{"begin":2}"#,
            &told(2, "second"),
            r#"{"pid":1,"key":"k","count":5}"#,
            r#"{"pid":1,"key":"unknown","count":5}"#,
            r#"{"end":1}"#,
            r#"{"pid":2,"key":"k","coun"#,
        ];
        let report = gather(lines.join("\n").as_bytes());
        assert_eq!(report.found.len(), 1);
        let found = &report.found[0];
        assert_eq!((found.told.message.as_str(), found.count), ("first", 6));
        assert_eq!(found.processes, BTreeSet::from([1, 2]));
        assert_eq!((report.processes.len(), report.cut), (2, BTreeSet::from([2])));
    }

    #[test]
    fn any_bytes_are_read() {
        for bytes in
            [&b""[..], b"\n\n", b"{}", b"[]", b"{\"begin\":-1}", b"\xff\xfe\n{\"begin\":3}"]
        {
            assert!(gather(bytes).found.is_empty());
        }
    }
}
