//! PTX loaded for a device: the checked module, its variables in memory, its kernels' properties.
//!
//! Owns the addresses of variables, and which kernels cannot run. Must not know: containers, launches.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cushim_ptx::ast::Linkage;
use cushim_ptx::exec::{self, DeviceFunction, Memory as _, RuntimeCall};
use cushim_ptx::ir::{Base, Function, Global, Module, Src, Symbol};
use cushim_ptx::origin::{self, Origins};
use cushim_ptx::types::Space;

use super::device;
use super::fault::named;
use super::memory::Memory;
use cushim_accel::{Code, Failure, Image, ImageKind, Kernel, Symbols, Variable};
use cushim_check::Kind;

/// Loaded code.
pub struct CpuCode {
    /// The module.
    pub module: Arc<Module>,
    /// The device it was loaded for.
    pub device: usize,
    /// Address of each global of the module.
    pub globals: Vec<u64>,
    /// The function of each kernel.
    pub functions: Vec<u32>,
    /// Its machine code, made at the first launch; `None` where there can be none.
    compiled: Vec<OnceLock<Option<cushim_ptx_jit::Kernel>>>,
    /// The parameters from which the addresses of accesses are computed, determined on first use.
    origins: Vec<OnceLock<Arc<Origins>>>,
    /// Whether each kernel may call the device runtime.
    pub launches: Vec<bool>,
    symbols: Symbols,
    /// What holds the globals: one allocation, and where those of them lie that checks know of.
    block: Option<u64>,
    checked: Vec<u64>,
    memory: Arc<Memory>,
    /// The code whose managed variables this code shares: kept alive for its memory.
    _managed: Option<Arc<dyn Code>>,
}

impl Drop for CpuCode {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            if let Some(checker) = &self.memory.checker {
                self.checked.iter().for_each(|at| checker.forget(*at));
            }
            self.memory.arena.free(block);
        }
    }
}

fn invalid(error: &cushim_ptx::Error) -> Failure {
    Failure::InvalidImage(format!("PTX {error}"))
}

impl CpuCode {
    /// Loads.
    pub fn load(
        memory: &Arc<Memory>,
        device: usize,
        image: &Image<'_>,
    ) -> Result<CpuCode, Failure> {
        if image.kind != ImageKind::Ptx {
            let why = format!("{:?}: backend cpu runs PTX only", image.kind);
            return Err(Failure::NoImage(why));
        }
        let (parts, fused) = (image.parts, image.optimised && cushim_ptx::texts::fuses());
        let module = super::stack::roomy(|| cushim_ptx::texts::module(parts, fused));
        let module = module.map_err(|error| invalid(&error))?;
        let mut code = CpuCode {
            globals: vec![0; module.globals.len()],
            functions: Vec::new(),
            compiled: Vec::new(),
            origins: Vec::new(),
            launches: Vec::new(),
            symbols: Symbols::default(),
            block: None,
            checked: Vec::new(),
            memory: memory.clone(),
            _managed: image.managed.cloned(),
            device,
            module: Arc::new(module),
        };
        let missing = code.place(image)?;
        code.initialise(image)?;
        code.describe(&missing);
        code.symbols.undefined = code.names_undefined(&missing);
        code.compiled.resize_with(code.functions.len(), OnceLock::new);
        code.origins.resize_with(code.functions.len(), OnceLock::new);
        Ok(code)
    }

    /// From which parameters a kernel's addresses are computed.
    pub fn origins(&self, kernel: usize) -> Arc<Origins> {
        let function = self.functions.get(kernel).zip(self.origins.get(kernel));
        let Some((function, known)) = function else { return Arc::default() };
        known.get_or_init(|| Arc::new(origin::origins(&self.module, *function))).clone()
    }

    /// The machine code of a kernel, made now if it is the first launch; `None` where only the
    /// interpreter can run it.
    pub fn machine_code(&self, kernel: usize, block: [u32; 3]) -> Option<&cushim_ptx_jit::Kernel> {
        let function = *self.functions.get(kernel)?;
        let make = || {
            let cache = super::cache::cache();
            let checked = super::watch::shown(&self.memory);
            let made =
                cushim_ptx_jit::Kernel::checked(&self.module, function, block, cache, checked);
            if let Err(why) = &made
                && (is_told(why)
                    || std::env::var_os("CUSHIM_CPU").is_some_and(|how| how == "report"))
            {
                cushim_accel::say(&format!("interpreted: {why}"));
            }
            made.ok()
        };
        self.compiled.get(kernel)?.get_or_init(|| super::stack::roomy(make)).as_ref()
    }

