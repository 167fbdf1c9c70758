//! PTX for an AMD GPU: translated when it is loaded.
//!
//! Owns calling the translator, and the properties that a CUDA program can query of a translated kernel. Must not
//! know: how a code object is loaded or launched.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use cushim_accel::{Dispatch, Failure, Image, Kernel};
use cushim_ptx::ast::Linkage;
use cushim_ptx::exec::DeviceFunction;
use cushim_ptx::ir::{Base, Function, Module, Src, Symbol};
use cushim_ptx::texts;
use cushim_ptx::types::Space;
use cushim_translate::abi::{Facts, Lanes, LaunchArguments};
use cushim_translate::{Cache, Compiler, Refusal, Target, amdgpu};

use crate::code::Beside;
use crate::describe;

/// A module that was translated.
pub struct Translated {
    /// The code object.
    pub object: Vec<u8>,
    /// Its kernels, with facts about those that run.
    pub kernels: Vec<(Kernel, Option<Facts>)>,
    /// Its variables by name, and whether they are constant.
    pub variables: Vec<(String, bool)>,
    /// For each kernel, the variables of other modules that it uses.
    pub uses: Vec<Vec<String>>,
    /// Functions that kernels call, and that neither a module nor CUDA's device runtime defines.
    pub undefined: Vec<String>,
}

/// The functions that each kernel of a module may reach.
fn reached(module: &Module) -> impl Iterator<Item = Vec<&Function>> {
    let entries = module.functions.iter().enumerate().filter(|(_, f)| f.entry && f.defined);
    let functions = |numbers: Vec<u32>| {
        numbers.iter().filter_map(|n| module.functions.get(*n as usize)).collect()
    };
    entries.map(move |(n, _)| functions(module.reachable(n as u32).into_iter().collect()))
}

fn uses(module: &Module) -> Vec<Vec<String>> {
    let named = |src: &Src| match src {
        Src::Address(Symbol::Global(n), _) | Src::Memory(Base::Symbol(Symbol::Global(n)), _) => {
            let global = module.globals.get(*n as usize)?;
            (global.linkage == Linkage::Extern).then(|| global.name.clone())
        }
        _ => None,
    };
    let of = |f: &&Function| -> Vec<String> {
        f.code.iter().flat_map(|inst| &inst.src).filter_map(named).collect()
    };
    reached(module).map(|all| all.iter().flat_map(of).collect()).collect()
}

fn undefined(module: &Module) -> Vec<String> {
    let missing = |f: &&Function| !f.defined && DeviceFunction::from_name(&f.name).is_none();
    let all: BTreeSet<String> =
        reached(module).flatten().filter(missing).map(|f| f.name.clone()).collect();
    all.into_iter().collect()
}

/// Bytes of a module's constant variables, which count for every kernel.
fn constant(module: &Module) -> u32 {
    let globals = module.globals.iter().filter(|g| g.space == Space::Const);
    let end = globals.fold(0u64, |end, g| {
        end.next_multiple_of(u64::from(g.align.max(1))).saturating_add(g.size)
    });
    u32::try_from(end).unwrap_or(u32::MAX)
}

/// Translates for a GPU; `isa` is the runtime's name for it.
///
/// # Errors
/// [`Failure::InvalidImage`] for invalid PTX, [`Failure::NoImage`] where it cannot be compiled.
pub fn translate(image: &Image<'_>, isa: &str) -> Result<Translated, Failure> {
    let fused = image.optimised && texts::fuses();
    let module = texts::module(image.parts, fused);
    let module = module.map_err(|error| Failure::InvalidImage(format!("PTX {error}")))?;
    let unknown = || Failure::NoImage(format!("{isa}: PTX is not translated for this GPU"));
    let target = Target::from_name(isa).ok_or_else(unknown)?;
    let text = amdgpu::emit(&module, &target);
    let cache = cache();
    let compiler = compiler(cache.as_ref())?;
    let object = cushim_translate::compiled(&text.ir, &target, compiler, cache.as_ref());
    let object = object.map_err(|why| Failure::NoImage(format!("translated PTX: {why}")))?;
    let constant = |space| space == Space::Const;
    let variables = module.globals.iter().map(|g| (g.name.clone(), constant(g.space))).collect();
    let kernels = kernels(&module, &text.kernels, &text.refused);
    let (uses, undefined) = (uses(&module), undefined(&module));
    Ok(Translated { object, kernels, variables, uses, undefined })
}

/// The cache of code between runs.
fn cache() -> Option<Cache> {
    cushim_accel::cache::folder().map(|folder| Cache::at(&folder))
}

