//! A folder of Parquet files, one per process, in `run=…/rank=…` folders.
//!
//! Owns: the names of those files and folders. Must not know: their contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cushim_trace::private::Folder;
use cushim_trace::reader::TraceFile;

use super::args::ExportArgs;
use super::inputs::{Origin, Sink, merge, origins};
use super::output::{Output, check};
use super::parquet::Parquet;
use crate::progress::Progress;
use crate::{Error, view};

/// Hive's word for "unknown" in the name of a folder; DuckDB and Spark read it as NULL.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// Writes one Parquet file per process.
pub fn write(
    args: &ExportArgs,
    files: &mut [TraceFile],
    progress: &mut Progress,
) -> Result<(), Error> {
    if args.output.as_os_str() == "-" {
        return Err(Error::Usage("--output: parquet is a folder of files; name one".to_owned()));
    }
    let origins = origins(files);
    let run = match &args.run {
        Some(run) if run.is_empty() || run.contains(['/', '=', '\0']) => {
            let found = format!("--run: {run:?} cannot be part of a folder's name");
            return Err(Error::Usage(found));
        }
        Some(run) => run.clone(),
        None => began(&origins),
    };
    let mut taken = BTreeSet::new();
    let mut paths = Vec::new();
    for (file, origin) in files.iter().zip(&origins) {
        let path = place(&args.output, &run, file.path(), origin, &origins, &mut taken);
        check(&path, args.force)?;
        paths.push(path);
    }
    for (file, path) in files.iter_mut().zip(&paths) {
        if let Some(folder) = path.parent() {
            Folder::make(folder).map_err(|e| Error::io("make the folder", folder, e))?;
        }
        let out = Output::create(path, args.force)?;
        let mut sink = Parquet::new(out, file).map_err(view::output)?;
        let one = std::slice::from_mut(file);
        merge(one, progress, &mut |s, m, e| sink.event(s, m, e))?;
        sink.finish().map_err(view::output)?.commit()?;
    }
    Ok(())
}

/// Where a process's table goes. If no process knew its rank, the only one is rank 0.
fn place(
    folder: &Path,
    run: &str,
    trace: &Path,
    origin: &Origin,
    origins: &[Origin],
    taken: &mut BTreeSet<PathBuf>,
) -> PathBuf {
    let rank = match origin.told {
        true => origin.rank.to_string(),
        false if origins.iter().any(|origin| origin.told) => UNKNOWN.to_owned(),
        false => "0".to_owned(),
    };
    let folder = folder.join(format!("run={run}")).join(format!("rank={rank}"));
    let stem = trace.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut path = folder.join(format!("{stem}.parquet"));
    // Traces of the same name from two folders.
    let mut number = 2;
    while !taken.insert(path.clone()) {
        path = folder.join(format!("{stem}-{number}.parquet"));
        number += 1;
    }
    path
}

/// When the first process began, in UTC: `20261121T095404Z`.
fn began(origins: &[Origin]) -> String {
    let first = origins.iter().map(|origin| origin.begin_ns).min().unwrap_or(0);
    let seconds = (first / 1_000_000_000) as libc::time_t;
    // SAFETY: all-zero is a valid `tm`.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid places; `gmtime_r` leaves `tm` alone where the year is out of range.
    unsafe { libc::gmtime_r(&seconds, &mut tm) };
    let (year, month) = (i64::from(tm.tm_year) + 1900, tm.tm_mon + 1);
    let (day, hour, minute, second) = (tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}
