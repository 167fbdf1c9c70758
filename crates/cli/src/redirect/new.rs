//! `cushim redirect new`: a first manifest and a kernel's PTX.
//!
//! Must not know: how rules are read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cushim_image::Limits;
use cushim_image::inventory::{Image, ImageKind};
use cushim_names::{Foreign as _, Name};
use cushim_trace::private::Folder;
use regex_lite::Regex;

use super::program;
use crate::images::{HostFile, LimitArgs};
use crate::{Error, Outcome};

/// Arguments of `cushim redirect new`.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// The program or library that holds the kernel
    program: PathBuf,
    /// The kernel: a regular expression over its symbol and names, which must mean one kernel
    kernel: String,
    /// Write into DIR
    #[arg(short, long, value_name = "DIR", default_value = "redirect")]
    output: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub fn run(args: &NewArgs) -> Outcome {
    let limits = &Limits::from(&args.limits);
    let file = HostFile::open(&args.program)?;
    let images = program::images(&file, &args.program, limits)?;
    let symbol = one(args, &images, limits)?;
    let ptx =
        newest(&images, &symbol, limits).ok_or_else(|| no_ptx(args, &images, &symbol, limits))?;
    let text = ptx
        .with_bytes(limits, <[u8]>::to_vec)
        .map_err(|e| Error::Usage(format!("{}: {e}", args.program.shown())))?;
    let name = Name::new(&symbol);
    let image = format!("{}.ptx", file_name(&name.short));
    let folder =
        Folder::make(&args.output).map_err(|e| Error::io("make the folder", &args.output, e))?;
    let manifest = args.output.join("redirect.toml");
    write(&folder, &manifest, manifest_text(&name, &image, args).as_bytes())?;
    let kernel = args.output.join(&image);
    if let Err(error) = write(&folder, &kernel, &text) {
        let _ = fs::remove_file(&manifest);
        return Err(error);
    }
    let others = program::kernels(ptx, limits).len() - 1;
    let mut said = format!(
        "{}: the manifest\n{}: PTX of {} ({}), to edit\n",
        manifest.shown(),
        kernel.shown(),
        name.full,
        ptx.arch.to_string().replace("sm_", "compute_"),
    );
    if others > 0 {
        said += &format!(
            "It also contains {others} other kernels of the same source file, which are not used.\n"
        );
    }
    let bound = cushim_bind::variables(&text).unwrap_or_default();
    let bound = bound.into_iter().filter(|v| !v.literal && !v.reference).map(|v| v.name);
    let bound: Vec<String> = bound.collect();
    if !bound.is_empty() {
        said += &format!(
            "Its variables stay the program's: {}. To give one storage of its own, add own = ['NAME'] to the rule.\n",
            bound.join(", ")
        );
    }
    said += &format!("Next: cushim run --redirect {} {}\n", manifest.shown(), args.program.shown());
    crate::print(cushim_names::lines(&said).as_bytes())?;
    Ok(0)
}

/// The one kernel that the expression matches; a full symbol or name matches itself only.
fn one(args: &NewArgs, images: &[Image<'_>], limits: &Limits) -> Result<String, Error> {
    let regex = Regex::new(&args.kernel)
        .map_err(|e| Error::Usage(format!("{:?} is not a regular expression: {e}", args.kernel)))?;
    let mut found: BTreeMap<String, Name> = BTreeMap::new();
    for image in images {
        for kernel in program::kernels(image, limits) {
            found.entry(kernel.name.clone()).or_insert_with(|| Name::new(&kernel.name));
        }
    }
    let all = found.len();
    let exact = |name: &Name| [&name.mangled, &name.full, &name.short].contains(&&args.kernel);
    let matching =
        |name: &Name| [&name.mangled, &name.full, &name.short].iter().any(|n| regex.is_match(n));
    let exactly: Vec<&Name> = found.values().filter(|name| exact(name)).collect();
    let chosen = match exactly.is_empty() {
        false => exactly,
        true => found.values().filter(|name| matching(name)).collect(),
    };
    let program = args.program.shown();
    match chosen.as_slice() {
        [one] => Ok(one.mangled.clone()),
        [] if all == 0 => Err(Error::Usage(format!("{program}: it has no kernels"))),
        [] => Err(Error::Usage(format!(
            "{program}: none of its {all} kernels is called {:?}; `cushim ls --kernels {program}` lists them",
            args.kernel
        ))),
        many => {
            let mut names: Vec<&str> = many.iter().take(8).map(|name| name.full.as_str()).collect();
            if many.len() > names.len() {
                names.push("…");
            }
            Err(Error::Usage(format!(
                "{:?} matches {} kernels of {program}; give one in full: {}",
                args.kernel,
                many.len(),
                names.join("; ")
            )))
        }
    }
}

/// The PTX for the newest architecture that defines the kernel.
fn newest<'a, 'b>(images: &'a [Image<'b>], symbol: &str, limits: &Limits) -> Option<&'a Image<'b>> {
    let holds = |image: &&Image<'_>| {
        image.kind == ImageKind::Ptx
            && program::kernels(image, limits).iter().any(|kernel| kernel.name == symbol)
    };
    images.iter().filter(holds).max_by(|a, b| a.arch.cmp(&b.arch))
}

fn no_ptx(args: &NewArgs, images: &[Image<'_>], symbol: &str, limits: &Limits) -> Error {
    let holds = |image: &&Image<'_>| {
        program::kernels(image, limits).iter().any(|kernel| kernel.name == symbol)
    };
    let found: Vec<String> =
        images.iter().filter(holds).map(|i| format!("{} for {}", i.kind, i.arch)).collect();
    Error::Usage(format!(
        "{}: {} has no PTX to edit, only {}; write a replacement in CUDA with the same name and \
         parameters, and compile it with nvcc -ptx or -cubin",
        args.program.shown(),
        Name::new(symbol).full,
        found.join(", ")
    ))
}

fn manifest_text(name: &Name, image: &str, args: &NewArgs) -> String {
    let exact = format!("^{}$", regex_lite::escape(&name.mangled));
    format!(
        "# {full}\n# of {program}\n\n[[redirect]]\nname  = {name}\nmatch = {{ kernel = {exact} }}\nimage = {image}\n",
        full = name.full,
        program = args.program.shown().to_string().replace('\n', " "),
        name = toml_text(&name.short),
        exact = toml_text(&exact),
        image = toml_text(image),
    )
}

/// A TOML string: literal between single quotes where possible, else escaped.
fn toml_text(text: &str) -> String {
    if text.chars().all(|c| c != '\'' && !c.is_control()) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A kernel's short name as a file's.
fn file_name(short: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = short.chars().map(kept).take(80).collect();
    if name.is_empty() { "kernel".to_owned() } else { name }
}

/// Writes a new file; fails where it exists, as it may have been edited.
fn write(folder: &Folder, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let file = folder.create(path.file_name().unwrap_or_default());
    let written = file.and_then(|mut file| file.write_all(bytes));
    written.map_err(|e| Error::io("write", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names() {
        assert_eq!(toml_text("a\\b"), "'a\\b'");
        assert_eq!(toml_text("it's"), "\"it's\"");
        assert_eq!(file_name("add<int, 3>::x"), "add_int__3___x");
        assert_eq!(file_name(""), "kernel");
    }
}
