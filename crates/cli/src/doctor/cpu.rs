//! `cushim doctor --backend cpu`: whether a program starts without a GPU, and which of its kernels run there.
//!
//! Owns: reading the device images of a program and its libraries as virtual CUDA would choose them. Must not
//! know: how kernels are run, how findings are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cushim_image::arch::{Arch, SmVariant};
use cushim_image::inventory::{self, Image, ImageKind};
use cushim_image::{Limits, sniff};
use cushim_ptx::ir::Module;
use cushim_ptx_jit::NotCompiled;
use rayon::prelude::*;
use serde::Serialize;

use super::closure::Closure;
use super::cuda;
use super::obstacle::Obstacle;
use super::obstacles::LOST;
use crate::images::{Cost, HostFile, Which};
use crate::progress;
use cushim_names::Foreign as _;

/// The device's capability, as virtual CUDA states it (`crates/accel-cpu`, `device.rs`).
const CAPABILITY: u32 = 80;
/// Where nvcc puts the device code of units that the device linker joined (`fatbinary_section.h`).
const UNITS: &str = "__nv_relfatbin";
/// Where clang puts the images of target regions.
const OFFLOAD: &str = ".llvm.offloading";
/// What is to be done about images of target regions without PTX.
pub(super) const HOW: &str = "link with `-foffload-lto -Wl,--save-temps` and give the PTX that this leaves by --redirect (docs/openmp.md)";

/// How a program works on the backend cpu.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// The program starts, and its CUDA calls work.
    pub starts: bool,
    /// What prevents that.
    pub why: Vec<String>,
    /// Kernels in its device code.
    pub kernels: usize,
    /// How many of them run.
    pub runs: usize,
    /// Each file with NVIDIA device code.
    pub files: Vec<File>,
    /// The kernels that do not run.
    pub refused: Vec<Refused>,
    /// The kernels that run, but are interpreted because of their size.
    pub interpreted: Vec<Interpreted>,
    /// The LLVM that compiles kernels beside Cranelift; nothing if `CUSHIM_LLVM` is `off`.
    pub llvm: Option<Llvm>,
}

/// LLVM's library, which compiles kernels that run for long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Llvm {
    /// Its version as three numbers, where it is used.
    pub version: Option<String>,
    /// Its file.
    pub file: Option<String>,
    /// Why it is not used.
    pub why: Option<String>,
    /// How many kernels it was asked about whether they are for it, and how many are.
    pub asked: usize,
    /// See `asked`.
    pub takes: usize,
}

impl Llvm {
    fn found() -> Option<Llvm> {
        let (asked, takes) = (0, 0);
        Some(match cushim_ptx_jit::llvm()? {
            Ok(library) => {
                let version = Some(library.version.map(|n| n.to_string()).join("."));
                Llvm { version, file: Some(library.path), why: None, asked, takes }
            }
            Err(why) => Llvm { version: None, file: None, why: Some(why), asked, takes },
        })
    }
}

/// A file with device code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path.
    pub file: PathBuf,
    /// The program itself, not a library.
    pub in_program: bool,
    /// The kinds of its images, such as `cubin sm_80`, each once.
    pub images: Vec<String>,
    /// Its kernels.
    pub kernels: usize,
    /// How many of them run.
    pub runs: usize,
    /// It holds machine code and no PTX at all.
    pub machine_code_only: bool,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// Why a kernel does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It exists as machine code only.
    NoPtx,
    /// It uses an instruction that is not run.
    Instruction,
    /// It calls something that no PTX of the file defines.
    Undefined,
    /// Its PTX cannot be read.
    InvalidPtx,
}

/// A kernel that does not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refused {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its name as it is mangled.
    pub kernel: String,
    /// Why.
    pub reason: Reason,
    /// Line of the PTX text, from 1, where a line is the cause.
    pub line: Option<u32>,
    /// The instruction with its modifiers, where one is the cause.
    pub instruction: Option<String>,
    /// What is wrong, one clause.
    pub why: String,
}

/// A kernel that is too large to be compiled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Interpreted {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its name as it is mangled.
    pub kernel: String,
    /// What exceeds the limit, such as `basic blocks`.
    pub what: String,
    /// How much was found.
    pub found: usize,
    /// The most that is compiled.
    pub limit: usize,
}

