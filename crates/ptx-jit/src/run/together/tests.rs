//! Compares the functions' effects with those of single lanes.

use super::*;
use crate::warp::{Slot, Warp};

/// The fields that functions use, in a warp whose other fields are unused.
struct Small(Box<std::mem::MaybeUninit<Warp>>);

impl Small {
    fn new(arena: &mut [u32], shared: &mut [u32]) -> Small {
        let mut w = Small(Box::new(std::mem::MaybeUninit::zeroed()));
        let p = w.0.as_mut_ptr();
        // SAFETY: plain numbers and pointers of a warp's memory, which is there.
        unsafe {
            (*p).arena = arena.as_ptr() as u64;
            (*p).arena_size = size_of_val(arena) as u64;
            (*p).shared = shared.as_mut_ptr().cast();
            (*p).shared_size = size_of_val(shared) as u64;
        }
        w
    }

    fn slot(&mut self, n: usize) -> &mut Slot {
        // SAFETY: numbers, of which any bits are one.
        unsafe { &mut (*self.0.as_mut_ptr()).scratch[n] }
    }

    /// Whether it is done.
    fn call(&mut self, table: Table, what: Together, lanes: u32, place: u64) -> bool {
        let p = self.0.as_mut_ptr();
        // SAFETY: the processor has what the table asks for, and places are inside the memory that the warp names.
        unsafe {
            (table[what as usize].0)(p, lanes, place);
            (*p).answer == 0
        }
    }
}

type Table = &'static [Function; Together::COUNT];

/// The tables that this processor can run.
fn tables() -> Vec<Table> {
    let of_level = [(Level::V3, &avx2::TABLE), (Level::V4, &avx512::TABLE)];
    of_level.into_iter().filter(|(level, _)| level.is_there()).map(|(_, table)| table).collect()
}

fn narrow(slot: &mut Slot) -> &mut [u32; 64] {
    // SAFETY: as many bytes, and a smaller alignment.
    unsafe { &mut *std::ptr::from_mut(slot).cast() }
}

const MASKS: [u32; 8] = [u32::MAX, 0, 1, 1 << 31, 0xffff, 0xff00_0000, 0x5555_5555, 0x8001_7ff8];
const WORDS: usize = 1024;

/// Addresses in words: side by side, one, strides, mixed.
fn patterns() -> Vec<[usize; 32]> {
    vec![
        std::array::from_fn(|l| 10 + l),
        [7; 32],
        std::array::from_fn(|l| 1000 - 31 * l),
        std::array::from_fn(|l| l * 293 % WORDS),
        std::array::from_fn(|l| if l == 31 { 900 } else { 10 + l }),
        std::array::from_fn(|l| l / 4 * 2),
    ]
}

#[test]
fn lanes_get_and_put_what_each_of_them_would() {
    for table in tables() {
        for (pattern, mask) in patterns().iter().flat_map(|p| MASKS.map(|mask| (p, mask))) {
            for (load, store, words, shared) in [
                (Together::Load4, Together::Store4, 1, false),
                (Together::Load8, Together::Store8, 2, false),
                (Together::LoadShared4, Together::StoreShared4, 1, true),
            ] {
                check(table, pattern, mask, (load, store), words, shared);
            }
        }
    }
}

