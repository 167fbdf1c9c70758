#![no_main]
use cushim_testkit::analysis;
libfuzzer_sys::fuzz_target!(|data: &[u8]| analysis::export(data));
