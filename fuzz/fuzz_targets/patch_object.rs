#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/patch.rs"]
mod patch;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, patch::object));
