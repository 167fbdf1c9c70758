//! Tests the words that are recorded for an argument, the value that a call wrote, and their printed form.

use cushim_abi::offload::layout::{Entry, KIND_OPENMP, entries, map_word};
use cushim_abi::types::*;
use cushim_abi::{CLASSES, errors};

/// The words of an argument, written over other values.
fn words<T: Arg>(arg: T) -> Vec<u64> {
    let mut to = vec![0x5555; T::WORDS];
    arg.words(&mut to);
    to
}

#[test]
fn every_shape_has_its_words() {
    assert_eq!((words(7usize), words(1u64 << 40), words(9u32)), (vec![7], vec![1 << 40], vec![9]));
    assert_eq!((words(-1i32), words(3u16), words(4u8)), (vec![u64::MAX], vec![3], vec![4]));
    assert_eq!(words(1.5f32), [0x3fc0_0000]);
    assert_eq!(words(Narrow(0xdead_beef_ffff_fffe)), [-2i64 as u64]);
    assert_eq!((words(Ptr(0x7f00)), words(Device(-1))), (vec![0x7f00], vec![u64::MAX]));
    assert_eq!(words(Dim3 { x: 1, y: 2, z: 3 }), [1, 2, 3]);
    assert_eq!(words(Extent { width: 4, height: 5, depth: 6 }), [4, 5, 6]);
    assert_eq!(words(PitchedPtr { ptr: 1, pitch: 2, xsize: 3, ysize: 4 }), [1, 2, 3, 4]);
    assert_eq!(words(IpcHandle([9; 64])), [0; 8]);
    let mut value = 5u32;
    let at = &raw mut value;
    assert_eq!(words(Out(at)), [at.addr() as u64]);
    // Without room nothing is written.
    7u64.words(&mut []);
}

#[test]
fn what_a_call_wrote_is_read_and_nothing_else() {
    let mut value = -7i32;
    // SAFETY: one place is valid, the other is null.
    unsafe {
        assert_eq!(Out(&raw mut value).written(), Some(-7i64 as u64));
        assert_eq!(Out(std::ptr::null_mut::<i32>()).written(), None);
        assert_eq!(9u32.written(), None);
    }
    const { assert!(Out::<u32>::OUT && !u32::OUT) };
}

#[test]
fn functions_and_classes_by_their_words() {
    let names: Vec<&str> = CLASSES.iter().map(|(class, _)| class.name()).collect();
    assert_eq!(names, CLASSES.map(|(_, name)| name));
    let all = (0..u16::MAX).filter_map(cushim_abi::function);
    let found = |name| all.clone().find(|function| function.name == name).unwrap();
    let copy = found("cuMemcpyHtoD_v2");
    assert_eq!(copy.spec().split(',').count(), copy.args.iter().map(|arg| arg.words).sum());
    let launch = found("cudaLaunchKernel");
    let spec = launch.spec();
    assert!(spec.contains("gridDim.0:dim,gridDim.1:dim,gridDim.2:dim,"), "{spec}");
    assert!(!spec.starts_with(',') && !spec.contains("stream."), "{spec}");
}

#[test]
fn failures_by_function() {
    assert_eq!(errors::error_name("__tgt_target_kernel", -1), Some("OFFLOAD_FAIL"));
    assert_eq!(errors::error_name("omp_target_memcpy", 1), None);
    assert_eq!(errors::error_name("cuInit", 1), Some("CUDA_ERROR_INVALID_VALUE"));
    assert_eq!(errors::error_name("cudaMalloc", 1), Some("cudaErrorInvalidValue"));
    assert_eq!([0, 1, 600, -1].map(errors::is_failure), [false, true, false, true]);
}

fn newer(version: u16, kind: u16, first: u64) -> Vec<u8> {
    let head = u64::from(version) | u64::from(kind) << 16;
    [first, head, 0x1000, 0x2000, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Seven words are one entry of the newer form, or no table: an entry of the older form has four.
#[test]
fn an_entry_of_the_newer_form_needs_all_its_marks() {
    assert_eq!(entries(&newer(1, 1, 0)).unwrap().len(), 1);
    for (version, kind, first) in [(0, 1, 0), (16, 1, 0), (1, 0, 0), (1, 3, 0), (1, 1, 5)] {
        assert_eq!(entries(&newer(version, kind, first)), None, "{version} {kind} {first}");
    }
}

#[test]
fn what_is_a_region() {
    let region = Entry { address: 1, name: 2, size: 0, flags: 0, kind: KIND_OPENMP };
    assert!(region.is_region() && Entry { flags: 1, ..region }.is_region());
    let not = [
        Entry { address: 0, ..region },
        Entry { name: 0, ..region },
        Entry { size: 4, ..region },
        Entry { flags: 8, ..region },
        Entry { flags: 1, kind: 2, ..region },
    ];
    assert!(not.iter().all(|entry| !entry.is_region()));
    assert!(Entry { flags: 8, kind: 2, ..region }.is_region());
}

#[test]
fn what_a_mapping_does() {
    assert_eq!(
        [0x1, 0x2, 0x3, 0x0, 0x103].map(map_word),
        ["to", "from", "tofrom", "alloc", "literal"]
    );
}
