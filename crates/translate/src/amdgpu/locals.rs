//! Local memory of a function: one LLVM variable for everything whose address may be taken, and one for each slot
//! through which calls pass values, which LLVM promotes to registers.
//!
//! Owns the assignment of the frame's bytes to variables.

use cushim_ptx::ir::{Function, Place};

/// A part of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Its number, which its variable is called by.
    pub(super) number: u32,
    /// First byte.
    pub(super) start: u32,
    /// One past the last.
    pub(super) end: u32,
}

/// The parts of a frame, in order and beside each other.
#[derive(Debug)]
pub(super) struct Locals {
    parts: Vec<Part>,
}

impl Locals {
    pub(super) fn of(f: &Function) -> Locals {
        let params = f.params.iter().chain(&f.returns).filter_map(|p| match p.place {
            Place::Memory(at) if !f.entry => Some((at, at.saturating_add(p.size))),
            _ => None,
        });
        let variables = f.variables.iter().map(|v| (v.offset, v.offset.saturating_add(v.size)));
        let mut passed: Vec<(u32, u32)> = params.chain(variables).filter(|(s, e)| s < e).collect();
        passed.sort_unstable();
        let mut parts: Vec<Part> = Vec::new();
        let add = |start: u32, end: u32, parts: &mut Vec<Part>| {
            if start < end {
                parts.push(Part { number: parts.len() as u32, start, end });
            }
        };
        let mut at = 0;
        let mut rest = passed.into_iter().peekable();
        while let Some((start, mut end)) = rest.next() {
            // Parts that share bytes are one.
            while let Some((_, other)) = rest.next_if(|(next, _)| *next < end) {
                end = end.max(other);
            }
            add(at, start, &mut parts);
            add(start.max(at), end, &mut parts);
            at = at.max(end);
        }
        add(at, f.local_size.max(at), &mut parts);
        Locals { parts }
    }

    /// All parts.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part that contains a byte, or the last one.
    pub(super) fn part(&self, offset: u32) -> Option<Part> {
        let next = self.parts.partition_point(|part| part.start <= offset);
        self.parts.get(next.saturating_sub(1)).copied()
    }
}
