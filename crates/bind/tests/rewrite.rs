//! Rewritten PTX: its text, and that its kernels treat the program's variables as the original's
//! kernels treat their own. `cushim_ptx`'s interpreter runs both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use cushim_bind::{
    Bound, Error, Fixup, Rewritten, Space, TABLE, compare, rewrite, theirs, variables,
};
use cushim_image::Limits;

#[path = "../../ptx/tests/common/device.rs"]
mod device;
use cushim_ptx::exec::Memory;
use device::Device;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Binds all variables of a text except those in `own`.
fn bound(text: &str, own: &[&str]) -> Vec<Bound> {
    let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
    let program = theirs(text.as_bytes(), &Limits::DEFAULT);
    let compared = compare(&variables(text.as_bytes()).unwrap(), &program, &own);
    assert_eq!(compared.problems, [""; 0]);
    compared.bound
}

fn rewritten(body: &str, own: &[&str]) -> Result<Rewritten, Error> {
    let text = format!("{HEAD}{body}");
    let new = rewrite(text.as_bytes(), &bound(&text, own))?;
    let shown = String::from_utf8(new.text.clone()).unwrap();
    cushim_ptx::parse(&shown)
        .and_then(|m| cushim_ptx::check(&m))
        .unwrap_or_else(|e| panic!("{e}\n{shown}"));
    Ok(new)
}

/// Runs kernel `k(out)` of the original text and of the rewritten text, whose program's variables
/// begin with the values in `program`; returns `words` words of both outputs.
fn both(body: &str, own: &[&str], program: &[(&str, &[u8])], words: usize) -> [Vec<u32>; 2] {
    let text = format!("{HEAD}{body}");
    let plain = Device::new(&text);
    let out = plain.alloc(words as u64 * 4);
    plain.launch("k", 1, 1, &[out]).unwrap();
    let first = plain.u32s(out, words);

    let bound = bound(&text, own);
    let Rewritten { text: new, fixups } = rewrite(text.as_bytes(), &bound).unwrap();
    let mut names: Vec<&str> = fixups.iter().map(|f| f.variable.as_str()).collect();
    names.insert(0, TABLE);
    let moves: String = names
        .iter()
        .enumerate()
        .map(|(i, name)| format!("mov.u64 %a, {name}; st.global.u64 [%o+{}], %a;\n", i * 8))
        .collect();
    let finder = format!(
        "\n.visible .entry find(.param .u64 out) {{ .reg .b64 %a; .reg .b64 %o; ld.param.u64 %o, [out];\n{moves} ret; }}\n"
    );
    let new = String::from_utf8(new).unwrap() + &finder;
    let device = Device::new(&new);
    let found = device.alloc(names.len() as u64 * 8);
    device.launch("find", 1, 1, &[found]).unwrap();
    let found = device.u64s(found, names.len());
    let mut table = Vec::new();
    for one in &bound {
        let bytes = program.iter().find(|(name, _)| *name == one.name).unwrap().1;
        let at = device.upload(bytes, |byte| [*byte]);
        table.push(at);
        device.memory.store(found[0] + 8 * (table.len() as u64 - 1), &at.to_le_bytes()).unwrap();
    }
    for (Fixup { offset, bytes, shift, bound, addend, .. }, at) in fixups.iter().zip(&found[1..]) {
        let address = table[*bound].wrapping_add_signed(*addend) >> shift;
        device.memory.store(at + offset, &address.to_le_bytes()[..*bytes as usize]).unwrap();
    }
    let out = device.alloc(words as u64 * 4);
    device.launch("k", 1, 1, &[out]).unwrap();
    [first, device.u32s(out, words)]
}

fn kernel(registers: &str, body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out)\n{{\n.reg .b64 %o;\n{registers}\nld.param.u64 %o, [out];\n{body}\nret;\n}}\n"
    )
}

