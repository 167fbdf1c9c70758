#![no_main]
use cushim_testkit::profile;
libfuzzer_sys::fuzz_target!(|data: &[u8]| profile::gathered(data));