fn check(
    table: Table,
    pattern: &[usize; 32],
    mask: u32,
    (load, store): (Together, Together),
    words: usize,
    shared: bool,
) {
    let places = pattern.map(|at| at / words * words);
    let mut memory: Vec<u32> = (0..WORDS as u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
    let mut other = memory.clone();
    let base = memory.as_ptr() as u64;
    // For 64-bit values, addresses are multiples of 8 only if the memory's is.
    assert!(base.is_multiple_of(8));
    let mut w = Small::new(&mut memory, &mut other);
    for (l, at) in places.iter().enumerate() {
        let on = mask >> l & 1 != 0;
        let at = if on { 4 * *at as u64 } else { u64::MAX - 2 };
        if shared { narrow(w.slot(0))[l] = at as u32 } else { w.slot(0)[l] = base.wrapping_add(at) }
    }
    assert!(w.call(table, load, mask, 0), "{load:?} {mask:#x} {pattern:?}");
    let seen = if shared { &other } else { &memory };
    let mut after = seen.clone();
    for (l, at) in places.iter().enumerate().filter(|(l, _)| mask >> l & 1 != 0) {
        for k in 0..words {
            let got = narrow(w.slot(Together::RESULTS))[words * l + k];
            assert_eq!(got, seen[at + k], "{load:?} {mask:#x} lane {l}");
            after[at + k] = (1000 * l + k) as u32;
        }
    }
    for l in 0..32 * words {
        narrow(w.slot(1))[l] = (1000 * (l / words) + l % words) as u32;
    }
    assert!(w.call(table, store, mask, 0));
    assert_eq!(if shared { &other } else { &memory }, &after, "{store:?} {mask:#x} {pattern:?}");
}

#[test]
fn parts_of_rows_are_those_of_the_lanes() {
    let rows = [
        (Together::LoadRow4, Together::StoreRow4, 1),
        (Together::LoadRow8, Together::StoreRow8, 2),
    ];
    for (table, (load, store, words)) in tables().into_iter().flat_map(|t| rows.map(|row| (t, row)))
    {
        for mask in MASKS {
            let mut memory: Vec<u32> = (0..WORDS as u32).collect();
            let mut after = memory.clone();
            let place = memory.as_ptr() as u64 + 40;
            let mut w = Small::new(&mut memory, &mut []);
            assert!(w.call(table, load, mask, place));
            for k in 0..32 * words {
                let on = mask >> (k / words) & 1 != 0;
                let expected = if on { 10 + k as u32 } else { 0 };
                assert_eq!(narrow(w.slot(Together::RESULTS))[k], expected, "{load:?} {mask:#x}");
                narrow(w.slot(1))[k] = 5000 + k as u32;
                after[10 + k] = if on { 5000 + k as u32 } else { after[10 + k] };
            }
            assert!(w.call(table, store, mask, place));
            assert_eq!(memory, after, "{store:?} {mask:#x}");
        }
    }
}

/// Accesses that are out of range or misaligned are not done; inactive lanes may have any address.
#[test]
fn wrong_addresses_are_left_to_a_helper() {
    for table in tables() {
        wrong_addresses_of(table);
    }
}

fn wrong_addresses_of(table: Table) {
    let (mut memory, mut other) = (vec![1u32; WORDS], vec![1u32; WORDS]);
    let base = memory.as_ptr() as u64;
    let end = 4 * WORDS as u64;
    for (load, store, bytes, shared) in [
        (Together::Load4, Together::Store4, 4, false),
        (Together::Load8, Together::Store8, 8, false),
        (Together::LoadShared4, Together::StoreShared4, 4, true),
    ] {
        for lane in [0, 7, 8, 16, 31] {
            for (at, right) in [
                (end - bytes, true),
                (end, false),
                (end - 3, false),
                (1, false),
                (u64::MAX - 3, false),
            ] {
                for what in [load, store] {
                    for (lanes, done) in [(u32::MAX, right), (!(1 << lane), true)] {
                        let mut w = Small::new(&mut memory, &mut other);
                        for l in 0..32 {
                            let at = if l == lane { at } else { 8 * l as u64 };
                            if shared {
                                narrow(w.slot(0))[l] = at as u32
                            } else {
                                w.slot(0)[l] = base.wrapping_add(at)
                            }
                        }
                        for l in 0..64 {
                            narrow(w.slot(1))[l] = 1;
                        }
                        let seen = w.call(table, what, lanes, 0);
                        assert_eq!(seen, done, "{what:?} lane {lane} {at:#x} {lanes:#x}");
                    }
                }
            }
        }
    }
    assert_eq!((memory, other), (vec![1; WORDS], vec![1; WORDS]));
}

#[test]
fn a_place_in_a_function_has_one_to_go_on_at() {
    for f in avx2::TABLE.iter().chain(&avx512::TABLE) {
        let begin = f.0 as *const () as u64;
        assert_eq!(after_fault(begin), Some(begin + HEADER));
        assert_eq!(after_fault(begin + 100), Some(begin + HEADER));
    }
    assert_eq!(after_fault(after_fault as *const () as u64), None);
}
