//! Converts a checked module to LLVM IR for `amdgcn-amd-amdhsa`.
//!
//! Owns the symbols of a module, and which kernels are refused. A lane is a work-item, and LLVM handles its control
//! flow; collective operations of a warp use wave instructions. Must not know compilers.

mod atomic;
mod barrier;
mod call;
mod collective;
mod control;
mod function;
mod globals;
mod host;
mod library;
mod locals;
mod mbarrier;
mod memory;
mod names;
mod operand;
mod signature;
mod special;
mod step;

use crate::abi::{Facts, TABLE, launch_offset};
use crate::layout;
use crate::refusal::{Refusal, Refused};
use crate::target::Target;
use cushim_ptx::ir::Module;
use names::Names;
use std::collections::{BTreeMap, BTreeSet};

/// A module in LLVM's language.
#[derive(Debug, Clone)]
pub struct Text {
    /// The IR, without target triple and data layout.
    pub ir: String,
    /// The translated kernels.
    pub kernels: Vec<Facts>,
    /// The refused kernels.
    pub refused: Vec<Refusal>,
}

/// A function's IR, or what in it is not translated.
type Made = Result<function::Text, Refused>;

/// Translates all kernels of a module.
pub fn emit(module: &Module, target: &Target) -> Text {
    let names = Names::of(module);
    let mut made: BTreeMap<u32, Made> = BTreeMap::new();
    let (mut kernels, mut refused, mut wanted) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (number, f) in module.functions.iter().enumerate().filter(|(_, f)| f.entry && f.defined) {
        let number = number as u32;
        let reachable = module.reachable(number);
        for n in &reachable {
            made.entry(*n).or_insert_with(|| function::emit(module, &names, target, *n));
        }
        if let Some(refusal) = refusal(module, &names, &made, number) {
            refused.push(refusal);
            continue;
        }
        wanted.extend(reachable);
        let (_, shared) = cushim_ptx::exec::shared_layout(module, number);
        kernels.push(Facts {
            name: f.name.clone(),
            places: f.places(),
            parameter_bytes: f.params_size,
            launch_offset: launch_offset(f.params_size),
            lanes: layout::allowed(module, number, target),
            static_shared_bytes: shared,
            dynamic_shared: layout::names_dynamic_shared(module, number),
            max_threads: function::max_threads(f),
            host_calls: host::is_asked(module, number),
        });
    }
    let needs = library::Needs {
        host: kernels.iter().any(|kernel: &Facts| kernel.host_calls),
        barriers: wanted.iter().any(|n| layout::counted::count_in(module, *n)),
    };
    let mut declared = BTreeSet::new();
    let library = library::text(target, needs, &mut declared);
    let ir = library + &assemble(module, &names, &made, &wanted, declared) + &table(&kernels);
    Text { ir, kernels, refused }
}

/// What is known of the kernels, as a symbol.
fn table(kernels: &[Facts]) -> String {
    let text = Facts::table(kernels);
    let bytes: String = text.bytes().map(|byte| format!("\\{byte:02X}")).collect();
    format!(
        "@\"{TABLE}\" = protected addrspace(4) constant [{} x i8] c\"{bytes}\", align 16\n",
        text.len()
    )
}

/// The reason why a kernel cannot be translated: in itself, or in a function that it calls by name.
fn refusal(
    module: &Module,
    names: &Names,
    made: &BTreeMap<u32, Made>,
    kernel: u32,
) -> Option<Refusal> {
    let name = |n: u32| module.functions.get(n as usize).map_or(String::new(), |f| f.name.clone());
    let refuse = |n: u32, pos, what: &str| {
        Some(Refusal { kernel: name(kernel), function: name(n), pos, what: what.to_owned() })
    };
    if let Some((n, r)) = module.refusals(kernel).first() {
        return refuse(*n, r.pos, &format!("`{}`: {}", r.instruction, r.reason));
    }
    if names.is_second(kernel) {
        let pos = module.functions.get(kernel as usize).map(|f| f.pos).unwrap_or_default();
        return refuse(kernel, pos, "a second kernel of this name");
    }
    let (mut seen, mut stack) = (BTreeSet::new(), vec![kernel]);
    while let Some(n) = stack.pop() {
        if !seen.insert(n) {
            continue;
        }
        if let Some(Err(r)) = made.get(&n) {
            return refuse(n, r.pos, &r.what);
        }
        stack.extend(module.functions.get(n as usize).map_or(&[][..], |f| &f.callees));
    }
    None
}

/// Assembles the module: its variables, its functions, and the functions they call.
fn assemble(
    module: &Module,
    names: &Names,
    made: &BTreeMap<u32, Made>,
    wanted: &BTreeSet<u32>,
    of_library: BTreeSet<String>,
) -> String {
    let mut text = String::from("; made by cushim from PTX\n");
    text += &globals::emit(module, names);
    let mut declared: BTreeSet<&String> = of_library.iter().collect();
    for n in wanted {
        match made.get(n) {
            Some(Ok(one)) => {
                text += &one.text;
                declared.extend(&one.declared);
            }
            // It is reached through pointers only: it traps its caller.
            Some(Err(_)) => text += &function::stub(module, names, *n, &mut declared),
            None => {}
        }
    }
    text += &globals::holders(module, names, &text);
    for line in declared {
        text += line;
        text += "\n";
    }
    text + function::ATTRIBUTES
}
