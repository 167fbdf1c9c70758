//! `cushim ls FILE|DIR...`: the device images of files, or their kernels.
//!
//! Owns: the order of rows and the counts. Must not know: formats of files, or how JSON is laid out.

mod json;
mod kernels;
mod listing;
mod operations;
mod sort;
mod table;

use std::io::{BufWriter, Write};

use crate::Error;
use crate::images::{self, Filter, HostFile, Numbered, SelectArgs, Which, file};
use cushim_image::Limits;
use cushim_names::Foreign as _;
use listing::{Listing, Row, Totals};
use sort::Sort;

/// List the device images in programs and libraries
#[derive(clap::Args, Debug)]
pub struct LsArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Print one JSON document (docs/formats-json.md)
    #[arg(long)]
    json: bool,

    /// One row for each kernel, its images merged
    #[arg(long)]
    kernels: bool,

    /// Below the rows, count the operations of a warp for each kernel with PTX: by class, how many
    /// are the same for all lanes, how many are in loops, which memory they access
    #[arg(long, requires = "kernels", conflicts_with = "json")]
    operations: bool,

    /// Unpack every image: the hash is then of its contents, and damage is found
    #[arg(long)]
    verify: bool,

    /// Order of rows
    #[arg(long, value_enum, default_value_t = Sort::File)]
    sort: Sort,

    /// At most N rows for each file
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

