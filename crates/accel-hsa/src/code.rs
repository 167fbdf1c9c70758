//! Code objects loaded for a GPU: kernels by name, variables by address.
//!
//! Owns loading, and the data that a kernel's launch needs. Arguments are passed as the translator defines; for
//! objects that were compiled by hand from HIP or OpenCL under the names of CUDA's kernels, by the object's metadata
//! (LLVM, "User Guide for AMDGPU Backend"). Must not know: containers, queues.

use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_accel::{Code, Dispatch, Failure, Image, ImageKind, Kernel, Symbols, Variable};
use cushim_image::amdgpu::{Argument, CodeKernel};
use cushim_image::kernel::Stack;
use cushim_image::{Limits, amdgpu};

use crate::cooperative;
use crate::describe;
use crate::ffi::*;
use crate::loaded::Loaded;
use crate::ptx::{self, Translated};
use crate::runtime::Core;
use crate::variables::{self, Taken};
use crate::wire::{self, Shape};
use cushim_translate::abi::Facts;

/// Scratch for a work-item whose kernel calls functions of unknown stack use: CUDA's default stack
/// size.
const STACK: u32 = 16 << 10;

/// Loaded code.
pub struct HsaCode {
    core: Arc<Core>,
    device: usize,
    executable: Loaded,
    entries: Vec<Entry>,
    symbols: Symbols,
    /// Memory of managed variables: of this code, and of the code of the same library that was
    /// loaded before.
    _managed: (Taken, Option<Arc<dyn Code>>),
}

/// The hidden arguments of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// The queue's address.
    pub queue: u64,
    /// The client of a host call buffer, for a kernel that calls the host ([`HsaCode::asks`]).
    pub rpc: u64,
    /// The workspace of `grid.sync()`, of a cooperative launch.
    pub workspace: u64,
}

/// A kernel as a launch needs it.
#[derive(Clone, Debug, Default)]
struct Entry {
    object: u64,
    kernarg: u32,
    group: u32,
    private: u32,
    /// The depth of its calls is unknown.
    unbounded: bool,
    /// Vector registers.
    registers: u32,
    arguments: Vec<Argument>,
    /// It was translated.
    facts: Option<Facts>,
}

impl Drop for HsaCode {
    fn drop(&mut self) {
        for variable in self.symbols.variables.iter().filter(|variable| !variable.managed) {
            self.core.memory.forget(variable.address);
        }
    }
}

impl HsaCode {
    /// Loads.
    ///
    /// # Errors
    /// [`Failure::InvalidImage`] for an image that cannot be read or loaded, [`Failure::NoImage`]
    /// for code of another kind or another GPU.
    pub fn load(core: &Arc<Core>, device: usize, image: &Image<'_>) -> Result<HsaCode, Failure> {
        let own: Vec<u8>;
        let mut translated = None;
        let object: &[u8] = match (image.kind, image.parts) {
            (ImageKind::CodeObject, [object]) => object,
            (ImageKind::Ptx, _) => {
                let isa = core.device(device)?.gpu.isas.first().cloned().unwrap_or_default();
                let mut made = ptx::translate(image, &isa)?;
                own = std::mem::take(&mut made.object);
                translated = Some(made);
                &own
            }
            (kind, _) => {
                let why = format!("{kind:?}: a GPU of AMD's runs one code object, or PTX");
                return Err(Failure::NoImage(why));
            }
        };
        let described = amdgpu::read(object, &Limits::DEFAULT);
        let described = described.map_err(|why| Failure::InvalidImage(why.to_string()))?;
        let executable = Loaded::new(core, device, object)?;
        let mut code = HsaCode {
            core: core.clone(),
            device,
            executable,
            entries: Vec::new(),
            symbols: Symbols::default(),
            _managed: (Taken::default(), image.managed.cloned()),
        };
        let linked = variables::link(&core.memory, device, code.find_variables()?, image)?;
        (code.symbols.variables, code._managed.0) = (linked.variables, linked.taken);
        match &translated {
            Some(translated) => {
                code.take_translated(translated, &described.kernels, &linked.missing);
            }
            None => {
                let facts = linked.facts.unwrap_or_default();
                described.kernels.iter().for_each(|kernel| code.take(kernel, &facts));
                code.refuse_all(&linked.missing);
            }
        }
        code.symbols.undefined =
            translated.as_ref().map_or(Vec::new(), |made| made.undefined.clone());
        code.symbols.undefined.extend(linked.missing);
        if let Some(translated) = &translated {
            for variable in &mut code.symbols.variables {
                let known = translated.variables.iter().find(|(name, _)| *name == variable.name);
                variable.constant = known.is_some_and(|(_, constant)| *constant);
            }
        }
        for variable in code.symbols.variables.iter().filter(|variable| !variable.managed) {
            code.core.memory.adopt(device, variable.address, variable.bytes as u64);
        }
        Ok(code)
    }

