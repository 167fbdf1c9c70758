//! `cushim translate FILE --target gfx90a -o out.hipfb`: translates the PTX of a file to code for AMD GPUs.
//!
//! Owns: which PTX of a file is translated, and the resulting bundle. Must not know: how code is generated.

use std::path::{Path, PathBuf};

use cushim_image::inventory::{Image, ImageKind};
use cushim_image::{Limits, bundle};
use cushim_names::Foreign as _;
use cushim_translate::{Cache, Compiler, Target, module, translate};

use crate::Error;
use crate::images::{self, Filter, HostFile};

/// Translate PTX kernels for AMD GPUs (experimental)
#[derive(clap::Args, Debug)]
#[command(after_long_help = AFTER)]
pub struct TranslateArgs {
    /// PTX text, or a program, library, object or fat binary that holds PTX
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The GPUs to translate for, as LLVM names them
    #[arg(long, value_name = "GPU", value_delimiter = ',', required = true)]
    target: Vec<String>,

    /// Write the bundle of code objects to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Of several PTX images translate this one, by the number that `cushim ls` shows
    #[arg(long, value_name = "N")]
    image: Option<usize>,

    /// Fail if a kernel is not translated; by default, write the others
    #[arg(long)]
    strict: bool,
}

const AFTER: &str = "\
A clang with AMD's targets makes the code: $CUSHIM_CLANG, clang in $PATH, or ROCm's. What it made is kept in \
$CUSHIM_CACHE_DIR, else ~/.cache/cushim.

Of a file with several PTX images of the same source, the newest architecture is taken. Kernels that cannot be \
translated are named with the line of PTX that is the reason.";

/// Runs the command. Exit code 1: a kernel was not translated, and `--strict` is given, or none was.
pub fn run(args: TranslateArgs) -> crate::Outcome {
    let mut targets = Vec::new();
    for name in &args.target {
        let target = Target::from_name(name);
        let unknown =
            || Error::Usage(format!("--target: found {name:?}, expected a GPU such as gfx90a"));
        targets.push(target.ok_or_else(unknown)?);
    }
    let text = text(&args)?;
    let path = args.file.shown();
    let module = module(&text).map_err(|e| Error::Usage(format!("{path}: PTX {e}")))?;
    let cache = cache();
    let compiler = Compiler::find(cache.as_ref()).map_err(|e| Error::Usage(e.to_string()))?;
    let (mut objects, mut refused) = (Vec::new(), 0);
    for target in &targets {
        let made = translate(&module, target, &compiler, cache.as_ref());
        let made = made.map_err(|e| Error::Usage(e.to_string()))?;
        for refusal in &made.refused {
            crate::complain(&format!("{path}: {}: not translated: {refusal}", target.name()));
        }
        refused += made.refused.len();
        if let Some(object) = made.object {
            objects.push((format!("hipv4-amdgcn-amd-amdhsa--{}", target.name()), object));
        }
    }
    if objects.len() < targets.len() || args.strict && refused > 0 {
        let what = if refused > 0 { "kernels were not translated" } else { "there are no kernels" };
        crate::complain(&format!("{path}: {what}; nothing was written"));
        return Ok(1);
    }
    let images: Vec<(String, &[u8])> =
        objects.iter().map(|(id, object)| (id.clone(), object.as_slice())).collect();
    let out = bundle::write(&images);
    std::fs::write(&args.output, out).map_err(|e| Error::io("write", &args.output, e))?;
    Ok(0)
}

/// The folder of cached code, the same as for programs that run.
fn cache() -> Option<Cache> {
    let off = std::env::var_os("CUSHIM_CACHE").unwrap_or_default();
    if ["0", "no", "off", "false"].contains(&off.to_string_lossy().to_lowercase().as_str()) {
        return None;
    }
    let named = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = named("CUSHIM_CACHE_DIR")
        .or_else(|| named("XDG_CACHE_HOME").map(|home| home.join("cushim")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/cushim")))?;
    Some(Cache::at(&folder))
}

/// The chosen PTX.
fn text(args: &TranslateArgs) -> Result<String, Error> {
    let host = HostFile::open(&args.file)?;
    let limits = Limits::DEFAULT;
    let chosen = images::choose(&host, &Filter::default(), &limits);
    let ptx = chosen.images.iter().filter(|n| n.image.kind == ImageKind::Ptx);
    let ptx = ptx.filter(|n| args.image.is_none_or(|wanted| wanted == n.number));
    let newest = ptx.max_by_key(|n| architecture(&n.image));
    let Some(found) = newest else {
        return Err(nothing(&args.file, args.image));
    };
    let bytes = found.image.with_bytes(&limits, <[u8]>::to_vec);
    let bytes = bytes.map_err(|e| Error::Usage(format!("{}: {e}", args.file.shown())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number of an image's architecture.
fn architecture(image: &Image<'_>) -> u32 {
    let name = image.arch.to_string();
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn nothing(path: &Path, number: Option<usize>) -> Error {
    let which = number.map_or(String::new(), |n| format!(" with the number {n}"));
    Error::Usage(format!("{}: found no PTX image{which}, expected one", path.shown()))
}
