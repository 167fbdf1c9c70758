//! Findings as text for people.
//!
//! Must not know: how anything was found.

use std::fmt::Write;
use std::path::Path;

use cushim_analysis::NameForm;
use cushim_names::{Foreign as _, Name, elide};

use super::cpu::{Cpu, Reason};
use super::cuda::{Part, What};
use super::findings::{Findings, Program};
use super::hsa::Hsa;
use super::machine::Machine;
use super::observed::{Library, Run};
use super::verdict::Verdict;

/// How much is shown, and how.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Everything, not a summary.
    pub verbose: bool,
    /// How kernels are named.
    pub names: NameForm,
    /// Columns; `None`: nothing is shortened.
    pub width: Option<usize>,
}

/// The whole report, ending in a newline.
pub fn text(findings: &Findings, how: &How) -> String {
    let mut out = String::new();
    if let Some(run) = &findings.run {
        observed(&mut out, run, how);
        machine(&mut out, findings);
        return out;
    }
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
        on_cpu(&mut out, cpu, how);
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
        let verdict = feature.verdict.word();
        let why = if feature.why == above { "\"" } else { &feature.why };
        let _ = writeln!(out, "  {verdict:<6}  {:<width$}  {why}", feature.name);
        above = &feature.why;
    }
}

/// How many kernels of a kind a summary names.
const NAMED: usize = 3;
/// The least columns for a name.
const NAME_MIN: usize = 24;

impl How {
    /// A kernel's name, with `fixed` columns beside it.
    fn name(&self, mangled: &str, fixed: usize) -> String {
        let name = Name::new(mangled);
        match (self.names, self.width) {
            (NameForm::Full, _) => name.full,
            (NameForm::Mangled, _) => mangled.to_owned(),
            (NameForm::Short, None) => name.short,
            (NameForm::Short, Some(width)) => {
                elide(&name.short, width.saturating_sub(fixed).max(NAME_MIN), "…")
            }
        }
    }

    /// How many of `count` are named, and the line for the others.
    fn named(&self, count: usize) -> (usize, Option<(String, String)>) {
        let named = if self.verbose { count } else { count.min(NAMED) };
        let rest = count - named;
        (named, (rest > 0).then(|| ("…".to_owned(), format!("{rest} more (-v names them)"))))
    }
}

/// What LLVM's code brings, as docs/results/performance.md has it.
const GAIN: &str = "1.3 to 1.6 times as fast over the kernels of scripts/bench-cpu";

