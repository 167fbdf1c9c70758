//! The body of the fuzz target with a few thousand mutated valid inputs, in every test run.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use cushim_testkit::numbers::Numbers;
use cushim_testkit::{corpus, vcuda as targets, vcuda_shared};

#[test]
fn launches_of_any_shape_are_answered() {
    let mut good = Vec::new();
    for word in [1u32, 1, 1, 64, 1, 1, 0, 0, 0] {
        good.extend(word.to_le_bytes());
    }
    good.extend([7; 29]);
    let mut numbers = Numbers(2_463_534_242);
    targets::launch(&good);
    corpus::regressions("vcuda_launch", targets::launch);
    for _ in 0..2000 {
        targets::launch(&numbers.spoil(&good));
    }
}

#[test]
fn shared_memory_and_conditions_with_any_values_are_answered() {
    let mut numbers = Numbers(9_876_543_211);
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..600).map(|_| numbers.next(256) as u8).collect();
        vcuda_shared::calls(&bytes);
    }
    corpus::regressions("vcuda_shared", vcuda_shared::calls);
}
