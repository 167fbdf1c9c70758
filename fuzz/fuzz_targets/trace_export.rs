#![no_main]
#[path = "../src/analysis.rs"]
mod analysis;
libfuzzer_sys::fuzz_target!(|data: &[u8]| analysis::export(data));