#[test]
fn the_declaration_goes_and_the_use_is_by_address() {
    let body = format!(
        ".visible .const .align 4 .f32 scale;\n{}",
        kernel(".reg .f32 %f;", "ld.const.f32 %f, [scale];\nst.global.f32 [%o], %f;")
    );
    let text = String::from_utf8(rewritten(&body, &[]).unwrap().text).unwrap();
    let expected = format!(
        "{HEAD}.visible .const .align 8 .u64 cushim_bound[1];\n\n.visible .entry k(.param .u64 out)\n{{\n.reg .b64 %cushim_bound<1>;\n\
         .reg .b64 %o;\n.reg .f32 %f;\nld.param.u64 %o, [out];\nld.const.u64 %cushim_bound0, [cushim_bound+0]; ld.f32 %f, [%cushim_bound0];\n\
         st.global.f32 [%o], %f;\nret;\n}}\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn global_variables_in_all_forms() {
    let body = format!(
        ".visible .global .align 4 .u32 count = 5;\n.visible .global .align 4 .b8 list[16] = {{1,0,0,0,2,0,0,0,3,0,0,0,4,0,0,0}};\n\
         .visible .func (.param .b32 r) read(.param .b64 at)\n{{\n.reg .b64 %a; .reg .b32 %v, %w;\nld.param.u64 %a, [at];\nld.u32 %v, [%a];\n\
         ld.global.u32 %w, [count];\nadd.u32 %v, %v, %w;\nst.param.b32 [r], %v;\nret;\n}}\n{}",
        kernel(
            ".reg .b32 %v<8>; .reg .b64 %d<4>; .reg .pred %p;",
            "setp.eq.u64 %p, %o, 0;\n\
             @%p st.global.u32 [count], 99;\n\
             @!%p atom.global.add.u32 %v0, [count], 2; // count\n\
             st.global.u32 [%o], %v0;\n\
             mov.u64 %d0, list+4; add.s64 %d0, %d0, 4;\n\
             ld.global.u32 %v1, [%d0]; st.global.u32 [%o+4], %v1;\n\
             mov.u64 %d2, list+12;\n\
             mov.u64 %d3, list;\n\
             sub.s64 %d2, %d2, %d3; cvt.u32.u64 %v2, %d2; st.global.u32 [%o+8], %v2;\n\
             $again: ld.global.v2.u32 {%v3, %v4}, [list+8];\n\
             st.global.v2.u32 [%o+16], {%v3, %v4};\n\
             { .param .b64 p0; .param .b32 r0; cvta.global.u64 %d1, list; st.param.b64 [p0], %d1;\n\
             .loc 1 3 0\n\
             call.uni (r0), read, (p0); ld.param.b32 %v5, [r0]; }\n\
             st.global.u32 [%o+12], %v5;\n\
             red.global.add.u32 [list+4], 7; ld.global.u32 %v6, [list+4]; st.global.u32 [%o+24], %v6;"
        )
    );
    let list: Vec<u8> = [1u32, 2, 3, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    let [plain, new] = both(&body, &[], &[("count", &5u32.to_le_bytes()), ("list", &list)], 7);
    assert_eq!(plain, [5, 3, 12, 8, 3, 4, 9]);
    assert_eq!(new, plain);
    // One variable is its own, the other the program's.
    let [plain, new] = both(&body, &["count"], &[("list", &list)], 7);
    assert_eq!(new, plain);
}

#[test]
fn constants_and_their_addresses() {
    let body = format!(
        ".visible .const .align 4 .b8 table[8] = {{10,0,0,0,20,0,0,0}};\n.const .align 4 .u32 stays[2] = {{7, 8}};\n\
         .const .align 8 .u64 leads = stays;\n.global .align 8 .u64 to = generic(table)+4;\n\
         .global .align 8 .b8 bytes[10] = {{1, 0xFF(generic(table)), 0xFF00(generic(table)), 0xFF0000(generic(table)), 0xFF000000(generic(table)), \
         0xFF00000000(generic(table)), 0xFF0000000000(generic(table)), 0xFF000000000000(generic(table)), 0xFF00000000000000(generic(table)), 2}};\n{}",
        kernel(
            ".reg .b32 %v<9>; .reg .b64 %d<9>; .reg .pred %p;",
            "ld.const.u32 %v0, [table+4]; st.global.u32 [%o], %v0;\n\
             mov.u64 %d0, table; mov.u64 %d1, stays;\n\
             setp.eq.u64 %p, %o, 0; selp.b64 %d2, %d0, %d1, %p;\n\
             ld.const.u32 %v1, [%d2+4]; st.global.u32 [%o+4], %v1;\n\
             cvta.const.u64 %d3, %d0; ld.u32 %v2, [%d3]; st.global.u32 [%o+8], %v2;\n\
             cvta.to.const.u64 %d4, %d3; ld.const.u32 %v3, [%d4+4]; st.global.u32 [%o+12], %v3;\n\
             ld.const.u32 %v4, [stays]; st.global.u32 [%o+16], %v4;\n\
             ld.const.u64 %d5, [leads]; ld.const.u32 %v5, [%d5+4]; st.global.u32 [%o+20], %v5;\n\
             ld.global.u64 %d6, [to]; ld.u32 %v6, [%d6]; st.global.u32 [%o+24], %v6;\n\
             ld.global.u8 %v7, [bytes+9]; st.global.u32 [%o+28], %v7;\n\
             cvta.const.u64 %d7, table; ld.u32 %v8, [%d7+4]; st.global.u32 [%o+32], %v8;"
        )
    );
    let [plain, new] = both(
        &body,
        &["stays", "leads", "to", "bytes"],
        &[("table", &[10, 0, 0, 0, 20, 0, 0, 0])],
        9,
    );
    assert_eq!(plain, [20, 8, 10, 20, 7, 8, 20, 2, 20]);
    assert_eq!(new, plain);
    let fixups = rewritten(&body, &["stays", "leads", "to", "bytes"]).unwrap().fixups;
    assert_eq!((fixups.len(), fixups[0].addend, fixups[0].bytes), (9, 4, 8));
    assert_eq!(
        (fixups[8].variable.as_str(), fixups[8].offset, fixups[8].bytes, fixups[8].shift),
        ("bytes", 8, 1, 56)
    );
}

#[test]
fn what_others_declare_and_debuggers_are_told() {
    let body = format!(
        ".extern .global .align 4 .b8 list[];\n.visible .global .attribute(.managed) .align 4 .u32 managed;\n{}.section .debug_info\n{{\n.b64 list\n.b64 managed\n}}\n",
        kernel(".reg .b32 %v;", "ld.global.u32 %v, [list+8];\nst.global.u32 [managed], %v;")
    );
    let text = format!("{HEAD}{body}");
    let list: Vec<Bound> = [("list", 0), ("managed", 4)]
        .map(|(name, size)| Bound { name: name.into(), space: Space::Global, size })
        .into();
    assert_eq!(bound(&text, &[]), list);
    let new = String::from_utf8(rewrite(text.as_bytes(), &list).unwrap().text).unwrap();
    assert!(!new.contains("list") && !new.contains("managed"), "{new}");
    assert!(new.contains(".b64 0\n.b64 0\n"), "{new}");
}

#[test]
fn what_cannot_be_rewritten_is_said() {
    let variable =
        ".visible .global .align 4 .u32 x;\n.visible .const .align 4 .u32 c;\n.const .u32 stays;\n";
    for (own, body, line, why) in [
        ("", "ld.global.u32 %v, x[1];", 12, "an index after a bound variable"),
        ("", "mov.u64 %d, x+4*2;", 12, "expected name + number"),
        ("", ".reg .b32 x;", 12, "used for something else"),
        ("", "x;", 12, "used for something else"),
        ("", "x: bra x;", 12, "used for something else"),
        ("stays", "isspacep.const %p, %d;", 12, "isspacep.const"),
        ("stays", "ld.u32 %v, [stays];", 12, "an address of a constant"),
        ("stays", "mov.u32 %v, stays;", 12, "not 64 bits wide"),
        ("", "mov.u32 %v, cushim_bound;", 12, "is taken"),
    ] {
        let text = format!(
            "{HEAD}{variable}{}",
            kernel(".reg .b32 %v; .reg .b64 %d; .reg .pred %p;", body)
        );
        let own: Vec<&str> = own.split_whitespace().collect();
        let error = rewrite(text.as_bytes(), &bound(&text, &own)).unwrap_err();
        assert!(error.why.contains(why) && error.line == line, "{body}: {error}");
    }
    let two = format!("{HEAD}.visible .global .u32 x, y;\n");
    let x = [Bound { name: "x".into(), space: Space::Global, size: 4 }];
    assert!(rewrite(two.as_bytes(), &x).unwrap_err().why.contains("one declaration of several"));
    let narrow = ".version 8.0\n.target sm_80\n.address_size 32\n.visible .global .u32 x;\n";
    assert!(rewrite(narrow.as_bytes(), &x).unwrap_err().why.contains("expected 64"));
    let parameter =
        format!("{HEAD}.visible .global .u32 x;\n.visible .entry k(.param .u32 x) {{ ret; }}\n");
    assert!(rewrite(parameter.as_bytes(), &x).unwrap_err().why.contains("used for something else"));
}

#[test]
fn variables_called_as_instructions_are() {
    let body = format!(
        ".visible .global .align 4 .u32 add = 4;\n{}",
        kernel(
            ".reg .b32 %v;",
            "ld.global.u32 %v, [add];\nadd.u32 %v, %v, 1;\nst.global.u32 [%o], %v;"
        )
    );
    let [plain, new] = both(&body, &[], &[("add", &4u32.to_le_bytes())], 1);
    assert_eq!((plain, new), (vec![5], vec![5]));
}

#[test]
fn without_bound_variables_the_code_stays() {
    let text =
        format!("{HEAD}.const .u32 c = 3;\n{}", kernel(".reg .b32 %v;", "ld.const.u32 %v, [c];"));
    let new = String::from_utf8(rewrite(text.as_bytes(), &[]).unwrap().text).unwrap();
    assert_eq!(new.replace(".visible .const .align 8 .u64 cushim_bound[1];\n", ""), text);
}

use cushim_testkit::{bind as fuzz, corpus, sample};

/// The fuzz target's body, on random sequences of PTX fragments with a fixed seed.
#[test]
fn any_text_is_rewritten_or_refused() {
    corpus::regressions("bind_rewrite", fuzz::rewritten);
    let pieces = [
        "ld.const.u32 r0, [c",
        "+8",
        "];",
        "ld.global.u32 r0, [x]",
        ";",
        "mov.u64 d0, c",
        "@p ",
        "L: ",
        "{",
        "}",
        "cvta.to.const.u64 d1, d0;",
        "mov.u64 d1, own;",
        "x",
        "c",
        ", ",
        "call (r0), f, (x)",
        ".loc 1 2 3\n",
        "st.global.u32 [d0], r0;",
        "cvta.const.u64 d0, own;",
        "[",
        "atom.global.add.u32 r0, [x+4], 1;",
        ".reg .u32 z;",
        "::",
        "// x\n",
        "\"x\"",
        ".section s { .b64 x }",
        ".global .u64 y = 0xFF(x);",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Fuzzing tries more.
    for _ in 0..if sample::all() { 20_000 } else { 5_000 } {
        let count = next() % 9;
        let text: String = (0..count).map(|_| pieces[next() as usize % pieces.len()]).collect();
        fuzz::rewritten(text.as_bytes());
    }
}
