//! `--backend` and `--emulate`: which CUDA the program gets.
//!
//! Owns: the choice, the files that it needs, and the variables that tell the loader and the libraries. Must
//! not know: what the libraries do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::names::Environment;
use crate::doctor::{elf, machine, program};
use crate::environ::FMAD;
use crate::preload::{self, AUDIT, COMPILERS, CORE, DRIVER, FRONTS, LD_AUDIT, LD_PRELOAD, NVML};
use crate::{Error, complain, stand_in};
use cushim_names::Foreign as _;

/// Set for libvcuda.so and libcushim_audit.so.
const BACKEND: &str = "CUSHIM_BACKEND";
/// Files with the symbols of stripped programs, with colons between, for libcushim_audit.so.
const SYMBOLS: &str = "CUSHIM_SYMBOLS";

/// Which CUDA the program gets, for `run`, `trace`, `record` and `env` alike.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// native: NVIDIA's own; driver: cushim's runtime over NVIDIA's driver; cpu: no GPU at all; hsa: an AMD GPU; auto:
    /// native wherever a libcuda is installed, else cpu [default: auto; for env: native]
    #[arg(
        long,
        value_name = "BACKEND",
        help = "The CUDA that the program gets [default: auto; cushim env: native]"
    )]
    pub backend: Option<Backend>,

    /// Symbol file of a stripped program with a static CUDA runtime (backends driver and cpu)
    #[arg(long, value_name = "FILE", value_delimiter = ':')]
    pub symbols: Vec<PathBuf>,

    /// A GPU in software for AMD's runtime; several with commas: gfx90a,gfx1030
    ///
    /// AMD's own user-mode runtime (libhsa-runtime64.so.1) gets cushim's GPU instead of the kernel driver's: for
    /// --backend hsa, and, with no --backend, for a program that uses AMD's HIP or HSA itself.
    #[arg(long, value_name = "GPU", value_delimiter = ',')]
    pub emulate: Vec<super::emulate::Emulated>,

    /// Whether a product and a sum without .rn become one fused multiply-add, as NVIDIA's compiler makes them (for cpu)
    #[arg(
        long,
        value_name = "WHETHER",
        help = "Fuse products and sums as NVIDIA's compiler does (backend cpu) [default: on]"
    )]
    pub fmad: Option<Fmad>,

    /// Programs that start ptxas (Triton, XLA) get NVIDIA's, whose machine code the CPU cannot run (for cpu)
    #[arg(long)]
    pub no_ptxas_stand_in: bool,
}

/// Whether products and sums are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fmad {
    /// Where NVIDIA's compiler does
    On,
    /// Never: each is rounded
    #[value(aliases = ["0", "no", "false"])]
    Off,
}

/// A backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Native wherever a libcuda is installed, else cpu
    Auto,
    /// NVIDIA's own runtime and driver
    Native,
    /// cushim's runtime over NVIDIA's driver
    Driver,
    /// cushim's runtime and driver, kernels on the CPU
    Cpu,
    /// cushim's runtime and driver, kernels on an AMD GPU
    Hsa,
}

impl Backend {
    /// Whether it runs no kernel without a GPU.
    pub fn needs_gpu(self) -> bool {
        matches!(self, Backend::Auto | Backend::Native | Backend::Driver)
    }

    /// The files beside libcushim.so that are preloaded behind it.
    fn preloaded(self) -> impl Iterator<Item = &'static str> {
        let fronts = if self == Backend::Native { &[][..] } else { &FRONTS };
        // NVIDIA's driver needs machine code, and its own NVML is installed.
        let others = if self == Backend::Cpu { &[COMPILERS, NVML][..] } else { &[] };
        fronts.iter().map(|front| front.file).chain(others.iter().copied())
    }

    /// Its name as an option's value.
    pub fn word(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Native => "native",
            Backend::Driver => "driver",
            Backend::Cpu => "cpu",
            Backend::Hsa => "hsa",
        }
    }
}

