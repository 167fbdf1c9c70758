#![no_main]
#[path = "../src/bound.rs"]
mod bound;
#[path = "../src/kfd.rs"]
mod kfd;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bound::bounded(data, kfd::packets));
