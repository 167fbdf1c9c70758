#![no_main]
#[path = "../src/bound.rs"]
mod bound;
use cushim_testkit::rules;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, rules::handed_over));