/// What is preloaded, ready for the environment.
#[derive(Clone, Debug)]
pub struct Cuda {
    /// The backend, never auto.
    pub backend: Backend,
    /// libcushim.so as it was found.
    pub library: PathBuf,
    /// What LD_PRELOAD is to name, in order, libcushim.so first.
    preload: Vec<PathBuf>,
    /// What LD_AUDIT is to name.
    audit: Option<PathBuf>,
    symbols: Vec<PathBuf>,
    fmad: Option<Fmad>,
    emulated: Vec<super::emulate::Emulated>,
    /// Whether programs find cushim's stand-ins for NVIDIA's tools.
    stand_ins: bool,
    /// Auto took the CPU.
    by_itself: bool,
}

impl Cuda {
    /// Says on stderr that kernels run on the CPU where the user did not ask for it. Called once
    /// all options are checked, so that the line does not precede an error; nor is it said for a
    /// `program` that does not exist.
    pub fn announce(&self, program: Option<&OsStr>) {
        let is_there = |program: &OsStr| program::find(Path::new(program)).is_ok();
        if self.by_itself && program.is_none_or(is_there) {
            complain("no libcuda is installed: kernels run on the CPU (--backend cpu)");
        }
    }
}

/// The backend that auto means on this machine with this libcushim.so, and why. A broken driver is
/// an error that the user must see, never a reason for another backend.
pub fn automatic(library: &Path) -> (Backend, String) {
    if let Some(path) = machine::libcuda() {
        return (Backend::Native, format!("{} is installed", path.shown()));
    }
    match missing(library) {
        None => (Backend::Cpu, "no libcuda is installed".to_owned()),
        Some(error) => (Backend::Native, format!("no libcuda is installed, and {error}")),
    }
}

impl BackendArgs {
    /// Finds everything that is to be preloaded: `library` is where libcushim.so should be,
    /// `default` the backend where none is given.
    pub fn resolve(&self, library: Option<&Path>, default: Backend) -> Result<Cuda, Error> {
        let library = preload::find_library(library)?;
        // A program of HIP or HSA needs no CUDA.
        let emulated = if self.emulate.is_empty() { default } else { Backend::Native };
        let asked = self.backend.unwrap_or(emulated);
        let chosen = match asked {
            Backend::Auto => automatic(&library).0,
            named => named,
        };
        if !self.emulate.is_empty() && self.backend.is_some() && chosen != Backend::Hsa {
            return Err(Error::Usage(format!(
                "--emulate cannot be used with --backend {}: it is for --backend hsa, and for programs of HIP or HSA without --backend",
                chosen.word()
            )));
        }
        let mut files = vec![library.clone()];
        let mut preloaded = 1;
        if chosen != Backend::Native {
            let beside = |name| preload::beside(&library, name);
            preloaded += chosen.preloaded().count();
            let others =
                chosen.preloaded().chain([AUDIT, CORE]).map(beside).collect::<Result<Vec<_>, _>>();
            files.extend(others.map_err(|error| {
                Error::Library(format!("--backend {}: {error}", chosen.word()))
            })?);
        }
        let emulation = match self.emulate.as_slice() {
            [] => Vec::new(),
            _ => preload::reachable(&[super::emulate::found(&library)?])?,
        };
        let mut preload = preload::reachable(&files)?;
        let mut apart = preload.split_off(preload.len().min(preloaded)).into_iter();
        let symbols = self.symbols.iter().map(|file| symbols(file)).collect::<Result<_, _>>()?;
        preload.extend(emulation);
        Ok(Cuda {
            backend: chosen,
            library,
            preload,
            audit: apart.next(),
            symbols,
            fmad: self.fmad,
            emulated: self.emulate.clone(),
            by_itself: asked == Backend::Auto && chosen == Backend::Cpu,
            stand_ins: chosen == Backend::Cpu && !self.no_ptxas_stand_in,
        })
    }
}

impl Cuda {
    /// The same with the audit library for every program, even where it redirects nothing, since it
    /// reports what is loaded.
    pub fn observed(mut self) -> Result<Self, Error> {
        if self.audit.is_none() {
            let audit = preload::beside(&self.library, AUDIT)?;
            self.audit = preload::reachable(&[audit])?.into_iter().next();
        }
        Ok(self)
    }
}

/// Why the backends other than native cannot be used with this libcushim.so: checks the preloaded
/// files beside it, the audit library, and the core, which the preloaded ones look for beside
/// themselves.
pub fn missing(library: &Path) -> Option<Error> {
    let mut needed = Backend::Cpu.preloaded().chain([AUDIT, CORE]);
    needed.find_map(|name| preload::beside(library, name).err())
}

