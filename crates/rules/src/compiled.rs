//! Rules as the launcher passes them to the library: one word in an environment variable.
//!
//! Owns the format. The launcher has reported everything that can be wrong with a manifest; the library, which runs
//! in other people's processes, needs no manifest parser. Must not know: where rules come from.
//!
//! The format: fields, each followed by a comma: [`VERSION`], the manifest's path, the number of rules, and the
//! rules. A string is `=` and its bytes, in which all but letters, digits and `_-./` are written `%XX`, so that a
//! shell takes the whole as one word; a missing value is `-`; a list is its length and its members.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use crate::{Action, Compare, Condition, Element, Keep, LaunchShape, Match, OnFailure, Rule};

/// Changes with the form: a launcher and a library that differ say so.
pub const VERSION: &str = "rules1";

/// The most bytes of a value: Linux passes no string over 128 KiB to a process (`MAX_ARG_STRLEN`).
pub const MOST: usize = 120 << 10;

/// The rules of `manifest` in this form.
pub fn write(manifest: &Path, rules: &[Rule]) -> String {
    let mut to = Writer(String::new());
    to.word(VERSION);
    to.text(manifest.as_os_str().as_bytes());
    to.number(rules.len() as u64);
    for rule in rules {
        to.text(rule.name.as_bytes());
        to.word(match rule.on_failure {
            OnFailure::Pass => "pass",
            OnFailure::Stop => "stop",
        });
        to.matching(&rule.matching);
        to.action(&rule.action);
    }
    to.0
}

/// Reads them back, with the path of their manifest.
///
/// # Errors
/// The number of the field, from 1, that is missing or not as [`write`] makes it.
pub fn read(text: &str) -> Result<(PathBuf, Vec<Rule>), usize> {
    let mut from = Reader { left: text, at: 0 };
    let rules = from.rules();
    match rules {
        Some(rules) if from.left.is_empty() => Ok(rules),
        Some(_) => Err(from.at + 1),
        None => Err(from.at.max(1)),
    }
}

struct Writer(String);

impl Writer {
    fn word(&mut self, word: &str) {
        self.0.push_str(word);
        self.0.push(',');
    }

    fn number(&mut self, number: u64) {
        self.word(&number.to_string());
    }

    fn text(&mut self, bytes: &[u8]) {
        self.0.push('=');
        for byte in bytes {
            match byte {
                b'_' | b'-' | b'.' | b'/' => self.0.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => self.0.push(char::from(*byte)),
                byte => {
                    let _ = write!(self.0, "%{byte:02X}");
                }
            }
        }
        self.0.push(',');
    }

    fn maybe<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => some(self, value),
            None => self.word("-"),
        }
    }

    fn list<T>(&mut self, all: &[T], one: impl Fn(&mut Self, &T)) {
        self.number(all.len() as u64);
        for member in all {
            one(self, member);
        }
    }

    fn paths(&mut self, paths: &[impl AsRef<Path>]) {
        self.list(paths, |to, path| to.text(path.as_ref().as_os_str().as_bytes()));
    }

    fn matching(&mut self, matching: &Match) {
        let Match { kernel, owner, hash, arch, launch } = matching;
        for regex in [kernel, owner] {
            self.maybe(regex.as_ref(), |to, regex| to.text(regex.as_str().as_bytes()));
        }
        for text in [hash, arch] {
            self.maybe(text.as_ref(), |to, text| to.text(text.as_bytes()));
        }
        for wanted in launch.grid.iter().chain(&launch.block) {
            self.maybe(*wanted, |to, wanted| to.number(wanted.into()));
        }
        self.maybe(launch.nth.as_ref(), |to, nth| {
            to.number(*nth.start());
            to.number(*nth.end());
        });
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::Kernel { images, kernel, compare, own } => {
                self.word("kernel");
                self.paths(images);
                self.maybe(kernel.as_ref(), |to, kernel| to.text(kernel.as_bytes()));
                self.maybe(compare.as_ref(), Writer::compare);
                self.list(own, |to, name| to.text(name.as_bytes()));
            }
            Action::Image { images } => {
                self.word("image");
                self.paths(images);
            }
            Action::Launch(launch) => {
                self.word("launch");
                for shape in [launch.grid, launch.block] {
                    self.maybe(shape, |to, shape| {
                        shape.into_iter().for_each(|n| to.number(n.into()));
                    });
                }
                self.maybe(launch.shared, |to, bytes| to.number(bytes.into()));
            }
            Action::Skip => self.word("skip"),
        }
    }

    fn compare(&mut self, compare: &Compare) {
        let element = Element::ALL.iter().position(|element| *element == compare.element);
        self.number(element.unwrap_or(0) as u64);
        self.number(compare.tolerance.to_bits());
        self.word(match compare.keep {
            Keep::Original => "original",
            Keep::Replacement => "replacement",
        });
        self.maybe(compare.parameters.as_ref(), |to, all| {
            to.list(all, |to, parameter| to.number(*parameter as u64));
        });
    }
}

