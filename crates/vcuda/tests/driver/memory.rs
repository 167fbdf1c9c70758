//! Allocation, pointers, copies and sets.

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

#[test]
fn memory_is_allocated_described_and_freed() {
    if !in_child("memory::memory_is_allocated_described_and_freed") {
        return;
    }
    let context = start();
    let (mut p, mut base, mut size) = (Ptr(0), Ptr(1), 7usize);
    unsafe {
        let (mut free, mut total, mut less) = (0usize, 0usize, 0usize);
        assert_eq!(api::cuMemGetInfo_v2(Out(&raw mut free), Out(&raw mut total)), 0);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut p), 1000), 0);
        assert_eq!(p.0 % 256, 0);
        assert_eq!(api::cuMemGetInfo_v2(Out(&raw mut less), Out(std::ptr::null_mut())), 0);
        assert!(less < free && free <= total);
        let (pb, ps) = (Out(&raw mut base), Out(&raw mut size));
        assert_eq!(api::cuMemGetAddressRange_v2(pb, ps, Ptr(p.0 + 999)), 0);
        assert_eq!((base, size), (p, 1000));
        base = Ptr(1);
        assert_eq!(api::cuMemGetAddressRange_v2(Out(&raw mut base), ps, Ptr(p.0 + 1000)), 500);
        assert_eq!(base, Ptr(1), "outputs stay on error");
        let (mut kind, mut of, mut host) = (0u32, 0usize, 1usize);
        assert_eq!(api::cuPointerGetAttribute(place_mut(&mut kind), 2, Ptr(p.0 + 8)), 0);
        assert_eq!(api::cuPointerGetAttribute(place_mut(&mut of), 1, p), 0);
        assert_eq!((kind, of), (2, context.0));
        assert_eq!(api::cuPointerGetAttribute(place_mut(&mut host), 4, p), 1);
        assert_eq!(host, 1);
        assert_eq!(api::cuPointerGetAttribute(place_mut(&mut kind), 2, place(&base)), 1);
        let (which, places) = ([2i32, 4], [place_mut(&mut kind), place_mut(&mut host)]);
        assert_eq!(api::cuPointerGetAttributes(2, place(&which), place(&places), place(&base)), 0);
        assert_eq!((kind, host), (0, 0), "the stack is nobody's");

        let mut kept = Ptr(0x40);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut kept), 1 << 60), 2);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut kept), 0), 1);
        assert_eq!(api::cuMemAllocManaged(Out(&raw mut kept), 64, Flags(77)), 1);
        assert_eq!(api::cuMemHostAlloc(Out(&raw mut kept), 64, Flags(0x4000)), 1);
        assert_eq!(kept, Ptr(0x40), "outputs stay on error");
        assert_eq!(api::cuMemFree_v2(Ptr(p.0 + 256)), 1);
        assert_eq!(api::cuMemFree_v2(place(&base)), 1);
        assert_eq!(api::cuMemFree_v2(Ptr(0)), 0);
        assert_eq!(api::cuMemFree_v2(p), 0);
        assert_eq!(api::cuMemFree_v2(p), 1);
        assert_eq!(api::cuMemGetInfo_v2(Out(&raw mut less), Out(&raw mut total)), 0);
        assert_eq!(less, free);
    }
}

#[test]
fn more_than_is_free_is_refused() {
    if !in_child("memory::more_than_is_free_is_refused") {
        return;
    }
    start();
    let (mut free, mut total, mut p, mut kept) = (0usize, 0usize, Ptr(0), Ptr(0x40));
    unsafe {
        assert_eq!(api::cuMemGetInfo_v2(Out(&raw mut free), Out(&raw mut total)), 0);
        if std::env::var("CUSHIM_BACKEND").as_deref() == Ok("cpu") {
            assert_eq!(total, 1 << 30, "as CUSHIM_CPU_MEMORY says");
        }
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut kept), total + 1), 2);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut p), free / 4 * 3), 0);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut kept), free / 2), 2);
        assert_eq!(api::cuMemAllocManaged(Out(&raw mut kept), free / 2, Flags(1)), 2);
        assert_eq!(kept, Ptr(0x40), "outputs stay on error");
        assert_eq!(api::cuMemFree_v2(p), 0);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut p), free / 2), 0);
        assert_eq!(api::cuMemFree_v2(p), 0);
        // A pool's reservation counts once.
        let legacy = Stream(1);
        assert_eq!(api::cuMemAllocAsync(Out(&raw mut p), free / 4 * 3, legacy), 0);
        assert_eq!(api::cuMemAllocAsync(Out(&raw mut kept), free / 2, legacy), 2);
        assert_eq!(api::cuMemFreeAsync(p, legacy), 0);
    }
}

