//! The threads that share the blocks of a grid.
//!
//! Owns them. The thread with a grid works on it too, so that a grid completes even if no thread can be started; each
//! block is given out once ([`Blocks`]). Must not know: what a block is.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use cushim_ptx_jit::Blocks;

use cushim_accel::locks::{lock, wait};
use cushim_accel::queue::spawn;

/// A grid in progress.
pub struct Job {
    blocks: Blocks,
    stop: AtomicBool,
}

/// One that several threads work on.
struct Shareable {
    job: Job,
    work: Box<dyn Fn(&Job) + Send + Sync>,
    /// Threads that work on it besides the one that submitted it.
    helping: Mutex<usize>,
    left: Condvar,
}

impl Job {
    fn new(total: u64, threads: usize) -> Job {
        Job { blocks: Blocks::new(total, threads), stop: AtomicBool::new(false) }
    }

    /// Takes at most so many consecutive blocks; an empty range if none are left, or the job is stopped.
    pub fn next(&self, most: u64) -> Range<u64> {
        if self.is_stopped() { 0..0 } else { self.blocks.take(most) }
    }

    /// Ends the job early.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end early.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The threads.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
    /// Threads that work on one grid at most, the one that brings it included.
    pub width: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs that want help, once for each helper wanted.
    wanted: VecDeque<Arc<Shareable>>,
    started: usize,
    idle: usize,
}

impl Pool {
    /// Threads start when they are needed.
    pub fn new(width: usize) -> Pool {
        Pool { shared: Arc::default(), width: width.max(1) }
    }

    /// Whether only one thread would work on so many blocks.
    pub fn is_alone(&self, total: u64) -> bool {
        total <= 1 || self.width == 1
    }

    /// Runs `work` on this thread, where it takes all blocks. It may borrow what the others would have to share.
    pub fn run_alone(total: u64, work: impl FnOnce(&Job)) {
        work(&Job::new(total, 1));
    }

    /// Runs `work` on this thread and on others, until it has returned on all. It takes blocks from
    /// [`Job::next`] until there are no more.
    pub fn run(&self, total: u64, work: impl Fn(&Job) + Send + Sync + 'static) {
        if self.is_alone(total) {
            return Pool::run_alone(total, work);
        }
        let helpers = total.saturating_sub(1).min(self.width as u64 - 1) as usize;
        let job = Arc::new(Shareable {
            job: Job::new(total, helpers + 1),
            work: Box::new(work),
            helping: Mutex::new(0),
            left: Condvar::new(),
        });
        self.call(&job, helpers);
        (job.work)(&job.job);
        // Threads that have not started on this job need not start any more.
        lock(&self.shared.state).wanted.retain(|other| !Arc::ptr_eq(other, &job));
        let mut helping = lock(&job.helping);
        while *helping > 0 {
            helping = wait(&job.left, helping);
        }
    }

    fn call(&self, job: &Arc<Shareable>, helpers: usize) {
        let mut state = lock(&self.shared.state);
        let missing = helpers.saturating_sub(state.idle);
        for _ in 0..missing.min((self.width - 1).saturating_sub(state.started)) {
            let shared = self.shared.clone();
            if spawn("cuda-blocks", move || help(&shared)) {
                state.started += 1;
            }
        }
        for _ in 0..helpers {
            state.wanted.push_back(job.clone());
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

fn help(shared: &Shared) {
    loop {
        let job = {
            let mut state = lock(&shared.state);
            loop {
                if let Some(job) = state.wanted.pop_front() {
                    // Counted before the list is unlocked: the thread that brought the job reads the count first.
                    *lock(&job.helping) += 1;
                    break job;
                }
                state.idle += 1;
                state = wait(&shared.changed, state);
                state.idle -= 1;
            }
        };
        (job.work)(&job.job);
        *lock(&job.helping) -= 1;
        job.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn each_block_is_handed_out_once() {
        let pool = Pool::new(4);
        for total in [0, 1, 2, 1000] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let list = seen.clone();
            pool.run(total, move |job| {
                while let Some(n) = job.next(1).next() {
                    lock(&list).push(n);
                }
            });
            let mut seen = lock(&seen).clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_stopped_job_gives_no_more() {
        let count = Arc::new(AtomicU64::new(0));
        let counted = count.clone();
        Pool::new(3).run(1 << 40, move |job| {
            while !job.next(1).is_empty() {
                if counted.fetch_add(1, Ordering::Relaxed) > 100 {
                    job.stop();
                }
            }
        });
        assert!(count.load(Ordering::Relaxed) < 1000);
    }
}
