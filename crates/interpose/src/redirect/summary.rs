//! The results of all launches that a rule compared.
//!
//! Must not know: how they are compared.

use std::sync::Mutex;

use super::say::say;

/// The results of all launches that a rule compared.
#[derive(Default)]
pub struct Summary {
    /// Launches that were compared.
    pub launches: u64,
    /// Launches that differed.
    pub differing: u64,
    /// The largest difference.
    pub largest: f64,
}

impl Summary {
    /// The process ends: reports the comparisons of a rule.
    pub fn say(summary: &Mutex<Summary>, name: &str) {
        let Ok(summary) = summary.lock() else { return };
        if summary.launches == 0 {
            return;
        }
        let Summary { launches, differing, largest } = *summary;
        match differing {
            0 => say(format_args!("{name}: {launches} launches compared, all alike")),
            _ => say(format_args!(
                "{name}: {launches} launches compared, {differing} differ, by {largest} at most"
            )),
        }
    }
}
