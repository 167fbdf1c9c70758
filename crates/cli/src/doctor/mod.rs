//! `cushim doctor`: what cushim will see of a program, and what prevents it.
//!
//! Owns: [`examine`], which `trace` also calls if it saw no launch. It runs nothing and loads none of the program's
//! libraries; it reads files only. The exception is [`observed`] (`--`). Must not know: trace files.

pub mod cache;
pub mod closure;
mod cpu;
pub mod cuda;
pub mod elf;
mod features;
mod findings;
mod hsa;
pub mod machine;
mod observed;
mod obstacle;
pub mod obstacles;
pub mod program;
mod render;
mod symbols;
mod verdict;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use cushim_analysis::NameForm;

use crate::launch::{Backend, BackendArgs};
use crate::view::{Target, name_forms};
use crate::{Error, Outcome, launch, preload};

pub use observed::told;

pub use findings::{Backends, Feature, Findings, Program};
pub use machine::{Driver, Machine, PROBE, libcuda};
pub use obstacle::{Interposer, Obstacle};
pub use verdict::Verdict;

use closure::Search;
use cuda::Part;
use elf::{Elf, Kind};

/// Arguments of `cushim doctor`.
#[derive(Debug, Args)]
#[command(
    after_long_help = AFTER,
    override_usage = "cushim doctor [OPTIONS] [PROGRAM]\n       cushim doctor [OPTIONS] -- PROG [ARGS]..."
)]
pub struct DoctorArgs {
    /// The program, script or library to examine; without one, only this machine
    #[arg(conflicts_with = "command")]
    pub program: Option<PathBuf>,

    /// A program to run, with its arguments: what it loads is examined
    #[arg(last = true, value_name = "PROG [ARGS]", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,

    /// cpu: also check whether PROG starts without a GPU, and which kernels run there; hsa: also say which AMD GPUs
    /// there are, and by which runtime. With `--`: what the program runs with, as for cushim run
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<Backend>,

    /// With --backend hsa: a GPU in software, as for cushim run
    #[arg(long, value_name = "GPU", value_delimiter = ',', requires = "backend")]
    pub emulate: Vec<launch::Emulated>,

    /// Symbol file of a stripped program with a static CUDA runtime, as for cushim run
    #[arg(long, value_name = "FILE", value_delimiter = ':')]
    pub symbols: Vec<PathBuf>,

    /// Say everything: all kernels that do not run, whole paths of libraries
    #[arg(short, long)]
    pub verbose: bool,

    /// How kernels are named: short (cut to the width of the terminal), full, mangled
    #[arg(long, value_name = "FORM", default_value = "short", value_parser = name_forms())]
    pub names: NameForm,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Path of libcushim.so, if it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE", env = "CUSHIM_LIB", hide_env_values = true)]
    pub lib: Option<PathBuf>,
}

const AFTER: &str = "\
Without `--` nothing is run: the program and the libraries that it is linked with are read from their files. With `--` the \
program runs (its standard output goes to standard error), and of every library that it and its children load the report says what \
works on which backend. Ctrl-C ends the program, and the report comes all the same.

Examples:
  cushim doctor ./app
  cushim doctor --backend cpu ./app
  cushim doctor -- python3 app.py
  cushim doctor --backend cpu -- python3 app.py
  cushim doctor --backend hsa --emulate gfx90a
  cushim doctor --backend cpu --symbols app.debug ./app
  cushim doctor --json ./app | jq '.features[] | select(.verdict != \"yes\")'
  cushim doctor \"$(python3 -c 'import torch; print(torch.__path__[0])')/lib/libtorch_cuda.so\"

Exit status:
  0    nothing blocks tracing; with --backend cpu: it starts there, and every kernel runs; with hsa: there is a GPU
  1    something does; the last line says what. With `--`: a library does not work on the backend that the program ran with
  125  the file cannot be examined, or not all that the program loaded could be seen; the report says so";

/// Runs the command.
pub fn run(args: DoctorArgs) -> Outcome {
    let (program, library) = (args.program.as_deref(), args.lib.as_deref());
    let symbols = args.symbols.iter().map(|file| launch::symbols(file));
    let symbols = symbols.collect::<Result<Vec<_>, _>>()?;
    let backend = args.backend;
    if args.command.is_empty() {
        check(&args)?;
    }
    let hsa = (backend == Some(Backend::Hsa)).then_some(args.emulate.clone());
    let asked = Asked { cpu: backend == Some(Backend::Cpu), hsa, symbols };
    // Before anything that starts threads.
    let run = match args.command.as_slice() {
        [] => None,
        command => {
            let backend = BackendArgs {
                backend,
                symbols: asked.symbols.clone(),
                emulate: args.emulate.clone(),
                ..BackendArgs::default()
            };
            Some(observed::run(command, backend, library)?)
        }
    };
    let mut findings = findings(program, library, &asked)?;
    findings.run = run;
    let text = match args.json {
        true => {
            let json = serde_json::to_string_pretty(&findings);
            json.map_err(|e| Error::Usage(format!("cannot write JSON: {e}")))? + "\n"
        }
        false => {
            let width = Target::stream(std::io::stdout()).width;
            let how = render::How { verbose: args.verbose, names: args.names, width };
            cushim_names::lines(&render::text(&findings, &how)).into_owned()
        }
    };
    crate::print(text.as_bytes())?;
    findings.run.as_ref().map_or(Ok(()), observed::Run::complete)?;
    Ok(u8::from(match (&findings.run, &findings.cpu, &findings.hsa) {
        (Some(run), ..) => !run.all_well(),
        (_, Some(cpu), _) => !cpu.all_well(),
        (_, _, Some(hsa)) => findings.blocked() || hsa.failure.is_some(),
        _ => findings.blocked(),
    }))
}

