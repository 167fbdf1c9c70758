//! Names of symbols.
//!
//! Owns that kernels and variables keep CUDA's names, and that no two symbols have the same name.

use cushim_ptx::ir::Module;
use std::collections::{HashMap, HashSet};

/// The names of a module's symbols as LLVM writes them, with `@`.
#[derive(Debug)]
pub(super) struct Names {
    functions: Vec<String>,
    globals: Vec<String>,
    shared: Vec<String>,
    /// Kernels whose name another has.
    second: HashSet<u32>,
}

impl Names {
    pub(super) fn of(module: &Module) -> Names {
        let mut taken: HashMap<&str, u32> = HashMap::new();
        let mut second = HashSet::new();
        let quoted = |name: &str| format!("@\"{}\"", name.replace(['"', '\\'], "_"));
        let functions = module.functions.iter().enumerate().map(|(n, f)| {
            if !f.entry || !f.defined {
                return quoted(&format!("function.{n}.{}", f.name));
            }
            let before = taken.insert(&f.name, 1);
            if before.is_some() {
                second.insert(n as u32);
                return quoted(&format!("kernel.{n}.{}", f.name));
            }
            quoted(&f.name)
        });
        let functions = functions.collect();
        let globals =
            module.globals.iter().enumerate().map(|(n, g)| match taken.insert(&g.name, 1) {
                None => quoted(&g.name),
                Some(_) => quoted(&format!("variable.{n}.{}", g.name)),
            });
        let globals = globals.collect();
        let shared = module.shared.iter().enumerate();
        let shared = shared.map(|(n, v)| quoted(&format!("shared.{n}.{}", v.name))).collect();
        Names { functions, globals, shared, second }
    }

    pub(super) fn is_second(&self, kernel: u32) -> bool {
        self.second.contains(&kernel)
    }

    pub(super) fn function(&self, n: u32) -> &str {
        self.functions.get(n as usize).map_or("@\"?\"", String::as_str)
    }

    pub(super) fn global(&self, n: u32) -> &str {
        self.globals.get(n as usize).map_or("@\"?\"", String::as_str)
    }

    pub(super) fn shared(&self, n: u32) -> &str {
        self.shared.get(n as usize).map_or("@\"?\"", String::as_str)
    }
}
