//! `ptxas`: reads PTX and writes PTX, where NVIDIA's writes machine code.
//!
//! The CPU backend compiles PTX, and every driver accepts PTX text where it accepts a cubin. So a program that calls
//! ptxas (Triton, XLA) gets its own text back, checked: invalid PTX is refused here, with the line, as ptxas does.
//!
//! Owns: input and output, and the messages. Must not know: what instructions mean.

mod options;
mod usage;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use cushim_ptx::ir;

use self::options::Options;
use super::nvcc;
use super::words::{say, text};

/// ptxas's exit status when it fails.
const FAILURE: u8 = 255;
const ABORTED: &str = "Ptx assembly aborted due to errors";

/// Programs look for `release N.N` and write PTX for that release: 12.9 is the last one that all of
/// today's programs know.
const VERSION: &str = concat!(
    "ptxas: cushim ",
    env!("CARGO_PKG_VERSION"),
    ", in the place of NVIDIA's assembler: PTX is checked and kept\n\
     Cuda compilation tools, release 12.9, V12.9.0\n"
);
const HELP: &str = "\
Usage  : ptxas [options] <ptx file>

This is cushim's stand-in for NVIDIA's ptxas: it checks PTX and writes it as it is, for the backend cpu, which compiles
PTX. It takes the options of ptxas; those about machine code mean nothing here.

--compile-only (-c)            functions and variables may be defined elsewhere
--fmad <true|false>            false: no product and sum are fused
--gpu-name (-arch) <gpu>       a GPU for which the PTX must be, or a later one
--input-as-string (-ias) <ptx> PTX instead of a file
--output-file (-o) <file>      where it is written; default: elf.o
--verbose (-v)                 print what kernels use
--version (-V)                 print the version
`cushim run --no-ptxas-stand-in` leaves NVIDIA's in its place.
";

/// Why it failed.
enum Failure {
    /// The line behind `ptxas fatal   : `.
    Fatal(String),
    /// Lines printed before that, with the file and line of each.
    Text(String),
}

/// Does what the command line says.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    nvcc::hand_over("ptxas", &arguments);
    match work(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (before, fatal) = match failure {
                Failure::Fatal(fatal) => (String::new(), fatal),
                Failure::Text(lines) => (lines, ABORTED.to_owned()),
            };
            say(&format!("{before}ptxas fatal   : {fatal}\n"));
            ExitCode::from(FAILURE)
        }
    }
}

fn work(arguments: Vec<OsString>) -> Result<(), Failure> {
    let options = Options::read(arguments.iter().map(|word| text(word))).map_err(Failure::Fatal)?;
    for (asked, answer) in [(options.version, VERSION), (options.help, HELP)] {
        if asked {
            // A closed output is no error: the reader has read enough.
            let _ = std::io::stdout().lock().write_all(answer.as_bytes());
            return Ok(());
        }
    }
    let (name, text) = input(&options)?;
    let tree = cushim_ptx::parse(&text).map_err(|error| at(&name, &error, "fatal  "))?;
    let module = cushim_ptx::check(&tree).map_err(|error| at(&name, &error, "error  "))?;
    fits(&module, &options)?;
    if options.verbose {
        say(&usage::report(&module, options.gpu.as_deref().unwrap_or("sm_52")));
    }
    let out = if options.no_fmad { cushim_ptx::unfused(&text, &tree) } else { text.clone() };
    // A virtual target's name asks for a check alone.
    if options.gpu.as_deref().is_some_and(|gpu| gpu.starts_with("compute_")) {
        return Ok(());
    }
    let path = options.output.as_deref().unwrap_or(Path::new("elf.o"));
    write(path, out)
}

/// The name for messages, and the text.
fn input(options: &Options) -> Result<(String, String), Failure> {
    let bytes = match (options.inputs.as_slice(), options.strings.as_slice()) {
        ([], []) => {
            let none = "No input files specified; use option --help for more information";
            return Err(Failure::Fatal(none.to_owned()));
        }
        ([], [text]) => (String::from("<string>"), text.clone().into_bytes()),
        ([name], []) => {
            let mut bytes = Vec::new();
            let read = match name.as_str() {
                "-" => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
                _ => std::fs::read(name).map(|found| bytes = found),
            };
            if read.is_err() {
                let what = format!("Input file '{name}' could not be opened");
                return Err(Failure::Text(format!("ptxas fatal   : {what}\n")));
            }
            (name.clone(), bytes)
        }
        _ => {
            let several = "Several inputs: cushim's stand-in takes one";
            return Err(Failure::Fatal(several.to_owned()));
        }
    };
    // PTX ends at a zero byte, as the driver reads it.
    let end = bytes.1.iter().position(|byte| *byte == 0).unwrap_or(bytes.1.len());
    let text = String::from_utf8(bytes.1.get(..end).unwrap_or_default().to_vec());
    let text = text.map_err(|_| Failure::Fatal(format!("'{}' is no text", bytes.0)))?;
    Ok((bytes.0, text))
}

/// The line about one fault.
fn at(name: &str, error: &cushim_ptx::Error, level: &str) -> Failure {
    let reason = error.to_string();
    let reason = reason.split_once(": ").map_or(reason.as_str(), |(_, reason)| reason);
    Failure::Text(format!("ptxas {name}, line {}; {level} : {reason}\n", error.pos().line))
}

/// Whether the requested GPU can run this code at all, and everything in it is defined.
fn fits(module: &ir::Module, options: &Options) -> Result<(), Failure> {
    if module.sm > options.sm() {
        let higher = "SM version specified by .target is higher than default SM version assumed";
        return Err(Failure::Fatal(higher.to_owned()));
    }
    if options.relocatable {
        return Ok(());
    }
    let kernels = (0u32..).zip(&module.functions).filter(|(_, f)| f.entry && f.defined);
    let missing = kernels.filter_map(|(number, _)| module.undefined(number)).next();
    match missing {
        Some(name) => Err(Failure::Fatal(format!("Unresolved extern function '{name}'"))),
        None => Ok(()),
    }
}

/// Writes the text with the zero byte that a driver needs at its end.
fn write(path: &Path, mut out: String) -> Result<(), Failure> {
    out.push('\0');
    std::fs::write(path, out).map_err(|error| {
        Failure::Fatal(format!("Could not open output file '{}': {error}", path.display()))
    })
}