/// Whether and how a kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// Compiled; LLVM compiles it, too, where it runs for long.
    Compiled(bool),
    Interpreted(Interpreted),
    Refused(Refused),
}

/// Examines a program and what it is linked with; `missing`: what the backend lacks beside libcushim.so.
pub fn examine(closure: &Closure, obstacles: &[Obstacle], missing: Option<&str>) -> Cpu {
    let why = hindrances(closure, obstacles, missing);
    let mut cpu = Cpu { why, llvm: Llvm::found(), ..Cpu::default() };
    cpu.starts = cpu.why.is_empty();
    for (n, object) in closure.objects.iter().enumerate() {
        // Device code in NVIDIA's own runtime and driver does not matter: backend cpu replaces both.
        let own = cuda::runtime_major(&object.name()).is_some() || cuda::is_driver(&object.name());
        if (object.device_code > 0 || object.offload > 0) && !own {
            progress::note(&format!("reading the device code of {}", object.path.shown()));
            let (file, fates) = of_file(&object.path, n == 0);
            // OpenMP's host device needs no CUDA.
            if object.device_code == 0 && file.images.is_empty() && file.problems.is_empty() {
                continue;
            }
            cpu.kernels += file.kernels;
            cpu.runs += file.runs;
            cpu.files.push(file);
            for fate in fates {
                match fate {
                    Fate::Compiled(takes) => cpu.count_for_llvm(takes),
                    Fate::Interpreted(kernel) => cpu.interpreted.push(kernel),
                    Fate::Refused(kernel) => cpu.refused.push(kernel),
                }
            }
        }
    }
    cpu
}

impl Cpu {
    /// One more kernel that is compiled, and whether LLVM takes it.
    fn count_for_llvm(&mut self, takes: bool) {
        if let Some(llvm) = self.llvm.as_mut().filter(|llvm| llvm.version.is_some()) {
            llvm.asked += 1;
            llvm.takes += usize::from(takes);
        }
    }

    /// It starts, and every kernel runs.
    pub fn all_well(&self) -> bool {
        self.starts && self.runs == self.kernels && self.files.iter().all(|f| f.problems.is_empty())
    }
}

/// What keeps the program from starting. A missing runtime or driver does not count: the backend
/// brings them.
fn hindrances(closure: &Closure, obstacles: &[Obstacle], missing: Option<&str>) -> Vec<String> {
    let mut why: Vec<String> = missing.map(str::to_owned).into_iter().collect();
    let blocking = obstacles.iter().filter(|o| o.blocks && o.name != "missing library");
    why.extend(blocking.map(|o| o.why.clone()));
    let blocks = obstacles.iter().any(|o| o.blocks && o.name == "missing library");
    for (name, by) in closure.missing.iter().filter(|_| blocks) {
        if cuda::missing(name).is_none() {
            why.push(format!("{name}, which {} needs, was not found", by.shown()));
        }
    }
    why.extend(obstacles.iter().filter(|o| o.name == LOST).map(|o| o.why.clone()));
    why
}

/// PTX texts that are loaded together: those of a container, or of all units of a device-linked program.
#[derive(Default)]
struct Group<'a> {
    images: Vec<Image<'a>>,
    /// The container of each.
    containers: Vec<u64>,
    units: bool,
    /// Images of target regions.
    offload: bool,
}

