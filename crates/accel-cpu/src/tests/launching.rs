//! Kernels that launch kernels: order, synchronisation, fills and copies, failures.

use super::*;

/// Child kernels: `leaf` appends a value to the list at `to`; `bad` writes to an unmapped address.
const LEAVES: &str = "
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 f, .param .align 4 .b8 g[12],
    .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 b, .param .b64 s);
.extern .func (.param .b32 r) cudaDeviceSynchronize ();
.extern .func (.param .b32 r) __cudaCDP2GetLastError ();
.extern .func (.param .b32 r) cudaMemsetAsync_ptsz (.param .b64 p, .param .b32 v, .param .b64 n, .param .b64 s);
.visible .entry leaf (.param .u64 to, .param .u32 value) {
  .reg .u64 %p; .reg .u32 %n, %v;
  ld.param.u64 %p, [to]; ld.param.u32 %v, [value];
  atom.add.u32 %n, [%p], 1; mad.wide.u32 %p, %n, 4, %p; st.u32 [%p+4], %v; ret;
}
.visible .entry bad (.param .u64 to, .param .u32 value) {
  .reg .u64 %p; mov.u64 %p, 16; st.u32 [%p], 1; ret;
}";

/// PTX that launches `kernel` with one block of `threads` threads in `stream`.
fn launch(n: u32, kernel: &str, threads: u32, value: u32, stream: u64) -> String {
    let three = |name: &str, x: u32| {
        format!(
            "st.param.b32 [{name}], {x}; st.param.b32 [{name}+4], 1; st.param.b32 [{name}+8], 1;"
        )
    };
    format!(
        "{{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
         mov.u64 %k, {kernel}; st.param.b64 [f], %k; {} {} st.param.b32 [s], 0;
         call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s); ld.param.b64 %k, [r]; }}
         setp.eq.s64 %z, %k, 0; @%z bra past{n}; st.u64 [%k], %p; st.u32 [%k+8], {value};
         {{ .param .b64 b; .param .b64 s; .param .b32 r; st.param.b64 [b], %k; st.param.b64 [s], {stream};
         call (r), __cudaCDP2LaunchDeviceV2, (b, s); }}\npast{n}:\n",
        three("g", 1),
        three("b", threads)
    )
}

/// PTX that appends the result of a function without arguments to the list.
fn answer(function: &str) -> String {
    format!(
        "{{ .param .b32 r; call (r), {function}, (); ld.param.b32 %v, [r]; }}
         atom.add.u32 %n, [%p], 1; mad.wide.u32 %q, %n, 4, %p; st.u32 [%q+4], %v;\n"
    )
}

/// Runs a parent kernel with this body; returns the list and the failure of the launch.
fn launched(code: &str) -> (Vec<u32>, Option<Failure>) {
    let cpu = new();
    let text = format!(
        "{LEAVES}\n.visible .entry parent (.param .u64 to) {{
         .reg .u64 %p, %k, %q; .reg .u32 %n, %v; .reg .pred %z; ld.param.u64 %p, [to];\n{code}\nret; }}"
    );
    let code = load(&cpu, &[&text]).unwrap_or_else(|e| panic!("{e}"));
    let to = cpu.allocate(0, MemoryKind::Device, Layout::from_size_align(256, 4).unwrap()).unwrap();
    let zero = [0u32; 64];
    assert_eq!(cpu.copy_now(to, zero.as_ptr().expose_provenance() as u64, 256), Ok(()));
    let outcome = run(&cpu, &code, "parent", [1, 1], &[to], false);
    let count = word(&cpu, to).min(62);
    let values = (1..=u64::from(count)).map(|n| word(&cpu, to + 4 * n)).collect();
    (values, outcome.failure)
}

const TAIL: u64 = 3;
const FORGET: u64 = 4;

#[test]
fn tails_come_behind_all_else_and_errors_are_told_once() {
    let code = launch(0, "leaf", 1, 30, TAIL)
        + &launch(1, "leaf", 1, 10, 0)
        + &launch(2, "leaf", 1, 31, TAIL)
        + &launch(3, "leaf", 1, 11, FORGET)
        + &launch(4, "leaf", 2000, 99, 0)
        + &answer("__cudaCDP2GetLastError")
        + &answer("__cudaCDP2GetLastError")
        + &launch(5, "leaf", 1, 98, 77)
        + &answer("__cudaCDP2GetLastError");
    assert_eq!(launched(&code), (vec![9, 0, 1, 10, 11, 30, 31], None));
}

#[test]
fn a_block_can_wait_for_what_it_has_launched() {
    let code = launch(0, "leaf", 2, 10, 0)
        + &answer("cudaDeviceSynchronize")
        + &launch(1, "leaf", 1, 11, 0)
        + &answer("__cudaCDP2GetLastError");
    assert_eq!(launched(&code), (vec![10, 10, 0, 0, 11], None));
}

#[test]
fn fills_are_work_in_order() {
    let set = "add.s64 %q, %p, 4; { .param .b64 p; .param .b32 v; .param .b64 n; .param .b64 s; .param .b32 r;
        st.param.b64 [p], %q; st.param.b32 [v], 7; st.param.b64 [n], 8; st.param.b64 [s], 0;
        call (r), cudaMemsetAsync_ptsz, (p, v, n, s); }";
    let code = launch(0, "leaf", 1, 1, 0) + &launch(1, "leaf", 1, 2, 0) + set;
    let code = code + &launch(2, "leaf", 1, 3, 0);
    assert_eq!(launched(&code), (vec![0x0707_0707, 0x0707_0707, 3], None));
}

#[test]
fn a_grid_fails_with_its_children() {
    let bad = launch(0, "bad", 1, 0, 0);
    for code in [bad.clone(), bad + &answer("cudaDeviceSynchronize")] {
        let (values, failure) = launched(&code);
        assert!(matches!(failure, Some(Failure::IllegalAddress(_))), "{failure:?}");
        assert!(values.is_empty());
    }
    let nobody = "{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
        st.param.b64 [f], 0; st.param.b32 [s], 0; call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s); }";
    assert!(matches!(launched(nobody).1, Some(Failure::IllegalAddress(_))));
}
