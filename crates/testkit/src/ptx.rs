//! The bodies of the fuzz targets for `cushim-ptx`, one function for each target.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_ptx::ir::{Dst, Src};

/// Any text: the parser ends, and an error's position is in the text.
pub fn parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(e) = cushim_ptx::parse(&text) {
        assert!(e.pos().line as usize <= text.lines().count() + 1, "{e}");
    }
}

/// The body of a kernel: the checker's output has no dangling
/// references.
pub fn check(data: &[u8]) {
    let body = String::from_utf8_lossy(data);
    let head = ".version 8.3\n.target sm_90\n.address_size 64\n.extern .shared .b8 s[];\n\
        .global .u32 g;\n.func (.param .b32 r) f(.param .b64 a);\n.entry k(.param .u64 in) {\n\
        .reg .pred p<4>; .reg .b16 h<4>; .reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 x<4>;\n";
    for text in [format!("{head}{body}\n}}"), body.to_string()] {
        let Ok(module) = cushim_ptx::parse(&text).and_then(|m| cushim_ptx::check(&m)) else {
            continue;
        };
        for f in &module.functions {
            for inst in &f.code {
                for dst in &inst.dst {
                    if let Dst::Reg(r, bits) = dst {
                        assert_eq!(f.registers[*r as usize].bits(), *bits);
                    }
                }
                for src in &inst.src {
                    match src {
                        Src::Reg(r) | Src::Not(r) => assert!((*r as usize) < f.registers.len()),
                        Src::Target(t) => assert!((*t as usize) < f.code.len()),
                        _ => {}
                    }
                }
            }
            assert_eq!(f.code.len(), f.block_of.len());
        }
    }
}
