//! Writes images on all cores, and the index beside them.
//!
//! An image appears under its name only when it is complete; the index is written last.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cushim_image::Limits;
use cushim_image::inventory::Space;
use cushim_image::sniff::trim;
use cushim_trace::private::Folder;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;

use super::{Input, file_name};
use crate::Error;
use crate::images::record::{ImageRecord, ProblemRecord, VERSION};
use crate::images::{Chosen, Cost, Numbered, Which};
use cushim_names::Foreign as _;

/// Name of the index in the output folder.
const INDEX: &str = "index.json";
/// A bar is shown if the work takes longer.
const PATIENCE: Duration = Duration::from_millis(700);

/// One image to be written.
struct Task<'t, 'a> {
    numbered: &'t Numbered<'a>,
    /// Which of the inputs.
    input: usize,
    /// Relative to the output folder.
    path: PathBuf,
    /// An error where all images together are too large.
    allowed: Result<(), cushim_image::Error>,
}

/// The result of a task.
struct Written {
    bytes: u64,
    hash: u64,
}

#[derive(Serialize)]
struct Index {
    version: u32,
    tool: &'static str,
    files: Vec<IndexedFile>,
}

#[derive(Serialize)]
struct IndexedFile {
    path: String,
    images: Vec<IndexedImage>,
    problems: Vec<ProblemRecord>,
}

#[derive(Serialize)]
struct IndexedImage {
    /// Relative to the index; null where the image could not be unpacked.
    file: Option<String>,
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    image: ImageRecord,
}

