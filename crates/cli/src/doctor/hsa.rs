//! What the backend hsa finds on this machine: AMD's runtime and its GPUs.
//!
//! Owns: asking virtual CUDA in a separate process, with that backend. Must not know: any traced program, HSA.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::machine::probe_elsewhere;
use crate::launch::{self, Emulated, Environment};
use crate::preload;

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Hsa {
    /// AMD's runtime, as it was loaded.
    pub runtime: Option<PathBuf>,
    /// Names of the GPUs that it finds, the one in software included.
    pub gpus: Vec<String>,
    /// Why there is none.
    pub failure: Option<String>,
}

/// Examines it; `library` is libcushim.so.
pub fn ask(library: &Path, emulated: &[Emulated]) -> Hsa {
    let answer = front(library, emulated).and_then(|(front, environment)| {
        let (said, complained) = probe_elsewhere(&front, &environment)?;
        Ok(read(&said, &complained))
    });
    answer.unwrap_or_else(|failure| Hsa { failure: Some(failure), ..Hsa::default() })
}

/// The driver library of virtual CUDA, and its variables.
fn front(library: &Path, emulated: &[Emulated]) -> Result<(PathBuf, Environment), String> {
    let shown = |error: crate::Error| error.to_string();
    let [.., cuda] = preload::FRONTS;
    let front = preload::beside(library, cuda.file).map_err(shown)?;
    let mut environment: Environment = vec![("CUSHIM_BACKEND", "hsa".into())];
    if !emulated.is_empty() {
        environment.extend(launch::emulation(Some(library), emulated).map_err(shown)?);
    }
    Ok((front, environment))
}

fn read(said: &str, complained: &str) -> Hsa {
    let mut found = Hsa::default();
    for (name, value) in said.lines().filter_map(|line| line.split_once(' ')) {
        match name {
            "device" => found.gpus.push(value.to_owned()),
            "runtime" => found.runtime = Some(value.into()),
            "failure" => found.failure = Some(value.to_owned()),
            _ => {}
        }
    }
    if found.gpus.is_empty() && found.failure.is_none() {
        let why = complained.lines().find_map(|line| line.strip_prefix("cushim: backend hsa: "));
        found.failure = Some(why.unwrap_or("AMD's runtime finds no GPU").to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_a_complaint_is_the_reason() {
        let found =
            read("version 12080\nruntime /opt/rocm/lib/x.so\ndevice A (gfx90a)\n", "other\n");
        assert_eq!((found.gpus, found.failure), (vec!["A (gfx90a)".to_owned()], None));
        assert_eq!(found.runtime.as_deref(), Some(Path::new("/opt/rocm/lib/x.so")));
        let none = read("init 100\n", "x\ncushim: backend hsa: no such library\n");
        assert_eq!(none.failure.as_deref(), Some("no such library"));
    }
}
