//! The meaning of an event, in the terms that all formats share.
//!
//! Must not know: any format.

use cushim_abi::errors;
use cushim_abi::types::Shape;
use cushim_abi::work::launches_graph;
use cushim_trace::event::{Body, Event, Mapped};
use cushim_trace::layout::GPU_KERNEL;
use cushim_trace::meta::{Api, Metadata};

/// These return an earlier error: their result is no failure of their own.
pub const REPORTERS: [&str; 2] = ["cudaGetLastError", "cudaPeekAtLastError"];

/// What an event is about.
pub struct Facts<'a> {
    /// The function, where the trace describes it.
    pub api: Option<&'a Api>,
    /// Its name, empty where unknown.
    pub name: &'a str,
    /// The event class, a word.
    pub class: &'a str,
    /// Number of the kernel in its file.
    pub kernel: Option<u32>,
    /// A kernel node of a graph, which has the form of a launch.
    pub is_node: bool,
    /// The call failed.
    pub failed: bool,
}

impl<'a> Facts<'a> {
    /// About `event`.
    pub fn of(meta: &'a Metadata, event: &Event<'_>) -> Self {
        let api = meta.apis.get(&event.api);
        let name = api.map_or("", |api| api.name.as_str());
        let (class, kernel) = match &event.body {
            Body::Launch(l) => (api.map_or("launch", |api| &api.class), Some(l.kernel)),
            Body::Call(call) => {
                (api.map_or("unknown", |api| &api.class), Some(call.kernel).filter(|&id| id != 0))
            }
            Body::Mark(_) => ("mark", None),
            Body::Gpu(gpu) => {
                ("gpu", Some(gpu.kernel).filter(|&id| id != 0 && gpu.what == GPU_KERNEL))
            }
            Body::Range(_) => ("nvtx", None),
            Body::Mapped(mapped) => mapped_class(mapped),
        };
        let is_node = class == "graph" && matches!(event.body, Body::Launch(_));
        let failed = event.status.is_some_and(errors::is_failure) && !REPORTERS.contains(&name);
        Facts { api, name, class, kernel, is_node, failed }
    }

    /// The stream on which the call puts work, or by which it waits.
    pub fn stream(&self, event: &Event<'_>) -> Option<u64> {
        match &event.body {
            Body::Launch(launch) => (!self.is_node).then_some(launch.stream),
            Body::Call(call) => {
                let args = &self.api?.args;
                call.words.get(args.iter().position(|(_, shape)| shape == Shape::Stream.word())?)
            }
            Body::Mark(_) | Body::Gpu(_) | Body::Range(_) | Body::Mapped(_) => None,
        }
    }

    /// Whether the call puts work on its stream.
    pub fn enqueues(&self) -> bool {
        !self.is_node
            && (matches!(self.class, "launch" | "copy" | "memory")
                || self.class == "graph" && launches_graph(self.name))
    }
}

/// The class of a region or a mapping, and the region's kernel.
fn mapped_class(mapped: &Mapped<'_>) -> (&'static str, Option<u32>) {
    match mapped.what {
        0 => ("region", Some(mapped.kernel)),
        _ => ("map", None),
    }
}
