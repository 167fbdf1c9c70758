//! Findings as people read them.
//!
//! Must not know: how anything was found.

use std::fmt::Write;

use cushim_names::{Foreign as _, Name};

use super::cpu::{Cpu, Reason};
use super::cuda::{Part, What};
use super::findings::{Findings, Program, Verdict};
use super::hsa::Hsa;
use super::machine::Machine;

/// The whole report, ending in a newline.
pub fn text(findings: &Findings) -> String {
    let mut out = String::new();
    if let Some(program) = &findings.program {
        heading(&mut out, program);
        cuda(&mut out, &findings.cuda);
        features(&mut out, findings);
        section(
            &mut out,
            "What stands in the way",
            findings.obstacles.iter().map(|o| match o.blocks {
                true => (format!("BLOCKS  {}", o.name), o.why.clone()),
                false => (format!("partly  {}", o.name), o.why.clone()),
            }),
        );
        let interposers = findings.interposers.iter().map(|i| (i.file.clone(), i.why.clone()));
        section(&mut out, "Who else interposes", interposers);
    }
    if let Some(cpu) = &findings.cpu {
        on_cpu(&mut out, cpu);
    }
    if let Some(hsa) = &findings.hsa {
        amd(&mut out, hsa);
    }
    machine(&mut out, findings);
    let blocking = findings.obstacles.iter().filter(|o| o.blocks).map(|o| o.why.as_str());
    let blocking: Vec<&str> = blocking.collect();
    let _ = match blocking.as_slice() {
        [] => writeln!(out, "\nNothing blocks tracing."),
        why => writeln!(out, "\nTracing is blocked: {}.", why.join("; ")),
    };
    if let Some(cpu) = findings.cpu.as_ref().filter(|cpu| cpu.starts && cpu.runs < cpu.kernels) {
        let _ = writeln!(
            out,
            "The program starts on the CPU, but launches of {} of its {} kernels will fail.",
            cpu.kernels - cpu.runs,
            cpu.kernels
        );
    }
    out
}

fn amd(out: &mut String, hsa: &Hsa) {
    let runtime = hsa.runtime.as_ref().map(|path| path.shown().to_string());
    let mut lines = vec![("AMD's runtime".to_owned(), runtime.unwrap_or("not loaded".to_owned()))];
    let gpus = hsa.gpus.iter().enumerate();
    lines.extend(gpus.map(|(n, name)| (format!("GPU {n}"), name.clone())));
    lines.extend(hsa.failure.iter().map(|why| ("no GPU".to_owned(), why.clone())));
    section(out, "Backend hsa", lines.into_iter());
}

fn heading(out: &mut String, program: &Program) {
    if let Some(script) = &program.script {
        let _ = writeln!(out, "{} is a script for", script.shown());
    }
    let stripped = if program.stripped { "stripped" } else { "with symbols" };
    let count = match program.libraries {
        0 => "no libraries".to_owned(),
        1 => "1 library".to_owned(),
        n => format!("{n} libraries"),
    };
    let _ = writeln!(out, "{}: {}, {stripped}, {count}", program.path.shown(), program.kind);
}

fn cuda(out: &mut String, parts: &[Part]) {
    let _ = writeln!(out, "\nCUDA");
    if parts.is_empty() {
        let _ = writeln!(out, "  none in the program and the libraries that it is linked with");
    }
    for part in parts {
        let major = part.major.map_or("of unknown version".to_owned(), |m| m.to_string());
        let what = match part.what {
            What::SharedRuntime => format!("shared runtime {major}"),
            What::StaticRuntime => format!("static runtime {major}"),
            What::Driver => "driver, linked".to_owned(),
            What::DriverLoaded => "driver, loaded at run time".to_owned(),
            What::LlvmOffload => "LLVM offload".to_owned(),
            What::Hip => "AMD device code".to_owned(),
            What::DeviceCode => "device code".to_owned(),
        };
        let place = match part.in_program {
            true => "in the program".to_owned(),
            false if part.found => part.file.shown().to_string(),
            false => format!("{}, not found", part.file.shown()),
        };
        let stripped = match part.what {
            What::StaticRuntime if part.stripped => ", stripped",
            _ => "",
        };
        let code = match part.device_code {
            0 => String::new(),
            bytes if part.what == What::DeviceCode => format!(", {}", size(bytes)),
            bytes => format!(", {} of device code", size(bytes)),
        };
        let _ = writeln!(out, "  {what:<26} {place}{stripped}{code}");
    }
}

fn features(out: &mut String, findings: &Findings) {
    let _ = writeln!(out, "\nWhat cushim will see");
    let width = findings.features.iter().map(|f| f.name.len()).max().unwrap_or(0);
    let mut above = "";
    for feature in &findings.features {
        let verdict = match feature.verdict {
            Verdict::Yes => "yes",
            Verdict::Partly => "partly",
            Verdict::No => "no",
        };
        let why = if feature.why == above { "\"" } else { &feature.why };
        let _ = writeln!(out, "  {verdict:<6}  {:<width$}  {why}", feature.name);
        above = &feature.why;
    }
}

/// So many kernels of a kind are named; JSON has them all.
const NAMED: usize = 20;

