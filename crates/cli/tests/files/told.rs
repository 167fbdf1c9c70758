//! Seeds for the fuzz target of the audit library's reports to the launcher; the tests check the same properties.

use cushim_testkit::{corpus, doctor};

const SEED: &[u8] =
    b"+7 /usr/bin/app\n?7 libm.so.6\n+7 /lib/libm.so.6\n+8 linux-vdso.so.1\n?8 libcudnn.so.9\n";

#[test]
fn seeds_for_fuzzing() {
    for cut in 0..=SEED.len() {
        doctor::told(&SEED[..cut]);
    }
    for at in 0..SEED.len() {
        let mut damaged = SEED.to_vec();
        damaged[at] ^= 0x2a;
        doctor::told(&damaged);
    }
    corpus::regressions("doctor_told", doctor::told);
    corpus::seeds("doctor_told", [SEED]);
}
