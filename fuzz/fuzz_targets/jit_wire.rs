#![no_main]
use cushim_testkit::jit;
#[path = "../src/bound.rs"]
mod bound;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, jit::wire));
