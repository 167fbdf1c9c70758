//! `ls --json`: the listing as one document.

use std::io::{self, Write};

use serde::Serialize;

use super::listing::{Listing, Totals};
use crate::images::record::{ImageRecord, KernelRecord, ProblemRecord, VERSION, WrapperRecord};

/// The document while it is filled.
pub struct Document {
    with_kernels: bool,
    files: Vec<FileRecord>,
}

#[derive(Serialize)]
struct FileRecord {
    path: String,
    size: u64,
    images: Vec<ImageRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Vec<KernelRecord>>,
    wrappers: Vec<WrapperRecord>,
    problems: Vec<ProblemRecord>,
}

impl Document {
    /// An empty one.
    pub fn new(with_kernels: bool) -> Self {
        Self { with_kernels, files: Vec::new() }
    }

    /// Adds a file.
    pub fn push(&mut self, listing: &Listing<'_>) {
        let image = |row: &super::Row<'_>| {
            let mut record = ImageRecord::new(row.numbered.number, &row.numbered.image);
            let hash = row.hash.map(|hash| format!("{hash:016x}"));
            *(if row.content { &mut record.content_hash } else { &mut record.stored_hash }) = hash;
            record
        };
        let kernel = |kernel: &super::kernels::Merged| {
            let images = kernel.instances.iter().map(|instance| instance.record.clone()).collect();
            KernelRecord::new(&kernel.symbol, images)
        };
        self.files.push(FileRecord {
            path: listing.path.to_string_lossy().into_owned(),
            size: listing.size,
            images: listing.rows.iter().map(image).collect(),
            kernels: self.with_kernels.then(|| listing.kernels.iter().map(kernel).collect()),
            wrappers: listing.found.rest.wrappers.iter().map(WrapperRecord::from).collect(),
            problems: listing.found.rest.problems.iter().map(ProblemRecord::from).collect(),
        });
    }

    /// Writes it.
    pub fn write(self, out: &mut impl Write, totals: Totals) -> io::Result<()> {
        #[derive(Serialize)]
        struct Whole {
            version: u32,
            tool: &'static str,
            files: Vec<FileRecord>,
            totals: TotalsRecord,
        }
        #[derive(Serialize)]
        struct TotalsRecord {
            files: usize,
            images: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            kernels: Option<usize>,
            packed: u64,
            unpacked: u64,
            problems: usize,
        }
        let whole = Whole {
            version: VERSION,
            tool: concat!("cushim ", env!("CARGO_PKG_VERSION")),
            totals: TotalsRecord {
                files: self.files.len(),
                images: totals.images,
                kernels: self.with_kernels.then_some(totals.kernels),
                packed: totals.packed,
                unpacked: totals.unpacked,
                problems: totals.problems,
            },
            files: self.files,
        };
        serde_json::to_writer_pretty(&mut *out, &whole)?;
        writeln!(out)
    }
}