fn on_cpu(out: &mut String, cpu: &Cpu) {
    let mut lines = Vec::new();
    lines.push(match cpu.starts {
        true => ("starts".to_owned(), "yes".to_owned()),
        false => ("starts".to_owned(), format!("no: {}", cpu.why.join("; "))),
    });
    let running = |runs: usize, all: usize| format!("{runs} of {all} run");
    lines.push(("kernels".to_owned(), running(cpu.runs, cpu.kernels)));
    for file in &cpu.files {
        let place = match file.in_program {
            true => "in the program".to_owned(),
            false => file.file.shown().to_string(),
        };
        let only = if file.machine_code_only { ", machine code only" } else { "" };
        let text =
            format!("{}; {}{only}", running(file.runs, file.kernels), file.images.join(", "));
        lines.push((place, text));
        lines
            .extend(file.problems.iter().map(|problem| ("unreadable".to_owned(), problem.clone())));
    }
    section(out, "On the CPU", lines.into_iter());
    let named = |reason: Reason| cpu.refused.iter().filter(move |refused| refused.reason == reason);
    for (reason, title) in [
        (Reason::Instruction, "Kernels with instructions that the CPU does not run"),
        (Reason::Undefined, "Kernels that call what no PTX defines"),
        (Reason::InvalidPtx, "Kernels whose PTX cannot be read"),
        (Reason::NoPtx, "Kernels without PTX"),
    ] {
        let count = named(reason).count();
        let shown = named(reason).take(NAMED).map(|refused| {
            let name = Name::new(&refused.kernel).short;
            let why = match (&refused.instruction, refused.line) {
                (Some(instruction), Some(line)) => {
                    format!("PTX line {line}: `{instruction}`: {}", refused.why)
                }
                _ => refused.why.clone(),
            };
            (name, why)
        });
        let rest = (count > NAMED).then(|| ("…".to_owned(), format!("{} more", count - NAMED)));
        section(out, title, shown.chain(rest));
    }
    let large = cpu.interpreted.iter().take(NAMED).map(|kernel| {
        let why =
            format!("{} {}, at most {} are compiled", kernel.found, kernel.what, kernel.limit);
        (Name::new(&kernel.kernel).short, why)
    });
    let rest = cpu.interpreted.len().saturating_sub(NAMED);
    let rest = (rest > 0).then(|| ("…".to_owned(), format!("{rest} more")));
    section(out, "Kernels too large to compile, which are interpreted (slow)", large.chain(rest));
    // For target regions the lines above say what to do.
    if named(Reason::NoPtx).any(|refused| !refused.why.ends_with(super::cpu::HOW)) {
        let _ = writeln!(
            out,
            "  (rebuild with -gencode arch=compute_75,code=compute_75 added, or supply PTX: --replace KERNEL=FILE.ptx)"
        );
    }
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = (String, String)>) {
    let foreign = |text: String| text.shown().text().into_owned();
    let lines: Vec<_> = lines.map(|(left, right)| (foreign(left), foreign(right))).collect();
    if lines.is_empty() {
        return;
    }
    let width = lines.iter().map(|(left, _)| left.len()).max().unwrap_or(0).min(40);
    let _ = writeln!(out, "\n{title}");
    for (left, right) in lines {
        let _ = writeln!(out, "  {left:<width$}  {right}");
    }
}

fn machine(out: &mut String, findings: &Findings) {
    let Machine { driver, gpus, devices, kernel_module, visible_devices, .. } = &findings.machine;
    let mut lines = Vec::new();
    let mut add = |left: &str, right: String| lines.push((left.to_owned(), right));
    let library = findings.library.as_ref();
    add("libcushim.so", library.map_or("not found".to_owned(), |p| p.shown().to_string()));
    if let Some(backends) = &findings.backends {
        let others = match &backends.missing {
            None => "driver and cpu are available".to_owned(),
            Some(missing) => format!("driver and cpu are not available: {missing}"),
        };
        add("--backend auto", format!("{}: {}; {others}", backends.auto, backends.why));
    }
    match driver {
        None => add("driver library", "libcuda.so.1 not found".to_owned()),
        Some(driver) => {
            let mut text = driver.path.shown().to_string();
            for (name, value) in [("", &driver.version), ("CUDA ", &driver.cuda)] {
                if let Some(value) = value {
                    let _ = write!(text, ", {name}{value}");
                }
            }
            match (driver.init, &driver.failure) {
                (_, Some(failure)) => _ = write!(text, "; it cannot be used: {failure}"),
                (Some(0), _) => {}
                (Some(code), _) => _ = write!(text, "; cuInit fails with {code}"),
                _ => {}
            }
            add("driver library", text);
        }
    }
    if !kernel_module.is_empty() {
        add("kernel module", kernel_module.clone());
    }
    match gpus.as_slice() {
        [] => add("GPUs", "none".to_owned()),
        gpus => gpus.iter().enumerate().for_each(|(n, gpu)| add(&format!("GPU {n}"), gpu.clone())),
    }
    if !devices.is_empty() {
        add("device files", devices.join(" "));
    }
    if let Some(devices) = visible_devices {
        add("CUDA_VISIBLE_DEVICES", format!("{devices:?}"));
    }
    let start = out.is_empty();
    section(out, "This machine", lines.into_iter());
    if start {
        out.remove(0);
    }
    let cpu = findings.backends.as_ref().is_some_and(|backends| backends.auto == "cpu");
    if let (false, Some(why)) = (cpu, findings.machine.obstacle()) {
        let _ = writeln!(out, "  ({why})");
    }
}

/// `12.3 MiB`.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
        if value < 1024.0 || unit == "GiB" {
            let digits = usize::from(unit != "bytes");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1024.0;
    }
    format!("{bytes} bytes")
}