fn of_file(path: &Path, in_program: bool) -> (File, Vec<Fate>) {
    let mut found = File {
        file: path.to_owned(),
        in_program,
        images: Vec::new(),
        kernels: 0,
        runs: 0,
        machine_code_only: false,
        problems: Vec::new(),
    };
    let file = match HostFile::open(path) {
        Ok(file) => file,
        Err(error) => {
            found.problems.push(error.to_string());
            return (found, Vec::new());
        }
    };
    let inventory = inventory::read(file.bytes(), &Limits::DEFAULT);
    found.problems.extend(inventory.problems.iter().map(|p| format!("{}: {}", p.trail, p.error)));
    let mut groups: BTreeMap<(bool, u64), Group<'_>> = BTreeMap::new();
    let mut images = BTreeSet::new();
    let theirs = |kind| matches!(kind, ImageKind::Cubin | ImageKind::Ptx | ImageKind::LtoIr);
    let mut cost = Cost::new(file.bytes().len(), &Limits::DEFAULT);
    for image in &inventory.images {
        if image.kind == ImageKind::Bitcode && matches!(image.arch, Arch::Sm(..)) {
            let arch = &image.arch;
            found
                .problems
                .push(format!("LLVM bitcode for {arch}, which is not compiled here: {HOW}"));
        }
    }
    for image in inventory.images.into_iter().filter(|i| theirs(i.kind)) {
        if let Err(error) = cost.charge(&image, Which::All, &Limits::DEFAULT) {
            found.problems.push(format!("{}: {error}", image.trail));
            continue;
        }
        images.insert(format!("{} {}", image.kind, image.arch));
        let units = image.trail.section.as_deref() == Some(UNITS);
        let container = image.trail.containers.last().map_or(image.place.start, |c| c.offset);
        let group = groups.entry((units, if units { 0 } else { container })).or_default();
        group.units = units;
        group.offload = image.trail.section.as_deref() == Some(OFFLOAD);
        group.containers.push(container);
        group.images.push(image);
    }
    let any = |kind: &str| images.iter().any(|image| image.starts_with(kind));
    found.machine_code_only = any("cubin") && !any("ptx");
    found.images = images.into_iter().collect();
    let groups: Vec<Group<'_>> = groups.into_values().collect();
    let looked: Vec<_> = groups.par_iter().map(|group| kernels_of(group, path)).collect();
    let mut kernels: BTreeMap<String, Fate> = BTreeMap::new();
    let not_loaded: BTreeSet<&String> = looked.iter().flat_map(|(_, left_out)| left_out).collect();
    for (name, fate) in looked.iter().flat_map(|(kernels, _)| kernels) {
        if not_loaded.contains(name) {
            continue;
        }
        // A kernel in several containers runs if one of them runs: linked machine code comes beside
        // the units that it was made of.
        let entry = kernels.entry(name.clone()).or_insert_with(|| fate.clone());
        let better = match (&*entry, fate) {
            (Fate::Refused(old), Fate::Refused(new)) => {
                old.reason == Reason::NoPtx && new.reason != Reason::NoPtx
            }
            (old, _) => matches!(old, Fate::Refused(_)),
        };
        if better {
            *entry = fate.clone();
        }
    }
    found.kernels = kernels.len();
    let fates: Vec<Fate> = kernels.into_values().collect();
    found.runs = fates.iter().filter(|fate| !matches!(fate, Fate::Refused(_))).count();
    (found, fates)
}

/// How well PTX suits the CPU (highest is best): the latest up to its capability, else the earliest
/// of the later ones.
fn rank(arch: &Arch) -> Option<(u8, u32)> {
    match arch {
        Arch::Sm(n, SmVariant::Plain) if *n <= CAPABILITY => Some((2, *n)),
        Arch::Unknown => Some((2, 0)),
        Arch::Sm(n, _) => Some((1, u32::MAX - n)),
        Arch::Named(_) => None,
    }
}