    /// Adds a kernel that was compiled elsewhere, or translated before.
    fn take(&mut self, kernel: &CodeKernel, facts: &[Facts]) {
        let (mut entry, refused) = match self.entry(kernel) {
            Ok(entry) => (entry, None),
            Err(why) => (Entry::default(), Some(why)),
        };
        let mut described = self.describe(kernel, refused);
        if let Some(facts) = facts.iter().find(|facts| facts.name == kernel.kernel.name) {
            described.params = facts.places.clone();
            described.params_size = facts.parameter_bytes;
            described.static_shared = facts.static_shared_bytes;
            described.max_threads = ptx::most_threads(facts);
            described.registers = self.counted(facts, entry.registers);
            entry.kernarg = entry.kernarg.max(facts.argument_bytes());
            entry.facts = Some(facts.clone());
        }
        self.symbols.kernels.push(described);
        self.entries.push(entry);
    }

    /// Refuses all kernels if a variable is missing, as it is not known which of them use it.
    fn refuse_all(&mut self, missing: &[String]) {
        let Some(variable) = missing.first() else { return };
        for kernel in &mut self.symbols.kernels {
            let name = cushim_names::in_source(&kernel.name);
            let why = format!("kernel {name}: nothing defines the variable {variable}");
            kernel.refused.get_or_insert(why);
        }
    }

    /// The kernels of a module that was translated, with those that were not.
    fn take_translated(
        &mut self,
        translated: &Translated,
        described: &[CodeKernel],
        missing: &[String],
    ) {
        for ((kernel, facts), uses) in translated.kernels.iter().zip(&translated.uses) {
            let mut kernel = kernel.clone();
            if let Some(variable) = uses.iter().find(|name| missing.contains(name)) {
                let name = cushim_names::in_source(&kernel.name);
                kernel.refused = Some(format!(
                    "kernel {name} uses the variable {variable}, which no loaded PTX defines"
                ));
            }
            let found = described.iter().find(|other| other.kernel.name == kernel.name);
            let entry = match (facts, found) {
                (Some(facts), Some(found)) => self.entry(found).map(|entry| Entry {
                    kernarg: entry.kernarg.max(facts.argument_bytes()),
                    facts: Some(facts.clone()),
                    ..entry
                }),
                (Some(_), None) => Err(format!("kernel {}: the compiler left it out", kernel.name)),
                (None, _) => Ok(Entry::default()),
            };
            let entry = entry.unwrap_or_else(|why| {
                kernel.refused = Some(why);
                Entry::default()
            });
            if let Some(facts) = facts {
                kernel.registers = self.counted(facts, entry.registers);
            }
            self.entries.push(entry);
            self.symbols.kernels.push(kernel);
        }
    }

    /// Registers of a translated kernel's thread: they never limit blocks up to the most threads,
    /// for which it was compiled.
    fn counted(&self, facts: &Facts, registers: u32) -> u32 {
        let all = self.core.device(self.device).map_or(0, |d| describe::registers(&d.gpu));
        let threads = ptx::most_threads(facts).next_multiple_of(32).max(32);
        cooperative::counted(&facts.lanes, registers).min(all / threads)
    }

    fn agent(&self) -> Agent {
        self.core.device(self.device).map_or(Agent(0), |device| device.gpu.agent)
    }