struct Reader<'a> {
    left: &'a str,
    /// How many fields were taken.
    at: usize,
}

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<&'a str> {
        self.at += 1;
        let (word, left) = self.left.split_once(',')?;
        self.left = left;
        Some(word)
    }

    fn of(word: &str) -> Option<u64> {
        // `parse` would also accept a sign.
        word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
    }

    fn number(&mut self) -> Option<u64> {
        Self::of(self.word()?)
    }

    fn bytes(word: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(word.len());
        let mut letters = word.strip_prefix('=')?.bytes();
        while let Some(letter) = letters.next() {
            let byte = match letter {
                b'%' => {
                    let digit = |digit: u8| char::from(digit).to_digit(16);
                    let (high, low) = (digit(letters.next()?)?, digit(letters.next()?)?);
                    u8::try_from(high << 4 | low).ok()?
                }
                letter => letter,
            };
            bytes.push(byte);
        }
        Some(bytes)
    }

    fn text_of(word: &str) -> Option<String> {
        String::from_utf8(Self::bytes(word)?).ok()
    }

    fn text(&mut self) -> Option<String> {
        Self::text_of(self.word()?)
    }

    /// What `some` reads from a field, or `None` where the field says so.
    fn maybe<T>(&mut self, some: impl FnOnce(&mut Self, &str) -> Option<T>) -> Option<Option<T>> {
        match self.word()? {
            "-" => Some(None),
            word => some(self, word).map(Some),
        }
    }

    /// A list. Every member has at least one field, so a wrong length ends with the text.
    fn list<T>(&mut self, length: u64, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        for _ in 0..length {
            all.push(one(self)?);
        }
        Some(all)
    }

    fn rules(&mut self) -> Option<(PathBuf, Vec<Rule>)> {
        if self.word()? != VERSION {
            return None;
        }
        let manifest = self.path()?;
        let length = self.number()?;
        Some((manifest, self.list(length, Reader::rule)?))
    }

    fn rule(&mut self) -> Option<Rule> {
        let name = self.text()?;
        let on_failure = match self.word()? {
            "pass" => OnFailure::Pass,
            "stop" => OnFailure::Stop,
            _ => return None,
        };
        Some(Rule { name, on_failure, matching: self.matching()?, action: self.action()? })
    }

    fn matching(&mut self) -> Option<Match> {
        let regex = |from: &mut Self| from.maybe(|_, word| Regex::new(&Self::text_of(word)?).ok());
        let (kernel, owner) = (regex(self)?, regex(self)?);
        let text = |from: &mut Self| from.maybe(|_, word| Self::text_of(word));
        let (hash, arch) = (text(self)?, text(self)?);
        let size = |from: &mut Self| from.maybe(|_, word| u32::try_from(Self::of(word)?).ok());
        let shape = |from: &mut Self| Some([size(from)?, size(from)?, size(from)?]);
        let (grid, block) = (shape(self)?, shape(self)?);
        let nth = self.maybe(|from, word| Some(Self::of(word)?..=from.number()?))?;
        Some(Match { kernel, owner, hash, arch, launch: Condition { grid, block, nth } })
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsString::from_vec(Self::bytes(self.word()?)?)))
    }

    fn paths(&mut self) -> Option<Vec<PathBuf>> {
        let length = self.number()?;
        self.list(length, Reader::path)
    }

    fn action(&mut self) -> Option<Action> {
        let shape = |from: &mut Self| {
            from.maybe(|from, word| {
                let mut size = || u32::try_from(from.number()?).ok();
                Some([u32::try_from(Self::of(word)?).ok()?, size()?, size()?])
            })
        };
        Some(match self.word()? {
            "kernel" => Action::Kernel {
                images: self.paths()?,
                kernel: self.maybe(|_, word| Self::text_of(word))?,
                compare: self.maybe(Reader::compare)?,
                own: {
                    let length = self.number()?;
                    self.list(length, Reader::text)?
                },
            },
            "image" => Action::Image { images: self.paths()? },
            "launch" => Action::Launch(LaunchShape {
                grid: shape(self)?,
                block: shape(self)?,
                shared: self.maybe(|_, word| u32::try_from(Self::of(word)?).ok())?,
            }),
            "skip" => Action::Skip,
            _ => return None,
        })
    }

    fn compare(&mut self, element: &str) -> Option<Compare> {
        let element = *Element::ALL.get(usize::try_from(Self::of(element)?).ok()?)?;
        let tolerance = f64::from_bits(self.number()?);
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return None;
        }
        let keep = match self.word()? {
            "original" => Keep::Original,
            "replacement" => Keep::Replacement,
            _ => return None,
        };
        let parameters = self.maybe(|from, word| {
            from.list(Self::of(word)?, |from| usize::try_from(from.number()?).ok())
        })?;
        Some(Compare { parameters, element, tolerance, keep })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn damaged_ones_are_refused_by_field() {
        assert_eq!(read("").unwrap_err(), 1);
        assert_eq!(read("rules2,0,").unwrap_err(), 1);
        assert_eq!(read("rules1,x,").unwrap_err(), 2);
        assert_eq!(read("rules1,=/m%2,").unwrap_err(), 2);
        assert_eq!(read("rules1,=/m,+1,").unwrap_err(), 3);
        assert_eq!(read("rules1,=/m,0,x").unwrap_err(), 4);
        assert_eq!(read("rules1,=/m,18446744073709551615,").unwrap_err(), 4);
        let (file, none) = read("rules1,=/m%FF,0,").unwrap();
        assert_eq!((file.as_os_str().as_bytes(), none.len()), (&b"/m\xff"[..], 0));
        let rule = Rule::replace("k=a b,%.ptx").unwrap();
        let text = write(Path::new("/m n"), &[rule]);
        assert!(
            text.bytes().all(|b| b.is_ascii_alphanumeric() || b"=%,-./_".contains(&b)),
            "{text}"
        );
        assert_eq!(read(&text).unwrap().1[0].action.images(), [Path::new("a b,%.ptx")]);
        for cut in 0..text.len() {
            assert!(read(text.get(..cut).unwrap()).is_err(), "{cut}");
        }
    }
}
