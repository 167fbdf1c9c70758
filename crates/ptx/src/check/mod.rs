//! Syntax tree -> checked IR.
//!
//! Owns the rules: names are declared once and before their use, every
//! instruction is a form of the table, operands fit. An instruction that the
//! table refuses or does not know does not fail the module: it is noted, so
//! that the module's other kernels run.

mod address;
mod blocks;
mod function;
mod globals;
mod instruction;
mod old;
mod operand;
mod scope;
mod video;

use crate::ast;
use crate::error::Error;
use crate::ir::{Module, Symbol};
pub(crate) use blocks::find as find_blocks;
use globals::Declared;
use old::Dialect;

/// Bound on what one variable may take, in bytes: more than any device has.
const MAX_SIZE: u64 = 1 << 40;
/// Bound on local memory and parameters, in bytes.
const MAX_LOCAL: u64 = 1 << 24;

/// Checks a parsed module.
///
/// # Errors
/// The first declaration or operand that PTX does not allow.
pub fn check(module: &ast::Module<'_>) -> Result<Module, Error> {
    let mut out = Module {
        version: module.version,
        sm: module.targets.iter().find_map(|t| sm(t)).unwrap_or(0),
        globals: Vec::new(),
        shared: Vec::new(),
        functions: Vec::new(),
        sources: module.sources.clone(),
    };
    let dialect = Dialect::new(module.version, out.sm);
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
    // Initial values may name what comes later.
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

fn sm(target: &str) -> Option<u32> {
    let digits = target.strip_prefix("sm_").or(target.strip_prefix("compute_"))?;
    digits.trim_end_matches(['a', 'f']).parse().ok()
}

/// Size of a variable in bytes, by its type and dimensions.
fn size(v: &ast::Variable<'_>) -> Result<u64, Error> {
    let mut size = u64::from(v.ty.bytes()) * u64::from(v.vector);
    for d in &v.dims {
        size = size.saturating_mul(d.unwrap_or(0));
    }
    if size > MAX_SIZE {
        return Err(Error::TooLarge {
            pos: v.pos,
            what: "the size of a variable",
            found: size,
            limit: MAX_SIZE,
        });
    }
    Ok(size)
}

/// Alignment of a variable in bytes.
fn align(v: &ast::Variable<'_>) -> u32 {
    v.align.unwrap_or(1).max((v.ty.bytes() * v.vector).next_power_of_two())
}

/// The next multiple of `align`, a power of two.
fn align_up(offset: u64, align: u32) -> u64 {
    offset.next_multiple_of(u64::from(align.max(1)))
}