#[test]
fn host_memory_is_allocated_and_registered() {
    if !in_child("memory::host_memory_is_allocated_and_registered") {
        return;
    }
    start();
    let own = vec![3u8; 8192];
    let at = Ptr(own.as_ptr().expose_provenance());
    let (mut p, mut q, mut flags) = (Ptr(0), Ptr(0), 0u32);
    unsafe {
        assert_eq!(api::cuMemHostAlloc(Out(&raw mut p), 4096, Flags(1)), 0);
        assert_eq!(api::cuMemHostGetFlags(Out(&raw mut flags), Ptr(p.0 + 9)), 0);
        assert_eq!(flags, 3, "as a GPU: always mapped, and portable as asked");
        assert_eq!(api::cuMemHostGetDevicePointer_v2(Out(&raw mut q), Ptr(p.0 + 9), Flags(0)), 0);
        assert_eq!(q.0, p.0 + 9);
        assert_eq!(api::cuMemsetD8_v2(p, 9, 4096), 0);
        assert_eq!(std::ptr::with_exposed_provenance::<u8>(p.0 + 4095).read(), 9, "waited for");
        assert_eq!(api::cuMemFree_v2(p), 1, "not of the device");
        assert_eq!(api::cuMemFreeHost(p), 0);
        assert_eq!(api::cuMemFreeHost(p), 1);

        assert_eq!(api::cuMemsetD8_v2(at, 9, 16), 1, "not registered");
        assert_eq!(api::cuMemHostRegister_v2(at, 8192, Flags(0)), 0);
        assert_eq!(api::cuMemHostRegister_v2(Ptr(at.0 + 4096), 16, Flags(0)), 712);
        assert_eq!(api::cuMemsetD8_v2(at, 9, 16), 0);
        assert_eq!(own[15..17], [9, 3]);
        assert_eq!(api::cuMemHostUnregister(at), 0);
        assert_eq!(api::cuMemHostUnregister(at), 713);
        assert_eq!(api::cuMemHostRegister_v2(at, 0, Flags(0)), 1);
    }
}

