//! fork, clone, vfork, exec, being killed.

use crate::compare::{RUNTIMES, behaves, exact, same};
use crate::lab::{How, Lab};

fn in_mode(mode: &str, traces: usize) {
    let lab = Lab::new();
    for major in [12, 13] {
        let program = lab.program("processes.c", major);
        let ran = same(&lab, &program, &[mode], RUNTIMES, &How::default());
        let used = ran.traces.iter().filter(|t| !t.launches().is_empty()).count();
        assert_eq!(used, traces, "{mode}: processes with launches have a trace each");
    }
}

#[test]
fn fork_before_cuda_is_used() {
    in_mode("before", 2);
}

#[test]
fn fork_after_cuda_is_used() {
    in_mode("after", 4);
}

#[test]
fn the_raw_clone_call() {
    in_mode("clone", 2);
}

#[test]
fn vfork_and_exec() {
    in_mode("vfork", 2);
}

#[test]
fn exec_keeps_the_process_id() {
    in_mode("exec", 2);
}

#[test]
fn forks_of_forks() {
    in_mode("many", 5);
}

#[test]
fn what_a_killed_process_completed_is_read_back() {
    let lab = Lab::new();
    let ran = same(&lab, &lab.program("many.c", 12), &["5000", "kill"], RUNTIMES, &How::default());
    assert_eq!(ran.end, "signal 9");
    assert!(!ran.traces[0].closed);
    assert_eq!(ran.traces[0].launches().len(), 5000);
}

#[test]
fn every_descriptor_closed() {
    let lab = Lab::new();
    let ran = behaves(&lab, &lab.program("closer.c", 12), &[], &How::default());
    assert!(ran.stdout.contains("precious file: 0 bytes"), "{}", ran.stdout);
    exact(&ran, RUNTIMES);
}
