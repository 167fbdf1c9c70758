//! Clusters: registers, the cluster barrier, shared memory of other blocks, asynchronous stores and copies
//! between blocks. Interpreted and compiled, with the same results.

use crate::common;

use common::Device;

/// A kernel with clusters of four blocks; `out` is its argument, `rank` the block's rank, `next` the next block's rank.
fn kernel(declarations: &str, code: &str) -> Device {
    let squares: Vec<String> = (0..16).map(|n| (n * n).to_string()).collect();
    let mut device = Device::new(&format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.global .align 16 .u32 numbers[16] = {{{}}};
         .entry k(.param .u64 out_) .explicitcluster .reqnctapercluster 2, 2, 1 {{
         .reg .pred p, q; .reg .b32 rank, next, i, a, b, c, at; .reg .b64 out, w, far; .reg .b16 h;
         {declarations}
         ld.param.u64 out, [out_]; mov.u32 rank, %cluster_ctarank; add.u32 next, rank, 1; and.b32 next, next, 3;
         mov.u32 i, %tid.x; setp.eq.u32 p, i, 0;
         mov.u32 a, %ctaid.y; mov.u32 b, %nctaid.x; mov.u32 c, %ctaid.x; mad.lo.u32 at, a, b, c;
         mul.wide.u32 w, at, 128; add.s64 out, out, w;
         {code}
         ret; }}",
        squares.join(",")
    ));
    device.threads = 2;
    device
}

const SYNC: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
/// Waits for phase 0 of the barrier object `full`.
const FULL: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0; @!q bra W;";

/// Runs a grid of 4 by 4 blocks of 64 threads; returns 32 numbers of each block.
fn run(device: &Device) -> Vec<Vec<u32>> {
    let out = device.alloc(16 * 128);
    device.launch_with("k", [4, 4, 1], [64, 1, 1], 0, false, &[out]).unwrap();
    device.u32s(out, 16 * 32).chunks(32).map(<[u32]>::to_vec).collect()
}

#[test]
fn registers_tell_the_place_in_the_cluster() {
    let names = [
        "clusterid.x",
        "clusterid.y",
        "clusterid.z",
        "nclusterid.x",
        "nclusterid.y",
        "cluster_ctaid.x",
        "cluster_ctaid.y",
        "cluster_nctaid.x",
        "cluster_nctaid.z",
        "cluster_ctarank",
        "cluster_nctarank",
    ];
    let stores = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("mov.u32 a, %{name}; st.global.u32 [out+{}], a;", 4 * n));
    let explicit =
        "mov.pred q, %is_explicit_cluster; selp.u32 a, 7, 9, q; st.global.u32 [out+44], a;";
    let got = run(&kernel("", &(stores.collect::<String>() + explicit)));
    for (n, block) in got.iter().enumerate() {
        let (x, y) = (n as u32 % 4, n as u32 / 4);
        let rank = x % 2 + 2 * (y % 2);
        assert_eq!(block[..12], [x / 2, y / 2, 0, 2, 2, x % 2, y % 2, 2, 1, rank, 4, 7], "{x} {y}");
    }
}

#[test]
fn blocks_reach_each_other_behind_the_barrier() {
    let code = format!(
        "mad.lo.u32 a, rank, 100, i; shl.b32 b, i, 2; mov.u32 c, own; add.u32 b, b, c; st.shared.u32 [b], a; {SYNC}
         mapa.shared::cluster.u32 c, b, next; ld.shared::cluster.u32 a, [c];
         @p st.global.u32 [out], a; setp.eq.u32 q, i, 63; @q st.global.u32 [out+4], a;
         mapa.shared::cluster.u32 c, own, next; atom.shared::cluster.add.u32 a, [c+4], 1;
         cvt.u64.u32 w, c; cvta.shared::cluster.u64 w, w; red.add.u32 [w+8], 2;
         getctarank.shared::cluster.u32 a, c; @p st.global.u32 [out+8], a;
         getctarank.u64 a, w; @p st.global.u32 [out+12], a;
         isspacep.shared::cta q, w; selp.u32 a, 1, 0, q; @p st.global.u32 [out+16], a;
         isspacep.shared::cluster q, w; selp.u32 a, 1, 0, q; @p st.global.u32 [out+20], a;
         {SYNC} ld.shared.u32 a, [own+4]; @p st.global.u32 [out+24], a; ld.shared.u32 a, [own+8]; @p st.global.u32 [out+28], a;"
    );
    for (n, block) in run(&kernel(".shared .b32 own[64];", &code)).iter().enumerate() {
        let rank = n as u32 % 2 + 2 * (n as u32 / 4 % 2);
        let next = (rank + 1) % 4;
        let expected =
            [100 * next, 100 * next + 63, next, next, 0, 1, 100 * rank + 65, 100 * rank + 130];
        assert_eq!(block[..8], expected, "block {n}");
    }
}

