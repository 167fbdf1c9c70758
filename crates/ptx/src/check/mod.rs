//! Syntax tree -> checked IR.
//!
//! Owns the rules: names are declared once and before their use, every instruction is a form of the table, operands
//! fit. An instruction that the table refuses or does not contain does not fail the module: it is noted, so that the
//! module's other kernels run.

mod address;
mod call;
mod function;
mod globals;
mod instruction;
mod matrix;
mod old;
mod operand;
mod scope;
mod size;
mod tensor;
mod texture;
mod tile;
mod video;
mod warpgroup;
mod wide;

use crate::ast;
use crate::error::Error;
use crate::ir::{Module, Symbol};
use crate::table::needs::Target;
use globals::Declared;
use old::Dialect;

/// Checks a parsed module.
///
/// # Errors
/// The first declaration or operand that PTX does not allow.
pub fn check(module: &ast::Module<'_>) -> Result<Module, Error> {
    let target = module.targets.iter().find_map(|t| Target::from_name(t)).unwrap_or_default();
    let mut out = Module {
        version: module.version,
        sm: target.number,
        globals: Vec::new(),
        shared: Vec::new(),
        functions: Vec::new(),
        sources: module.sources.clone(),
    };
    let dialect = Dialect::new(module.version, target);
    let mut declared = Declared::new(dialect, module)?;
    globals::functions(module, &mut declared, &mut out)?;
    let mut pending = Vec::new();
    for v in &module.variables {
        if dialect.is_register(v) {
            continue;
        }
        globals::variable(v, &mut declared, &mut out, &mut pending)?;
    }
    for (index, f) in declared.bodies(module) {
        let checked = function::function(f, &mut declared, &mut out, &mut pending)?;
        out.functions[index as usize] = checked;
    }
    // Initial values may refer to later names.
    for p in pending {
        p.apply(&declared, &mut out)?;
    }
    for (new, old, pos) in &module.aliases {
        let Some(Symbol::Function(target)) = declared.get(old) else {
            let name = old.to_string();
            return Err(Error::Undeclared { pos: *pos, name, expected: "a function" });
        };
        let mut copy = out.functions[target as usize].clone();
        copy.name = new.to_string();
        match declared.get(new) {
            Some(Symbol::Function(i)) => out.functions[i as usize] = copy,
            _ => out.functions.push(copy),
        }
    }
    Ok(out)
}
