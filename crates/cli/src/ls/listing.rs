//! The listing of one file.
//!
//! Must not know: how a list is printed.

use std::path::Path;

use super::kernels::Merged;
use crate::images::{Chosen, Numbered};

/// An image's row.
pub(super) struct Row<'a> {
    pub(super) numbered: Numbered<'a>,
    pub(super) hash: Option<u64>,
    /// The hash is of the unpacked image.
    pub(super) content: bool,
}

/// A file, listed.
pub(super) struct Listing<'a> {
    pub(super) path: &'a Path,
    pub(super) size: u64,
    pub(super) rows: Vec<Row<'a>>,
    pub(super) kernels: Vec<Merged>,
    pub(super) found: Chosen<'a>,
    /// Images and kernels before `--top`.
    pub(super) totals: Totals,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Totals {
    pub(super) images: usize,
    pub(super) kernels: usize,
    pub(super) packed: u64,
    pub(super) unpacked: u64,
    pub(super) problems: usize,
}

impl Totals {
    pub(super) fn add(&mut self, other: Self) {
        self.images += other.images;
        self.kernels += other.kernels;
        self.packed += other.packed;
        self.unpacked += other.unpacked;
        self.problems += other.problems;
    }
}
