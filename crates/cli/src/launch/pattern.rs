//! `-o FILE`: the name with its `%` parts filled in.
//!
//! Owns: the letters. Must not know: what is written there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::ranks::Rank;
use crate::Error;
use cushim_names::Foreign as _;

/// A checked pattern.
#[derive(Debug)]
pub struct Pattern {
    parts: Vec<Part>,
    given: PathBuf,
}

/// The values of a process.
#[derive(Clone, Debug)]
pub struct Names {
    /// `%p`.
    pub pid: u32,
    /// `%e`, the name of the program's file.
    pub program: OsString,
}

/// `text` with its percent signs escaped.
pub fn escape(text: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(text.len());
    for &byte in text {
        pattern.extend(if byte == b'%' { &b"%%"[..] } else { std::slice::from_ref(&byte) });
    }
    pattern
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Pid,
    Host,
    Rank,
    Program,
    Variable(OsString),
}

impl Pattern {
    /// Reads the pattern. Where it has neither rank nor process id, several ranks would share a
    /// file: then the rank is put before the ending.
    pub fn new(given: &OsStr, rank: &Rank) -> Result<Self, Error> {
        let mut parts = parse(given.as_bytes()).map_err(|found| {
            Error::Usage(format!(
                "--output {}: {found}; expected %e, %p, %h, %r, %q{{VAR}} or %%",
                given.shown()
            ))
        })?;
        let name = Path::new(given);
        if given.is_empty() || given.as_bytes().ends_with(b"/") {
            return Err(Error::Usage(format!("--output {given:?}: expected a file name")));
        }
        // Output to /dev/null needs no name for each process.
        let nowhere = given == "/dev/null";
        if rank.several() && !nowhere && !parts.contains(&Part::Rank) && !parts.contains(&Part::Pid)
        {
            let marked = super::names::insert(given, "%r");
            parts = parse(marked.as_bytes()).unwrap_or(parts);
        }
        Ok(Pattern { parts, given: name.to_owned() })
    }

    /// The pattern as it was given; its ending chooses the format.
    pub fn name(&self) -> &Path {
        &self.given
    }

    /// The pattern that the library expands in each process: in `folder` if it names none, with
    /// this rank.
    pub fn for_library(
        &self,
        folder: impl FnOnce() -> std::io::Result<PathBuf>,
        rank: &Rank,
    ) -> Result<OsString, Error> {
        let mut pattern = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => pattern.extend(escape(text)),
                Part::Pid => pattern.extend(b"%p"),
                Part::Host => pattern.extend(b"%h"),
                Part::Program => pattern.extend(b"%e"),
                Part::Rank => pattern.extend(rank.number.unwrap_or(0).to_string().as_bytes()),
                Part::Variable(name) => {
                    pattern.extend(b"%q{");
                    pattern.extend(name.as_bytes());
                    pattern.push(b'}');
                }
            }
        }
        if pattern.starts_with(b"/") {
            return Ok(OsString::from_vec(pattern));
        }
        let folder = folder().map_err(|e| Error::io("find", Path::new("the current folder"), e))?;
        let mut whole = escape(folder.as_os_str().as_bytes());
        whole.push(b'/');
        whole.extend(pattern);
        Ok(OsString::from_vec(whole))
    }

    /// The path. A slash in a value becomes an underscore: values name files, not folders.
    pub fn expand(&self, names: &Names, rank: &Rank) -> Result<PathBuf, Error> {
        let mut path = Vec::new();
        for part in &self.parts {
            let value = match part {
                Part::Text(text) => {
                    path.extend(text);
                    continue;
                }
                Part::Pid => names.pid.to_string().into(),
                Part::Program => names.program.clone(),
                Part::Host => host().into(),
                Part::Rank => rank.number.unwrap_or(0).to_string().into(),
                Part::Variable(name) => std::env::var_os(name).ok_or_else(|| {
                    Error::Usage(format!(
                        "--output {}: the variable {} is not set",
                        self.given.shown(),
                        name.shown()
                    ))
                })?,
            };
            path.extend(value.as_bytes().iter().map(|&b| if b == b'/' { b'_' } else { b }));
        }
        Ok(OsString::from_vec(path).into())
    }
}

fn parse(mut rest: &[u8]) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut text = Vec::new();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let (&letter, after) = rest.split_first().ok_or("it ends in a single %")?;
        rest = after;
        let part = match letter {
            b'%' => {
                text.push(b'%');
                continue;
            }
            b'p' => Part::Pid,
            b'e' => Part::Program,
            b'h' => Part::Host,
            b'r' => Part::Rank,
            b'q' => {
                let end = rest.iter().position(|b| *b == b'}');
                let name = end.and_then(|end| rest.get(1..end)).filter(|_| rest[0] == b'{');
                let name = name.filter(|n| !n.is_empty()).ok_or("%q without {VAR}")?;
                rest = &rest[name.len() + 2..];
                Part::Variable(OsStr::from_bytes(name).to_owned())
            }
            other => return Err(format!("%{} is unknown", (other as char).escape_default())),
        };
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(part);
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// The host's name.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said; the last byte stays NUL.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(pattern: &str, rank: Rank) -> Result<String, String> {
        let pattern = Pattern::new(OsStr::new(pattern), &rank).map_err(|e| e.to_string())?;
        let names = Names { pid: 77, program: "app".into() };
        let path = pattern.expand(&names, &rank).map_err(|e| e.to_string())?;
        Ok(path.to_string_lossy().into_owned())
    }

    #[test]
    fn letters() {
        let one = Rank::default();
        assert_eq!(expand("a%p-%r.txt", one).as_deref(), Ok("a77-0.txt"));
        assert_eq!(expand("100%%", one).as_deref(), Ok("100%"));
        assert_eq!(expand("%e.%p.x", one).as_deref(), Ok("app.77.x"));
        assert_eq!(expand("%h", one), Ok(host().replace('/', "_")));
        for bad in ["%", "%x", "%q", "%q{", "%q{}", "%q{CUSHIM_SURELY_UNSET}", "", "d/"] {
            assert!(expand(bad, one).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranks_never_share_a_file() {
        let third = Rank { number: Some(3), size: Some(4) };
        assert_eq!(expand("d.x/run.jsonl", third).as_deref(), Ok("d.x/run.3.jsonl"));
        assert_eq!(expand("run", third).as_deref(), Ok("run.3"));
        assert_eq!(expand("/dev/null", third).as_deref(), Ok("/dev/null"));
        assert_eq!(expand("run%r.txt", third).as_deref(), Ok("run3.txt"));
    }

    #[test]
    fn the_library_gets_the_rest() {
        let second = Rank { number: Some(2), size: Some(4) };
        let library = |pattern: &str| {
            let pattern = Pattern::new(OsStr::new(pattern), &second).unwrap();
            pattern.for_library(|| Ok("/100%".into()), &second).unwrap().into_string().unwrap()
        };
        assert_eq!(library("a%%%e.%p.cushim"), "/100%%/a%%%e.%p.cushim");
        assert_eq!(library("/x/%r%q{V}.cushim"), "/x/2%q{V}.cushim");
        assert_eq!(library("run.cushim"), "/100%%/run.2.cushim");
    }

    #[test]
    fn any_bytes_are_answered() {
        for pattern in [&b"%q{a"[..], b"%q}", b"%\xff", b"\xff%p", b"%q{\xff}"] {
            let _ = Pattern::new(OsStr::from_bytes(pattern), &Rank::default());
        }
    }
}
