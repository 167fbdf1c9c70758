//! The enabled checks, from environment variables that the launcher sets.
//!
//! Owns the variables' names and meaning. Must not know who checks.

use std::ffi::OsString;
use std::path::PathBuf;

use cushim_names::Name;

/// The checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Accesses outside of allocations, wrong frees, copies and sets beyond ends.
    Memory,
    /// Reads of unwritten memory.
    Init,
    /// Accesses of two threads that nothing orders.
    Race,
    /// Barriers that part of a block does not reach.
    Sync,
    /// Allocations that are never freed.
    Leak,
    /// Calls that fail, and whose errors the program does not ask for.
    Api,
}

impl Tool {
    /// All there are.
    pub const ALL: [Tool; 6] =
        [Tool::Memory, Tool::Init, Tool::Race, Tool::Sync, Tool::Leak, Tool::Api];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Tool::Memory => "memory",
            Tool::Init => "init",
            Tool::Race => "race",
            Tool::Sync => "sync",
            Tool::Leak => "leak",
            Tool::Api => "api",
        }
    }
}

/// Several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tools(u8);

impl Tools {
    /// Parses words separated by commas; `all` is every check. Unknown words are ignored: the launcher has checked
    /// them.
    pub fn of(words: &str) -> Tools {
        let all: Vec<&str> = words.split(',').map(str::trim).collect();
        let wanted = |tool: &Tool| all.contains(&tool.word()) || all.contains(&"all");
        Tool::ALL.into_iter().filter(wanted).fold(Tools(0), |tools, tool| tools.with(tool))
    }

    fn with(self, tool: Tool) -> Tools {
        Tools(self.0 | 1 << tool as u8)
    }

    /// Whether one is among them.
    pub fn has(self, tool: Tool) -> bool {
        self.0 >> tool as u8 & 1 != 0
    }
}

/// Which tools, with commas between (`CUSHIM_CHECK`); nothing is checked without.
pub const TOOLS: &str = "CUSHIM_CHECK";
/// The file that findings are appended to, which is there.
pub const FILE: &str = "CUSHIM_CHECK_FILE";
/// Reports only kernels whose names contain this, or equal the text after `=`; unset for all.
pub const KERNEL: &str = "CUSHIM_CHECK_KERNEL";
/// How many launches of those are not reported on, and then how many are: `SKIP,COUNT`.
pub const LAUNCHES: &str = "CUSHIM_CHECK_LAUNCHES";
/// If set, findings at one position in a kernel are distinguished by the host's stacks: the reader suppresses some by
/// those.
pub const STACKS: &str = "CUSHIM_CHECK_STACKS";
/// What ends with a launch that accesses memory wrongly: only itself, if this is `kernel`; without, its context, as on a GPU.
pub const ENDS: &str = "CUSHIM_CHECK_ENDS";

/// Whether a kernel is selected: `wanted` is a part of its name, mangled or as in the source; after `=` all of it.
pub fn names_kernel(wanted: &str, symbol: &str) -> bool {
    let name = Name::new(symbol);
    match wanted.strip_prefix('=') {
        Some(whole) => [&name.mangled, &name.full, &name.short].contains(&&whole.to_owned()),
        None => symbol.contains(wanted) || name.full.contains(wanted),
    }
}

/// The enabled checks, and the file for findings.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tools.
    pub tools: Tools,
    /// Where findings go.
    pub file: PathBuf,
    /// A part of a kernel's name, mangled or as in the source; after `=` all of it.
    pub kernel: Option<String>,
    /// The number of first launches to skip.
    pub skip: u64,
    /// Launches after those, if not all.
    pub count: Option<u64>,
    /// Findings at one position in a kernel are distinguished by the host's stacks.
    pub stacks: bool,
    /// Launches that access memory wrongly end, and nothing else does.
    pub only_launch: bool,
}

impl Options {
    /// As the environment says; `None` where nothing is to be checked.
    pub fn from(get: impl Fn(&str) -> Option<OsString>) -> Option<Options> {
        let text = |name| get(name).map(|value| value.to_string_lossy().into_owned());
        let tools = Tools::of(&text(TOOLS)?);
        let file = PathBuf::from(get(FILE)?);
        if tools == Tools::default() || !file.is_absolute() {
            return None;
        }
        let launches = text(LAUNCHES).unwrap_or_default();
        let (skip, count) = launches.split_once(',').unwrap_or((&launches, ""));
        let kernel = text(KERNEL).filter(|name| !name.is_empty());
        let (skip, count) = (skip.parse().unwrap_or(0), count.parse().ok());
        let stacks = get(STACKS).is_some();
        let only_launch = text(ENDS).is_some_and(|word| word == "kernel");
        Some(Options { tools, file, kernel, skip, count, stacks, only_launch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<Options> {
        Options::from(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn tools_are_named_by_words() {
        let some = Tools::of("memory, leak,nonsense");
        assert!(some.has(Tool::Memory) && some.has(Tool::Leak) && !some.has(Tool::Init));
        assert!(Tool::ALL.into_iter().all(|tool| Tools::of("all").has(tool)));
        assert_eq!(Tools::of("none"), Tools::default());
    }

    #[test]
    fn without_tools_or_file_nothing_is_checked() {
        let (tools, file) = ((TOOLS, "init"), (FILE, "/tmp/x"));
        assert!(with(&[tools]).is_none() && with(&[file]).is_none());
        assert!(with(&[(TOOLS, "x"), file]).is_none() && with(&[tools, (FILE, "x")]).is_none());
        let plain = with(&[tools, file]).map(|o| (o.kernel, o.skip, o.count));
        assert_eq!(plain, Some((None, 0, None)));
        let all = with(&[tools, file, (KERNEL, "mul"), (LAUNCHES, "3,5")]);
        let all = all.map(|o| (o.kernel, o.skip, o.count));
        assert_eq!(all, Some((Some("mul".into()), 3, Some(5))));
        assert_eq!(
            with(&[tools, file, (LAUNCHES, "3")]).map(|o| (o.skip, o.count)),
            Some((3, None))
        );
    }
}
