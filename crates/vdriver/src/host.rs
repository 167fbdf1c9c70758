//! Threads that run the program's functions: callbacks of streams, host nodes of graphs.
//!
//! Owns the threads. A function that blocks delays only its own stream: another function that is ready gets another
//! thread. The streams order functions. Must not know: streams.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use cushim_accel::locks::{lock, wait};
use cushim_accel::queue::spawn;

thread_local! {
    static REFUSING: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function of the program that must not call CUDA.
pub fn refusing(function: impl FnOnce()) {
    REFUSING.set(true);
    function();
    REFUSING.set(false);
}

/// Whether this thread is in such a function.
#[inline]
pub fn is_refusing() -> bool {
    REFUSING.get()
}

/// `CUhostFn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its address; never null.
    pub function: usize,
    /// Its argument.
    pub data: usize,
}

impl Function {
    /// Calls it; it must not call CUDA.
    pub fn call(self) {
        // SAFETY: the program says that this is such a function.
        let function =
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(usize)>(self.function) };
        // SAFETY: the program's function and its argument.
        refusing(|| unsafe { function(self.data) });
    }
}

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    jobs: VecDeque<Job>,
    idle: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), idle: 0 });
static CHANGED: Condvar = Condvar::new();

/// Runs a function soon, on another thread.
pub fn run(job: impl FnOnce() + Send + 'static) {
    let mut pool = lock(&POOL);
    pool.jobs.push_back(Box::new(job));
    if pool.idle >= pool.jobs.len() {
        CHANGED.notify_one();
        return;
    }
    drop(pool);
    if !spawn("cuda-host", work) {
        // No thread could be started: this one runs it.
        let job = lock(&POOL).jobs.pop_back();
        if let Some(job) = job {
            job();
        }
    }
}

fn work() {
    let mut pool = lock(&POOL);
    loop {
        while let Some(job) = pool.jobs.pop_front() {
            drop(pool);
            job();
            pool = lock(&POOL);
        }
        pool.idle += 1;
        pool = wait(&CHANGED, pool);
        pool.idle -= 1;
    }
}
