//! Reports from the driver and the runtime.
//!
//! Owns [`Checks`] for a [`Checker`]. Must not know kernels.

use cushim_accel::locks::lock;
use cushim_accel::{Checks, Trail};

use super::blocks::Place;
use super::checker::Checker;
use super::finding::Finding;
use super::options::Tool;
use super::stray::Stray;
use super::trail;

impl Checker {
    /// A finding of a call that this thread makes.
    fn tell_call(&self, tool: Tool, kind: &'static str, message: String, near: Option<(u64, u64)>) {
        let mut trails = vec![("called".to_owned(), Some(trail::here()))];
        let near = near.and_then(|(address, bytes)| self.near(address, bytes)).unwrap_or_default();
        trails.extend(near.trails);
        self.tell(&Finding { tool, kind, message, at: None, variable: near.variable, trails });
    }

    /// A copy to memory of the program read bytes that were never written.
    pub fn copy_of_unwritten(&self, from: u64, bytes: u64, first: u64) {
        let near = self.near(first, 1).map_or(String::new(), |near| format!(", {}", near.text));
        let message = format!(
            "a copy of {bytes} bytes from {from:#x} reads memory that nobody wrote: the byte at {first:#x}{near}"
        );
        self.tell_call(Tool::Init, "copy of unwritten memory", message, Some((first, 1)));
    }
}

impl Checks for Checker {
    fn here(&self) -> Option<Trail> {
        self.looks_at_kernels().then(trail::here)
    }

    fn failed(&self, error: i32, name: &str) {
        self.pend(error, name);
    }

    fn looked(&self) {
        self.looked_at();
    }

    fn beyond(&self, address: u64, bytes: u64) {
        let blocks = lock(&self.blocks);
        let stray = self.stray(&blocks, address, 1).and_then(Stray::words);
        let near = blocks.nearest(address, 1).map(|(at, block, place)| match place {
            Place::Inside if block.freed.is_none() => {
                let left = block.bytes - (address - at);
                format!(
                    "{} of {} bytes at {at:#x} has {left} left there",
                    block.kind.words(),
                    block.bytes
                )
            }
            _ => "no allocation is there".into(),
        });
        drop(blocks);
        let near = near.unwrap_or_else(|| "no allocation is there".into());
        let stray = stray.map_or(String::new(), |words| format!(", {words},"));
        let message =
            format!("a copy or set of {bytes} bytes at {address:#x}{stray} is refused: {near}");
        self.tell_call(Tool::Memory, "copy out of bounds", message, Some((address, 1)));
    }

    fn not_freed(&self, address: u64) {
        let blocks = lock(&self.blocks);
        let (kind, why) = match blocks.at(address) {
            Some(block) if block.freed.is_some() => {
                let what = format!(
                    "{} of {} bytes there was freed before",
                    block.kind.words(),
                    block.bytes
                );
                ("double free", what)
            }
            _ => ("invalid free", "no allocation that this call frees begins there".to_owned()),
        };
        drop(blocks);
        let message = format!("a free of {address:#x} is refused: {why}");
        self.tell_call(Tool::Memory, kind, message, Some((address, 1)));
    }

    fn abandoned(&self, address: u64) {
        let block = lock(&self.blocks).at(address).filter(|block| block.freed.is_none()).cloned();
        self.tell_leaks(block.map(|block| (address, block)).into_iter().collect());
    }

    fn written(&self, address: u64, bytes: u64) {
        self.set(address, bytes);
    }

    fn freed_later(&self, address: u64) {
        self.leaves(address);
    }

    fn keeps_apart(&self) -> bool {
        true
    }

    fn end(&self) {
        self.finish();
    }
}