/// The compiler, searched for once.
fn compiler(cache: Option<&Cache>) -> Result<&'static Compiler, Failure> {
    static COMPILER: OnceLock<Result<Compiler, String>> = OnceLock::new();
    let found = COMPILER.get_or_init(|| Compiler::find(cache).map_err(|why| why.to_string()));
    found.as_ref().map_err(|why| Failure::NoImage(format!("PTX has to be translated: {why}")))
}

fn kernels(module: &Module, facts: &[Facts], refused: &[Refusal]) -> Vec<(Kernel, Option<Facts>)> {
    let entries = module.functions.iter().filter(|f| f.entry && f.defined);
    let kernel = |f: &Function| {
        let known = facts.iter().find(|facts| facts.name == f.name);
        let why = refused.iter().find(|refusal| refusal.kernel == f.name);
        let why = match (known, why) {
            (Some(_), _) => None,
            (None, Some(refusal)) => Some(format!("backend hsa: kernel {refusal}")),
            (None, None) => Some(format!("backend hsa: kernel {} was not translated", f.name)),
        };
        (describe(module, f, known, why), known.cloned())
    };
    entries.map(kernel).collect()
}

fn describe(
    module: &Module,
    f: &Function,
    facts: Option<&Facts>,
    refused: Option<String>,
) -> Kernel {
    Kernel {
        name: f.name.clone(),
        params: f.places(),
        params_size: f.params_size,
        static_shared: facts.map_or(0, |facts| facts.static_shared_bytes),
        local: f.local_size,
        constant: constant(module),
        // Kernels are compiled for blocks up to the most threads, so registers never limit them.
        registers: 32,
        max_threads: facts.map_or(describe::MAX_THREADS, most_threads),
        required_threads: f.shape("reqntid"),
        required_cluster: f.shape("reqnctapercluster"),
        versions: (module.sm, describe::CAPABILITY.0 * 10 + describe::CAPABILITY.1),
        launches_grids: false,
        launches_graphs: false,
        refused,
    }
}

/// The most threads of a block: in half waves, half the lanes of a workgroup are idle.
pub fn most_threads(facts: &Facts) -> u32 {
    match facts.lanes.contains(&Lanes::Full) {
        true => facts.max_threads.min(describe::MAX_THREADS),
        false => facts.max_threads.min(describe::MAX_THREADS / 2),
    }
}

/// A launch's arguments for a translated kernel, and the work-items of a block; `None` where no
/// layout has room for such a block.
pub fn arguments(facts: &Facts, dispatch: &Dispatch, beside: &Beside) -> Option<(Vec<u8>, u32)> {
    let Dispatch { grid, block, .. } = *dispatch;
    let threads = block.iter().try_fold(1_u32, |all, side| all.checked_mul(*side))?;
    let (lanes, items) = facts.layout(threads)?;
    let launch = LaunchArguments {
        grid,
        block,
        dynamic_shared_bytes: dispatch.dynamic_shared,
        lanes_layout: lanes as u32,
        rpc: beside.rpc,
        workspace: beside.workspace,
        ..LaunchArguments::default()
    };
    let mut bytes = vec![0; facts.launch_offset as usize];
    bytes.iter_mut().zip(&dispatch.arguments).for_each(|(to, from)| *to = *from);
    bytes.extend(launch.bytes());
    Some((bytes, items))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use cushim_accel::{Code, Symbols};
    use std::sync::Arc;

    struct Nothing;

    impl Code for Nothing {
        fn symbols(&self) -> &Symbols {
            static NONE: Symbols =
                Symbols { kernels: Vec::new(), variables: Vec::new(), undefined: Vec::new() };
            &NONE
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    #[test]
    fn the_launch_stands_behind_the_parameters() {
        let facts = Facts {
            name: "k".into(),
            places: vec![(0, 8), (8, 4)],
            parameter_bytes: 12,
            launch_offset: 16,
            lanes: vec![Lanes::Half],
            static_shared_bytes: 0,
            dynamic_shared: true,
            max_threads: 1024,
            host_calls: true,
        };
        let code: Arc<dyn Code> = Arc::new(Nothing);
        let dispatch = |block| Dispatch {
            tag: 0,
            code: code.clone(),
            kernel: 0,
            grid: [5, 1, 1],
            block,
            cluster: None,
            dynamic_shared: 100,
            arguments: [7; 12].into(),
            cooperative: false,
            call: 0,
            trail: None,
            stream: None,
            graph: None,
        };
        let beside = Beside { rpc: 0x1_0000_0002, workspace: 9, ..Beside::default() };
        let (bytes, items) = arguments(&facts, &dispatch([33, 2, 1]), &beside).unwrap();
        assert_eq!((bytes.len(), items), (16 + 64, 192));
        assert_eq!(bytes[..16], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0]);
        assert_eq!(bytes[16..28], [5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[40..48], [100, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[48..64], [2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert!(arguments(&facts, &dispatch([513, 1, 1]), &beside).is_none());
    }
}