fn on_cpu(out: &mut String, cpu: &Cpu, how: &How) {
    let mut lines = Vec::new();
    lines.push(match cpu.starts {
        true => ("starts".to_owned(), "yes".to_owned()),
        false => ("starts".to_owned(), format!("no: {}", cpu.why.join("; "))),
    });
    let running = |runs: usize, all: usize| format!("{runs} of {all} run");
    lines.push(("kernels".to_owned(), running(cpu.runs, cpu.kernels)));
    if let Some(llvm) = &cpu.llvm {
        let text = match (&llvm.version, &llvm.why) {
            (Some(version), _) => {
                let file = llvm.file.as_deref().unwrap_or_default();
                let (takes, asked) = (llvm.takes, llvm.asked);
                format!(
                    "version {version}, {file}: may take {takes} of {asked} kernels where they run for long; {GAIN}"
                )
            }
            (None, why) => {
                let why = why.as_deref().unwrap_or_default();
                format!("not used: {why}; with it, kernels that run for long may be faster: {GAIN}")
            }
        };
        lines.push(("LLVM".to_owned(), text));
    }
    for file in &cpu.files {
        let place = match file.in_program {
            true => "in the program".to_owned(),
            false => file.file.shown().to_string(),
        };
        let only = if file.machine_code_only { ", machine code only" } else { "" };
        let text =
            format!("{}; {}{only}", running(file.runs, file.kernels), file.images.join(", "));
        lines.push((place, text));
        let (named, rest) = how.named(file.problems.len());
        let problems = file.problems.iter().take(named);
        lines.extend(problems.map(|problem| ("unreadable".to_owned(), problem.clone())));
        lines.extend(rest);
    }
    section(out, "On the CPU", lines.into_iter());
    let refused =
        |reason: Reason| cpu.refused.iter().filter(move |refused| refused.reason == reason);
    for (reason, title) in [
        (Reason::Instruction, "Kernels with instructions that the CPU does not run"),
        (Reason::Undefined, "Kernels that call what no PTX defines"),
        (Reason::InvalidPtx, "Kernels whose PTX cannot be read"),
        (Reason::NoPtx, "Kernels without PTX"),
    ] {
        let count = refused(reason).count();
        let (named, rest) = how.named(count);
        let shown = refused(reason).take(named).map(|refused| {
            let why = match (&refused.instruction, refused.line) {
                (Some(instruction), Some(line)) => {
                    format!("PTX line {line}: `{instruction}`: {}", refused.why)
                }
                _ => refused.why.clone(),
            };
            (how.name(&refused.kernel, why.chars().count() + 4), why)
        });
        let title = if count > 1 { format!("{title}: {count}") } else { title.to_owned() };
        section(out, &title, shown.chain(rest));
    }
    let (named, rest) = how.named(cpu.interpreted.len());
    let large = cpu.interpreted.iter().take(named).map(|kernel| {
        let why =
            format!("{} {}, at most {} are compiled", kernel.found, kernel.what, kernel.limit);
        (how.name(&kernel.kernel, why.chars().count() + 4), why)
    });
    section(out, "Kernels too large to compile, which are interpreted (slow)", large.chain(rest));
    // For target regions the lines above say what to do.
    if refused(Reason::NoPtx).any(|refused| !refused.why.ends_with(super::cpu::HOW)) {
        let _ = writeln!(
            out,
            "  (rebuild with -gencode arch=compute_75,code=compute_75 added, or supply PTX: --replace KERNEL=FILE.ptx)"
        );
    }
}

/// A run, and a table of the libraries.
fn observed(out: &mut String, run: &Run, how: &How) {
    let count =
        |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let ended = match (run.status, run.signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    let program = run.command.first().map(String::as_str).unwrap_or_default();
    let _ = writeln!(
        out,
        "{} ran with --backend {} and {ended}: {}, {}, {} with CUDA",
        program.shown(),
        run.backend,
        count(run.processes, "process", "processes"),
        count(run.files, "file", "files"),
        run.libraries.len(),
    );
    let name = |library: &Library| {
        let file = library.file.file_name().map(Path::new).unwrap_or(&library.file);
        let path = if how.verbose { &library.file } else { file };
        path.shown().text().into_owned()
    };
    let names: Vec<String> = run.libraries.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    if width > 0 {
        let head = "What works on which backend";
        let width = width.max(head.len().saturating_sub(2));
        let _ = writeln!(out, "\n{head:<0$}  native  driver  cpu     hsa", width + 2);
        for (name, library) in names.iter().zip(&run.libraries) {
            let verdicts = [library.native, library.driver, library.cpu, library.hsa];
            let verdicts = verdicts.map(|verdict| format!("{:<6}", verdict.word()));
            let _ = writeln!(out, "  {name:<width$}  {}  {}", verdicts.join("  "), library.why);
        }
    }
    let missing = run.missing.iter().map(|name| (name.clone(), "not found".to_owned()));
    section(out, "Asked for and not found", missing);
    let wrong = run.libraries.iter().filter(|library| run.here(library) != Verdict::Yes).count();
    if let Some(why) = &run.incomplete {
        let _ = writeln!(out, "\nThe program loaded more than is seen here: {why}.");
    }
    let _ = match (run.libraries.len(), wrong) {
        (_, 0) if run.incomplete.is_some() => Ok(()),
        (0, _) => writeln!(out, "\nThe program loaded nothing of CUDA's."),
        (_, 0) => writeln!(out, "\nAll of them work with --backend {}.", run.backend),
        (all, wrong) => writeln!(
            out,
            "\n{wrong} of {all} do not work with --backend {}, or in part: what the program asks of them fails.",
            run.backend
        ),
    };
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