/// Writes all images; returns whether one of them could not be read. Stops at a failure to write.
pub fn write(
    folder: &Path,
    force: bool,
    chosen: &[(&Input, Chosen<'_>)],
    limits: &Limits,
) -> Result<bool, Error> {
    let mut tasks = Vec::new();
    for (input, (file, found)) in chosen.iter().enumerate() {
        let mut cost = Cost::new(file.host.bytes().len(), limits);
        for numbered in &found.images {
            let path = file.folder.join(file_name(numbered));
            let allowed = cost.charge(&numbered.image, Which::All, limits);
            tasks.push(Task { numbered, input, path, allowed });
        }
    }
    prepare(folder, force, chosen, &tasks)?;
    let bar = bar(&tasks);
    let results: Vec<(usize, Result<Written, cushim_image::Error>)> = groups(&tasks)
        .into_par_iter()
        .map(|group| write_group(folder, &tasks, &group, &bar, limits))
        .collect::<Result<Vec<_>, Error>>()?
        .into_iter()
        .flatten()
        .collect();
    bar.finish_and_clear();
    let mut results: HashMap<usize, _> = results.into_iter().collect();
    let mut index = Index {
        version: VERSION,
        tool: concat!("cushim ", env!("CARGO_PKG_VERSION")),
        files: chosen
            .iter()
            .map(|(input, found)| IndexedFile {
                path: input.host.path().to_string_lossy().into_owned(),
                images: Vec::new(),
                problems: found.rest.problems.iter().map(ProblemRecord::from).collect(),
            })
            .collect(),
    };
    let mut failed = false;
    for (number, task) in tasks.iter().enumerate() {
        let mut image = ImageRecord::new(task.numbered.number, &task.numbered.image);
        let Some(result) = results.remove(&number) else { continue };
        let entry = match result {
            Ok(written) => {
                image.content_hash = Some(format!("{:016x}", written.hash));
                let file = Some(task.path.to_string_lossy().into_owned());
                IndexedImage { file, bytes: Some(written.bytes), error: None, image }
            }
            Err(error) => {
                let path = chosen[task.input].0.host.path().shown();
                crate::complain(&format!("{path}: {}: {error}", task.numbered.image.trail));
                failed = true;
                IndexedImage { file: None, bytes: None, error: Some(error.to_string()), image }
            }
        };
        index.files[task.input].images.push(entry);
    }
    let path = Path::new(INDEX);
    let mut text = serde_json::to_vec_pretty(&index)
        .map_err(|error| Error::io("write", path, error.into()))?;
    text.push(b'\n');
    put(folder, path, &text)?;
    Ok(failed)
}

/// Makes the folders, and refuses before anything is written where a file is in the way.
fn prepare(
    folder: &Path,
    force: bool,
    chosen: &[(&Input, Chosen<'_>)],
    tasks: &[Task<'_, '_>],
) -> Result<(), Error> {
    if !force {
        let names = tasks.iter().map(|task| task.path.as_path()).chain([Path::new(INDEX)]);
        for name in names {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok() {
                let path = path.shown();
                return Err(Error::Usage(format!("{path} exists; --force overwrites it")));
            }
        }
    }
    for (input, _) in chosen {
        let path = folder.join(&input.folder);
        Folder::make(&path).map_err(|error| Error::io("make the folder", &path, error))?;
    }
    Ok(())
}

fn bar(tasks: &[Task<'_, '_>]) -> ProgressBar {
    let total =
        tasks.iter().map(|task| task.numbered.image.place.unpacked).fold(0, u64::saturating_add);
    // Hidden where standard error is no terminal.
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    let style = "{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

/// Tasks that unpack the same stream, together; large ones first, so that no core ends up with the
/// largest alone.
fn groups(tasks: &[Task<'_, '_>]) -> Vec<Vec<usize>> {
    let mut shared: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let size = task.numbered.image.place.unpacked;
        let Space::Blob(blob) = &task.numbered.image.place.space else {
            groups.push((size, vec![number]));
            continue;
        };
        let group = *shared.entry(Arc::as_ptr(blob) as usize).or_insert_with(|| {
            groups.push((0, Vec::new()));
            groups.len() - 1
        });
        groups[group].0 += size;
        groups[group].1.push(number);
    }
    groups.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    groups.into_iter().map(|(_, group)| group).collect()
}

thread_local! {
    /// Unpacked images of this thread, one after another.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

type Results = Vec<(usize, Result<Written, cushim_image::Error>)>;

fn write_group(
    folder: &Path,
    tasks: &[Task<'_, '_>],
    group: &[usize],
    bar: &ProgressBar,
    limits: &Limits,
) -> Result<Results, Error> {
    // Holds the unpacked stream while the whole group is written.
    let first = group.iter().find(|&&number| tasks[number].allowed.is_ok());
    let _held = match first.map(|&number| &tasks[number].numbered.image.place.space) {
        Some(Space::Blob(blob)) => blob.bytes(limits).ok(),
        _ => None,
    };
    let mut out = Vec::with_capacity(group.len());
    for &number in group {
        let task = &tasks[number];
        if let Err(error) = &task.allowed {
            out.push((number, Err(error.clone())));
            continue;
        }
        let place = &task.numbered.image.place;
        let written = BUFFER.with_borrow_mut(|buffer| {
            place.unpack_with(buffer, limits, |bytes| {
                let bytes = trim(bytes);
                let hash = xxhash_rust::xxh3::xxh3_64(bytes);
                put(folder, &task.path, bytes).map(|()| Written { bytes: bytes.len() as u64, hash })
            })
        });
        // A failure to read is an answer; a failure to write ends the command.
        out.push((
            number,
            match written {
                Ok(written) => Ok(written?),
                Err(error) => Err(error),
            },
        ));
        if bar.elapsed() > PATIENCE && bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        bar.inc(place.unpacked);
    }
    Ok(out)
}

/// Writes a file at `path` below `folder`, whole or not at all.
fn put(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let whole = folder.join(path);
    let parent = path.parent().map_or(folder.to_owned(), |parent| folder.join(parent));
    let written = Folder::make(&parent)
        .and_then(|parent| parent.replace(path.file_name().unwrap_or_default(), bytes));
    written.map_err(|error| Error::io("write", &whole, error))
}
