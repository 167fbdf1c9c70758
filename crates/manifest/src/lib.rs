//! The redirection manifest: which kernels and images are replaced by what.
//!
//! Owns the manifest's language: parsing TOML, and reporting errors in it. The launcher reads manifests, and passes
//! on the compiled rules ([`cushim_rules::compiled`]). Must not know: whether the files that it names exist, how a
//! replacement is carried out.
//!
//! A manifest is a list of rules:
//!
//! ```toml
//! [[redirect]]
//! name  = "faster add"                  # in messages; else "redirect 1"
//! match = { kernel = "vecadd.*" }       # a regular expression, as -k takes it
//! image = "new.ptx"                     # beside the manifest; kernel of the same name in it
//! ```
//!
//! The conditions in `match`, all of which must hold: `kernel` (regular expression over the symbol, the full and the
//! short name), `owner` (regular expression over the file that the image came from), `hash` (an image's content hash,
//! as --dump-images names it, or a prefix), `arch` (an architecture that the image contains), `grid`, `block` (three
//! numbers or "*"), `nth` (a number, or "from..to" counted from 1).
//!
//! The actions: `image` (a file, or a list of files of which the backend uses one that it can run; with `kernel`:
//! that kernel of it instead of the one of the same name; with `whole = true`: the whole image replaces the program's
//! image; with `compare = { parameters, type, tolerance, keep }`: both kernels run, and their results are compared;
//! with `own = ["NAME"]`: these variables of the image are not bound to the program's), `launch = { grid, block,
//! shared }`, or `skip = true`. `on-failure = "stop"` ends the program if a rule cannot be applied; otherwise a
//! message says so, and the program uses its own code.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use cushim_rules::{
    Action, Compare, Condition, Element, Error, Keep, LaunchShape, Match, OnFailure, Rule,
};
use regex_lite::Regex;
use serde::Deserialize;
use toml::Spanned;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;

/// The rules of a manifest, in order: of several that match, the first counts.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The rules.
    pub rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(remote = "OnFailure", rename_all = "lowercase")]
enum FailureWord {
    Pass,
    Stop,
}

#[derive(Deserialize)]
#[serde(remote = "Element", rename_all = "lowercase")]
enum ElementWord {
    Bytes,
    F16,
    BF16,
    F32,
    F64,
    I32,
    I64,
}

#[derive(Deserialize)]
#[serde(remote = "Keep", rename_all = "lowercase")]
enum KeepWord {
    Original,
    Replacement,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    redirect: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    name: Option<String>,
    #[serde(rename = "match")]
    matching: Option<Spanned<Matching>>,
    image: Option<Spanned<Files>>,
    kernel: Option<Spanned<String>>,
    #[serde(default)]
    whole: Option<Spanned<bool>>,
    launch: Option<Spanned<Shape>>,
    skip: Option<Spanned<bool>>,
    compare: Option<Spanned<Comparing>>,
    own: Option<Spanned<Vec<String>>>,
    #[serde(default, with = "FailureWord")]
    on_failure: OnFailure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comparing {
    parameters: Option<Vec<usize>>,
    #[serde(rename = "type", default, with = "ElementWord")]
    element: Element,
    tolerance: Option<f64>,
    #[serde(default, with = "KeepWord")]
    keep: Keep,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Matching {
    kernel: Option<Spanned<String>>,
    owner: Option<Spanned<String>>,
    hash: Option<Spanned<String>>,
    arch: Option<Spanned<String>>,
    grid: Option<Spanned<[Wanted; 3]>>,
    block: Option<Spanned<[Wanted; 3]>>,
    nth: Option<Spanned<Nth>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a file, or a list of files")]
enum Files {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Wanted {
    Number(u32),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Nth {
    Number(u64),
    Text(String),
}

impl Manifest {
    /// Reads the manifest in `file`; image files are relative to its folder.
    ///
    /// # Errors
    /// Where the file cannot be read or is no manifest, with the place.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::Read {
            file: file.to_owned(),
            why: e.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
        })?;
        Self::parse(&text, file)
    }

    /// The manifest in `text`, which messages call `file`; image files are relative to its folder.
    ///
    /// # Errors
    /// Where it is no manifest, with the place.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Error> {
        let read: File = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            Error::at(file, text, at, e.message().trim().replace('\n', " "))
        })?;
        let here = Here { file, text };
        let rules = read.redirect.into_iter().enumerate();
        let rules = rules.map(|(i, table)| here.rule(i, table)).collect::<Result<_, _>>()?;
        Ok(Manifest { rules })
    }
}

