#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/trace.rs"]
mod trace;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, trace::file));
