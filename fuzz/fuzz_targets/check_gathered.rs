#![no_main]
use cushim_testkit::check;
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::gathered(data));