#[test]
fn copies_and_sets_touch_what_they_should() {
    if !in_child("memory::copies_and_sets_touch_what_they_should") {
        return;
    }
    start();
    let d = device(&[0x11; 64]);
    unsafe {
        assert_eq!(api::cuMemsetD16_v2(Ptr(d.0 + 2), 0x2233, 3), 0);
        assert_eq!(api::cuMemsetD32_v2(Ptr(d.0 + 8), 0x4455_6677, 2), 0);
        assert_eq!(api::cuMemsetD16_v2(Ptr(d.0 + 1), 0, 1), 1);
        assert_eq!(api::cuMemsetD32_v2(Ptr(d.0 + 2), 0, 1), 1);
        assert_eq!(api::cuMemsetD8_v2(d, 0, 65), 1, "longer than the block");
        assert_eq!(api::cuMemsetD8_v2(Ptr(0), 0, 0), 0);
    }
    let expected = [
        0x11, 0x11, 0x33, 0x22, 0x33, 0x22, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55,
        0x44, 0x11,
    ];
    assert_eq!(bytes::<17>(d), expected);

    let e = device(&[0; 64]);
    let mut h = [5u8; 64];
    unsafe {
        assert_eq!(api::cuMemcpyDtoD_v2(e, Ptr(d.0 + 8), 8), 0);
        assert_eq!(api::cuMemcpy(Ptr(e.0 + 8), place(&h), 4), 0);
        assert_eq!(bytes::<13>(e)[7..], [0x44, 5, 5, 5, 5, 0]);
        // Pageable memory is staged: the program may change it after the call.
        let mut value = [1u8; 4];
        assert_eq!(api::cuMemcpyHtoDAsync_v2(e, place(&value), 4, Stream(0)), 0);
        value = [2; 4];
        assert_eq!(bytes::<4>(e), [1; 4]);
        assert_eq!(value, [2; 4]);

        let gone = device(&[1; 4096]);
        assert_eq!(api::cuMemFree_v2(gone), 0);
        let to = place_mut(&mut h);
        for (code, what) in [
            (api::cuMemcpyDtoH_v2(to, gone, 16), "from freed"),
            (api::cuMemcpyHtoD_v2(gone, to, 16), "into freed"),
            (api::cuMemcpy(to, gone, 16), "from freed, by the pointer"),
            (api::cuMemcpyAsync(gone, to, 16, Stream(0)), "into freed, by the pointer"),
            (api::cuMemcpyDtoH_v2(to, d, 65), "beyond the end"),
            (api::cuMemcpyDtoH_v2(to, d, 1 << 60), "beyond everything"),
            (api::cuMemcpyDtoH_v2(to, d, usize::MAX), "more than there is"),
            (api::cuMemcpyHtoD_v2(d, Ptr(0), 16), "from nowhere"),
            (api::cuMemcpyDtoH_v2(Ptr(0), d, 16), "to nowhere"),
            (api::cuMemcpyDtoD_v2(to, to, 16), "the stack as device memory"),
        ] {
            assert_eq!(code, 1, "{what}");
        }
        assert_eq!(h, [5; 64]);
        assert_eq!(api::cuMemcpyHtoD_v2(Ptr(0), Ptr(0), 0), 0);
        assert_eq!(api::cuMemcpyAsync(e, d, 4, Stream(0x1234_5670)), 400);
        assert_eq!(api::cuCtxSynchronize(), 0, "nothing of this breaks the context");
    }
}

#[test]
fn rectangles_and_boxes_are_copied() {
    if !in_child("memory::rectangles_and_boxes_are_copied") {
        return;
    }
    start();
    let (mut d, mut pitch) = (Ptr(0), 0usize);
    let from: [u8; 24] = std::array::from_fn(|n| n as u8);
    let mut to = [0u8; 24];
    unsafe {
        assert_eq!(api::cuMemAllocPitch_v2(Out(&raw mut d), Out(&raw mut pitch), 20, 6, 4), 0);
        assert!(pitch >= 20 && pitch % 32 == 0);
        let mut kept = (Ptr(7), 7usize);
        let outputs = (Out(&raw mut kept.0), Out(&raw mut kept.1));
        assert_eq!(api::cuMemAllocPitch_v2(outputs.0, outputs.1, 20, 6, 3), 1);
        assert_eq!(api::cuMemAllocPitch_v2(outputs.0, outputs.1, usize::MAX - 600, 6, 4), 2);
        assert_eq!(kept, (Ptr(7), 7));
        // Two rows of 4 bytes from a box of 3x4 rows of 4, from its second plane on.
        let mut shape = [0usize; 25];
        let (source, target) = (0, 11);
        shape[source + 2] = 1; // plane
        (shape[source + 4], shape[source + 5]) = (1, place(&from).0);
        (shape[source + 9], shape[source + 10]) = (4, 3);
        (shape[target], shape[target + 1]) = (2, 1); // byte, row
        (shape[target + 4], shape[target + 6]) = (2, d.0);
        (shape[target + 9], shape[target + 10]) = (pitch, 4);
        shape[22..].copy_from_slice(&[4, 2, 1]);
        assert_eq!(api::cuMemcpy3D_v2(place(&shape)), 0);
        assert_eq!(bytes::<6>(Ptr(d.0 + pitch))[2..], [12, 13, 14, 15]);
        assert_eq!(bytes::<6>(Ptr(d.0 + 2 * pitch))[2..], [16, 17, 18, 19]);

        let mut flat = [0usize; 16];
        (flat[0], flat[1], flat[2], flat[4], flat[6]) = (2, 1, 2, d.0, pitch);
        (flat[9], flat[10], flat[13]) = (1, place_mut(&mut to).0, 6);
        (flat[14], flat[15]) = (4, 2);
        assert_eq!(api::cuMemcpy2D_v2(place(&flat)), 0);
        assert_eq!(to[..10], [12, 13, 14, 15, 0, 0, 16, 17, 18, 19]);
        let before = to;
        for (place_of, value, what) in [
            (6, 2, "a pitch below the width"),
            (1, 6, "rows beyond the end"),
            (2, 9, "no such kind of memory"),
            (4, 0, "from nowhere"),
            (15, usize::MAX, "too many rows"),
            (14, usize::MAX, "too wide"),
            (0, usize::MAX, "too far"),
        ] {
            let mut wrong = flat;
            wrong[place_of] = value;
            assert_eq!(api::cuMemcpy2D_v2(place(&wrong)), 1, "{what}");
            assert_eq!(api::cuMemcpy2DAsync_v2(place(&wrong), Stream(0)), 1, "{what}");
        }
        assert_eq!(to, before);
        assert_eq!(api::cuMemcpy3D_v2(Ptr(0)), 1);
        flat[15] = 0;
        assert_eq!(api::cuMemcpy2D_v2(place(&flat)), 0, "no rows");
    }
}