    /// A kernel as the runtime reports it; else why it cannot be run.
    fn entry(&self, kernel: &CodeKernel) -> Result<Entry, String> {
        let name = &kernel.kernel.name;
        let missing = |why: String| format!("kernel {}: {why}", cushim_names::in_source(name));
        let symbol = CString::new(kernel.symbol.as_str()).map_err(|e| missing(e.to_string()))?;
        let (api, agent) = (&self.core.api, self.agent());
        let mut found = Symbol(0);
        // SAFETY: a name, an agent and a place for the answer.
        let status = unsafe {
            (api.hsa_executable_get_symbol_by_name)(
                self.executable.executable,
                symbol.as_ptr(),
                &raw const agent,
                &raw mut found,
            )
        };
        let checked = api.check("hsa_executable_get_symbol_by_name", status);
        checked.map_err(|why| missing(why.to_string()))?;
        let number = |what| self.symbol::<u32>(found, what).map_err(|why| missing(why.to_string()));
        let object: u64 =
            self.symbol(found, symbol::KERNEL_OBJECT).map_err(|why| missing(why.to_string()))?;
        let dynamic: u8 = self.symbol(found, symbol::DYNAMIC_STACK).unwrap_or(0);
        let private = number(symbol::PRIVATE_SIZE)?;
        let unbounded = dynamic != 0 || kernel.kernel.stack == Some(Stack::Unbounded);
        let last = |argument: &Argument| argument.offset.saturating_add(argument.size);
        let end = kernel.arguments.iter().map(last).max().unwrap_or(0);
        Ok(Entry {
            object,
            kernarg: number(symbol::KERNARG_SIZE)?.max(end),
            group: number(symbol::GROUP_SIZE)?,
            private,
            unbounded,
            registers: kernel.kernel.registers.unwrap_or(0),
            arguments: kernel.arguments.clone(),
            facts: None,
        })
    }

    fn symbol<T: Default>(&self, symbol: Symbol, what: u32) -> Result<T, Failure> {
        let mut value = T::default();
        // SAFETY: a place of the attribute's type.
        let status = unsafe {
            (self.core.api.hsa_executable_symbol_get_info)(symbol, what, (&raw mut value).cast())
        };
        self.core.api.check("hsa_executable_symbol_get_info", status)?;
        Ok(value)
    }

    fn describe(&self, kernel: &CodeKernel, refused: Option<String>) -> Kernel {
        let of = &kernel.kernel;
        let threads = of.max_threads.map_or(describe::MAX_THREADS, |[x, ..]| x);
        let threads = threads.clamp(1, describe::MAX_THREADS);
        let registers = self.core.device(self.device).map_or(0, |d| describe::registers(&d.gpu));
        let number = describe::CAPABILITY.0 * 10 + describe::CAPABILITY.1;
        Kernel {
            name: of.name.clone(),
            params: of.params.params.iter().map(|param| (param.offset, param.size)).collect(),
            params_size: of.params.size,
            static_shared: of.shared.unwrap_or(0),
            local: match of.stack {
                Some(Stack::Bytes(bytes)) => bytes,
                Some(Stack::Unbounded) => STACK,
                None => 0,
            },
            constant: 0,
            // The kernel was compiled for blocks up to the most threads, so registers never limit
            // them.
            registers: of.registers.unwrap_or(0).min(registers / threads.next_multiple_of(32)),
            max_threads: threads,
            required_threads: None,
            required_cluster: None,
            versions: (number, number),
            launches_grids: false,
            launches_graphs: false,
            refused,
        }
    }

    /// The variables that have a name outside.
    fn find_variables(&self) -> Result<Vec<Variable>, Failure> {
        unsafe extern "C" fn each(
            _: Executable,
            _: Agent,
            symbol: Symbol,
            all: *mut c_void,
        ) -> Status {
            // SAFETY: what is passed below.
            unsafe { (*all.cast::<Vec<Symbol>>()).push(symbol) };
            SUCCESS
        }
        let mut all: Vec<Symbol> = Vec::new();
        // SAFETY: the callback gets the list, which lives until the call returns.
        let status = unsafe {
            (self.core.api.hsa_executable_iterate_agent_symbols)(
                self.executable.executable,
                self.agent(),
                each,
                (&raw mut all).cast(),
            )
        };
        self.core.api.check("hsa_executable_iterate_agent_symbols", status)?;
        let mut variables = Vec::new();
        for found in all {
            if self.symbol::<u32>(found, symbol::KIND)? != symbol::IS_VARIABLE {
                continue;
            }
            let mut name = vec![0_u8; self.symbol::<u32>(found, symbol::NAME_LENGTH)? as usize + 1];
            // SAFETY: room for the length from the runtime, and a NUL.
            let status = unsafe {
                let to = name.as_mut_ptr().cast();
                (self.core.api.hsa_executable_symbol_get_info)(found, symbol::NAME, to)
            };
            self.core.api.check("hsa_executable_symbol_get_info", status)?;
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            variables.push(Variable {
                name: String::from_utf8_lossy(name.get(..end).unwrap_or_default()).into_owned(),
                address: self.symbol(found, symbol::VARIABLE_ADDRESS)?,
                bytes: self.symbol::<u32>(found, symbol::VARIABLE_SIZE)? as usize,
                constant: self.symbol::<u8>(found, symbol::VARIABLE_IS_CONST)? != 0,
                managed: false,
                reference: false,
            });
        }
        Ok(variables)
    }

