#![no_main]
#[path = "../src/jit.rs"]
mod jit;
libfuzzer_sys::fuzz_target!(|data: &[u8]| jit::run(data));