/// Checks the options together, where nothing is run.
fn check(args: &DoctorArgs) -> Result<(), Error> {
    let wrong = match args.backend {
        Some(Backend::Cpu) if args.program.is_none() => {
            "--backend cpu: expected a program to check"
        }
        Some(Backend::Auto | Backend::Native | Backend::Driver) => {
            "--backend: expected cpu or hsa; with `-- PROG` the others, too"
        }
        backend if backend != Some(Backend::Hsa) && !args.emulate.is_empty() => {
            "--emulate is for --backend hsa"
        }
        _ if !args.symbols.is_empty() && args.program.is_none() => {
            "--symbols: expected a program to check"
        }
        _ => return Ok(()),
    };
    Err(Error::Usage(wrong.to_owned()))
}

/// Does the work of the process that [`machine::look`] starts; returns whether this is it.
pub fn is_probe(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    if arguments.nth(1).is_none_or(|first| first != PROBE) {
        return false;
    }
    if let Some(path) = arguments.next() {
        machine::probe(Path::new(&path));
    }
    true
}

/// Examines `program` (none: only the machine). `library` is the path of libcushim.so, if not in
/// its usual places. Errors: the program cannot be found or is no program.
pub fn examine(program: Option<&Path>, library: Option<&Path>) -> Result<Findings, Error> {
    findings(program, library, &Asked::default())
}

/// Additional questions about a program.
#[derive(Default)]
struct Asked {
    /// Whether it starts on the CPU, and which kernels run there.
    cpu: bool,
    /// Which AMD GPUs there are, with these in software.
    hsa: Option<Vec<launch::Emulated>>,
    /// Files that may have its symbols.
    symbols: Vec<PathBuf>,
}

fn findings(
    program: Option<&Path>,
    library: Option<&Path>,
    asked: &Asked,
) -> Result<Findings, Error> {
    let mut findings = Findings {
        cushim: env!("CARGO_PKG_VERSION"),
        machine: machine::look(),
        ..Findings::default()
    };
    match preload::find_library(library) {
        Ok(path) => {
            let (auto, why) = launch::automatic(&path);
            let missing = launch::missing(&path).map(|error| error.to_string());
            findings.backends = Some(Backends { auto: auto.word(), why, missing });
            findings.hsa = asked.hsa.as_deref().map(|emulated| hsa::ask(&path, emulated));
            findings.library = Some(path);
        }
        Err(error) => findings.obstacles.push(obstacles::no_library(&error)),
    }
    findings.obstacles.extend(obstacles::environment());
    if let Some(program) = program {
        look(&mut findings, program, asked)?;
        let replaced = findings.cpu.as_ref().is_some_and(|cpu| cpu.starts);
        findings.features = features::features(&findings.cuda, &findings.obstacles, replaced);
    }
    Ok(findings)
}

fn look(findings: &mut Findings, name: &Path, asked: &Asked) -> Result<(), Error> {
    let found = program::find(name)?;
    let own = elf::read(&found.path)?;
    let search = Search::here();
    let preloaded = preload::entries().into_iter().filter_map(|entry| match entry.contains('/') {
        true => Some(PathBuf::from(entry)),
        false => search.dlopen(&entry, &own).map(|found| found.path),
    });
    let preloaded: Vec<PathBuf> = preloaded.filter(|p| !preload::is_ours(p)).collect();
    let (kind, stripped) = (kind_in_words(&own), own.stripped);
    let obstacles = &mut findings.obstacles;
    obstacles.extend(obstacles::of_file(&own));
    obstacles.extend(program::privileges(&found.path));
    // Another loader may search elsewhere: nothing is assumed about it.
    let foreign = findings.obstacles.iter().any(|o| o.blocks && o.name != "library");
    let closure = if foreign && own.machine != "x86-64" {
        closure::Closure { objects: vec![own], ..Default::default() }
    } else {
        search.closure(own, &preloaded)
    };
    findings.cuda = parts(&closure);
    findings.obstacles.extend(obstacles::of_closure(&closure));
    let lost: Vec<&Part> =
        findings.cuda.iter().filter(|part| symbols::are_lost(part, &asked.symbols)).collect();
    let named = !asked.symbols.is_empty();
    findings.obstacles.extend(lost.iter().map(|part| obstacles::of_lost(part, named)));
    if asked.cpu {
        let missing = findings.backends.as_ref().and_then(|backends| backends.missing.as_deref());
        findings.cpu = Some(cpu::examine(&closure, &findings.obstacles, missing));
    }
    findings.interposers = obstacles::interposers(&closure, &preloaded);
    findings.program = Some(Program {
        path: found.path,
        script: found.script,
        kind,
        stripped,
        libraries: closure.objects.len() - 1,
    });
    Ok(())
}

fn parts(closure: &closure::Closure) -> Vec<Part> {
    let objects = closure.objects.iter().enumerate();
    let mut parts: Vec<Part> = objects.flat_map(|(n, o)| cuda::parts(o, n == 0)).collect();
    parts.extend(closure.missing.iter().filter_map(|(name, _)| cuda::missing(name)));
    parts
}

fn kind_in_words(elf: &Elf) -> String {
    let kind = match elf.kind {
        Kind::Dynamic => "executable",
        Kind::Static => "executable without a loader",
        Kind::Library => "shared library",
        Kind::Other => "object file",
    };
    format!("{} {kind}", elf.machine)
}
