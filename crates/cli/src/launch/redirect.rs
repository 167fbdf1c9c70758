//! The options that replace the program's images and kernels, or write its own into files.
//!
//! Owns: checking them before the program starts, and the variables that carry them. Must not know: how the library
//! carries them out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use cushim_manifest::Manifest;
use cushim_rules::{Rule, compiled};

use super::backend::{Backend, Cuda};
use super::names::Environment;
use crate::{Error, environ};

/// Redirection, for `run`, `trace`, `record` and `env` alike.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Replacing device code")]
pub struct RedirectArgs {
    /// Put the kernel of the same name from FILE (PTX, cubin, fat binary) in the place of each kernel
    /// that KERNEL, a regular expression, matches; can be given several times
    #[arg(long, value_name = "KERNEL=FILE", value_delimiter = '\n')]
    pub replace: Vec<String>,

    /// Replace kernels and images as the manifest FILE says (`cushim redirect --help`)
    #[arg(long, value_name = "FILE")]
    pub redirect: Option<PathBuf>,

    /// Write every image that the program registers or loads into DIR, once by content hash, with an
    /// index, images.jsonl
    #[arg(long, value_name = "DIR")]
    pub dump_images: Option<PathBuf>,

    /// Load the tool FILE, a shared library that cushim calls at every device image and every launch
    /// (docs/tools.md); can be given several times
    #[arg(long, value_name = "FILE", value_delimiter = ':')]
    pub tool: Vec<PathBuf>,

    /// Send launches of a shared runtime straight to the driver, where the result is the same (experimental; backend
    /// native only; docs/redirect.md)
    #[arg(long)]
    pub direct: bool,
}

impl RedirectArgs {
    /// Whether one of them was given.
    pub fn is_any(&self) -> bool {
        let files = self.redirect.is_some() || self.dump_images.is_some();
        files || self.direct || !self.replace.is_empty() || !self.tool.is_empty()
    }

    /// The rules that these options give, in the order in which they count.
    pub fn rules(&self) -> Result<Vec<Rule>, Error> {
        let mut rules = self.replaced()?;
        rules.extend(self.manifest()?.into_iter().flat_map(|(_, rules)| rules));
        Ok(rules)
    }

    /// Those of `--replace`.
    fn replaced(&self) -> Result<Vec<Rule>, Error> {
        let rules = self.replace.iter().map(|text| Rule::replace(text));
        rules.collect::<Result<Vec<_>, _>>().map_err(bad)
    }

    /// Those of `--redirect`, and the manifest's full path.
    fn manifest(&self) -> Result<Option<(PathBuf, Vec<Rule>)>, Error> {
        let Some(file) = &self.redirect else { return Ok(None) };
        let file = absolute(file)?;
        let rules = Manifest::read(&file).map_err(bad)?.rules;
        Ok(Some((file, rules)))
    }

    /// Adds the variables, after checking the files.
    pub fn put(&self, cuda: &Cuda, set: &mut Environment) -> Result<(), Error> {
        if self.direct {
            if cuda.backend != Backend::Native {
                return Err(Error::Usage(format!(
                    "--direct is for NVIDIA's own runtime: it goes with --backend native, not {}",
                    cuda.backend.word()
                )));
            }
            set.push(("CUSHIM_DIRECT", "1".into()));
        }
        self.files(&cuda.library, set)
    }

