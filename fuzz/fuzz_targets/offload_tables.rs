#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/offload.rs"]
mod offload;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, offload::everything));
