#![no_main]
#[path = "../src/ptx.rs"]
mod ptx;
libfuzzer_sys::fuzz_target!(|data: &[u8]| ptx::check(data));
