//! The device of a context, at any time of a trace.
//!
//! Owns the order of the records about contexts: a driver reuses the handle of a destroyed context, also for another
//! device, so a handle alone does not identify one. Must not know how the records are stored.

use std::collections::{BTreeMap, BTreeSet};

/// The devices of contexts, as of the event that was returned last.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    now: BTreeMap<u64, i32>,
    /// The last reported device of each context.
    last: BTreeMap<u64, i32>,
    /// Contexts that change device later: the ticks and a number, context and device.
    later: BTreeMap<(u64, usize), (u64, i32)>,
}

impl Contexts {
    /// The device of a context; `None` where the trace does not say.
    pub fn device(&self, context: u64) -> Option<i32> {
        self.now.get(&context).copied()
    }

    /// The devices of all contexts, later ones too.
    pub fn devices(&self) -> BTreeSet<i32> {
        let later = self.later.values().map(|(_, device)| *device);
        self.now.values().copied().chain(later).collect()
    }

    /// A context belongs to a device from these ticks on; to its first device, also before.
    pub(crate) fn told(&mut self, context: u64, device: i32, ticks: u64) {
        match self.last.insert(context, device) {
            None => drop(self.now.insert(context, device)),
            Some(known) if known == device => {}
            Some(_) => drop(self.later.insert((ticks, self.later.len()), (context, device))),
        }
    }

    /// Events that begin then are handed out from now on.
    pub(crate) fn reach(&mut self, ticks: u64) {
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= ticks) {
            let (context, device) = first.remove();
            self.now.insert(context, device);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context belongs to the first device until the second record's time. A record without a time (earlier versions)
    /// holds at once.
    #[test]
    fn a_handle_is_given_out_again() {
        let mut contexts = Contexts::default();
        for (context, device, ticks) in
            [(7, 1, 100), (7, 1, 150), (7, 2, 200), (8, 3, 210), (7, 1, 300), (8, 4, 0)]
        {
            contexts.told(context, device, ticks);
        }
        assert_eq!(contexts.devices(), BTreeSet::from([1, 2, 3, 4]));
        assert_eq!(contexts.device(8), Some(3));
        for (ticks, device) in [(50, 1), (199, 1), (200, 2), (299, 2), (1000, 1)] {
            contexts.reach(ticks);
            assert_eq!([7, 8, 9].map(|c| contexts.device(c)), [Some(device), Some(4), None]);
        }
        assert_eq!(contexts.devices(), BTreeSet::from([1, 4]));
    }
}
