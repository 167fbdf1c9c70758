//! Tests the software queue with an executor that records its packets.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Mutex;

use super::queue::{Executor, SoftwareQueue};
use super::*;
use crate::locks::lock;

struct Notes(Mutex<Vec<u64>>);

impl Executor for Notes {
    fn dispatch(&self, _: &Dispatch) -> Result<(), Failure> {
        Ok(())
    }
    fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        if copy.to == 13 {
            panic!("asked for");
        }
        lock(&self.0).push(copy.to);
        Ok(())
    }
    fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        Err(Failure::InvalidAddress(fill.to))
    }
    fn now(&self) -> u64 {
        1
    }
    fn is_short(&self, work: &Work) -> bool {
        matches!(work, Work::Copy(copy) if copy.to >= SHORT)
    }
}

/// Copies to this address and above count as short.
const SHORT: u64 = 1 << 32;

fn copy(to: u64) -> Work {
    Work::Copy(Copy { to, from: 0, width: 0, height: 0, depth: 0, row: [0; 2], plane: [0; 2] })
}

fn submit(queue: &impl Queue, work: Work, waits: &[&Signal]) -> Signal {
    let done = Signal::new();
    let waits = waits.iter().map(|&signal| signal.clone()).collect();
    queue.submit(Packet { work, waits, done: done.clone() });
    done
}

#[test]
fn packets_run_in_order_and_a_waiting_queue_holds_up_no_other() {
    let notes = Arc::new(Notes(Mutex::default()));
    let (a, b) = (SoftwareQueue::new(notes.clone()), SoftwareQueue::new(notes.clone()));
    let gate = Signal::new();
    let blocked = submit(&a, copy(1), &[&gate]);
    let last = submit(&a, copy(2), &[]);
    submit(&b, copy(3), &[]).wait();
    assert!(!blocked.is_done() && !last.is_done());
    gate.complete(Outcome::default());
    last.wait();
    assert_eq!(*lock(&notes.0), [3, 1, 2]);
}

#[test]
fn failures_are_reported_and_do_not_stop_the_queue() {
    let notes = Arc::new(Notes(Mutex::default()));
    let queue = SoftwareQueue::new(notes.clone());
    let fill = Fill { to: 7, value: 0, size: 1, width: 1, height: 1, pitch: 0 };
    let failed = submit(&queue, Work::Fill(fill), &[]);
    let panicked = submit(&queue, copy(13), &[]);
    let fine = submit(&queue, copy(5), &[&failed]);
    assert_eq!(failed.wait().failure, Some(Failure::InvalidAddress(7)));
    assert!(matches!(panicked.wait().failure, Some(Failure::Launch(_))));
    assert_eq!(fine.wait().failure, None);
}

#[test]
fn what_was_submitted_is_done_after_the_queue_is_dropped() {
    let notes = Arc::new(Notes(Mutex::default()));
    let queue = SoftwareQueue::new(notes.clone());
    let gate = Signal::new();
    let done = submit(&queue, copy(9), &[&gate]);
    drop(queue);
    gate.complete(Outcome::default());
    done.wait();
    assert_eq!(*lock(&notes.0), [9]);
}

#[test]
fn an_empty_point_in_an_idle_queue_needs_no_thread() {
    let queue = SoftwareQueue::new(Arc::new(Notes(Mutex::default())));
    assert!(submit(&queue, Work::Barrier, &[]).is_done());
}

#[test]
fn short_work_has_ended_when_it_is_submitted_and_order_is_kept() {
    let notes = Arc::new(Notes(Mutex::default()));
    let queue = SoftwareQueue::new(notes.clone());
    assert!(submit(&queue, copy(SHORT), &[]).is_done());
    let mut expected = vec![SHORT];
    for k in 1..2_000u64 {
        let to = if k % 3 == 0 { SHORT + k } else { k + 100 };
        let done = submit(&queue, copy(to), &[]);
        expected.push(to);
        if k % 7 == 0 {
            done.wait();
            assert_eq!(lock(&notes.0).len(), expected.len());
        }
    }
    submit(&queue, copy(99), &[]).wait();
    expected.push(99);
    assert_eq!(*lock(&notes.0), expected);
}

#[test]
fn a_thread_that_waits_for_two_queues_sees_both_ended() {
    let notes = Arc::new(Notes(Mutex::default()));
    let queues: Vec<_> = (0..4).map(|_| SoftwareQueue::new(notes.clone())).collect();
    std::thread::scope(|scope| {
        for n in 0..4u64 {
            let queues = &queues;
            scope.spawn(move || {
                for k in 0..500usize {
                    let first = submit(&queues[k % 4], copy(n + 1), &[]);
                    let second = submit(&queues[(k + 1) % 4], copy(n + 1), &[&first]);
                    second.wait();
                    assert!(first.is_done());
                }
            });
        }
    });
    assert_eq!(lock(&notes.0).len(), 4_000);
}
