#![no_main]
use cushim_testkit::doctor;
libfuzzer_sys::fuzz_target!(|data: &[u8]| doctor::told(data));