/// The kernels of a group with their fates, including those that are not loaded.
fn kernels_of(group: &Group<'_>, path: &Path) -> (Vec<(String, Fate)>, BTreeSet<String>) {
    let refused = |kernel: &str, reason, why: String| Refused {
        file: path.to_owned(),
        kernel: kernel.to_owned(),
        reason,
        line: None,
        instruction: None,
        why,
    };
    let mut best: BTreeMap<u64, ((u8, u32), &Image<'_>)> = BTreeMap::new();
    for (image, container) in group.images.iter().zip(&group.containers) {
        if let (ImageKind::Ptx, Some(rank)) = (image.kind, rank(&image.arch)) {
            let entry = best.entry(*container).or_insert((rank, image));
            if rank > entry.0 {
                *entry = (rank, image);
            }
        }
    }
    // As `cushim_ptx::texts::module` does when it loads them: NVIDIA's device runtime library is
    // not needed beside others, and its kernels do not count.
    let several = best.len() > 1;
    let mut left_out = BTreeSet::new();
    let mut modules = Vec::with_capacity(best.len());
    for (container, (_, image)) in &best {
        match module(image) {
            Ok(module) if several && module.is_device_runtime() => {
                left_out.insert(*container);
            }
            other => modules.push(other),
        }
    }
    // Linked machine code holds the kernels of all units, including the library's.
    let (theirs, all) =
        (kernel_names(group, |of| left_out.contains(of)), kernel_names(group, |_| true));
    let names: Vec<String> = all.difference(&theirs).cloned().collect();
    let modules = modules.into_iter().collect::<Result<Vec<_>, _>>();
    let module = modules.and_then(|mut modules| {
        cushim_ptx::cooperative::complete(&mut modules).map_err(|error| error.to_string())?;
        match modules.len() {
            0 => Ok(None),
            1 if !group.units => Ok(modules.pop()),
            _ => cushim_ptx::link(modules).map(Some).map_err(|error| error.to_string()),
        }
    });
    let module = match module {
        Ok(module) => module,
        Err(why) => {
            let each = |name: String| {
                let refused = refused(&name, Reason::InvalidPtx, why.clone());
                (name, Fate::Refused(refused))
            };
            return (names.into_iter().map(each).collect(), theirs);
        }
    };
    let known: BTreeMap<&str, u32> = module.iter().flat_map(entries).collect();
    let judge = |name: String| {
        let fate = match (&module, known.get(name.as_str())) {
            (Some(module), Some(number)) => match unfit(module, *number) {
                Some(found) => {
                    let (file, kernel) = (path.to_owned(), name.clone());
                    Fate::Refused(Refused { file, kernel, ..found })
                }
                None => size(module, *number, path),
            },
            _ => {
                let advice = if group.offload { format!(": {HOW}") } else { String::new() };
                let why = format!("only machine code, no PTX{advice}");
                Fate::Refused(refused(&name, Reason::NoPtx, why))
            }
        };
        (name, fate)
    };
    (names.into_iter().map(judge).collect(), theirs)
}

/// The kernels of the images of some containers.
fn kernel_names(group: &Group<'_>, of: impl Fn(&u64) -> bool) -> BTreeSet<String> {
    let images = group.images.iter().zip(&group.containers).filter(|(_, container)| of(container));
    let kernels = images.flat_map(|(image, _)| image.kernels(&Limits::DEFAULT).unwrap_or_default());
    kernels.map(|kernel| kernel.name).collect()
}

fn module(image: &Image<'_>) -> Result<Module, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(sniff::trim(bytes)).into_owned();
    let text = image.with_bytes(&Limits::DEFAULT, text).map_err(|error| error.to_string())?;
    let checked = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
    checked.map_err(|error| format!("PTX {error}"))
}

fn entries(module: &Module) -> impl Iterator<Item = (&str, u32)> {
    let functions = module.functions.iter().enumerate();
    functions.filter(|(_, f)| f.entry && f.defined).map(|(n, f)| (f.name.as_str(), n as u32))
}

/// How a kernel runs, by its size.
fn size(module: &Module, kernel: u32, path: &Path) -> Fate {
    match cushim_ptx_jit::too_large(module, kernel) {
        Some(NotCompiled::TooLarge { kernel, what, found, limit }) => {
            let (file, what) = (path.to_owned(), what.to_owned());
            Fate::Interpreted(Interpreted { file, kernel, what, found, limit })
        }
        _ => Fate::Compiled(cushim_ptx_jit::llvm_takes(module, kernel)),
    }
}

/// Why a kernel cannot be run, if it cannot; its name and file are left empty.
fn unfit(module: &Module, kernel: u32) -> Option<Refused> {
    let empty = |reason, why| Refused {
        file: PathBuf::new(),
        kernel: String::new(),
        reason,
        line: None,
        instruction: None,
        why,
    };
    let name = |n: u32| module.functions.get(n as usize).map_or("", |f| f.name.as_str());
    if let Some((function, refusal)) = module.refusals(kernel).first() {
        let mut why = refusal.reason.clone();
        if *function != kernel {
            why += &format!(" (in {})", name(*function));
        }
        return Some(Refused {
            line: Some(module.sources.text(refusal.pos).0.line),
            instruction: Some(refusal.instruction.clone()),
            ..empty(Reason::Instruction, why)
        });
    }
    let function = module.undefined(kernel)?;
    Some(empty(Reason::Undefined, format!("it calls {function}, which no loaded PTX defines")))
}
