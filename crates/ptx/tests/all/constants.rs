//! Values that do not depend on a kernel's arguments: special registers, and constant expressions. The expected
//! values come from the ISA manual's text.

use crate::common;

use common::device::Device;

/// The values that a kernel of one warp stores for each lane: `code` computes them in `d`.
fn lanes(code: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n
         .entry k(.param .u64 out) {{
           .reg .b64 %rd<3>; .reg .b32 %r<3>, d;
           ld.param.u64 %rd1, [out];
           mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
           {code}
           st.global.u32 [%rd1], d; ret; }}"
    );
    let device = Device::new(&text);
    let out = device.alloc(4 * 32);
    device.launch("k", 1, 32, &[out]).unwrap();
    device.u32s(out, 32)
}

#[test]
fn masks_of_lanes() {
    type Of = fn(u64) -> u64;
    let all: [(&str, Of); 5] = [
        ("%lanemask_eq", |lane| 1 << lane),
        ("%lanemask_le", |lane| (2 << lane) - 1),
        ("%lanemask_lt", |lane| (1 << lane) - 1),
        ("%lanemask_ge", |lane| 0xffff_ffff - ((1 << lane) - 1)),
        ("%lanemask_gt", |lane| 0xffff_ffff - ((2 << lane) - 1)),
    ];
    for (name, of) in all {
        let expected: Vec<u32> = (0..32).map(|lane| of(lane) as u32).collect();
        assert_eq!(lanes(&format!("mov.u32 d, {name};")), expected, "{name}");
    }
}

#[test]
fn expressions_of_floating_point() {
    let all = [
        ("1.5 + 0.25", 1.75),
        ("1.5 - 0.25", 1.25),
        ("3.5 - 7", -3.5),
        ("1.5 * 4", 6.0),
        ("1.5 / 0.25", 6.0),
        ("-(0.5 + 2.0 * 3.0)", -6.5),
        ("1.0 / 3.0", 1.0 / 3.0),
        ("0d3FF8000000000000 - 1.0", 0.5),
        ("0f3FC00000 - 1.0", 0.5),
    ];
    let values = all.map(|(text, _)| text).join(", ");
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.global .f64 v[{}] = {{ {values} }};\n.entry k() {{ ret; }}",
        all.len()
    );
    let device = Device::new(&text);
    let module = &device.module;
    let bytes = cushim_ptx::exec::initial_bytes(module, 0, &[0; 1]);
    let found = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    for ((text, expected), found) in all.into_iter().zip(found) {
        assert_eq!(found.to_bits(), f64::to_bits(expected), "{text}: {found}");
    }
    let flags = [
        ("1.5 == 1.5", 1),
        ("1.5 != 1.5", 0),
        ("1.5 < 1.5", 0),
        ("1.5 <= 1.5", 1),
        ("2.5 > 1", 1),
        ("1.0 >= 1.5", 0),
    ];
    for (text, expected) in flags {
        assert_eq!(lanes(&format!("mov.u32 d, {text};"))[0], expected, "{text}");
    }
}
