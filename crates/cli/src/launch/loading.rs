//! Further environment variables that a program needs so that it starts with cushim's libraries preloaded.
//!
//! Owns: GLIBC_TUNABLES and ASAN_OPTIONS. Must not know: which libraries are preloaded, what they do.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::names::Environment;
use crate::doctor;
use crate::doctor::closure::Search;
use crate::doctor::elf::{self, Kind};

const TUNABLES: &str = "GLIBC_TUNABLES";
/// Bytes for thread-local data that libraries need at fixed offsets (glibc's manual, "Dynamic
/// Linking Tunables").
const ROOM: &str = "glibc.rtld.optional_static_tls";
/// glibc's default.
const USUAL: u64 = 512;
/// What cushim's own libraries need (1,140 bytes), rounded up; with more, no thread with a stack of 16 KiB starts.
const OURS: u64 = 1408;

/// AddressSanitizer's options, and the one that lets libraries come before it.
const ASAN: &str = "ASAN_OPTIONS";
const ORDER: &str = "verify_asan_link_order";

/// The variables that `program` needs; `audited` is whether LD_AUDIT names a library. Existing
/// values are kept. A program that cannot be read needs none: starting it will say why.
pub fn environment(program: Option<&OsStr>, audited: bool) -> Environment {
    let mut set = Environment::new();
    let found = program.and_then(|name| doctor::program::find(Path::new(name)).ok());
    let own = found.and_then(|found| elf::read_for_loading(&found.path).ok());
    let own = own.filter(|own| own.kind != Kind::Static && own.machine == "x86-64");
    // Needed for any program: programs that it starts are preloaded too.
    set.extend(unless_said(ASAN, ORDER, "0"));
    if audited {
        // With an audit library, glibc lays out thread-local data before it has seen the program's
        // libraries, so that theirs must fit into the reserve for later libraries (2.36; rtld.c,
        // init_tls).
        let libraries = own.map_or(0, |own| {
            let closure = Search::for_loading().closure(own, &[]);
            closure.objects.iter().skip(1).fold(0u64, |n, o| n.saturating_add(o.static_tls))
        });
        let wanted = libraries.saturating_add(USUAL + OURS).next_multiple_of(64);
        set.extend(with(TUNABLES, ROOM, |there| (there < Some(wanted)).then_some(wanted)));
    }
    set
}

/// A variable of `NAME=VALUE` pairs with colons between, with `name` set to `value` behind the
/// existing ones; none where `name` is already set.
fn unless_said(
    variable: &'static str,
    name: &str,
    value: &str,
) -> Option<(&'static str, OsString)> {
    let mut now = std::env::var_os(variable).unwrap_or_default();
    // Sanitizers take blanks and commas between pairs as well.
    let said = now.as_bytes().split(|b| b": ,\n\t".contains(b));
    let is_it =
        |pair: &[u8]| pair.strip_prefix(name.as_bytes()).is_some_and(|r| r.starts_with(b"="));
    if said.into_iter().any(is_it) {
        return None;
    }
    if !now.is_empty() {
        now.push(":");
    }
    now.push(format!("{name}={value}"));
    Some((variable, now))
}

/// A variable of `NAME=VALUE` pairs with colons between, with `name` set to what `choose` returns
/// for its present value; none where nothing changes.
fn with(
    variable: &'static str,
    name: &str,
    choose: impl FnOnce(Option<u64>) -> Option<u64>,
) -> Option<(&'static str, OsString)> {
    let now = std::env::var_os(variable).unwrap_or_default();
    joined(now.to_str()?, name, choose).map(|text| (variable, text.into()))
}

fn joined(
    now: &str,
    name: &str,
    choose: impl FnOnce(Option<u64>) -> Option<u64>,
) -> Option<String> {
    let value = |pair: &str| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    // The last one counts, for glibc as for sanitizers.
    let there = now.split(':').filter_map(value).next_back();
    let chosen = choose(there.and_then(|text| text.parse().ok()))?;
    let others = now.split(':').filter(|pair| !pair.is_empty() && value(pair).is_none());
    let pair = format!("{name}={chosen}");
    Some(others.chain([pair.as_str()]).collect::<Vec<_>>().join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays() {
        let more = |wanted| move |there| (there < Some(wanted)).then_some(wanted);
        assert_eq!(joined("", "a.b", more(5)).as_deref(), Some("a.b=5"));
        assert_eq!(joined("x=1:a.bc=2", "a.b", more(5)).as_deref(), Some("x=1:a.bc=2:a.b=5"));
        assert_eq!(joined("a.b=4:x=1:", "a.b", more(5)).as_deref(), Some("x=1:a.b=5"));
        assert_eq!(joined("a.b=7:a.b=many", "a.b", more(5)).as_deref(), Some("a.b=5"));
        assert_eq!(joined("a.b=6", "a.b", more(5)), None);
        assert_eq!(joined("x=1", "a.b", |_| None), None);
    }
}
