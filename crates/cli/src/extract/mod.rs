//! `cushim extract FILE... -o DIR|-`: device images as files of their own.
//!
//! Owns: names of the files, which files may be overwritten, the index. Must not know: how images are found.

mod write;

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use cushim_image::Limits;
use cushim_image::inventory::ImageKind;

use crate::Error;
use crate::images::{self, Chosen, Cost, Filter, HostFile, Numbered, SelectArgs, Which, file};
use cushim_names::Foreign as _;

/// Write device images to files
#[derive(clap::Args, Debug)]
pub struct ExtractArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Folder for the images and index.json; made where it is missing. `-` prints the images
    #[arg(short, long, value_name = "DIR|-")]
    output: PathBuf,

    /// Overwrite files that are there
    #[arg(short, long)]
    force: bool,
}

/// An opened file with the folder that its images go to, relative to the output folder.
struct Input {
    host: HostFile,
    folder: PathBuf,
}

/// Runs the command. Exit code 1: something could not be read, or there was nothing to extract.
pub fn run(args: ExtractArgs) -> crate::Outcome {
    let filter = args.select.filter()?;
    images::start_workers();
    let limits = Limits::from(&args.select.limits);
    let inputs = open(&args.select.files, &filter, &limits)?;
    let chosen: Vec<(&Input, Chosen<'_>)> =
        inputs.iter().map(|input| (input, images::choose(&input.host, &filter, &limits))).collect();
    let mut failed = false;
    for (input, found) in &chosen {
        let path = input.host.path().shown();
        for problem in &found.rest.problems {
            crate::complain(&format!("{path}: {}: {}", problem.trail, problem.error));
            failed = true;
        }
        if found.images.is_empty() && found.rest.problems.is_empty() {
            crate::complain(&format!("{path}: no device code that matches the options"));
            failed = true;
        }
    }
    if args.output == Path::new("-") {
        failed |= print(&chosen, &limits)?;
    } else if chosen.iter().any(|(_, found)| !found.images.is_empty()) {
        failed |= write::write(&args.output, args.force, &chosen, &limits)?;
    }
    Ok(u8::from(failed))
}

/// Opens the files that hold images, and gives each a folder: none for a single file, else its
/// name, with a number where that is taken.
fn open(paths: &[PathBuf], filter: &Filter, limits: &Limits) -> Result<Vec<Input>, Error> {
    let mut hosts = Vec::new();
    for source in file::sources(paths)? {
        let host = HostFile::open(&source.path)?;
        // In a searched folder, only files with images count.
        if source.named || !images::choose(&host, filter, limits).images.is_empty() {
            hosts.push(host);
        }
    }
    if hosts.len() == 1 {
        return Ok(hosts.into_iter().map(|host| Input { host, folder: PathBuf::new() }).collect());
    }
    let mut taken = HashSet::new();
    let mut inputs = Vec::new();
    for host in hosts {
        let name = host.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = std::iter::once(name.clone())
            .chain((2..).map(|number| format!("{name}-{number}")))
            .find(|folder| taken.insert(folder.clone()))
            .unwrap_or(name);
        inputs.push(Input { host, folder: folder.into() });
    }
    Ok(inputs)
}

/// `12.sm_90a.cubin`: the number that `ls` shows, the architecture, the usual suffix.
fn file_name(numbered: &Numbered<'_>) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let arch: String = numbered.image.arch.to_string().chars().map(safe).collect();
    let suffix = numbered.image.kind.extension();
    match arch.as_str() {
        "-" | "" => format!("{}.{suffix}", numbered.number),
        arch => format!("{}.{arch}.{suffix}", numbered.number),
    }
}

/// Prints the images one after another; returns whether one could not be read.
fn print(chosen: &[(&Input, Chosen<'_>)], limits: &Limits) -> Result<bool, Error> {
    let images = || chosen.iter().flat_map(|(_, found)| &found.images);
    let binary = images().filter(|numbered| numbered.image.kind != ImageKind::Ptx).count();
    if binary > 0 && images().count() > 1 {
        return Err(Error::Usage(format!(
            "-o - prints PTX images, or one image of another kind; found {} images, {binary} of them not \
             PTX; choose with --kind, --arch or -k",
            images().count()
        )));
    }
    let stdout = std::io::stdout();
    if binary > 0 && stdout.is_terminal() {
        return Err(Error::Usage("refusing to print machine code to a terminal".into()));
    }
    let mut failed = false;
    let mut out = stdout.lock();
    let costs = chosen.iter().flat_map(|(input, found)| {
        let mut cost = Cost::new(input.host.bytes().len(), limits);
        found.images.iter().map(move |n| (n, cost.charge(&n.image, Which::All, limits)))
    });
    for (numbered, allowed) in costs {
        match allowed.and_then(|()| numbered.image.with_bytes(limits, |bytes| out.write_all(bytes)))
        {
            Ok(written) => written.map_err(crate::view::output)?,
            Err(error) => {
                crate::complain(&format!("{}: {error}", numbered.image.trail));
                failed = true;
            }
        }
    }
    out.flush().map_err(crate::view::output)?;
    Ok(failed)
}