    /// Instructions that a warp runs at most, if the kernel is compiled for blocks like this and has no loop.
    pub fn steps(&self, kernel: usize, block: [u32; 3]) -> Option<u64> {
        self.compiled.get(kernel)?.get()?.as_ref()?.steps(block)
    }

    /// Gives every global an address; returns the numbers of those without a definition.
    fn place(&mut self, image: &Image<'_>) -> Result<Vec<u32>, Failure> {
        let globals = &self.module.globals;
        let mut offsets = Vec::with_capacity(globals.len());
        let mut end = 0u64;
        let too_large = |name: &str| Failure::InvalidImage(format!("variable {name} is too large"));
        for g in globals.iter() {
            // Sixteen at least: compilers of the host may copy variables by vectors.
            let at = end.next_multiple_of(u64::from(g.align.max(16)));
            offsets.push(at);
            if g.linkage != Linkage::Extern && there(g, image).is_none() {
                let gap = self.memory.checker.as_ref().map_or(0, |_| cushim_check::blocks::APART);
                let size = g.size.checked_add(gap);
                end =
                    size.and_then(|size| at.checked_add(size)).ok_or_else(|| too_large(&g.name))?;
            }
        }
        let align = globals.iter().map(|g| g.align.into()).max().unwrap_or(1);
        let base = match end {
            0 => 0,
            _ => self.memory.arena.allocate(end, align).ok_or(Failure::OutOfMemory)?,
        };
        self.block = (end > 0).then_some(base);
        let defined: HashMap<&str, u64> = globals
            .iter()
            .zip(&offsets)
            .filter(|(g, _)| g.linkage != Linkage::Extern)
            .map(|(g, at)| (g.name.as_str(), there(g, image).unwrap_or(base + at)))
            .collect();
        let mut missing = Vec::new();
        for (n, ((g, at), place)) in globals.iter().zip(&offsets).zip(&mut self.globals).enumerate()
        {
            *place = match g.linkage {
                Linkage::Extern => {
                    let found = defined.get(g.name.as_str()).copied();
                    found.or_else(|| (image.externals)(&g.name)).unwrap_or_else(|| {
                        missing.push(n as u32);
                        0
                    })
                }
                _ => there(g, image).unwrap_or(base + at),
            };
        }
        Ok(missing)
    }

    fn initialise(&mut self, image: &Image<'_>) -> Result<(), Failure> {
        for (n, g) in self.module.globals.iter().enumerate() {
            let Some(at) = self.globals.get(n).filter(|_| g.linkage != Linkage::Extern) else {
                continue;
            };
            if there(g, image).is_none() {
                let bytes = exec::initial_bytes(&self.module, n as u32, &self.globals);
                if let Some(checker) = &self.memory.checker {
                    let (symbol, constant) = (g.name.clone(), g.space == Space::Const);
                    let kind = Kind::Variable(cushim_check::Module { symbol, constant });
                    checker.allocated(*at, g.size, kind);
                    self.checked.push(*at);
                }
                self.memory.store(*at, &bytes).map_err(|_| Failure::InvalidAddress(*at))?;
            }
            self.symbols.variables.push(Variable {
                name: g.name.clone(),
                address: *at,
                bytes: g.size as usize,
                constant: g.space == Space::Const,
                managed: g.managed,
                reference: g.reference,
            });
        }
        Ok(())
    }

    fn describe(&mut self, missing: &[u32]) {
        let constant = self.constant();
        for (n, f) in self.module.functions.iter().enumerate() {
            if !f.entry || !f.defined {
                continue;
            }
            let threads = |shape: [u32; 3]| shape.iter().fold(1u32, |p, n| p.saturating_mul(*n));
            let required = f.shape("reqntid");
            let limit = required.or(f.shape("maxntid")).map_or(device::MAX_THREADS, threads);
            self.functions.push(n as u32);
            let reached = self.module.reachable(n as u32);
            let reached = reached.iter().filter_map(|f| self.module.functions.get(*f as usize));
            let asked: Vec<RuntimeCall> = reached
                .filter(|f| !f.defined)
                .filter_map(|f| match DeviceFunction::from_name(&f.name) {
                    Some(DeviceFunction::Runtime(call)) => Some(call),
                    _ => None,
                })
                .collect();
            self.launches.push(!asked.is_empty());
            let (major, minor) = device::capability();
            self.symbols.kernels.push(Kernel {
                name: f.name.clone(),
                params: f.places(),
                params_size: f.params_size,
                static_shared: exec::shared_layout(&self.module, n as u32).1,
                local: f.local_size,
                constant,
                registers: device::REGISTERS,
                max_threads: limit.min(device::MAX_THREADS),
                required_threads: required,
                required_cluster: f.shape("reqnctapercluster"),
                // The PTX's target, not the version of its language (an H200 says 50 of `.version 6.0`, `.target sm_50`).
                versions: (self.module.sm, major * 10 + minor),
                launches_grids: asked.iter().any(|call| call.launches()),
                launches_graphs: asked.contains(&RuntimeCall::GraphLaunch),
                refused: self.refused(n as u32, missing),
            });
        }
    }

