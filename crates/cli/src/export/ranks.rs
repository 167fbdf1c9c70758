//! A format that writes one file per rank.
//!
//! Owns: the names of those files. Must not know: their contents.

use std::collections::BTreeSet;

use cushim_trace::private::Folder;
use cushim_trace::reader::TraceFile;

use super::args::ExportArgs;
use super::chrome::{self, Chrome};
use super::inputs::{Origin, Sink, merge, origins};
use super::output::check;
use super::single;
use crate::progress::Progress;
use crate::{Error, view};

/// Writes one Chrome trace per rank.
pub fn chrome(
    args: &ExportArgs,
    files: &mut [TraceFile],
    progress: &mut Progress,
) -> Result<(), Error> {
    let mut origins = origins(files);
    let ranks: BTreeSet<u32> = origins.iter().map(|origin| origin.rank).collect();
    let base = chrome::base(&origins);
    let to_stdout = args.output.as_os_str() == "-";
    let named_folder = args.output.as_os_str().as_encoded_bytes().ends_with(b"/");
    let as_folder = ranks.len() > 1 || named_folder || args.output.is_dir();
    if to_stdout && ranks.len() > 1 {
        let n = ranks.len();
        return Err(Error::Usage(format!("--output: {n} ranks make {n} files; name a folder")));
    }
    let path = |rank: u32| match as_folder && !to_stdout {
        true => args.output.join(format!("rank-{rank}.json")),
        false => args.output.clone(),
    };
    if as_folder && !to_stdout {
        Folder::make(&args.output).map_err(|e| Error::io("make the folder", &args.output, e))?;
        for &rank in &ranks {
            check(&path(rank), args.force)?;
        }
    }
    // Brings the files of a rank together.
    sort_together(files, &mut origins, |origin| origin.rank);
    let mut rest = files;
    for &rank in &ranks {
        let count = origins.iter().filter(|origin| origin.rank == rank).count();
        let (group, others) = rest.split_at_mut(count);
        rest = others;
        let out = single(&path(rank), args.force)?;
        let mut sink = Chrome::new(out, rank, ranks.len(), base, group).map_err(view::output)?;
        merge(group, progress, &mut |s, m, e| sink.event(s, m, e))?;
        sink.finish().map_err(view::output)?.commit()?;
    }
    Ok(())
}

/// Sorts both by the origin's `key`, in step.
fn sort_together<K: Ord>(
    files: &mut [TraceFile],
    origins: &mut [Origin],
    key: impl Fn(&Origin) -> K,
) {
    // Insertion sort: the lists are short, and neither can be copied.
    for end in 1..origins.len().min(files.len()) {
        let mut at = end;
        while at > 0 && origins.get(at - 1).map(&key) > origins.get(at).map(&key) {
            origins.swap(at - 1, at);
            files.swap(at - 1, at);
            at -= 1;
        }
    }
}
