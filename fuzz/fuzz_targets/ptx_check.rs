#![no_main]
use cushim_testkit::ptx;
libfuzzer_sys::fuzz_target!(|data: &[u8]| ptx::check(data));
