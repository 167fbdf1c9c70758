#![no_main]
#[path = "../src/bind.rs"]
mod bind;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bind::rewritten(data));
