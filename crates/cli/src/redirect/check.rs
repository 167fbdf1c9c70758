//! `cushim redirect check`: what rules would match, and whether they could be applied.
//!
//! Must not know: how they are carried out.

use std::fmt::Write;
use std::path::PathBuf;

use cushim_bind::{Part, serve};
use cushim_image::inventory::{Image, ImageKind};
use cushim_image::{Arch, Limits, ParamLayout};
use cushim_manifest::Manifest;
use cushim_names::{Foreign as _, Name};
use cushim_rules::{Action, Names, Rule};

use super::program::{self, Container};
use crate::images::{HostFile, LimitArgs};
use crate::{Error, Outcome};

/// Arguments of `cushim redirect check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The manifest
    manifest: PathBuf,
    /// Programs and libraries, as they would be loaded
    #[arg(required = true)]
    programs: Vec<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Runs the command.
pub fn run(args: &CheckArgs) -> Outcome {
    let limits = &Limits::from(&args.limits);
    let manifest = Manifest::read(&args.manifest)
        .map_err(|error| Error::Usage(error.to_string().shown().to_string()))?;
    let mut containers = Vec::new();
    for path in &args.programs {
        let file = HostFile::open(path)?;
        containers.extend(program::containers(&file, path, limits)?);
    }
    let mut out = String::new();
    let mut well = true;
    for rule in &manifest.rules {
        well &= check(rule, &containers, limits, &mut out);
    }
    if manifest.rules.is_empty() {
        out += "the manifest has no rules\n";
    }
    crate::print(cushim_names::lines(&out).as_bytes())?;
    Ok(u8::from(!well))
}

/// Reports on one rule; returns whether it matches something and could be applied to all of it.
fn check(rule: &Rule, containers: &[Container], limits: &Limits, out: &mut String) -> bool {
    let _ = writeln!(out, "{}: {}", rule.name, action(rule));
    let mut theirs = Vec::new();
    let mut parts = Vec::new();
    let mut unusable = Vec::new();
    for image in rule.action.images() {
        let file = match HostFile::open(image) {
            Ok(file) => file,
            Err(error) => {
                let _ = writeln!(out, "  cannot be applied: {error}");
                return false;
            }
        };
        let read = program::images(&file, image, limits)
            .and_then(|images| Ok((images, program::containers(&file, image, limits)?)));
        let (images, containers) = match read {
            Ok(read) => read,
            Err(error) => {
                let _ = writeln!(out, "  cannot be applied: {error}");
                return false;
            }
        };
        unusable.extend(why_not(&images).map(|why| format!("{}: {why}", image.shown())));
        theirs.extend(containers);
        parts.extend(code(images, limits));
    }
    if !unusable.is_empty() && unusable.len() == rule.action.images().len() {
        let _ = writeln!(out, "  cannot be applied: {}", unusable.join("; "));
        return false;
    }
    let (mut well, mut matched) = (true, 0);
    for container in containers.iter().filter(|container| rule.matching.image(*container)) {
        let named = |symbol: &str| {
            let name = Name::new(symbol);
            rule.matching.names(Names { mangled: symbol, full: &name.full, short: &name.short })
        };
        let kernels = container.kernels.iter().filter(|(symbol, _)| named(symbol));
        if let Action::Image { .. } = rule.action {
            if rule.matching.kernel.is_none() || kernels.clone().next().is_some() {
                matched += 1;
                let _ = writeln!(
                    out,
                    "  an image of {} with {} kernels",
                    container.owner,
                    container.kernels.len()
                );
            }
            continue;
        }
        for (symbol, layout) in kernels {
            matched += 1;
            let _ = write!(out, "  {} of {}", Name::new(symbol).full, container.owner);
            let verdict = verdict(rule, symbol, layout, &theirs)
                .and_then(|()| variables(rule, container, &parts));
            match verdict {
                Ok(said) => out.push_str(&said),
                Err(why) => {
                    well = false;
                    let _ = writeln!(out, ": cannot be applied: {why}");
                }
            }
        }
    }
    if matched == 0 {
        let _ = writeln!(out, "  matches nothing");
    }
    well && matched > 0
}

