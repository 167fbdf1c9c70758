//! Threads and signal handlers.

use std::collections::BTreeMap;

use crate::compare::{RUNTIMES, same};
use crate::lab::{How, Lab};

/// All threads use CUDA for the first time at the same moment: with the runtime alone, and with the driver below.
#[test]
fn sixty_four_threads_at_once() {
    let lab = Lab::new();
    let program = lab.program("threads.c", 12);
    for how in [How::default(), How::default().with("STUB_DRIVER", "1")] {
        let ran = same(&lab, &program, &["together", "64", "50"], RUNTIMES, &how);
        let mut by_thread: BTreeMap<u32, usize> = BTreeMap::new();
        for call in ran.traces[0].calls.iter().filter(|c| c.launch.is_some()) {
            *by_thread.entry(call.tid).or_default() += 1;
        }
        assert_eq!(by_thread.len(), 64, "threads by their own ids");
        assert!(by_thread.values().all(|&n| n == 50));
    }
}

/// Races at first use: many processes, each with its threads at a barrier.
#[test]
fn concurrent_first_use_again_and_again() {
    let lab = Lab::new();
    let program = lab.program("threads.c", 13);
    for _ in 0..12 {
        same(&lab, &program, &["together", "16", "1"], RUNTIMES, &How::default());
    }
}

#[test]
fn five_hundred_short_lived_threads() {
    let lab = Lab::new();
    let ran =
        same(&lab, &lab.program("threads.c", 12), &["short", "500"], RUNTIMES, &How::default());
    let mut tids: Vec<u32> =
        ran.traces[0].calls.iter().filter(|c| c.launch.is_some()).map(|c| c.tid).collect();
    assert_eq!(tids.len(), 1000);
    tids.sort();
    tids.dedup();
    assert_eq!(tids.len(), 500, "each event carries its own thread's id");
    let size = std::fs::metadata(&ran.traces[0].path).unwrap().len();
    assert!(size < 4 << 20, "threads that end hand their buffers on: {size} bytes");
}

/// Launches in a signal handler are nested in the call that they interrupt. If they interrupt the recorder while
/// it stores an event, they are counted as lost; the others are in the trace.
#[test]
fn launches_in_signal_handlers() {
    let lab = Lab::new();
    let program = lab.program("signals.c", 12);
    let bare = lab.run(&program, &[], &How::bare());
    let ran = lab.run(&program, &[], &How::shim().with("CUSHIM_NESTED", "1"));
    assert_eq!((&ran.stdout, &ran.end), (&bare.stdout, &bare.end));
    let reached = ran.log.iter().filter(|l| l.is_launch()).count() as u64;
    let trace = &ran.traces[0];
    let recorded = trace.calls.iter().filter(|c| c.launch.is_some()).count() as u64;
    let lost: u64 = trace.lost.iter().sum();
    assert_eq!(recorded + lost, reached, "{recorded} recorded, {lost} counted as lost");
    let first = trace.calls.iter().find_map(|c| c.launch.as_ref());
    assert!(
        lost > 0 || first.is_some_and(|l| l.contains("2,1,1")),
        "the first came from a handler"
    );
}