#[test]
fn stores_and_copies_complete_bytes() {
    let code = format!(
        "@!p bra G; mbarrier.init.shared::cta.b64 [full], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 108;
         st.shared.u32 [own], rank; st.shared.u32 [sum], 40; fence.mbarrier_init.release.cluster;
         G: {SYNC} @!p bra E; mapa.shared::cluster.u32 b, full, next; mapa.shared::cluster.u32 a, data, next;
         st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [a], {{rank, 5}}, [b];
         mapa.shared::cluster.u32 a, sum, next;
         red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [a], 41, [b];
         mapa.shared::cluster.u32 a, copy, next;
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [own], 16, [b];
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [a+16], [own], 16, [b];
         setp.ne.u32 q, rank, 2; @q bra E; mov.b16 h, 15;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [all], [numbers], 64, [full], h;
         E: {FULL} ld.shared.u32 a, [data]; st.global.u32 [out], a; ld.shared.u32 a, [data+4]; st.global.u32 [out+4], a;
         ld.shared.u32 a, [sum]; st.global.u32 [out+8], a; ld.shared.u32 a, [copy]; st.global.u32 [out+12], a;
         ld.shared.u32 a, [copy+16]; st.global.u32 [out+16], a; ld.shared.u32 a, [all+60]; st.global.u32 [out+20], a;
         cp.async.bulk.global.shared::cta.bulk_group [out+32], [all], 64;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0; {SYNC}"
    );
    let declarations = ".shared .align 16 .b32 own[4], data[4], copy[8], all[16]; .shared .b32 sum; .shared .b64 full;";
    for (n, block) in run(&kernel(declarations, &code)).iter().enumerate() {
        let rank = n as u32 % 2 + 2 * (n as u32 / 4 % 2);
        let last = (rank + 3) % 4;
        assert_eq!(block[..6], [last, 5, 41, last, last, 225], "block {n}");
        assert_eq!(block[8..24], (0..16).map(|n| n * n).collect::<Vec<u32>>(), "block {n}");
    }
}

#[test]
fn threads_that_ended_have_come() {
    let code = format!("setp.gt.u32 q, i, 40; @q ret; {SYNC} {SYNC} @p st.global.u32 [out], rank;");
    let got = run(&kernel("", &code.replace(".aligned", "")));
    assert_eq!((got[0][0], got[5][0], got[15][0]), (0, 3, 3));
}

#[test]
fn what_goes_wrong_is_told() {
    let fails = |code: &str| {
        let device = kernel(".shared .align 16 .b32 own[8]; .shared .b64 full;", code);
        let out = device.alloc(16 * 128);
        // One cluster: if several fail at once, it is undefined which one is reported.
        let ended = device.launch_with("k", [2, 2, 1], [64, 1, 1], 0, false, &[out]);
        ended.unwrap_err().to_string()
    };
    let nobody = fails("mapa.shared::cluster.u32 a, own, 4; ld.shared::cluster.u32 a, [a];");
    assert!(nobody.contains("shared"), "{nobody}");
    let past = fails("mapa.shared::cluster.u32 a, own, next; st.shared::cluster.u32 [a+65536], a;");
    assert!(past.contains("shared"), "{past}");
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [own], [numbers], 20, [full];";
    assert!(fails(copy).contains("multiple of 16"), "{}", fails(copy));
    // One block waits at a barrier that no other block reaches.
    let alone = fails(
        "setp.eq.u32 q, rank, 0; @q bra E; bar.sync 0, 128; E: barrier.cluster.arrive; barrier.cluster.wait;",
    );
    assert!(alone.starts_with("deadlock"), "{alone}");
}
