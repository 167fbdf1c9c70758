//! Bounds of copies: the last byte is allocated, the next one is not.

use cushim_abi::types::*;
use vcuda::api;

use crate::streams::stream;
use crate::{bytes, device, in_child, place, place_mut, start};

#[test]
fn boxes_end_with_their_last_row() {
    if !in_child("bounds::boxes_end_with_their_last_row") {
        return;
    }
    start();
    // Two whole rows of 32 bytes, and the 4 copied bytes of a third.
    let (d, from) = (device(&[9; 68]), [1u8; 96]);
    unsafe {
        let mut flat = [0usize; 16];
        (flat[2], flat[3], flat[6]) = (1, place(&from).0, 32);
        (flat[9], flat[11], flat[13]) = (2, d.0, 32);
        (flat[14], flat[15]) = (4, 3);
        assert_eq!(api::cuMemcpy2D_v2(place(&flat)), 0);
        assert_eq!(bytes::<68>(d)[64..], [1; 4]);
        flat[14] = 5;
        assert_eq!(api::cuMemcpy2D_v2(place(&flat)), 1, "a byte too wide in the last row");
        (flat[14], flat[15]) = (4, 4);
        assert_eq!(api::cuMemcpy2D_v2(place(&flat)), 1, "a row too many");
        assert_eq!(api::cuMemsetD2D8_v2(d, 32, 7, 4, 3), 0);
        assert_eq!(bytes::<68>(d)[62..], [9, 9, 7, 7, 7, 7]);
        assert_eq!(api::cuMemsetD2D8_v2(d, 32, 7, 5, 3), 1);

        // Two planes of two rows of 4 bytes.
        let deep = device(&[0; 16]);
        let mut shape = [0usize; 25];
        (shape[4], shape[5], shape[9], shape[10]) = (1, place(&from).0, 4, 2);
        (shape[15], shape[17], shape[20], shape[21]) = (2, deep.0, 4, 2);
        shape[22..].copy_from_slice(&[4, 2, 2]);
        assert_eq!(api::cuMemcpy3D_v2(place(&shape)), 0);
        assert_eq!(bytes::<16>(deep), [1; 16]);
        for (place_of, value, what) in [
            (10, 1, "planes that overlap"),
            (3, 1, "a level"),
            (9, 3, "rows that overlap"),
            (24, 3, "a plane too many"),
        ] {
            let mut wrong = shape;
            wrong[place_of] = value;
            assert_eq!(api::cuMemcpy3D_v2(place(&wrong)), 1, "{what}");
        }
    }
}

#[test]
fn managed_memory_ends_where_it_ends() {
    if !in_child("bounds::managed_memory_ends_where_it_ends") {
        return;
    }
    start();
    let mut p = Ptr(0);
    unsafe {
        assert_eq!(api::cuMemAllocManaged(Out(&raw mut p), 4096, Flags(1)), 0);
        assert_eq!(api::cuMemAdvise(p, 4096, 1, Device(0)), 0);
        assert_eq!(api::cuMemAdvise(p, 4097, 1, Device(0)), 1);
        assert_eq!(api::cuMemPrefetchAsync(Ptr(p.0 + 1), 4095, Device(0), Stream(0)), 0);
        assert_eq!(api::cuMemPrefetchAsync(Ptr(p.0 + 1), 4096, Device(0), Stream(0)), 1);
        // Device numbers that do not exist, and the number of the host.
        for (device, code) in [(-1, 0), (-2, 101), (100_000_000, 101), (i32::MIN, 101)] {
            let told = api::cuMemPrefetchAsync(p, 4096, Device(device), Stream(0));
            assert_eq!(told, code, "prefetched to {device}");
            assert_eq!(api::cuMemAdvise(p, 4096, 3, Device(device)), code, "preferred {device}");
        }
    }
}

#[test]
fn a_batch_says_which_copy_is_wrong() {
    if !in_child("bounds::a_batch_says_which_copy_is_wrong") {
        return;
    }
    start();
    let (a, b, s) = (device(&[1; 16]), device(&[2; 16]), stream(1));
    let batch = |to: [Ptr; 2], sizes: [usize; 2], firsts: [usize; 2], attributes, stream| {
        let (from, each, mut failed) = ([b, a], [[1i32, 0, 0, 0, 0, 0]; 2], 77usize);
        let (to, from, sizes) = (place(&to), place(&from), place(&sizes));
        let (each, firsts, failed_at) = (place(&each), place(&firsts), place_mut(&mut failed));
        let code = unsafe {
            api::cuMemcpyBatchAsync(to, from, sizes, 2, each, firsts, attributes, failed_at, stream)
        };
        (code, failed)
    };
    let here = [a, Ptr(b.0 + 8)];
    assert_eq!(batch(here, [16, 4], [0, 1], 2, s), (0, 77), "attributes for each");
    assert_eq!(unsafe { api::cuStreamSynchronize(s) }, 0);
    assert_eq!(bytes::<2>(a), [2, 2]);
    assert_eq!(batch(here, [16, 9], [0, 1], 2, s), (1, 1), "the second");
    assert_eq!(batch(here, [17, 4], [0, 1], 1, s), (1, 0), "the first");
    assert_eq!(batch(here, [16, 0], [0, 1], 1, s), (1, 1), "nothing");
    assert_eq!(batch(here, [16, 4], [0, 2], 2, s), (1, usize::MAX), "attributes of a third copy");
    assert_eq!(batch(here, [16, 4], [1, 0], 2, s), (1, usize::MAX), "attributes in no order");
    assert_eq!(batch(here, [16, 4], [0, 1], 3, s), (1, usize::MAX), "more attributes than copies");
    assert_eq!(batch(here, [16, 4], [0, 1], 0, s), (1, usize::MAX), "no attributes");
    assert_eq!(batch(here, [16, 4], [0, 1], 2, Stream(0)), (1, usize::MAX), "the legacy stream");
}