    /// A launch's arguments for the kernel, and its packet without their address.
    ///
    /// # Errors
    /// There is no such kernel; the launch has more threads than the device counts, or a block than the kernel has
    /// room for.
    pub fn prepare(
        &self,
        dispatch: &Dispatch,
        beside: &Beside,
    ) -> Result<(Vec<u8>, Shape), Failure> {
        let unknown = || Failure::Launch("the module has no such kernel".into());
        let entry = self.entries.get(dispatch.kernel).ok_or_else(unknown)?;
        let (grid, dynamic) = (dispatch.grid, dispatch.dynamic_shared);
        let stack = match self.core.device(self.device) {
            Ok(device) if entry.unbounded => STACK.max(device.stack.load(Ordering::Relaxed)),
            _ => 0,
        };
        let mut shape = Shape {
            grid,
            items: dispatch.block,
            group: entry.group.saturating_add(dynamic),
            private: entry.private.saturating_add(stack),
            object: entry.object,
            kernarg: 0,
        };
        let mut bytes = match &entry.facts {
            None => dispatch.arguments.to_vec(),
            Some(facts) => {
                let (bytes, items) = ptx::arguments(facts, dispatch, beside)
                    .ok_or_else(|| self.too_large(dispatch))?;
                shape.items = [items, 1, 1];
                bytes
            }
        };
        if grid.iter().zip(shape.items).any(|(blocks, items)| blocks.checked_mul(items).is_none()) {
            let why = format!(
                "a grid of {grid:?} blocks: an AMD GPU counts 4294967295 work-items in each direction"
            );
            return Err(Failure::NotSupported(why));
        }
        if dispatch.cooperative {
            self.all_at_once(dispatch, entry, &shape)?;
        }
        bytes.resize(bytes.len().max(entry.kernarg as usize), 0);
        if entry.facts.is_none() {
            wire::hide(&mut bytes, &entry.arguments, &shape, dynamic, beside.queue);
        }
        Ok((bytes, shape))
    }

    /// Checks that the GPU holds all blocks of a launch at once.
    fn all_at_once(
        &self,
        dispatch: &Dispatch,
        entry: &Entry,
        shape: &Shape,
    ) -> Result<(), Failure> {
        let gpu = &self.core.device(self.device)?.gpu;
        let items = shape.items.iter().product();
        let most = cooperative::most(gpu, items, shape.group, entry.registers);
        let blocks = shape.grid.iter().map(|side| u64::from(*side)).product::<u64>();
        if blocks > most {
            let name = cushim_names::in_source(self.name(dispatch.kernel));
            let why = format!(
                "kernel {name}: a cooperative launch of {blocks} blocks, of which the GPU holds {most} at once"
            );
            return Err(Failure::NotSupported(why));
        }
        Ok(())
    }

    fn too_large(&self, dispatch: &Dispatch) -> Failure {
        let name = cushim_names::in_source(self.name(dispatch.kernel));
        Failure::NotSupported(format!(
            "kernel {name}: a block of {:?} threads is too large for its layout",
            dispatch.block
        ))
    }

    /// Whether a kernel may call the host.
    pub fn asks(&self, kernel: usize) -> bool {
        let facts = self.entries.get(kernel).and_then(|entry| entry.facts.as_ref());
        facts.is_some_and(|facts| facts.host_calls)
    }

    /// A kernel's symbol, for messages.
    pub fn name(&self, kernel: usize) -> &str {
        self.symbols.kernels.get(kernel).map_or("", |kernel| &kernel.name)
    }
}

impl Code for HsaCode {
    fn symbols(&self) -> &Symbols {
        &self.symbols
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
