//! Finds the recordings that a run left.
//!
//! Must not know: what events are.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cushim_trace::layout::Lost;
use cushim_trace::reader::TraceFile;

use crate::complain;
use crate::view::size;

/// The most files that are named one by one.
const NAMED_MAX: usize = 4;

/// The reasons for missing events.
const WHY: [Lost; 3] = [Lost::Limit, Lost::NoSpace, Lost::FileSize];

/// The recordings of one run.
#[derive(Debug, Default)]
pub struct Found {
    files: Vec<PathBuf>,
    /// By [`WHY`].
    lost: [u64; 3],
    keep: Option<u64>,
    overwritten: u64,
}

impl Found {
    /// Recordings of the run `run`, which began at `begun`, beside `path`.
    pub fn of_run(path: &Path, run: &str, begun: SystemTime) -> Self {
        let mut found = Found::default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // File systems keep times in coarse units.
        let since = begun - Duration::from_secs(2);
        for entry in std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten() {
            let Ok(entry) = entry else { continue };
            let file =
                folder.map_or_else(|| entry.file_name().into(), |f| f.join(entry.file_name()));
            let is_recent = entry
                .metadata()
                .is_ok_and(|m| m.is_file() && m.modified().is_ok_and(|at| at >= since));
            if !is_recent || file.extension() != path.extension() {
                continue;
            }
            let Ok(trace) = TraceFile::open(&file) else { continue };
            if trace.metadata().run != run {
                continue;
            }
            let header = trace.header();
            for (sum, why) in found.lost.iter_mut().zip(WHY) {
                *sum = sum.saturating_add(header.lost[why as usize]);
            }
            found.keep = header.keep;
            found.overwritten += header.overwritten;
            found.files.push(file);
        }
        // The program's own first.
        found.files.sort_by_key(|file| (file != path, file.clone()));
        found
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Says on stderr what is missing, and the next command.
    pub fn tell(&self) {
        if self.is_empty() {
            return;
        }
        let reasons = [
            "the file reached its --limit",
            "the file system was full",
            "a file-size limit (ulimit -f) was reached",
        ];
        for (count, why) in self.lost.into_iter().zip(reasons) {
            if count > 0 {
                complain(&format!("{} missing: {why}", plural(count, "event is", "events are")));
            }
        }
        if let Some(keep) = self.keep.filter(|_| self.overwritten > 0) {
            let overwritten = plural(self.overwritten, "earlier event was", "earlier events were");
            complain(&format!("kept the last {}; {overwritten} overwritten", size(keep)));
        }
        let named: Vec<String> = self.files.iter().take(NAMED_MAX).map(|f| word(f)).collect();
        let rest = match self.files.len() - named.len() {
            0 => String::new(),
            n => format!(" and {}", plural(n as u64, "file", "files")),
        };
        complain(&format!("recorded; next: cushim report {}{rest}", named.join(" ")));
    }
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A path as a shell takes it.
fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "._-/+@:,%=".contains(c);
    match text.chars().all(plain) && !text.starts_with('-') {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(word(Path::new("a.1.cushim")), "a.1.cushim");
        assert_eq!(word(Path::new("a b'c")), r"'a b'\''c'");
        assert_eq!((size(64 << 20), size(100 << 10)), ("64 MiB".into(), "100 KiB".into()));
    }
}
