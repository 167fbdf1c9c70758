//! Tests signals between threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::signal::*;

#[test]
fn what_comes_first_is_over_when_somebody_learns_of_the_end() {
    for _ in 0..200 {
        let (signal, seen) = (Signal::new(), Arc::new(AtomicBool::new(false)));
        let (ended, mark) = (signal.clone(), seen.clone());
        signal.first(move |outcome| {
            assert_eq!(outcome.end, 7);
            std::thread::yield_now();
            mark.store(true, Ordering::Relaxed);
        });
        let thread = std::thread::spawn(move || {
            ended.complete(Outcome { end: 7, ..Outcome::default() });
        });
        signal.wait();
        assert!(seen.load(Ordering::Relaxed));
        assert!(thread.join().is_ok());
    }
}

#[test]
fn what_is_attached_runs_once_before_or_after() {
    let (signal, count) = (Signal::new(), Arc::new(Mutex::new(0)));
    let add = |count: &Arc<Mutex<i32>>| {
        let count = count.clone();
        move || *count.lock().unwrap_or_else(|e| e.into_inner()) += 1
    };
    signal.then(add(&count));
    assert!(!signal.is_done() && signal.outcome().is_none());
    signal.complete(Outcome { end: 7, ..Outcome::default() });
    signal.complete(Outcome::default());
    signal.then(add(&count));
    assert_eq!(*count.lock().unwrap_or_else(|e| e.into_inner()), 2);
    assert_eq!(signal.wait().end, 7);
}

#[test]
fn a_sleeping_thread_is_woken() {
    let signal = Signal::new();
    let other = signal.clone();
    let waiter = std::thread::spawn(move || other.wait());
    std::thread::sleep(std::time::Duration::from_millis(20));
    signal.complete(Outcome::default());
    assert!(waiter.join().is_ok());
}

#[test]
fn a_signal_of_several_waits_for_the_last() {
    let parts = [Signal::new(), Signal::new(), Signal::completed()];
    let all = Signal::all(parts.to_vec(), || 7);
    assert!(!all.is_done());
    let [first, second, _] = &parts;
    first.complete(Outcome::default());
    assert!(!all.is_done(), "one is left");
    second.complete(Outcome::default());
    assert_eq!(all.wait().end, 7);
    assert!(Signal::all(Vec::new(), || 0).is_done(), "of none");
}

#[test]
fn an_accelerator_keeps_its_own_signal_there() {
    let signal = Signal::new();
    assert!(signal.own().is_none());
    signal.set_own(std::sync::Arc::new(7u64));
    let own = signal.clone().own().and_then(|own| own.downcast_ref::<u64>().copied());
    assert_eq!(own, Some(7));
}
