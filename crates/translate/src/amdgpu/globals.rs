//! Variables of a module: global, constant, shared.
//!
//! Owns their initial values in LLVM's syntax, which variables have no initial value that can be written, and which
//! ones are found through a symbol that holds their address.

use super::names::Names;
use crate::abi::{EXTERNAL, MANAGED};
use cushim_ptx::ast::Linkage;
use cushim_ptx::ir::{Global, Module, Relocation, Symbol};
use std::fmt::Write;

/// Why a variable is not there; a function that names it is refused.
pub(super) fn missing(module: &Module, global: &Global) -> Option<&'static str> {
    if global.reference {
        return Some("a texture or surface reference, and no texture is translated");
    }
    let fits = |r: &Relocation| {
        let whole = r.width == 8 && r.mask.is_none();
        let inside = r.offset.checked_add(8).is_some_and(|end| end <= global.size);
        whole && inside && matches!(r.target, Symbol::Global(_) | Symbol::Function(_))
    };
    if !global.relocations.iter().all(fits) {
        return Some(
            "a variable with a part of an address, or one of shared memory, in its initial value",
        );
    }
    let elsewhere = |r: &Relocation| match r.target {
        Symbol::Global(n) => module.globals.get(n as usize).is_none_or(|g| indirect(g).is_some()),
        Symbol::Function(n) => !module.functions.get(n as usize).is_some_and(|f| f.defined),
        _ => false,
    };
    if global.relocations.iter().any(elsewhere) {
        return Some(
            "a variable with the address of a managed variable, or of what another module \
             defines, in its initial value",
        );
    }
    None
}

/// The prefix of the symbol that holds the address of a variable whose address is known only when code is loaded;
/// `None` for other variables.
pub(super) fn indirect(global: &Global) -> Option<&'static str> {
    match global.linkage {
        Linkage::Extern => Some(EXTERNAL),
        _ if global.managed => Some(MANAGED),
        _ => None,
    }
}

/// The symbol that holds a variable's address, as LLVM writes it.
pub(super) fn holder(names: &Names, prefix: &str, number: u32) -> String {
    names.global(number).replacen("@\"", &format!("@\"{prefix}"), 1)
}

/// The symbols that hold addresses and that a text names.
pub(super) fn holders(module: &Module, names: &Names, text: &str) -> String {
    let mut out = String::new();
    for (n, g) in module.globals.iter().enumerate() {
        let Some(prefix) = indirect(g) else { continue };
        let name = holder(names, prefix, n as u32);
        // A managed variable is there for the host, too.
        if g.managed && missing(module, g).is_none() || text.contains(&format!("{name},")) {
            let _ = writeln!(
                out,
                "{name} = protected addrspace(1) externally_initialized global i64 0, align 8"
            );
        }
    }
    out
}

/// All variables.
pub(super) fn emit(module: &Module, names: &Names) -> String {
    let mut text = String::new();
    for (n, g) in module.globals.iter().enumerate() {
        if g.linkage == Linkage::Extern || missing(module, g).is_some() {
            continue;
        }
        let (ty, value) = initial(module, names, g);
        let _ = writeln!(
            text,
            "{} = protected addrspace(1) externally_initialized global {ty} {value}, align {}",
            names.global(n as u32),
            g.align.max(1)
        );
    }
    for (n, v) in module.shared.iter().enumerate() {
        let (name, align) = (names.shared(n as u32), v.align.clamp(1, 1 << 16));
        let _ = match v.dynamic {
            true => writeln!(
                text,
                "{name} = external addrspace(3) global [0 x i8], align {}",
                align.max(16)
            ),
            false => writeln!(
                text,
                "{name} = internal addrspace(3) global [{} x i8] undef, align {align}",
                v.size
            ),
        };
    }
    text
}

/// Type and value of a variable.
fn initial(module: &Module, names: &Names, g: &Global) -> (String, String) {
    if g.relocations.is_empty() && g.bytes.iter().all(|byte| *byte == 0) {
        return (format!("[{} x i8]", g.size), "zeroinitializer".into());
    }
    let mut relocations: Vec<&Relocation> = g.relocations.iter().collect();
    relocations.sort_by_key(|r| r.offset);
    let (mut types, mut values, mut at) = (Vec::new(), Vec::new(), 0u64);
    let bytes = |from: u64, to: u64, types: &mut Vec<String>, values: &mut Vec<String>| {
        if from >= to {
            return;
        }
        let end = (g.bytes.len() as u64).clamp(from, to);
        let given = g.bytes.get(from as usize..end as usize).unwrap_or_default();
        if !given.is_empty() {
            let text: String = given.iter().map(|byte| format!("\\{byte:02X}")).collect();
            types.push(format!("[{} x i8]", given.len()));
            values.push(format!("[{} x i8] c\"{text}\"", given.len()));
        }
        if end < to {
            types.push(format!("[{} x i8]", to - end));
            values.push(format!("[{} x i8] zeroinitializer", to - end));
        }
    };
    for r in relocations {
        // Of two at one offset the first counts.
        if r.offset < at {
            continue;
        }
        bytes(at, r.offset, &mut types, &mut values);
        let pointer = match r.target {
            Symbol::Function(n) => format!("ptr {}", names.function(n)),
            Symbol::Global(n) => format!("ptr addrspace(1) {}", names.global(n)),
            _ => continue,
        };
        let absent = match r.target {
            Symbol::Global(n) => {
                let of = |g: &Global| missing(module, g).is_some();
                module.globals.get(n as usize).is_some_and(of)
            }
            _ => false,
        };
        let space =
            if pointer.starts_with("ptr addrspace(1)") { "ptr addrspace(1)" } else { "ptr" };
        let value = match absent {
            true => "i64 0".to_owned(),
            false => format!(
                "i64 ptrtoint ({space} getelementptr (i8, {pointer}, i64 {}) to i64)",
                r.addend
            ),
        };
        types.push("i64".into());
        values.push(value);
        at = r.offset + 8;
    }
    bytes(at, g.size, &mut types, &mut values);
    (format!("<{{ {} }}>", types.join(", ")), format!("<{{ {} }}>", values.join(", ")))
}
