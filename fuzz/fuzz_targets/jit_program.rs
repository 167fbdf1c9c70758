#![no_main]
use cushim_testkit::jit;
libfuzzer_sys::fuzz_target!(|data: &[u8]| jit::run(data));
