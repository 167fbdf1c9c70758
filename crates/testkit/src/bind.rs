//! The bodies of the fuzz targets for `cushim-bind`.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_bind::{Bound, Space, TABLE, rewrite, variables};
use cushim_image::ptx::Lexer;

/// A kernel body, and a whole text: the rewritten text contains no bound name, and declares the table once.
pub fn rewritten(data: &[u8]) {
    let body = String::from_utf8_lossy(data).replace('\0', " ");
    let head = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 x[4];\n\
        .visible .const .align 4 .b8 c[16];\n.const .u64 own = c;\n.global .u64 to[2] = {x+4, generic(c)};\n\
        .visible .entry k(.param .u64 in)\n{\n.reg .b64 d<8>; .reg .b32 r<8>; .reg .pred p;\n";
    let bound = [("c", Space::Const), ("x", Space::Global)].map(|(name, space)| Bound {
        name: name.into(),
        space,
        size: 16,
    });
    for text in [format!("{head}{body}\nret;\n}}\n"), body.clone()] {
        for some in [&bound[..], &bound[..1], &bound[1..]] {
            let Ok(new) = rewrite(text.as_bytes(), some) else { continue };
            let words: Vec<_> = Lexer::new(&new.text).map(|token| token.text).collect();
            for (i, word) in words.iter().enumerate() {
                // A variable's name with a qualifier is an instruction.
                let is_opcode = words.get(i + 1).is_some_and(|next| next.starts_with(b"."));
                let is_bound = some.iter().any(|bound| bound.name.as_bytes() == *word);
                assert!(!is_bound || is_opcode, "{}", String::from_utf8_lossy(&new.text));
            }
            let declared = variables(&new.text).expect("what was understood stays so");
            assert_eq!(declared.iter().filter(|variable| variable.name == TABLE).count(), 1);
            assert!(new.fixups.iter().all(|fixup| fixup.bound < some.len()));
            assert!(rewrite(&new.text, some).is_err(), "the table's name is taken");
        }
    }
}