fn action(rule: &Rule) -> String {
    let files = files(rule);
    match &rule.action {
        Action::Kernel { kernel: Some(kernel), compare: None, .. } => {
            format!("run kernel {kernel} of {files} instead of")
        }
        Action::Kernel { kernel: None, compare: None, .. } => {
            format!("run the kernel of the same name from {files} instead of")
        }
        Action::Kernel { compare: Some(_), .. } => {
            format!("also run a kernel of {files} and compare what both write, for")
        }
        Action::Image { .. } => format!("load {files} instead of"),
        Action::Launch(_) => "change the launch shape of".to_owned(),
        Action::Skip => "skip launches of".to_owned(),
    }
}

/// Whether the kernel can be replaced as the rule says.
fn verdict(
    rule: &Rule,
    symbol: &str,
    ours: &ParamLayout,
    theirs: &[Container],
) -> Result<(), String> {
    let Action::Kernel { kernel, .. } = &rule.action else { return Ok(()) };
    let wanted = kernel.as_deref().unwrap_or(symbol);
    let Some(layout) = theirs.iter().find_map(|container| container.kernels.get(wanted)) else {
        let all: Vec<&str> = theirs
            .iter()
            .flat_map(|container| container.kernels.keys())
            .map(String::as_str)
            .collect();
        let has = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        return Err(format!("{} has no kernel {wanted}; it has {has}", files(rule)));
    };
    if layout == ours {
        return Ok(());
    }
    let shown = |layout: &ParamLayout| {
        let sizes: Vec<String> = layout.params.iter().map(|p| p.size.to_string()).collect();
        format!("{} parameters in {} bytes ({})", sizes.len(), layout.size, sizes.join(" "))
    };
    Err(format!(
        "it takes {}, but {wanted} of {} takes {}",
        shown(ours),
        files(rule),
        shown(layout)
    ))
}

/// How the replacement's variables are treated, in lines.
fn variables(
    rule: &Rule,
    container: &Container,
    parts: &[(bool, Vec<u8>)],
) -> Result<String, String> {
    let Action::Kernel { own, .. } = &rule.action else { return Ok("\n".to_owned()) };
    let parts = parts.iter().map(|(is_ptx, bytes)| Part { is_ptx: *is_ptx, bytes });
    let parts: Vec<Part<'_>> = parts.collect();
    let service = serve(&parts, || container.variables.clone(), own)
        .map_err(|why| format!("{}: {why}", files(rule)))?;
    let mut said = String::from("\n");
    for bound in &service.bound {
        let size = match bound.size {
            0 => "as many bytes as the program's".to_owned(),
            size => format!("{size} bytes"),
        };
        let _ = writeln!(said, "    {} is the program's ({size} in {})", bound.name, bound.space);
    }
    for name in &service.own {
        let _ = writeln!(said, "    {name} is its own");
    }
    Ok(said)
}

/// The images of a file that NVIDIA's driver runs: whether they are PTX, and their bytes.
fn code(images: Vec<Image<'_>>, limits: &Limits) -> Vec<(bool, Vec<u8>)> {
    let images = images.into_iter().filter(|i| matches!(i.kind, ImageKind::Ptx | ImageKind::Cubin));
    images
        .filter_map(|image| {
            let bytes = image.with_bytes(limits, <[u8]>::to_vec).ok()?;
            Some((image.kind == ImageKind::Ptx, bytes))
        })
        .collect()
}

/// The files of a rule, in words.
fn files(rule: &Rule) -> String {
    let files = rule.action.images().iter().map(|file| file.shown().to_string());
    files.collect::<Vec<_>>().join(" or ")
}

/// Why NVIDIA's driver would refuse the file.
fn why_not(images: &[Image<'_>]) -> Option<String> {
    let usable = |kind| matches!(kind, ImageKind::Ptx | ImageKind::Cubin);
    if images.iter().any(|image| usable(image.kind)) {
        return None;
    }
    let kinds: Vec<String> =
        images.iter().map(|image| format!("{} for {}", image.kind, image.arch)).collect();
    let foreign = images.iter().any(|image| !matches!(image.arch, Arch::Sm(..)));
    Some(match (kinds.is_empty(), foreign) {
        (true, _) => "no PTX, cubin, fat binary or other device image".to_owned(),
        (_, true) => {
            format!("it contains {}, which only backend hsa can launch", kinds.join(", "))
        }
        _ => format!("it contains {}; expected PTX or a cubin", kinds.join(", ")),
    })
}
