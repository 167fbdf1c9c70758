#![no_main]
#[path = "../src/replay.rs"]
mod replay;
libfuzzer_sys::fuzz_target!(|data: &[u8]| replay::launch(data));