/// A file of symbols by its full path, since the program may change its folder. Errors: it is no ELF file, or has
/// no symbols.
pub fn symbols(file: &Path) -> Result<PathBuf, Error> {
    // Whether it locates a runtime's functions is known when the program is loaded.
    if is_archive(file) {
        return std::path::absolute(file).map_err(|e| Error::io("find", file, e));
    }
    let read = elf::read(file)?;
    if read.stripped {
        return Err(Error::Foreign {
            path: file.to_owned(),
            found: "a file without symbols".to_owned(),
            expected: "the unstripped program or its debug file",
        });
    }
    std::path::absolute(file).map_err(|e| Error::io("find", file, e))
}

/// Whether it is an archive, as libcudart_static.a is.
fn is_archive(file: &Path) -> bool {
    use std::io::Read as _;
    let mut begin = [0; 8];
    std::fs::File::open(file).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && begin == *b"!<arch>\n"
}

impl Cuda {
    /// Whether LD_PRELOAD cannot name the files where they are, and what it names instead.
    pub fn linked(&self) -> Option<&Path> {
        self.preload.first().map(PathBuf::as_path).filter(|first| *first != self.library)
    }

    /// libcushim.so as variables can name it.
    pub fn shim(&self) -> &Path {
        self.linked().unwrap_or(&self.library)
    }

    /// The variables for the loader and for the libraries, and those that `program`, if known,
    /// needs.
    pub fn environment(&self, program: Option<&OsStr>) -> Environment {
        let mut set: Environment = vec![(LD_PRELOAD, preload::value(&self.preload))];
        let audit = preload::audit_value(self.audit.as_deref());
        set.extend(super::loading::environment(program, !audit.is_empty()));
        if self.audit.is_some() || std::env::var_os(LD_AUDIT).is_some_and(|now| now != audit) {
            set.push((LD_AUDIT, audit));
        }
        if self.backend != Backend::Native {
            set.push((BACKEND, self.backend.word().into()));
        } else if std::env::var_os(BACKEND).is_some() {
            set.push((BACKEND, "native".into()));
        }
        if let Some(fmad) = self.fmad {
            let word = if fmad == Fmad::On { "on" } else { "off" };
            set.push((FMAD, word.into()));
        }
        if !self.emulated.is_empty() {
            set.push(super::emulate::gpus(&self.emulated));
        }
        if !self.symbols.is_empty() {
            let list = self.symbols.iter().map(|file| file.as_os_str());
            set.push((SYMBOLS, list.collect::<Vec<_>>().join(OsString::from(":").as_os_str())));
        }
        set.extend(self.found_as_files(program.is_some()));
        set
    }

    /// The variables by which programs find what they look for as files; `path` is whether PATH is to be among them.
    fn found_as_files(&self, path: bool) -> Environment {
        let mut set = Environment::new();
        let mut put = |what: &str, found: Result<Environment, Error>| match found {
            Ok(variables) => set.extend(variables),
            Err(error) => complain(&format!("{what} cannot be found by name: {error}")),
        };
        if self.backend == Backend::Cpu {
            let names = [
                ("libcuda.so.1", DRIVER),
                ("libcuda.so", DRIVER),
                ("libnvidia-ml.so.1", NVML),
                ("libnvidia-ml.so", NVML),
            ];
            let found = |own| self.preload.iter().find(|file| file.ends_with(own));
            let file = |(name, own)| Some((name, found(own)?.as_path()));
            let mut files: Vec<_> = names.into_iter().filter_map(file).collect();
            // A linker looks for it beside the thin library, without following links.
            let core = found(DRIVER).map(|driver| driver.with_file_name(CORE));
            files.extend(core.as_deref().map(|core| (CORE, core)));
            put("libcuda.so", stand_in::libraries(&files, path));
            put("JAX's check", Ok(stand_in::constraints()));
            put("XLA's products", Ok(stand_in::products().into_iter().collect()));
        }
        if self.stand_ins {
            // `cushim env` does not know its program, and its line is for shells that have a PATH of their own.
            put("ptxas", stand_in::environment(path));
        }
        set
    }
}