/// Where messages point to.
struct Here<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Here<'_> {
    fn error(&self, at: usize, why: impl Into<String>) -> Error {
        Error::at(self.file, self.text, at, why)
    }

    fn regex(&self, text: &str, at: usize) -> Result<Regex, Error> {
        Regex::new(text)
            .map_err(|e| self.error(at, format!("{text:?} is not a regular expression: {e}")))
    }

    fn rule(&self, index: usize, table: Spanned<Table>) -> Result<Rule, Error> {
        let at = table.span().start;
        let table = table.into_inner();
        let name = table.name.clone().unwrap_or_else(|| format!("redirect {}", index + 1));
        let on_failure = table.on_failure;
        let matching = match table.matching.as_ref() {
            Some(matching) => self.matching(matching.get_ref())?,
            None => {
                return Err(self.error(at, "this redirect has no `match`; expected match = { … }"));
            }
        };
        let action = self.action(at, &table)?;
        if let (Action::Image { .. }, false) = (&action, matching.launch.is_always()) {
            return Err(self.error(
                at,
                "a whole image is replaced when it is loaded; it cannot be matched by grid, block or nth",
            ));
        }
        let anything = matching.kernel.is_some()
            || matching.owner.is_some()
            || matching.hash.is_some()
            || matching.arch.is_some();
        if !anything {
            return Err(self.error(at, "`match` needs at least one of kernel, owner, hash, arch"));
        }
        Ok(Rule { name, matching, action, on_failure })
    }

    fn action(&self, at: usize, table: &Table) -> Result<Action, Error> {
        let skip = table.skip.as_ref().is_some_and(|skip| *skip.get_ref());
        let whole = table.whole.as_ref().is_some_and(|whole| *whole.get_ref());
        if let (Some(compare), true) = (&table.compare, table.image.is_none() || whole) {
            return Err(self.error(
                compare.span().start,
                "`compare` needs an `image` that replaces a kernel: it runs that beside the program's",
            ));
        }
        if let (Some(kernel), true) = (&table.kernel, table.image.is_none() || whole) {
            return Err(self.error(
                kernel.span().start,
                "`kernel` needs an `image` that replaces a kernel: it names the kernel in it",
            ));
        }
        if let (Some(own), true) = (&table.own, table.image.is_none() || whole) {
            return Err(self.error(
                own.span().start,
                "`own` needs an `image` that replaces a kernel; a whole image always has its own variables",
            ));
        }
        match (&table.image, &table.launch, skip) {
            (Some(image), None, false) => {
                let images = self.beside(image)?;
                Ok(match whole {
                    true => Action::Image { images },
                    false => Action::Kernel {
                        images,
                        kernel: table.kernel.as_ref().map(|kernel| kernel.get_ref().clone()),
                        compare: self.compare(table)?,
                        own: table.own.as_ref().map_or_else(Vec::new, |own| own.get_ref().clone()),
                    },
                })
            }
            (None, Some(shape), false) => self.shape(shape).map(Action::Launch),
            (None, None, true) => Ok(Action::Skip),
            (None, None, false) => Err(self.error(
                at,
                "this redirect does nothing; expected one of image = \"FILE\", launch = { … }, skip = true",
            )),
            _ => Err(self.error(at, "found several of image, launch and skip, expected one")),
        }
    }

    fn compare(&self, table: &Table) -> Result<Option<Compare>, Error> {
        let Some(given) = &table.compare else { return Ok(None) };
        let at = given.span().start;
        let Comparing { parameters, element, tolerance, keep } = given.get_ref();
        if parameters.as_ref().is_some_and(Vec::is_empty) {
            return Err(self.error(at, "`parameters` is empty; leave it out to compare all"));
        }
        let tolerance = tolerance.unwrap_or(0.0);
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return Err(self.error(at, format!("found tolerance {tolerance}, expected 0 or more")));
        }
        if *element == Element::Bytes && tolerance > 0.0 {
            return Err(self.error(at, "a tolerance needs a type such as \"f32\""));
        }
        let parameters = parameters.clone();
        Ok(Some(Compare { parameters, element: *element, tolerance, keep: *keep }))
    }

    /// The files by their paths, which are relative to the manifest.
    fn beside(&self, given: &Spanned<Files>) -> Result<Vec<PathBuf>, Error> {
        let files = match given.get_ref() {
            Files::One(file) => std::slice::from_ref(file),
            Files::Several(files) => files,
        };
        if files.is_empty() || files.iter().any(|file| file.as_os_str().is_empty()) {
            let why = "`image` names no file; expected \"FILE\" or [\"FILE\", …]";
            return Err(self.error(given.span().start, why));
        }
        let folder = self.file.parent().unwrap_or(Path::new(""));
        Ok(files.iter().map(|file| folder.join(file)).collect())
    }

    fn shape(&self, shape: &Spanned<Shape>) -> Result<LaunchShape, Error> {
        let at = shape.span().start;
        let Shape { grid, block, shared } = shape.get_ref();
        if grid.is_none() && block.is_none() && shared.is_none() {
            return Err(self.error(at, "expected at least one of grid, block, shared"));
        }
        if [grid, block].into_iter().flatten().flatten().any(|n| *n == 0) {
            return Err(self.error(at, "a grid or block of 0 launches nothing; use skip = true"));
        }
        Ok(LaunchShape { grid: *grid, block: *block, shared: *shared })
    }

    fn matching(&self, matching: &Matching) -> Result<Match, Error> {
        let regex = |text: &Option<Spanned<String>>| {
            text.as_ref().map(|t| self.regex(t.get_ref(), t.span().start)).transpose()
        };
        let hash = match &matching.hash {
            Some(hash) => {
                let text = hash.get_ref().to_ascii_lowercase();
                if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err(self.error(
                        hash.span().start,
                        format!("{:?} is not a hash; expected hexadecimal digits", hash.get_ref()),
                    ));
                }
                Some(text)
            }
            None => None,
        };
        if let Some(arch) = &matching.arch {
            let known = ["sm_", "compute_", "gfx"].iter().any(|p| arch.get_ref().starts_with(p));
            if !known {
                return Err(self.error(
                    arch.span().start,
                    format!(
                        "{:?} is not an architecture; expected sm_NN, compute_NN or gfxNNN",
                        arch.get_ref()
                    ),
                ));
            }
        }
        Ok(Match {
            kernel: regex(&matching.kernel)?,
            owner: regex(&matching.owner)?,
            hash,
            arch: matching.arch.as_ref().map(|arch| arch.get_ref().clone()),
            launch: Condition {
                grid: self.wanted(&matching.grid)?,
                block: self.wanted(&matching.block)?,
                nth: matching.nth.as_ref().map(|nth| self.nth(nth)).transpose()?,
            },
        })
    }

    fn wanted(&self, given: &Option<Spanned<[Wanted; 3]>>) -> Result<[Option<u32>; 3], Error> {
        let mut wanted = [None; 3];
        let Some(given) = given else { return Ok(wanted) };
        for (to, from) in wanted.iter_mut().zip(given.get_ref()) {
            *to = match from {
                Wanted::Number(number) => Some(*number),
                Wanted::Text(text) if text == "*" => None,
                Wanted::Text(text) => {
                    return Err(self.error(
                        given.span().start,
                        format!("found {text:?}, expected a number or \"*\""),
                    ));
                }
            };
        }
        Ok(wanted)
    }

    fn nth(&self, given: &Spanned<Nth>) -> Result<RangeInclusive<u64>, Error> {
        let bad = |found: &dyn std::fmt::Debug| {
            let why = format!(
                "found {found:?}, expected a number from 1 on, or \"from..to\", \"from..\""
            );
            self.error(given.span().start, why)
        };
        let range = match given.get_ref() {
            Nth::Number(number) => *number..=*number,
            Nth::Text(text) => {
                let (from, to) = text.split_once("..").ok_or_else(|| bad(text))?;
                let from = from.trim().parse().map_err(|_| bad(text))?;
                let to = match to.trim() {
                    "" => u64::MAX,
                    to => to.parse().map_err(|_| bad(text))?,
                };
                from..=to
            }
        };
        match *range.start() > 0 && !range.is_empty() {
            true => Ok(range),
            false => Err(bad(&range)),
        }
    }
}
