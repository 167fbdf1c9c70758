#![no_main]
use cushim_testkit::bind;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bind::rewritten(data));
