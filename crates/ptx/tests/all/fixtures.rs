//! Hand-written kernels: code that compilers do not produce by themselves, and
//! rules for lanes, warps and blocks that wait for one another.

use crate::common;

use common::device::Device;

fn warps() -> Device {
    Device::new(include_str!("../fixtures/warps.ptx"))
}

fn memory() -> Device {
    Device::new(include_str!("../fixtures/memory.ptx"))
}

#[test]
fn a_lane_may_wait_for_another_lane() {
    let d = warps();
    let flags = d.alloc(4 * 128);
    d.launch("relay", 1, 128, &[flags]).unwrap();
    assert_eq!(d.u32s(flags, 128), (1..=128).rev().collect::<Vec<u32>>());
}

#[test]
fn locks_are_taken_in_turn() {
    let d = warps();
    let (lock, count) = (d.alloc(4), d.alloc(4));
    d.launch("lock", 4, 70, &[lock, count]).unwrap();
    assert_eq!((d.u32s(count, 1)[0], d.u32s(lock, 1)[0]), (280, 0));
}

#[test]
fn scan_in_shared_memory() {
    let d = warps();
    for n in [1u32, 31, 32, 33, 200, 1024] {
        let values: Vec<u32> = (0..n).map(|i| i * i % 91).collect();
        let data = d.upload(&values, |v| v.to_le_bytes());
        d.launch_with("scan", [1; 3], [n, 1, 1], n * 4, false, &[data]).unwrap();
        let mut sum = 0;
        let expected: Vec<u32> = values
            .iter()
            .map(|v| {
                sum += v;
                sum
            })
            .collect();
        assert_eq!(d.u32s(data, n as usize), expected, "{n}");
    }
}

#[test]
fn named_barriers_count_warps_and_reduce() {
    let d = warps();
    let out = d.alloc(4 * 96);
    d.launch("named", 1, 96, &[out]).unwrap();
    let got = d.u32s(out, 96);
    assert_eq!(got[..32], [0; 32]);
    assert_eq!(got[32..], [41 + 16; 64]);
}

#[test]
fn lanes_meet_in_a_shuffle_and_after_a_branch() {
    let d = warps();
    let out = d.alloc(8 * 32);
    d.launch("meet", 1, 32, &[out]).unwrap();
    for (lane, pair) in d.u32s(out, 64).chunks_exact(2).enumerate() {
        let other = lane as u32 ^ 1;
        assert_eq!(pair[0], if other & 1 == 0 { other * 100 } else { other * 10 });
        assert_eq!(pair[1], u32::MAX, "lanes run on together");
    }
}

#[test]
fn blocks_may_wait_for_blocks() {
    let d = warps();
    let flags = d.alloc(4 * 40);
    d.launch("chain", 40, 1, &[flags, 0]).unwrap();
    assert_eq!(d.u32s(flags, 40), (1..=40).collect::<Vec<u32>>());
    let flags = d.alloc(4 * 40);
    d.launch_with("chain", [40, 1, 1], [1; 3], 0, true, &[flags, 1]).unwrap();
    assert_eq!(d.u32s(flags, 40), (1..=40).collect::<Vec<u32>>());
    // CUDA does not guarantee it, but some programs rely on it: the resident blocks
    // of an ordinary launch all make progress.
    let flags = d.alloc(4 * 20);
    d.launch("chain", 20, 1, &[flags, 1]).unwrap();
    assert_eq!(d.u32s(flags, 20), (1..=20).collect::<Vec<u32>>());
}

#[test]
fn barrier_objects_and_asynchronous_copies() {
    let d = warps();
    let values: Vec<u32> = (0..256).collect();
    let (data, out) = (d.upload(&values, |v| v.to_le_bytes()), d.alloc(4 * 64));
    d.launch("objects", 1, 64, &[data, out]).unwrap();
    assert_eq!(d.u32s(out, 64), (0..64).map(|i| (i + 1) % 64 * 4).collect::<Vec<u32>>());
}

#[test]
fn a_deadlock_is_an_error() {
    let d = warps();
    let fault = d.launch("stuck", 1, 64, &[]).unwrap_err().to_string();
    assert!(fault.starts_with("deadlock: every thread waits for another; "), "{fault}");
}

#[test]
fn pointers_tables_and_spaces() {
    let d = memory();
    let out = d.alloc(4 * 64);
    d.launch("pointers", 1, 64, &[out]).unwrap();
    let expected: Vec<u32> = (0..64).map(|i| if i & 1 == 0 { 2 * i } else { i * i }).collect();
    assert_eq!(d.u32s(out, 64), expected);
    d.launch("jump", 1, 8, &[out]).unwrap();
    assert_eq!(d.u32s(out, 8), [8, 18, 109, 1008, 8, 18, 109, 1008]);
    d.launch("spaces", 1, 40, &[5 << 32, out]).unwrap();
    assert_eq!(d.u32s(out, 40), (0..40).map(|i| 7000 + i + 50 + 5).collect::<Vec<u32>>());
}

#[test]
fn atomics() {
    let d = memory();
    let cells = d.upload(&[0u32; 12], |v| v.to_le_bytes());
    d.launch("atomics", 1, 32, &[cells]).unwrap();
    let got = d.u32s(cells, 12);
    assert_eq!(got[0], 32);
    assert_eq!(got[1], 31);
    assert_eq!(f32::from_bits(got[2]), 496.0);
    assert_eq!(got[3], 2, "0 to 9 and again");
    let wide = d.u64s(cells, 6);
    assert_eq!((f64::from_bits(wide[2]), wide[3]), (496.0, 496));
    assert_eq!(got[8], 0x5000_5000, "32.0 as halves");
    assert_eq!(got[9], u32::MAX);
    assert_eq!(got[10], 7);
    assert_eq!(got[11], 4, "0, then 5 down to 0 and again");
}

#[test]
fn tiled_matrix_product() {
    let d = memory();
    let n = 32;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 * 0.25).collect();
    let (pa, pb) = (d.upload(&a, |v| v.to_le_bytes()), d.upload(&b, |v| v.to_le_bytes()));
    let pc = d.alloc(4 * 1024);
    d.launch_with("matmul", [2, 2, 1], [16, 16, 1], 0, false, &[pa, pb, pc]).unwrap();
    let c = d.f32s(pc, n * n);
    for row in 0..n {
        for col in 0..n {
            let sum = (0..n).fold(0f32, |s, k| a[row * n + k].mul_add(b[k * n + col], s));
            assert_eq!(c[row * n + col], sum, "{row} {col}");
        }
    }
}

#[test]
fn endless_recursion_is_an_error() {
    let fault = memory().launch("overflow", 1, 1, &[]).unwrap_err().to_string();
    assert!(fault.contains("the local memory of a thread exceeds 1048576 bytes"), "{fault}");
}

/// A mask that names inactive lanes: undefined in PTX, but accepted.
#[test]
fn a_mask_taken_for_a_filter() {
    let text = include_str!("../fixtures/mask_filter.ptx");
    let d = Device::new(text);
    let out = d.alloc(8 * 32);
    d.launch("prefix", 1, 32, &[out]).unwrap();
    let expected = (0..32u32).flat_map(|lane| [0xeeee_eeee & ((1 << lane) - 1), lane ^ 1]);
    assert_eq!(d.u32s(out, 64), expected.collect::<Vec<u32>>());
}
