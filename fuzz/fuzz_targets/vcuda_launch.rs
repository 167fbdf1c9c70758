#![no_main]
#[path = "../src/vcuda.rs"]
mod vcuda_targets;
libfuzzer_sys::fuzz_target!(|data: &[u8]| vcuda_targets::launch(data));
