//! The state of an event between its beginning and its end. Must not know: how events are stored.

use cushim_trace::recorder::Slots;

/// A stored event, until its call returns.
#[derive(Clone, Copy)]
pub struct Stored {
    pub(super) slots: Option<Slots>,
}

impl Stored {
    /// Its slots, if it is in the trace.
    pub fn slots(&self) -> Option<Slots> {
        self.slots
    }
}

impl From<Option<Slots>> for Stored {
    fn from(slots: Option<Slots>) -> Self {
        Stored { slots }
    }
}
