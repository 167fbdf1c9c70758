//! The settings of a view, as plain values: [`super::ViewArgs`] is converted to [`ViewOptions`].
//!
//! Must not know: the command line.

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::Path;

use super::args::{Class, Format};
use cushim_analysis::{Children, KernelFilter, NameForm};

/// Where the output of a view goes.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// A person reads along.
    pub terminal: bool,
    /// Columns of that terminal.
    pub width: Option<usize>,
    /// The format if none is requested.
    pub format: Format,
}

impl Target {
    /// An open stream such as standard error.
    pub fn stream(fd: impl AsFd + IsTerminal) -> Self {
        let terminal = fd.is_terminal();
        let width = terminal_size::terminal_size_of(fd).map(|(width, _)| width.0.into());
        Target { terminal, width: width.filter(|_| terminal), format: Format::Text }
    }
    /// A file: everything, at full width; `.jsonl`, `.ndjson` and `.json` mean JSON lines, also before `.zst`.
    pub fn file(path: &Path) -> Self {
        let path = crate::zst::plain(path);
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let json = ["jsonl", "ndjson", "json"].contains(&ending);
        let format = if json { Format::Jsonl } else { Format::Text };
        Target { terminal: false, width: None, format }
    }
}

/// What a view shows and how.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Text or JSON lines.
    pub format: Format,
    /// Classes that are shown; failures are shown whatever their class.
    pub classes: Classes,
    /// The user chose them: other calls get a table too, even if kernels are filtered.
    pub classes_chosen: bool,
    /// Kernels that are shown.
    pub kernels: KernelFilter,
    /// Child processes that are shown.
    pub children: Children,
    /// How kernels are named.
    pub names: NameForm,
    /// Only failures.
    pub failed_only: bool,
    /// Calls within calls too.
    pub nested: bool,
    /// One line per call.
    pub lines: bool,
    /// A summary at the end.
    pub summary: bool,
    /// At most this many lines before the summary.
    pub limit: Option<u64>,
    /// Columns; `None`: nothing is shortened.
    pub width: Option<usize>,
    /// Colors.
    pub color: bool,
    /// Characters beyond ASCII.
    pub utf8: bool,
    /// Process id of the program itself, to tell it from its children.
    pub root: Option<u32>,
    /// If GPU times are missing, `--gpu-time` would give them.
    pub may_time_gpu: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions {
            format: Format::Text,
            classes: Classes::default(),
            classes_chosen: false,
            kernels: KernelFilter::default(),
            children: Children::All,
            names: NameForm::Short,
            failed_only: false,
            nested: false,
            lines: true,
            summary: true,
            limit: None,
            width: None,
            color: false,
            utf8: true,
            root: None,
            may_time_gpu: true,
        }
    }
}

/// The words that trace files carry for [`Class`], in its order.
const WORDS: [&str; 13] = [
    "launch", "graph", "memory", "copy", "stream", "event", "sync", "module", "register",
    "profiler", "nvtx", "region", "map",
];

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    bits: u16,
    all: bool,
}

impl Default for Classes {
    fn default() -> Self {
        Classes::of(&[Class::Launch, Class::Graph, Class::Copy, Class::Region, Class::Map])
    }
}

impl Classes {
    /// The set of these.
    pub fn of(chosen: &[Class]) -> Self {
        let mut classes = Classes { bits: 0, all: false };
        for &class in chosen {
            match class {
                Class::All => classes.all = true,
                class => classes.bits |= 1 << class as u16,
            }
        }
        classes
    }
    /// Whether it is every class.
    pub fn is_all(&self) -> bool {
        self.all
    }
    /// Whether the class called `word` is in it; unknown words are in "all".
    pub fn contains(&self, word: &str) -> bool {
        self.all || WORDS.iter().position(|w| *w == word).is_some_and(|n| self.bits >> n & 1 != 0)
    }
    /// The set as `--events` and `CUSHIM_EVENTS` take it.
    pub fn words(&self) -> String {
        if self.all {
            return "all".to_owned();
        }
        let chosen = |&(n, _): &(usize, &&str)| self.bits >> n & 1 != 0;
        let words: Vec<&str> = WORDS.iter().enumerate().filter(chosen).map(|(_, w)| *w).collect();
        words.join(",")
    }
}

/// Whether the locale's character set is UTF-8, as POSIX finds it: LC_ALL, LC_CTYPE, LANG.
pub fn utf8_locale() -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        .is_some_and(|locale| {
            let set = locale.split('@').next().and_then(|l| l.split_once('.')).map_or("", |l| l.1);
            set.eq_ignore_ascii_case("utf-8") || set.eq_ignore_ascii_case("utf8")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_word() {
        let classes = Classes::default();
        assert!(classes.contains("launch") && !classes.contains("memory"));
        assert!(!classes.contains("invented") && Classes::of(&[Class::All]).contains("invented"));
        assert_eq!(classes.words(), "launch,graph,copy,region,map");
        assert_eq!(Classes::of(&[Class::Register, Class::Launch]).words(), "launch,register");
    }

    #[test]
    fn format_by_ending() {
        assert_eq!(Target::file(Path::new("a/b.jsonl")).format, Format::Jsonl);
        assert_eq!(Target::file(Path::new("a/b.txt")).format, Format::Text);
    }
}
