//! What an examination found: plain values, printed as text or JSON by others.
//!
//! Must not know: how it was found.

use cushim_names::Foreign as _;
use std::path::PathBuf;

use serde::Serialize;

use super::cpu::Cpu;
use super::cuda::Part;
use super::hsa::Hsa;
use super::machine::Machine;
use super::observed::Run;
use super::obstacle::{Interposer, Obstacle};
use super::verdict::Verdict;

/// One thing that cushim does, and whether it does it here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// What it is.
    pub name: &'static str,
    /// Whether it works for this program.
    pub verdict: Verdict,
    /// Why so.
    pub why: String,
}

/// The file that was asked about.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// As found on PATH.
    pub path: PathBuf,
    /// The script that names it as its interpreter, where that is what was asked about.
    pub script: Option<PathBuf>,
    /// What kind of file it is, in words.
    pub kind: String,
    /// Symbols are gone.
    pub stripped: bool,
    /// Libraries that are loaded with it.
    pub libraries: usize,
}

/// Which CUDA a program would get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backends {
    /// What `--backend auto` takes here.
    pub auto: &'static str,
    /// What decides it.
    pub why: String,
    /// What the others lack beside libcushim.so; null: nothing.
    pub missing: Option<String>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// The version of cushim.
    pub cushim: &'static str,
    /// libcushim.so, or why there is none.
    pub library: Option<PathBuf>,
    /// Which CUDA programs get, where libcushim.so is found.
    pub backends: Option<Backends>,
    /// The program; none if only the machine was asked about.
    pub program: Option<Program>,
    /// The CUDA parts that it carries.
    pub cuda: Vec<Part>,
    /// What will work.
    pub features: Vec<Feature>,
    /// What stands in the way.
    pub obstacles: Vec<Obstacle>,
    /// Who else interposes.
    pub interposers: Vec<Interposer>,
    /// What the CPU makes of the program, where that was asked.
    pub cpu: Option<Cpu>,
    /// What backend hsa finds, where that was asked.
    pub hsa: Option<Hsa>,
    /// What a run showed, where one was asked for.
    pub run: Option<Run>,
    /// The machine.
    pub machine: Machine,
}

impl Findings {
    /// Whether something keeps everything from being traced.
    pub fn blocked(&self) -> bool {
        self.obstacles.iter().any(|o| o.blocks)
    }
}

impl Machine {
    /// Why no kernel can run here at all, if that is so.
    pub fn obstacle(&self) -> Option<String> {
        let Some(driver) = &self.driver else {
            return Some("libcuda.so.1 is not installed: every CUDA call will fail".to_owned());
        };
        if let Some(why) = &driver.failure {
            return Some(format!("{} cannot be used: {why}", driver.path.shown()));
        }
        match (driver.init, driver.count) {
            (Some(0), Some(0)) | (Some(100), _) => {
                Some(format!("{} finds no GPU: every launch will fail", driver.path.shown()))
            }
            (Some(0), _) => None,
            (Some(code), _) => Some(format!(
                "cuInit of {} fails with {code}: every launch will fail",
                driver.path.shown()
            )),
            _ => None,
        }
    }
}
