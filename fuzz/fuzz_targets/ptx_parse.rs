#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/ptx.rs"]
mod ptx;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, ptx::parse));
