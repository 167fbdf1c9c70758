//! The scan on declarations that compilers write, and on broken ones.

use super::*;

fn layout_of(params: &str) -> ParamLayout {
    let text = format!(
        ".version 8.5\n.target sm_90a, debug\n.address_size 64\n.visible .entry k({params})\n{{ ret; }}"
    );
    let ptx = scan(text.as_bytes(), &Limits::DEFAULT).unwrap();
    ptx.entries[0].layout()
}

fn pairs(layout: &ParamLayout) -> Vec<(u32, u32)> {
    layout.params.iter().map(|param| (param.offset, param.size)).collect()
}

#[test]
fn parameters_lie_at_their_alignment() {
    let layout = layout_of(".param .u8 a, .param .u64 b, .param .align 2 .b8 c[6], .param .f32 d");
    assert_eq!(pairs(&layout), [(0, 1), (8, 8), (16, 6), (24, 4)]);
    assert_eq!(layout.size, 28);
    let layout = layout_of(".param .align 16 .b8 a[4], .param .v4 .f32 b, .param .b8 c[2][3]");
    assert_eq!(pairs(&layout), [(0, 4), (16, 16), (32, 6)]);
}

#[test]
fn pointer_attributes_are_the_pointees() {
    let text = ".param .u64 .ptr .global .align 16 a, .param .u32 b, .param .u64 .ptr .align 1 c, .param .u64 .ptr d";
    assert_eq!(pairs(&layout_of(text)), [(0, 8), (8, 4), (16, 8), (24, 8)]);
    let opaque = ".param .texref t, .param .samplerref s, .param .surfref u";
    assert_eq!(pairs(&layout_of(opaque)), [(0, 8), (8, 8), (16, 8)]);
}

#[test]
fn module_level_declarations() {
    let text = br#"
// comment { with braces
.version 7.8
.target sm_52
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;
.global .align 4 .b8 table[16] = {1, 0, 2}, other[4];
.const .f64 c;
.extern .shared .align 16 .b8 dynamic[];
.global .attribute(.managed) .align 4 .u32 managed;
.global .texref t;
.weak .func  (.param .b32 func_retval0) helper(.param .b32 x) { { .reg .b32 %r; } ret; }
.visible .entry one() .maxntid 128, 2 .minnctapersm 1 .reqnctapercluster 2 { /* } */ ret; }
.entry two .reqntid 32, 1, 1 .maxnreg 40 { ret; }
.file 1 "a } b.cu"
.section .debug_str { info_string0: .b8 1 }
"#;
    let ptx = scan(text, &Limits::DEFAULT).unwrap();
    assert_eq!((ptx.version, ptx.target.to_string()), ((7, 8), "sm_52".to_owned()));
    assert_eq!(ptx.externs, ["vprintf"]);
    let globals: Vec<_> =
        ptx.globals.iter().map(|g| (g.name.as_str(), g.space.as_str(), g.size)).collect();
    assert_eq!(
        globals,
        [
            ("table", "global", 16),
            ("other", "global", 4),
            ("c", "const", 8),
            ("dynamic", "shared", 0),
            ("managed", "global", 4),
            ("t", "global", 8),
        ]
    );
    assert!(ptx.globals[3].external && !ptx.globals[2].external);
    assert_eq!(ptx.entries.len(), 2);
    assert_eq!(ptx.entries[0].max_threads, Some([128, 2, 1]));
    assert_eq!(ptx.entries[0].cluster, Some([2, 1, 1]));
    assert_eq!(ptx.entries[1].required_threads, Some([32, 1, 1]));
    assert_eq!(ptx.entries[1].max_registers, Some(40));
    assert_eq!(ptx.entries[1].layout(), ParamLayout::default());
}

#[test]
fn broken_text_is_named() {
    let cases = [
        ("", "the end"),
        (".target sm_80", "`.target`"),
        (".version x", "`x`"),
        (".version 8.0 .entry 7", "`7`"),
        (".version 8.0 .entry k(.param .u99 a)", "`.u99`"),
        (".version 8.0 .entry k(.param .u32 a", "the end"),
        (".version 8.0 .entry k(.param .b8 a[99999999999999999999])", "`99999999999999999999`"),
        (".version 8.0 .func ;", "`.func` without one"),
    ];
    for (text, expected) in cases {
        match scan(text.as_bytes(), &Limits::DEFAULT) {
            Err(Error::Syntax { found, .. }) => assert_eq!(found, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn huge_sizes_saturate() {
    let layout = layout_of(".param .b64 a[0xFFFFFFFFFFFFFFFF], .param .b64 b[7]");
    assert_eq!(layout.size, u32::MAX);
}

/// Lists of variables: each has its own name and bounds, and shares the rest; long ones end.
#[test]
fn lists_of_variables() {
    let head = ".version 8.5\n.target sm_90\n.address_size 64\n";
    let text = format!("{head}.global .align 8 .v2 .u32 a[3], b, c[2][2];");
    let globals = scan(text.as_bytes(), &Limits::DEFAULT).unwrap().globals;
    let seen: Vec<_> = globals
        .iter()
        .map(|g| (g.name.as_str(), g.space.as_str(), g.ty.as_str(), g.size, g.align, g.array))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", "global", "v2.u32", 24, 8, true),
            ("b", "global", "v2.u32", 8, 8, false),
            ("c", "global", "v2.u32", 32, 8, true),
        ]
    );
    let few = Limits { max_items: 3, ..Limits::DEFAULT };
    assert_eq!(scan(text.as_bytes(), &few).unwrap().globals.len(), 3);
    let error = scan(text.replace("b,", "b, d,").as_bytes(), &few).unwrap_err();
    assert!(error.to_string().contains("fewer variables"), "{error}");
    let kernels = format!("{head}.entry a {{}} .entry b {{}} .entry c {{}} .entry d {{}}");
    assert!(matches!(scan(kernels.as_bytes(), &few), Err(Error::TooBig { found: 4, .. })));
    // A space that each variable of a list would repeat.
    let space = "s".repeat(33);
    let long = format!("{head}.global .u64 .ptr .{space} a, b;");
    assert!(scan(long.as_bytes(), &Limits::DEFAULT).is_err());
    let params = ".param .u8 a,".repeat((1 << 16) + 1);
    let many = format!("{head}.entry k({params} .param .u8 b) {{}}");
    let error = scan(many.as_bytes(), &Limits::DEFAULT).unwrap_err();
    assert!(error.to_string().contains("fewer parameters"), "{error}");
}
