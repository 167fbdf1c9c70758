#![no_main]
#[path = "../src/bound.rs"]
mod bound;
use cushim_testkit::patch;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, patch::archive));
