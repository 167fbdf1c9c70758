//! Rules: their conditions and actions.
//!
//! Owns the structure of a rule, and the short form `KERNEL=FILE`. Must not know: the other notations of rules,
//! whether the files that they name exist.

use std::path::{Path, PathBuf};

use regex_lite::Regex;

use crate::{Compare, Error, Match};

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name in messages.
    pub name: String,
    /// What it applies to.
    pub matching: Match,
    /// What it does.
    pub action: Action,
    /// What happens where it cannot be applied.
    pub on_failure: OnFailure,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A kernel of another image takes the kernel's place.
    Kernel {
        /// The image's files; the backend uses what it can run of all of them.
        images: Vec<PathBuf>,
        /// Its kernel; `None` for the one of the same name.
        kernel: Option<String>,
        /// With this, the kernel runs beside the program's instead of replacing it, and their
        /// results are compared.
        compare: Option<Compare>,
        /// Its variables that keep their own storage, though the program has variables of the same
        /// name.
        own: Vec<String>,
    },
    /// Another image takes the image's place, variables and all.
    Image {
        /// The image's files, as above.
        images: Vec<PathBuf>,
    },
    /// The kernel is launched in another shape.
    Launch(LaunchShape),
    /// The kernel is not launched.
    Skip,
}

impl Action {
    /// The files that it names.
    pub fn images(&self) -> &[PathBuf] {
        match self {
            Action::Kernel { images, .. } | Action::Image { images } => images,
            Action::Launch(_) | Action::Skip => &[],
        }
    }
}

/// The parts of a launch that change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Dynamic shared memory, bytes.
    pub shared: Option<u32>,
}

/// What happens where a rule cannot be applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A message says so, and the program continues with its own code.
    #[default]
    Pass,
    /// A message says so, and the program ends.
    Stop,
}

impl Rule {
    /// One rule of the form `KERNEL=FILE`, as `--replace` takes it. The last `=` separates: names hold
    /// some.
    ///
    /// # Errors
    /// Where a side is missing, or the kernel is no regular expression.
    pub fn replace(text: &str) -> Result<Rule, Error> {
        let error = |why: String| Error::at(Path::new("--replace"), text, 0, why);
        let Some((kernel, image)) =
            text.rsplit_once('=').filter(|(k, i)| !k.is_empty() && !i.is_empty())
        else {
            return Err(error(format!("found {text:?}, expected KERNEL=FILE")));
        };
        let kernel = Regex::new(kernel)
            .map_err(|e| error(format!("{kernel:?} is no regular expression: {e}")))?;
        Ok(Rule {
            name: format!("--replace {text}"),
            matching: Match { kernel: Some(kernel), ..Match::default() },
            action: Action::Kernel {
                images: vec![image.into()],
                kernel: None,
                compare: None,
                own: Vec::new(),
            },
            on_failure: OnFailure::Pass,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn replace_takes_the_last_equals_sign() {
        let rule = Rule::replace("op<a==b>=x.ptx").unwrap();
        assert_eq!(
            rule.action,
            Action::Kernel {
                images: vec!["x.ptx".into()],
                kernel: None,
                compare: None,
                own: Vec::new()
            }
        );
        for bad in ["", "kernel", "=x", "k=", "(=x"] {
            assert!(Rule::replace(bad).is_err(), "{bad}");
        }
    }
}
