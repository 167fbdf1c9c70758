#![no_main]
use cushim_testkit::vcuda_runtime as targets;
libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::calls(data));