    /// The variables that name files. `library` is libcushim.so: a tool without a folder may be beside it.
    fn files(&self, library: &Path, set: &mut Environment) -> Result<(), Error> {
        let (replaced, manifest) = (self.replaced()?, self.manifest()?);
        for rule in replaced.iter().chain(manifest.iter().flat_map(|(_, rules)| rules)) {
            for image in rule.action.images() {
                std::fs::File::open(image).map_err(|e| Error::io("open", image, e))?;
            }
        }
        let lines = self.replace.iter().map(|text| {
            let (kernel, file) = text.rsplit_once('=').unwrap_or((text, ""));
            Ok(format!("{kernel}={}", absolute(Path::new(file))?.display()))
        });
        let lines = lines.collect::<Result<Vec<_>, Error>>()?;
        if let Some(line) = lines.iter().find(|line| line.contains('\n')) {
            return Err(Error::Usage(format!(
                "--replace {line:?}: a line break cannot be passed on"
            )));
        }
        if !lines.is_empty() {
            set.push(("CUSHIM_REPLACE", lines.join("\n").into()));
        }
        if let Some((file, rules)) = manifest {
            let (count, rules) = (rules.len(), compiled::write(&file, &rules));
            if rules.len() > compiled::MOST {
                return Err(Error::Usage(format!(
                    "--redirect {}: its {count} rules take {} bytes as they are handed to the program, which can be {} at \
                     most",
                    file.display(),
                    rules.len(),
                    compiled::MOST
                )));
            }
            set.push(("CUSHIM_REDIRECT", file.into()));
            set.push((environ::RULES, rules.into()));
        }
        if let Some(folder) = &self.dump_images {
            cushim_trace::private::Folder::make(folder)
                .map_err(|e| Error::io("make the folder", folder, e))?;
            set.push(("CUSHIM_DUMP_IMAGES", absolute(folder)?.into()));
        }
        let mut tools = OsString::new();
        for file in &self.tool {
            let beside = || Some(library.with_file_name(file)).filter(|file| file.is_file());
            let bare = file.components().count() == 1 && !file.exists();
            let file = &bare.then(beside).flatten().unwrap_or_else(|| file.clone());
            std::fs::File::open(file).map_err(|e| Error::io("open", file, e))?;
            if !tools.is_empty() {
                tools.push(":");
            }
            tools.push(absolute(file)?);
        }
        if !tools.is_empty() {
            set.push(("CUSHIM_TOOL", tools));
        }
        Ok(())
    }
}

/// A path that means the same in every folder: programs change theirs.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|e| Error::io("find", path, e))
}

fn bad(error: cushim_rules::Error) -> Error {
    Error::Usage(cushim_names::Foreign::shown(error.to_string().as_str()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_and_files_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("new.ptx");
        std::fs::write(&image, ".version 7.0").unwrap();
        let mut args = RedirectArgs {
            replace: vec![format!("a=b={}", image.display())],
            ..RedirectArgs::default()
        };
        let mut set = Environment::new();
        let library = folder.path().join("libcushim.so");
        args.files(&library, &mut set).unwrap();
        assert_eq!(set[0].0, "CUSHIM_REPLACE");
        args.replace.push("k=/no/such.ptx".into());
        assert!(args.files(&library, &mut set).unwrap_err().to_string().contains("/no/such.ptx"));
        args.replace = vec!["k".into()];
        assert!(args.files(&library, &mut set).unwrap_err().to_string().contains("KERNEL=FILE"));

        // A manifest is passed on with its full path; one too large for an environment variable is
        // refused.
        let manifest = folder.path().join("rules.toml");
        let rule = format!("[[redirect]]\nmatch = {{ kernel = 'k' }}\nimage = {image:?}\n");
        std::fs::write(&manifest, &rule).unwrap();
        args.replace.clear();
        args.redirect = Some(manifest.clone());
        let mut set = Environment::new();
        args.files(&library, &mut set).unwrap();
        assert_eq!(set[0], ("CUSHIM_REDIRECT", manifest.clone().into_os_string()));
        let (from, rules) = compiled::read(set[1].1.to_str().unwrap()).unwrap();
        assert_eq!((set[1].0, from, rules.len()), (environ::RULES, manifest.clone(), 1));
        std::fs::write(&manifest, rule.repeat(2000)).unwrap();
        let why = args.files(&library, &mut set).unwrap_err().to_string();
        assert!(why.contains("rules.toml: its 2000 rules take"), "{why}");
        args.redirect = None;

        // A tool beside libcushim.so needs no folder, another does.
        let tool = folder.path().join("libsome_tool.so");
        std::fs::write(&tool, "").unwrap();
        args.replace.clear();
        args.tool = vec!["libsome_tool.so".into()];
        let mut set = Environment::new();
        args.files(&library, &mut set).unwrap();
        assert_eq!(set, [("CUSHIM_TOOL", tool.into_os_string())]);
        args.tool = vec!["libno_tool.so".into()];
        let why = args.files(&library, &mut set).unwrap_err().to_string();
        assert!(why.contains("libno_tool.so"), "{why}");
    }
}
