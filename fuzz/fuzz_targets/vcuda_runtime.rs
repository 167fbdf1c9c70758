#![no_main]
#[path = "../src/vcuda_runtime.rs"]
mod targets;
libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::calls(data));
