//! Events: points in streams that can be queried, waited for and timed.
//!
//! Owns the objects and the state of their last record. Source: CUDA Driver API, "Event Management". Must not know:
//! the work before them, how streams are captured.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types as abi;

use super::context::Context as Owner;
use super::event_shared::Shared;
use super::handle::Handles;
use super::state::check;
use super::status;
use cushim_accel::Signal;
use cushim_accel::locks::lock;

/// An event.
pub struct Object {
    /// `CU_EVENT_*`.
    pub flags: u32,
    /// Its context.
    pub context: Weak<Owner>,
    /// Its last record.
    pub recorded: Mutex<Record>,
    /// What it shares with other processes, and the number of this process's last record there.
    shared: Mutex<Option<(Arc<Shared>, u32)>>,
}

/// The last record of an event.
#[derive(Clone, Default)]
pub enum Record {
    /// None.
    #[default]
    Never,
    /// In a stream.
    At(Signal),
    /// In a stream that was captured.
    Captured(Point),
}

/// A point in a capture.
#[derive(Clone, Debug)]
pub struct Point {
    /// The capture's number.
    pub capture: u64,
    /// The nodes that later work waits for.
    pub after: BTreeSet<u32>,
}

/// Events by handle.
pub static EVENTS: Handles<Object> = Handles::new();

/// The event of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_HANDLE, and those of [`check`].
pub fn by_handle(event: abi::Event) -> Result<Arc<Object>, i32> {
    check()?;
    EVENTS.get(event.0).ok_or(status::INVALID_HANDLE)
}

impl Object {
    /// A new one.
    pub fn new(flags: u32, context: &Arc<Owner>, shared: Option<Arc<Shared>>) -> Arc<Object> {
        let (context, shared) = (Arc::downgrade(context), Mutex::new(shared.map(|s| (s, 0))));
        Arc::new(Object { flags, context, recorded: Mutex::default(), shared })
    }

    /// The last record, if another process made it.
    pub fn foreign(&self) -> Option<Signal> {
        let shared = lock(&self.shared);
        let (shared, own) = shared.as_ref()?;
        (shared.latest() != *own).then(|| shared.last())
    }

    /// Shares it with other processes from now on.
    ///
    /// # Errors
    /// As [`Shared::new`].
    pub fn share(&self) -> Result<Arc<Shared>, i32> {
        let mut place = lock(&self.shared);
        if let Some((shared, _)) = &*place {
            return Ok(shared.clone());
        }
        let shared = Shared::new()?;
        let number = match &*lock(&self.recorded) {
            Record::At(signal) => shared.record(signal),
            Record::Never | Record::Captured(_) => 0,
        };
        *place = Some((shared.clone(), number));
        Ok(shared)
    }

    /// Complete when the work before the last record is; `None` if it was never recorded.
    pub fn last(&self) -> Option<Signal> {
        if let Some(signal) = self.foreign() {
            return Some(signal);
        }
        match &*lock(&self.recorded) {
            Record::At(signal) => Some(signal.clone()),
            Record::Never | Record::Captured(_) => None,
        }
    }

    /// Makes `signal` the last record.
    pub fn set(&self, signal: Signal) {
        if let Some((shared, number)) = &mut *lock(&self.shared) {
            *number = shared.record(&signal);
        }
        *lock(&self.recorded) = Record::At(signal);
    }

    /// Whether calls on it may proceed.
    ///
    /// # Errors
    /// As [`Owner::healthy`].
    pub fn healthy(&self) -> Result<(), i32> {
        self.context.upgrade().ok_or(status::CONTEXT_IS_DESTROYED)?.healthy()
    }
}
