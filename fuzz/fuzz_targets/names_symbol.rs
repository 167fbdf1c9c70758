#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/names.rs"]
mod names;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, names::symbol));
