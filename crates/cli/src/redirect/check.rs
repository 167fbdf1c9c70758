//! `cushim redirect check`: what rules would match, and whether they could be applied.
//!
//! Must not know: how they are carried out.

use std::fmt::Write;

use cushim_image::inventory::ImageKind;
use cushim_image::{Limits, ParamLayout};
use cushim_names::Name;
use cushim_rules::{Action, Manifest, Names, Rule};

use super::CheckArgs;
use super::program::{self, Container};
use crate::images::HostFile;
use crate::{Error, Outcome};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Outcome {
    let limits = &Limits::DEFAULT;
    let manifest =
        Manifest::read(&args.manifest).map_err(|error| Error::Usage(error.to_string()))?;
    let mut containers = Vec::new();
    for path in &args.programs {
        let file = HostFile::open(path)?;
        containers.extend(program::containers(&file, path, limits));
    }
    let mut out = String::new();
    let mut well = true;
    for rule in &manifest.rules {
        well &= check(rule, &containers, limits, &mut out);
    }
    if manifest.rules.is_empty() {
        out += "the manifest has no rules\n";
    }
    crate::print(out.as_bytes())?;
    Ok(u8::from(!well))
}

/// Tells of one rule; whether it matches something and could be applied to all of it.
fn check(rule: &Rule, containers: &[Container], limits: &Limits, out: &mut String) -> bool {
    let _ = writeln!(out, "{}: {}", rule.name, action(rule));
    let theirs = match &rule.action {
        Action::Kernel { image, .. } | Action::Image { image } => match HostFile::open(image) {
            Ok(file) => {
                let theirs = program::containers(&file, image, limits);
                if let Some(why) = unusable(&file, limits) {
                    let _ = writeln!(out, "  CANNOT BE APPLIED: {}: {why}", image.display());
                    return false;
                }
                theirs
            }
            Err(error) => {
                let _ = writeln!(out, "  CANNOT BE APPLIED: {error}");
                return false;
            }
        },
        Action::Launch(_) | Action::Skip => Vec::new(),
    };
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
            match verdict(rule, symbol, layout, &theirs) {
                Ok(()) => out.push('\n'),
                Err(why) => {
                    well = false;
                    let _ = writeln!(out, ": CANNOT BE APPLIED: {why}");
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
    match &rule.action {
        Action::Kernel { image, kernel: Some(kernel), compare: None } => {
            format!("kernel {kernel} of {} instead of", image.display())
        }
        Action::Kernel { image, kernel: None, compare: None } => {
            format!("the kernel of the same name from {} instead of", image.display())
        }
        Action::Kernel { image, compare: Some(_), .. } => {
            format!("a kernel of {} beside, and what they write is compared, for", image.display())
        }
        Action::Image { image } => format!("{} instead of", image.display()),
        Action::Launch(_) => "another shape for launches of".to_owned(),
        Action::Skip => "no launches of".to_owned(),
    }
}

/// Whether the kernel can be replaced as the rule says.
fn verdict(
    rule: &Rule,
    symbol: &str,
    ours: &ParamLayout,
    theirs: &[Container],
) -> Result<(), String> {
    let Action::Kernel { image, kernel, .. } = &rule.action else { return Ok(()) };
    let wanted = kernel.as_deref().unwrap_or(symbol);
    let Some(layout) = theirs.iter().find_map(|container| container.kernels.get(wanted)) else {
        let all: Vec<&str> = theirs
            .iter()
            .flat_map(|container| container.kernels.keys())
            .map(String::as_str)
            .collect();
        let has = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        return Err(format!("{} has no kernel {wanted}; it has {has}", image.display()));
    };
    if layout == ours {
        return Ok(());
    }
    let shown = |layout: &ParamLayout| {
        let sizes: Vec<String> = layout.params.iter().map(|p| p.size.to_string()).collect();
        format!("{} parameters in {} bytes ({})", sizes.len(), layout.size, sizes.join(" "))
    };
    Err(format!(
        "it takes {}, and {wanted} of {} takes {}",
        shown(ours),
        image.display(),
        shown(layout)
    ))
}

/// Why NVIDIA's driver would not take the file.
fn unusable(file: &HostFile, limits: &Limits) -> Option<String> {
    let images = cushim_image::inventory::read(file.bytes(), limits).images;
    let usable = |kind| matches!(kind, ImageKind::Ptx | ImageKind::Cubin);
    if images.iter().any(|image| usable(image.kind)) {
        return None;
    }
    let kinds: Vec<String> =
        images.iter().map(|image| format!("{} for {}", image.kind, image.arch)).collect();
    Some(match kinds.is_empty() {
        true => "no PTX, cubin, fat binary or other device image".to_owned(),
        false => format!("it holds {}; expected PTX or a cubin", kinds.join(", ")),
    })
}
