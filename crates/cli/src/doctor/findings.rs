//! The findings of an examination: plain values, which other modules print as text or JSON.
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

/// A feature of cushim, and whether it works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// What it is.
    pub name: &'static str,
    /// Whether it works for this program.
    pub verdict: Verdict,
    /// The reason.
    pub why: String,
}

/// The examined file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// As found on PATH.
    pub path: PathBuf,
    /// The script that was given, if this is its interpreter.
    pub script: Option<PathBuf>,
    /// What kind of file it is, in words.
    pub kind: String,
    /// It is stripped.
    pub stripped: bool,
    /// Libraries that are loaded with it.
    pub libraries: usize,
}

/// Which CUDA a program would get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backends {
    /// What `--backend auto` chooses here.
    pub auto: &'static str,
    /// What decides it.
    pub why: String,
    /// What is missing beside libcushim.so for the others; null: nothing.
    pub missing: Option<String>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// The version of cushim.
    pub cushim: &'static str,
    /// libcushim.so, or why there is none.
    pub library: Option<PathBuf>,
    /// The backends, where libcushim.so is found.
    pub backends: Option<Backends>,
    /// The program; none if only the machine was examined.
    pub program: Option<Program>,
    /// The CUDA parts that it carries.
    pub cuda: Vec<Part>,
    /// What will work.
    pub features: Vec<Feature>,
    /// The obstacles.
    pub obstacles: Vec<Obstacle>,
    /// Other interposers.
    pub interposers: Vec<Interposer>,
    /// How the program works on the CPU, if asked for.
    pub cpu: Option<Cpu>,
    /// What backend hsa finds, if asked for.
    pub hsa: Option<Hsa>,
    /// The observed run, if asked for.
    pub run: Option<Run>,
    /// The machine.
    pub machine: Machine,
}

impl Findings {
    /// Whether an obstacle blocks all tracing.
    pub fn blocked(&self) -> bool {
        self.obstacles.iter().any(|o| o.blocks)
    }
}

impl Machine {
    /// Why no kernel can run here, if none can.
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
