//! Compares a program's run alone with its run under the shim; almost every test uses this.

use std::path::Path;

use crate::lab::{How, Lab, Ran};
use crate::{log, trace};

/// The stub runtimes.
pub const RUNTIMES: &[&str] = &["cudart11", "cudart12", "cudart13"];
/// The stub driver.
pub const DRIVER: &[&str] = &["cuda"];

/// Runs `program` without and with the shim. Output, exit status and all calls that reached the stub must
/// be the same. The trace must hold exactly the launches that reached `faces`, each with its name, shape,
/// argument bytes and status, and nothing may be lost. Returns the run with the shim.
pub fn same(lab: &Lab, program: &Path, arguments: &[&str], faces: &[&str], how: &How) -> Ran {
    let shimmed = behaves(lab, program, arguments, how);
    exact(&shimmed, faces);
    shimmed
}

/// As [`same`], but does not look at the trace.
pub fn behaves(lab: &Lab, program: &Path, arguments: &[&str], how: &How) -> Ran {
    let bare = lab.run(program, arguments, &How { shim: false, ..how.clone() });
    let shimmed = lab.run(program, arguments, &How { shim: true, ..how.clone() });
    assert_eq!(bare.stdout, shimmed.stdout, "standard output, bare and with the shim");
    assert_eq!(bare.stderr, shimmed.stderr, "standard error, bare and with the shim");
    assert_eq!(bare.end, shimmed.end, "the end, bare and with the shim");
    assert!(bare.traces.is_empty(), "traces without the shim");
    equal(&log::without_pids(&bare.log), &log::without_pids(&shimmed.log), "reached the stub");
    shimmed
}

/// The trace holds the launches that reached the stub.
pub fn exact(ran: &Ran, faces: &[&str]) {
    for trace in &ran.traces {
        assert!(
            trace.is_whole(),
            "{}: {:?} lost, {} damaged",
            trace.path.display(),
            trace.lost,
            trace.damaged
        );
    }
    let (reached, recorded) = (log::launches(&ran.log, faces), trace::launches(&ran.traces));
    let pids = |map: &std::collections::BTreeMap<u32, Vec<String>>| {
        map.keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(pids(&reached), pids(&recorded), "processes that launched, and that have a trace");
    for (pid, reached) in &reached {
        equal(reached, &recorded[pid], &format!("process {pid}: launches"));
    }
}

/// Compares two sorted lists; prints only the lines that differ.
pub fn equal(expected: &[String], found: &[String], what: &str) {
    let differ = |a: &[String], b: &[String]| {
        let mut rest = b.to_vec();
        let missing = a.iter().filter(|line| match rest.binary_search(line) {
            Ok(at) => {
                rest.remove(at);
                false
            }
            Err(_) => true,
        });
        missing.take(12).map(|l| format!("\n    {l}")).collect::<String>()
    };
    let (missing, extra) = (differ(expected, found), differ(found, expected));
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{what}: expected {}, found {}\n  only expected:{missing}\n  only found:{extra}",
        expected.len(),
        found.len()
    );
}
