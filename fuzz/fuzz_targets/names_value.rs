#![no_main]
#[path = "../src/names.rs"]
mod names;
libfuzzer_sys::fuzz_target!(|data: &[u8]| names::value(data));