    /// Bytes of the module's constant variables. Measured: every kernel of the module reports all of them.
    fn constant(&self) -> u32 {
        let globals = self.module.globals.iter().filter(|g| g.space == Space::Const);
        let end = globals.fold(0u64, |end, g| {
            end.next_multiple_of(u64::from(g.align.max(1))).saturating_add(g.size)
        });
        u32::try_from(end).unwrap_or(u32::MAX)
    }

    /// What kernels reach that nothing defines.
    fn names_undefined(&self, missing: &[u32]) -> Vec<String> {
        let reachable: HashSet<u32> =
            self.functions.iter().flat_map(|kernel| self.module.reachable(*kernel)).collect();
        let functions = || reachable.iter().filter_map(|f| self.module.functions.get(*f as usize));
        let undefined =
            functions().filter(|f| !f.defined && DeviceFunction::from_name(&f.name).is_none());
        let used: HashSet<u32> = functions().flat_map(globals_of).collect();
        let variables = missing.iter().filter(|n| used.contains(n));
        let variables = variables.filter_map(|n| self.module.globals.get(*n as usize));
        let mut names: Vec<String> = undefined.map(|f| f.name.clone()).collect();
        names.extend(variables.map(|g| g.name.clone()));
        names.sort();
        names
    }

    /// Why a kernel cannot be run, if it cannot.
    fn refused(&self, kernel: u32, missing: &[u32]) -> Option<String> {
        let name = &self.module.functions.get(kernel as usize)?.name;
        if let Some((function, refusal)) = self.module.refusals(kernel).first() {
            let function = self.module.functions.get(*function as usize)?;
            let within = match function.name == *name {
                true => String::new(),
                false => format!(" in function {}", named(&function.name)),
            };
            let name = named(name);
            let (place, _) = self.module.sources.text(refusal.pos);
            return Some(format!(
                "kernel {name}{within}, PTX line {}: `{}`: {}",
                place.line, refusal.instruction, refusal.reason
            ));
        }
        if let Some(function) = self.module.undefined(kernel) {
            let (name, function) = (named(name), named(function));
            return Some(format!("kernel {name} calls {function}, which no loaded PTX defines"));
        }
        if missing.is_empty() {
            return None;
        }
        let reachable = self.module.reachable(kernel);
        let functions = || reachable.iter().filter_map(|f| self.module.functions.get(*f as usize));
        let variable = functions().find_map(|f| names_one_of(f, missing))?;
        let variable = &self.module.globals.get(variable as usize)?.name;
        let name = named(name);
        Some(format!("kernel {name} uses the variable {variable}, which no loaded PTX defines"))
    }
}

/// The address of a managed variable that existed before this code.
fn there(global: &Global, image: &Image<'_>) -> Option<u64> {
    let managed = global.managed.then(|| image.managed(&global.name, global.size as usize));
    managed.flatten()
}

fn names_one_of(f: &Function, globals: &[u32]) -> Option<u32> {
    globals_of(f).find(|n| globals.contains(n))
}

/// The variables that the instructions of a function name.
fn globals_of(f: &Function) -> impl Iterator<Item = u32> {
    f.code.iter().flat_map(|inst| &inst.src).filter_map(|src| match src {
        Src::Address(Symbol::Global(n), _) | Src::Memory(Base::Symbol(Symbol::Global(n)), _) => {
            Some(*n)
        }
        _ => None,
    })
}

impl Code for CpuCode {
    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// Whether a user is informed without asking: always of a compiler error, once of a kernel that is too large, and of
/// a system that forbids executable memory. The interpreter takes so much longer that the program could seem to hang.
fn is_told(why: &cushim_ptx_jit::NotCompiled) -> bool {
    static LARGE: AtomicBool = AtomicBool::new(false);
    static MEMORY: AtomicBool = AtomicBool::new(false);
    match why {
        cushim_ptx_jit::NotCompiled::Panicked { .. } => true,
        cushim_ptx_jit::NotCompiled::TooLarge { .. } => !LARGE.swap(true, Ordering::Relaxed),
        cushim_ptx_jit::NotCompiled::Memory(..) => !MEMORY.swap(true, Ordering::Relaxed),
        _ => false,
    }
}