/// Runs the command. Exit code 1: something could not be read, or a named file holds nothing.
pub fn run(args: LsArgs) -> crate::Outcome {
    let filter = args.select.filter()?;
    images::start_workers();
    if args.sort.is_of_kernels() && !args.kernels {
        return Err(Error::Usage("--sort by a property of kernels needs --kernels".into()));
    }
    let limits = Limits::from(&args.select.limits);
    let sources = file::sources(&args.select.files)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = |error| crate::view::output(error);
    let mut document = args.json.then(|| json::Document::new(args.kernels));
    let mut totals = Totals::default();
    let (mut code, mut shown) = (0, 0);
    for source in &sources {
        let opened = HostFile::open(&source.path);
        let host = match opened {
            Ok(host) => host,
            Err(error) if sources.len() > 1 => {
                crate::complain(&error.to_string());
                code = 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        let listing = list(&args, &host, &filter, &limits);
        let empty = listing.totals.images == 0 && listing.found.rest.problems.is_empty();
        if empty && !source.named {
            continue;
        }
        if empty || !listing.found.rest.problems.is_empty() {
            code = 1;
        }
        out.flush().map_err(written)?;
        if !args.json {
            complain_of(&listing, empty);
        }
        totals.add(listing.totals);
        match &mut document {
            Some(document) => document.push(&listing),
            None if empty => continue,
            None => {
                let several = sources.len() > 1;
                let printed = table::print(&mut out, &listing, args.kernels, shown, several);
                printed.map_err(written)?;
                if args.operations {
                    operations::print(&mut out, &listing, &limits).map_err(written)?;
                }
            }
        }
        shown += 1;
    }
    match document {
        Some(document) => document.write(&mut out, totals).map_err(written)?,
        None if shown > 1 => table::grand_total(&mut out, shown, totals).map_err(written)?,
        None => {}
    }
    out.flush().map_err(written)?;
    Ok(code)
}

fn complain_of(listing: &Listing<'_>, empty: bool) {
    let path = listing.path.shown();
    if empty {
        crate::complain(&format!("{path}: no device code that matches the options"));
    }
    for problem in &listing.found.rest.problems {
        let trail = match problem.trail.to_string() {
            trail if trail.is_empty() => trail,
            trail => format!("{trail}: "),
        };
        let error = problem.error.to_string();
        crate::complain(&format!("{path}: {}{}", trail.shown(), error.shown()));
    }
}

fn list<'a>(args: &LsArgs, host: &'a HostFile, filter: &Filter, limits: &Limits) -> Listing<'a> {
    let mut found = images::choose(host, filter, limits);
    let mut totals = Totals::default();
    let mut images = std::mem::take(&mut found.images);
    for numbered in &images {
        totals.images += 1;
        // For a shared stream, only the unpacked size is known.
        let (_, shared) = numbered.image.packing();
        totals.packed += if shared { 0 } else { numbered.image.place.stored };
        totals.unpacked += numbered.image.place.unpacked;
    }
    totals.packed += shared_streams(&images);
    let mut kernels = Vec::new();
    if args.kernels {
        let (merged, problems, listed) = kernels::merge(images, host.bytes().len(), filter, limits);
        (kernels, images) = (merged, listed);
        found.rest.problems.extend(problems);
        kernels::sort(&mut kernels, args.sort);
        totals.kernels = kernels.len();
        kernels.truncate(args.top.unwrap_or(usize::MAX));
    }
    let which = if args.verify { Which::All } else { Which::Shared };
    let mut rows: Vec<(Row<'a>, Option<cushim_image::inventory::Problem>)> =
        images::each(images, host.bytes().len(), which, limits, |numbered, allowed| {
            row(numbered, host, args, limits, allowed)
        });
    found.rest.problems.extend(rows.iter_mut().filter_map(|(_, problem)| problem.take()));
    let mut rows: Vec<Row<'a>> = rows.into_iter().map(|(row, _)| row).collect();
    sort(&mut rows, args.sort);
    if !args.kernels {
        rows.truncate(args.top.unwrap_or(usize::MAX));
    }
    totals.problems = found.rest.problems.len();
    let size = host.bytes().len() as u64;
    Listing { path: host.path(), size, rows, kernels, found, totals }
}

/// Packed bytes of the streams that several images share, each stream once.
fn shared_streams(images: &[Numbered<'_>]) -> u64 {
    use cushim_image::inventory::Space;
    let mut seen = std::collections::HashSet::new();
    let mut sum = 0;
    for numbered in images {
        if let Space::Blob(blob) = &numbered.image.place.space
            && seen.insert(std::sync::Arc::as_ptr(blob) as usize)
        {
            sum += blob.packed().stored;
        }
    }
    sum
}

/// Hashes an image as the options ask for it.
fn row<'a>(
    numbered: Numbered<'a>,
    host: &HostFile,
    args: &LsArgs,
    limits: &Limits,
    allowed: Result<(), cushim_image::Error>,
) -> (Row<'a>, Option<cushim_image::inventory::Problem>) {
    let image = &numbered.image;
    let problem = |error: cushim_image::Error| cushim_image::inventory::Problem {
        trail: image.trail.clone(),
        error,
    };
    if let Err(error) = allowed {
        let problem = Some(problem(error));
        return (Row { numbered, hash: None, content: args.verify }, problem);
    }
    if args.verify {
        let hash = image.with_bytes(limits, xxhash_rust::xxh3::xxh3_64);
        let opened = image.kernels(limits).map(drop);
        let (hash, error) = match (hash, opened) {
            (Err(error), _) => (None, Some(error)),
            (Ok(hash), opened) => (Some(hash), opened.err()),
        };
        let problem = error.map(problem);
        return (Row { numbered, hash, content: true }, problem);
    }
    // The table of kernels shows no hashes.
    if args.kernels && !args.json {
        return (Row { numbered, hash: None, content: false }, None);
    }
    match host.hash(&image.place, limits) {
        Ok(hash) => (Row { numbered, hash: Some(hash), content: false }, None),
        Err(error) => {
            let problem = problem(error);
            (Row { numbered, hash: None, content: false }, Some(problem))
        }
    }
}

fn sort(rows: &mut [Row<'_>], by: Sort) {
    use std::cmp::Reverse;
    match by {
        Sort::Kind => rows.sort_by_cached_key(|row| {
            let image = &row.numbered.image;
            (image.kind.to_string(), image.arch.clone())
        }),
        Sort::Arch => rows.sort_by_cached_key(|row| row.numbered.image.arch.clone()),
        Sort::Packed => rows.sort_by_key(|row| Reverse(row.numbered.image.place.stored)),
        Sort::Unpacked => rows.sort_by_key(|row| Reverse(row.numbered.image.place.unpacked)),
        _ => {}
    }
}
