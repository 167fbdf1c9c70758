//! Variables of a module: global, constant, shared.
//!
//! Owns their initial values as LLVM writes them, and which have none that can be written.

use super::names::Names;
use cushim_ptx::ast::Linkage;
use cushim_ptx::ir::{Global, Module, Relocation, Symbol};
use std::fmt::Write;

/// Why a variable is not there; a function that names it is refused.
pub(super) fn missing(global: &Global) -> Option<&'static str> {
    if global.linkage == Linkage::Extern {
        return Some("a variable that no module defines");
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
    None
}

/// All variables.
pub(super) fn emit(module: &Module, names: &Names) -> String {
    let mut text = String::new();
    for (n, g) in module.globals.iter().enumerate() {
        if missing(g).is_some() {
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
        // Of two at one place the first counts.
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
            Symbol::Global(n) => module.globals.get(n as usize).and_then(missing).is_some(),
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
