//! Which kernels are too large to be compiled, without compiling them.
//!
//! Owns the question; the bounds are those of [`crate::simt::calls`] and `emit/limits.rs`. Code's use of the stack is
//! known only after it is compiled, so that limit is not tested. Must not know who asks.

use crate::error::NotCompiled;
use crate::simt::calls;
use crate::{caught, emit};
use cushim_ptx::ir::Module;

/// Why a kernel of a module is interpreted because of its size ([`NotCompiled::TooLarge`]), with the functions it
/// calls; `None` if it is compiled, or interpreted for another reason.
pub fn too_large(module: &Module, kernel: u32) -> Option<NotCompiled> {
    let look = || calls::lower(module, kernel).and_then(|lowered| emit::fits(&lowered)).err();
    let why = caught::run(look).ok().flatten();
    why.filter(|why| matches!(why, NotCompiled::TooLarge { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(body: &str) -> Module {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k {{ .reg .b32 r; .reg .pred p;\n{body}\nret; }}"
        );
        cushim_ptx::check(&cushim_ptx::parse(&text).unwrap()).unwrap()
    }

    fn ask(body: &str) -> Option<String> {
        too_large(&module(body), 0).map(|why| why.to_string())
    }

    #[test]
    fn blocks_and_instructions_are_counted() {
        let ifs = |n: usize| (0..n).map(|k| format!("@p bra L{k}; L{k}:\n")).collect::<String>();
        assert_eq!(ask(&ifs(4094)), None);
        let why = "kernel k: 4097 basic blocks, expected at most 4096";
        assert_eq!(ask(&ifs(4095)).as_deref(), Some(why));
        assert_eq!(ask(&"add.u32 r, r, r;\n".repeat(99_998)), None);
        let what = "instructions with those of the functions it calls, expected at most 100000";
        let why = format!("kernel k: 100001 {what}");
        assert_eq!(ask(&"add.u32 r, r, r;\n".repeat(99_999)), Some(why));
    }

    #[test]
    fn other_reasons_are_none() {
        // No PTX has so many operands, so the module is changed.
        let mut many = module("add.u32 r, r, r;");
        let sources = &mut many.functions[0].code[0].src;
        sources.extend(std::iter::repeat_n(sources[0].clone(), 9));
        let why = emit::fits(&calls::lower(&many, 0).unwrap());
        assert!(matches!(why, Err(NotCompiled::Instruction { .. })), "{why:?}");
        assert_eq!(too_large(&many, 0), None);
    }
}