#[test]
fn pools_hand_out_memory_in_stream_order() {
    if !in_child("memory::pools_hand_out_memory_in_stream_order") {
        return;
    }
    start();
    let props: [i32; 24] = std::array::from_fn(|n| [1, 0, 1, 0].get(n).copied().unwrap_or(0));
    let (mut pool, mut a, mut b, mut used) = (Ptr(0), Ptr(0), Ptr(0), 7u64);
    unsafe {
        assert_eq!(api::cuMemPoolCreate(Out(&raw mut pool), place(&props)), 0);
        let mut keep = 1u64 << 20;
        assert_eq!(api::cuMemPoolSetAttribute(pool, 4, place_mut(&mut keep)), 0);
        let allocate = |to: &mut Ptr| {
            api::cuMemAllocFromPoolAsync(Out(std::ptr::from_mut(to)), 1 << 16, pool, Stream(0))
        };
        assert_eq!((allocate(&mut a), allocate(&mut b)), (0, 0));
        assert!(a != b && a.0 != 0);
        assert_eq!(api::cuMemsetD8Async(a, 4, 1 << 16, Stream(0)), 0);
        assert_eq!(bytes::<3>(a), [4; 3]);
        assert_eq!(api::cuMemPoolGetAttribute(pool, 7, place_mut(&mut used)), 0);
        assert_eq!(used, 2 << 16);
        assert_eq!(api::cuMemFreeAsync(a, Stream(0)), 0);
        assert_eq!(api::cuMemFreeAsync(a, Stream(0)), 1, "twice");
        assert_eq!(api::cuMemsetD8_v2(a, 0, 1), 1, "freed");
        let mut again = Ptr(0);
        assert_eq!(allocate(&mut again), 0);
        assert_eq!(again, a, "in the same stream at once");
        assert_eq!(api::cuMemFree_v2(b), 0);
        assert_eq!(api::cuMemFreeAsync(again, Stream(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuMemPoolGetAttribute(pool, 7, place_mut(&mut used)), 0);
        assert_eq!(used, 0);
        assert_eq!(api::cuMemPoolGetAttribute(pool, 8, place_mut(&mut used)), 0);
        assert_eq!(used, 2 << 16);
        assert_eq!(api::cuMemPoolTrimTo(pool, 0), 0);
        assert_eq!(api::cuMemPoolGetAttribute(pool, 5, place_mut(&mut used)), 0);
        assert_eq!(used, 0);
        assert_eq!(api::cuMemFreeAsync(Ptr(0), Stream(0)), 0);
        assert_eq!(api::cuMemPoolDestroy(pool), 0);
        assert_eq!(api::cuMemPoolDestroy(pool), 1);
        let mut standard = Ptr(0);
        assert_eq!(api::cuDeviceGetDefaultMemPool(Out(&raw mut standard), Device(0)), 0);
        assert_eq!(api::cuMemPoolDestroy(standard), 1);
    }
}

#[test]
fn arrays_are_copied_to_and_from() {
    if !in_child("memory::arrays_are_copied_to_and_from") {
        return;
    }
    start();
    let from: [u8; 24] = std::array::from_fn(|n| n as u8);
    let (mut flat, mut deep, mut to) = (Ptr(0), Ptr(0), [0u8; 24]);
    unsafe {
        // 4 by 6 bytes; 2 by 3 by 2 shorts.
        let form = [4u64, 6, 1 | 1 << 32];
        assert_eq!(api::cuArrayCreate_v2(Out(&raw mut flat), place(&form)), 0);
        let form = [2u64, 3, 2, 2 | 1 << 32, 0];
        assert_eq!(api::cuArray3DCreate_v2(Out(&raw mut deep), place(&form)), 0);
        let mut said = [9u64; 5];
        assert_eq!(api::cuArray3DGetDescriptor_v2(place_mut(&mut said), deep), 0);
        assert_eq!(said, form);
        let mut kept = Ptr(7);
        for (wrong, code) in [
            ([0u64, 3, 2, 2 | 1 << 32, 0], 1),
            ([2, 3, 2, 2 | 3 << 32, 0], 1),
            ([2, 3, 2, 77 | 1 << 32, 0], 1),
            ([2, 0, 2, 2 | 1 << 32, 0], 1),
            ([u64::MAX, 3, 2, 2 | 1 << 32, 0], 1),
            ([2, 3, 2, 2 | 1 << 32, 4], 1),
            ([2, 3, 2, 2 | 1 << 32, 64], 801),
        ] {
            assert_eq!(api::cuArray3DCreate_v2(Out(&raw mut kept), place(&wrong)), code);
        }
        assert_eq!(kept, Ptr(7), "outputs stay on error");

        assert_eq!(api::cuMemcpyHtoA_v2(flat, 0, place(&from), 24), 0);
        assert_eq!(api::cuMemcpyHtoA_v2(flat, 1, place(&from), 24), 1);
        assert_eq!(api::cuMemcpyAtoA_v2(deep, 4, flat, 8, 4), 0);
        assert_eq!(api::cuMemcpyAtoH_v2(place_mut(&mut to), deep, 4, 4), 0);
        assert_eq!(to[..5], [8, 9, 10, 11, 0]);
        // A rectangle of 2 by 3 bytes from (1, 2).
        let mut shape = [0usize; 16];
        (shape[0], shape[1], shape[2], shape[5]) = (1, 2, 3, flat.0);
        (shape[9], shape[10], shape[13]) = (1, place_mut(&mut to).0, 2);
        (shape[14], shape[15]) = (2, 3);
        assert_eq!(api::cuMemcpy2D_v2(place(&shape)), 0);
        assert_eq!(to[..6], [9, 10, 13, 14, 17, 18]);
        shape[1] = 4;
        assert_eq!(api::cuMemcpy2D_v2(place(&shape)), 1, "beyond the last row");
        shape[5] = 0x40;
        assert_eq!(api::cuMemcpy2D_v2(place(&shape)), 400, "no array");
        assert_eq!(api::cuArrayDestroy(flat), 0);
        assert_eq!(api::cuArrayDestroy(flat), 400);
    }
}

#[test]
fn whatever_is_accepted_is_possible() {
    if !in_child("memory::whatever_is_accepted_is_possible") {
        return;
    }
    start();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..300 {
        let data: Vec<u8> = (0..600)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        crate::arguments::run(&data);
    }
    cushim_testkit::corpus::regressions("vcuda_copies", crate::arguments::run);
}
