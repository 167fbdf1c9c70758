//! The input of a view, and its counts.
//!
//! Must not know: how anything is shown.

use cushim_analysis::Source;
use cushim_trace::event::{Body, Event};
use cushim_trace::layout::LOST_KINDS;
use cushim_trace::meta::{Api, Metadata};

/// What was traced, for the header of JSON lines.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Command line.
    pub argv: Vec<String>,
    /// Host name.
    pub host: String,
    /// Rank among the job's processes.
    pub rank: Option<u32>,
}

/// Counts of all events, shown or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events, nested ones too.
    pub events: u64,
    /// Outermost calls: those that the program made.
    pub calls: u64,
    /// Kernel launches and target regions among them.
    pub launches: u64,
    /// Kernel nodes that were put into graphs or changed, which are no launches yet.
    pub nodes: u64,
    /// Outermost calls that failed.
    pub failed: u64,
    /// Outermost calls that did not return.
    pub pending: u64,
    /// Processes that left a file.
    pub processes: u64,
    /// Events missing, by [`cushim_trace::layout::Lost`].
    pub lost: [u64; LOST_KINDS],
    /// Earlier events that were overwritten, where only the latest were kept.
    pub overwritten: u64,
    /// The size of each process's ring in bytes, the largest.
    pub keep: u64,
    /// Records that could not be understood and were skipped.
    pub damaged: u64,
}

/// One event with all that belongs to it.
pub(super) struct Seen<'a> {
    pub(super) source: &'a Source,
    pub(super) meta: &'a Metadata,
    pub(super) event: &'a Event<'a>,
    pub(super) api: Option<&'a Api>,
    /// The event class, a word.
    pub(super) class: &'a str,
    /// Index of the event's kernel.
    pub(super) kernel: Option<usize>,
}

impl<'a> Seen<'a> {
    pub(super) fn name(&self) -> &'a str {
        self.api.map_or("", |api| &api.name)
    }
    /// A kernel node of a graph, which has the form of a launch.
    pub(super) fn is_node(&self) -> bool {
        self.class == "graph" && matches!(self.event.body, Body::Launch(_))
    }
}
