#![no_main]
use cushim_testkit::translate;
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    translate::emitted(data);
    translate::table(data);
});
