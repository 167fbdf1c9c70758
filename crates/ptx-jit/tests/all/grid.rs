//! Kernels that synchronise their grid by functions of a library (`cudaCGSynchronize`, the driver's
//! `__cuda_syscall_CGS_sync`) find these in the module into which they are loaded. Interpreted and compiled.

use crate::common;

use common::Device;
use cushim_ptx::texts;

const THREADS: u32 = 64;
const BLOCKS: u32 = 3;

/// A kernel that gets a handle from one function and passes it to others. Each thread writes the value that the
/// next thread of the grid wrote, the sizes, the ranks, and the functions' results.
fn text(names: [&str; 4], flags: u32) -> String {
    let [handle, sync, size, rank] = names;
    let alone = if flags == 0 { "" } else { "@q bra MET;" };
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 4 .b32 cells[{}];
         .extern .func (.param .b64 r) {handle}(.param .b32 scope);
         .extern .func (.param .b32 r) {sync}(.param .b64 h, .param .b32 flags);
         .extern .func (.param .b32 r) {size}(.param .b64 a, .param .b64 b, .param .b64 h);
         .extern .func (.param .b32 r) {rank}(.param .b64 a, .param .b64 b, .param .b64 h);
         .visible .entry k(.param .u64 out_) {{
         .reg .b32 i, all, t, s; .reg .b64 out, at, next, g, h; .reg .pred q;
         ld.param.u64 out, [out_]; mov.u32 i, %tid.x; mov.u32 t, %ctaid.x; mad.lo.u32 all, t, {THREADS}, i;
         mov.u64 g, cells; mul.wide.u32 at, all, 4; add.s64 at, g, at; add.u32 s, all, 100; st.global.u32 [at], s;
         {{ .param .b32 a0; .param .b64 r; st.param.b32 [a0], 1; call.uni (r), {handle}, (a0); ld.param.b64 h, [r]; }}
         setp.ne.u32 q, i, 0; bar.sync 0; {alone}
         {{ .param .b64 a0; .param .b32 a1; .param .b32 r; st.param.b64 [a0], h; st.param.b32 [a1], {flags};
            call.uni (r), {sync}, (a0, a1); ld.param.b32 s, [r]; }}
         MET: bar.sync 0;
         mul.wide.u32 at, all, 24; add.s64 out, out, at; st.global.u32 [out], s;
         add.u32 t, all, 1; rem.u32 t, t, {}; mul.wide.u32 next, t, 4; add.s64 next, g, next;
         ld.global.u32 t, [next]; st.global.u32 [out+4], t;
         {{ .param .b64 a0; .param .b64 a1; .param .b64 a2; .param .b32 r; add.s64 at, out, 8; st.param.b64 [a0], at;
            add.s64 at, out, 12; st.param.b64 [a1], at; st.param.b64 [a2], h; call.uni (r), {size}, (a0, a1, a2); }}
         {{ .param .b64 a0; .param .b64 a1; .param .b64 a2; .param .b32 r; add.s64 at, out, 16; st.param.b64 [a0], at;
            add.s64 at, out, 20; st.param.b64 [a1], at; st.param.b64 [a2], h; call.uni (r), {rank}, (a0, a1, a2); }}
         ret; }}",
        BLOCKS * THREADS,
        BLOCKS * THREADS
    )
}

const LIBRARY: [&str; 4] =
    ["cudaCGGetIntrinsicHandle", "cudaCGSynchronize", "cudaCGGetSize", "cudaCGGetRank"];
const DRIVER: [&str; 4] = [
    "__cuda_syscall_CGS_get_intrinsic_handle",
    "__cuda_syscall_CGS_sync",
    "__cuda_syscall_CGS_get_size",
    "__cuda_syscall_CGS_get_rank",
];

fn run(text: &str, cooperative: bool) -> Vec<[u32; 6]> {
    let mut device = Device::of(texts::module(&[text.as_bytes()], true).unwrap());
    // Without a cooperative launch the blocks do not synchronise and may read cells too early: they run one by one.
    device.threads = if cooperative { 3 } else { 1 };
    let out = device.alloc(u64::from(BLOCKS * THREADS * 24));
    device.launch_with("k", [BLOCKS, 1, 1], [THREADS, 1, 1], 0, cooperative, &[out]).unwrap();
    let got = device.u32s(out, (BLOCKS * THREADS * 6) as usize);
    got.chunks(6).map(|of| of.try_into().unwrap()).collect()
}

#[test]
fn all_blocks_meet() {
    for (names, flags) in [(LIBRARY, 0), (DRIVER, 0), (DRIVER, 1)] {
        for (thread, got) in (0u32..).zip(run(&text(names, flags), true)) {
            let (all, next) = (BLOCKS * THREADS, (thread + 1) % (BLOCKS * THREADS) + 100);
            // With flag 1 one thread of each block calls: the others keep the status that they wrote before.
            let status = if flags == 1 && thread % THREADS != 0 { thread + 100 } else { 0 };
            assert_eq!(got, [status, next, all, 1, thread, 0], "{names:?} {flags}");
        }
    }
}

/// There is no grid handle then, and NVIDIA's library returns 999 (`cudaErrorUnknown`).
#[test]
fn a_grid_whose_launch_is_not_cooperative() {
    assert!(run(&text(LIBRARY, 0), false).iter().all(|got| got[0] == 999));
}

/// The program's own definition of such a function wins.
#[test]
fn names_of_the_programs_own_stay() {
    let own = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func (.param .b32 r) \
               cudaCGSynchronize(.param .b64 h, .param .b32 f) { st.param.b32 [r], 7; ret; }";
    let text = text(LIBRARY, 0);
    let module = texts::module(&[text.as_bytes(), own.as_bytes()], true).unwrap();
    let defined = module.functions.iter().filter(|f| f.name == "cudaCGSynchronize" && f.defined);
    assert_eq!(defined.count(), 1);
    let device = Device::of(module);
    let out = device.alloc(u64::from(BLOCKS * THREADS * 24));
    device.launch_with("k", [BLOCKS, 1, 1], [THREADS, 1, 1], 0, true, &[out]).unwrap();
    assert_eq!(device.u32s(out, 1), [7]);
}
