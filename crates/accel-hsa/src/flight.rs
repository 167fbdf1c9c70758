//! Work that was submitted to a device and is not complete.
//!
//! Owns one piece of work until its end: its signal, the objects that it needs, its error. A fatal error of a device
//! ends all of them, so that nothing waits for ever. Must not know: the layout of packets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use cushim_accel::locks::lock;
use cushim_accel::{Code, Failure};

use crate::calls::Asking;
use crate::cooperative::Workspace;
use crate::kernargs::Segment;
use crate::signals::Native;

/// The kind of work, for messages and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A kernel, by its symbol.
    Kernel(String),
    /// A point in a queue.
    Barrier,
    /// A copy.
    Copy,
}

/// Resources that a kernel needs until its end.
#[derive(Default)]
pub struct Needs {
    /// Its arguments.
    pub segment: Option<Segment>,
    /// Its code.
    pub _code: Option<Arc<dyn Code>>,
    /// The workspace of `grid.sync()`.
    pub _workspace: Option<Workspace>,
    /// Keeps its host calls served.
    pub asking: Option<Asking>,
}

/// A piece of work.
pub struct Flight {
    /// Completes with it.
    pub signal: Arc<Native>,
    /// What it is.
    pub what: What,
    /// When it was submitted, nanoseconds of the accelerator's clock.
    pub since: u64,
    /// The device's failure.
    failed: OnceLock<Failure>,
    /// Signals that the device waits for before it.
    _after: Vec<Arc<Native>>,
    /// Resources that a kernel needs until its end.
    pub needs: Needs,
}

impl Flight {
    /// Work that ends with `signal`.
    pub fn new(signal: Arc<Native>, what: What, since: u64, _after: Vec<Arc<Native>>) -> Flight {
        Flight { signal, what, since, failed: OnceLock::new(), _after, needs: Needs::default() }
    }

    /// Waits for the end; returns its failure, if any.
    pub fn wait(&self) -> Option<Failure> {
        let value = self.signal.wait();
        match self.failed.get() {
            Some(failure) => Some(failure.clone()),
            None if value < 0 => {
                let what = match &self.what {
                    What::Copy => "a copy",
                    What::Barrier => "a barrier",
                    What::Kernel(name) => name,
                };
                Some(Failure::Device(format!("the device ended {what} with status {value}")))
            }
            None => None,
        }
    }
}

/// All work under way in one queue, in the order of submission.
#[derive(Default)]
pub struct Flights {
    list: Mutex<VecDeque<Arc<Flight>>>,
    failed: OnceLock<Failure>,
}

impl Flights {
    /// Adds a piece of work while `submit` passes it to the device, one at a time.
    ///
    /// # Errors
    /// Those of `submit`; the device's failure, if it has failed.
    pub fn add<E: From<Failure>>(
        &self,
        flight: &Arc<Flight>,
        submit: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut list = lock(&self.list);
        if let Some(failure) = self.failed.get() {
            return Err(failure.clone().into());
        }
        submit()?;
        list.push_back(flight.clone());
        Ok(())
    }

    /// Forgets one that has ended.
    pub fn remove(&self, flight: &Arc<Flight>) {
        let mut list = lock(&self.list);
        // It is mostly the first.
        if let Some(at) = list.iter().position(|other| Arc::ptr_eq(other, flight)) {
            list.remove(at);
        }
    }

    /// The failure of the device here, if any.
    pub fn failed(&self) -> Option<&Failure> {
        self.failed.get()
    }

    /// The device has failed: ends all work. The first has failed, for the reason from `why`, and
    /// all later entries fail with it, as they did not run.
    pub fn fail(&self, why: impl FnOnce(Option<&What>) -> Failure) {
        let list = lock(&self.list);
        let left = || list.iter().filter(|flight| flight.signal.value() >= 1);
        let kernel = left().find(|flight| matches!(flight.what, What::Kernel(_)));
        let failure = why(kernel.or(left().next()).map(|flight| &flight.what));
        let _ = self.failed.set(failure.clone());
        for flight in left() {
            let _ = flight.failed.set(failure.clone());
            flight.signal.end();
        }
    }
}
