//! Which kernels and which processes are shown.
//!
//! Must not know: events.

use std::path::Path;

use regex_lite::Regex;

use crate::error::Error;

/// Which kernels: expressions of which one must match a name, and others (`!…`) of which none may.
#[derive(Clone, Debug, Default)]
pub struct KernelFilter {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// `k2`.
    Number(usize),
    Name(Regex),
}

impl Pattern {
    fn new(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix('k').filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        if let Some(number) = digits.and_then(|d| d.parse().ok()) {
            return Ok(Pattern::Number(number));
        }
        Regex::new(text).map(Pattern::Name).map_err(|e| bad(text, e))
    }
    fn matches(&self, number: usize, names: &[&str]) -> bool {
        match self {
            Pattern::Number(n) => *n == number,
            Pattern::Name(regex) => names.iter().any(|name| regex.is_match(name)),
        }
    }
}

fn bad(found: &str, error: regex_lite::Error) -> Error {
    // The error draws the expression with a marker on several lines; its last line is the reason.
    let text = error.to_string();
    let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Error::Expression { text: found.to_owned(), why }
}

impl KernelFilter {
    /// The filter of these expressions. `k2` is the kernel with that number; `!` before one leaves out what it matches.
    ///
    /// # Errors
    /// Where one is no regular expression.
    pub fn new(expressions: &[String]) -> Result<Self, Error> {
        let mut filter = KernelFilter::default();
        for expression in expressions.iter().filter(|e| !e.is_empty()) {
            match expression.strip_prefix('!') {
                Some(rest) => filter.unwanted.push(Pattern::new(rest)?),
                None => filter.wanted.push(Pattern::new(expression)?),
            }
        }
        Ok(filter)
    }
    /// Whether every kernel passes.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
    /// Whether kernel `number` passes, which has these names.
    pub fn matches(&self, number: usize, names: &[&str]) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|p| p.matches(number, names)))
            && !self.unwanted.iter().any(|p| p.matches(number, names))
    }
}

/// Which child processes.
#[derive(Clone, Debug, Default)]
pub enum Children {
    /// All of them.
    #[default]
    All,
    /// None of them.
    None,
    /// Those whose program's file name matches.
    Named(Regex),
}

impl Children {
    /// Of `all`, `none`, or an expression over the file name of the child's program.
    ///
    /// # Errors
    /// Where it is no expression.
    pub fn new(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "all" | "" => Children::All,
            "none" | "0" => Children::None,
            regex => Children::Named(Regex::new(regex).map_err(|e| bad(regex, e))?),
        })
    }
    /// Whether a child process that runs `exe` is shown.
    pub fn matches(&self, exe: &str) -> bool {
        let name = || Path::new(exe).file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
        match self {
            Children::All => true,
            Children::None => false,
            Children::Named(regex) => regex.is_match(&name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(expressions: &[&str]) -> KernelFilter {
        let owned: Vec<String> = expressions.iter().map(|e| e.to_string()).collect();
        KernelFilter::new(&owned).unwrap()
    }

    #[test]
    fn kernels_by_any_name_or_number() {
        let names = ["step<float>", "void step<float>(float*)", "_Z4stepIfEvPT_"];
        assert!(filter(&[]).matches(2, &names));
        assert!(filter(&["tep<"]).matches(2, &names));
        assert!(filter(&["^_Z4"]).matches(2, &names));
        assert!(filter(&["nothing", "k2"]).matches(2, &names));
        assert!(!filter(&["k3"]).matches(2, &names));
        assert!(!filter(&["step", "!float"]).matches(2, &names));
        assert!(!filter(&["!k2"]).matches(2, &names) && filter(&["!k3"]).matches(2, &names));
        assert!(!filter(&["^k2$"]).matches(2, &names) && filter(&["^k2$"]).matches(1, &["k2"]));
    }

    #[test]
    fn a_bad_expression_is_one_line() {
        let error = KernelFilter::new(&["(".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("\"(\" is no") && error.lines().count() == 1, "{error}");
        assert!(Children::new("[").is_err());
    }

    #[test]
    fn children_by_file_name() {
        assert!(Children::new("^pyth").unwrap().matches("/usr/bin/python3"));
        assert!(!Children::new("^/usr").unwrap().matches("/usr/bin/python3"));
        assert!(!Children::new("none").unwrap().matches("x"));
    }
}
