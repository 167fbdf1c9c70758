//! The runtime API: every way to launch, misuse, graphs, launches at unusual moments.

use crate::compare::{DRIVER, RUNTIMES, behaves, exact, same};
use crate::lab::{How, Lab};

#[test]
fn every_way_to_launch() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let ran = same(&lab, &lab.program("shapes.c", major), &[], RUNTIMES, &How::default());
        assert!(ran.traces[0].closed, "the process ended through exit");
        assert!(ran.traces[0].launches().len() >= 8);
    }
}

/// The same program over its driver: the runtime's calls count as launches, the driver's as their children.
#[test]
fn the_outermost_face_counts() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.program("shapes.c", major);
        let how = How::shim().with("STUB_DRIVER", "1").with("CUSHIM_NESTED", "1");
        let ran = same(&lab, &program, &[], RUNTIMES, &how);
        let inner: Vec<_> = ran.traces[0].calls.iter().filter(|c| c.depth > 0).collect();
        let launches = inner.iter().filter(|c| c.launch.is_some()).count();
        let reached = ran.log.iter().filter(|l| l.library == "cuda" && l.is_launch()).count();
        assert_eq!(launches, reached, "launches of the driver inside those of runtime {major}");
        assert!(inner.iter().any(|c| c.function == "cuLibraryLoadData"));
        let flat = lab.run(&program, &[], &How::shim().with("STUB_DRIVER", "1"));
        assert!(flat.traces[0].calls.iter().all(|c| c.depth == 0), "nested only when asked for");
        exact(&flat, RUNTIMES);
    }
}

/// A static runtime is visible only through its driver calls.
#[test]
fn a_static_runtime_is_seen_through_its_driver() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let program = lab.static_program("shapes.c", major);
        let how = How::shim().with("STUB_DRIVER", "1");
        let ran = same(&lab, &program, &[], DRIVER, &how);
        assert!(ran.traces[0].launches().len() >= 8, "{:?}", ran.traces[0].launches());
    }
}

#[test]
fn misuse_gets_the_real_answers() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        same(&lab, &lab.program("wrong.c", major), &[], RUNTIMES, &How::default());
    }
}

/// A failed call is recorded even if its class is not selected.
#[test]
fn failures_of_any_class_show() {
    let lab = Lab::new();
    let program = lab.program("wrong.c", 12);
    let ran = behaves(&lab, &program, &[], &How::shim().with("CUSHIM_EVENTS", "launch"));
    exact_but_nodes(&ran);
    let failed: Vec<_> =
        ran.traces[0].calls.iter().map(|c| (c.function.as_str(), c.status)).collect();
    for expected in [
        ("cudaMalloc", Some(2)),
        ("cudaMalloc", Some(1)),
        ("cudaGetFuncBySymbol", Some(98)),
        ("cudaLibraryLoadData", Some(1)),
        ("cudaLaunchKernelExC", Some(1)),
        ("cudaGraphAddKernelNode", Some(1)),
    ] {
        assert!(failed.contains(&expected), "{expected:?} in {failed:?}");
    }
    assert!(!failed.contains(&("cudaMalloc", Some(0))));
}

fn exact_but_nodes(ran: &crate::lab::Ran) {
    assert!(ran.traces.iter().all(|t| t.is_whole()));
}

#[test]
fn launches_before_main_and_after_it() {
    let lab = Lab::new();
    for major in [11, 13] {
        let ran = same(&lab, &lab.program("late.c", major), &[], RUNTIMES, &How::default());
        assert_eq!(ran.traces[0].launches().len(), 4, "constructor, main, atexit, destructor");
    }
}

#[test]
fn capture_stays_valid_and_nodes_are_seen() {
    let lab = Lab::new();
    for major in [11, 12, 13] {
        let ran = same(&lab, &lab.program("capture.c", major), &[], RUNTIMES, &How::default());
        let calls = &ran.traces[0].calls;
        let count = |name: &str| calls.iter().filter(|c| c.function == name).count();
        assert_eq!(count("cudaGraphLaunch"), 3, "two that work and one that fails");
        assert_eq!(count("cudaGraphExecKernelNodeSetParams"), 1);
        assert_eq!(count("cudaStreamEndCapture"), 1);
    }
}

#[test]
fn longjmp_out_of_a_launch() {
    let lab = Lab::new();
    let ran = behaves(&lab, &lab.program("jump.c", 13), &[], &How::default());
    left_behind(&ran, 40, 80);
}

#[test]
fn exceptions_and_cancellation_through_a_launch() {
    let lab = Lab::new();
    let ran = behaves(&lab, &lab.program("throw.cpp", 12), &[], &How::default());
    left_behind(&ran, 22, 43);
    assert!(ran.stdout.contains("unwound main") && ran.stdout.contains("cancelled 1"));
}

/// Checks that `left` launches never returned (longjmp), so have no status, and that all are outermost.
fn left_behind(ran: &crate::lab::Ran, left: usize, all: usize) {
    let trace = &ran.traces[0];
    assert!(trace.is_whole());
    let launches: Vec<_> = trace.calls.iter().filter(|c| c.launch.is_some()).collect();
    assert_eq!(launches.len(), all);
    assert!(launches.iter().all(|c| c.depth == 0), "what follows a jump is outermost again");
    assert_eq!(launches.iter().filter(|c| c.status.is_none()).count(), left);
}
