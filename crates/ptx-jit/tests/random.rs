//! Random valid kernels: the compiler against the interpreter.

#[path = "../../../fuzz/src/jit.rs"]
mod jit;

#[test]
fn random_kernels_do_the_same() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u8
    };
    let count = std::env::var("CUSHIM_RANDOM_KERNELS").ok().and_then(|v| v.parse().ok());
    for n in 0..count.unwrap_or(40) {
        let data: Vec<u8> = (0..400).map(|_| next()).collect();
        let run = || jit::run(&data);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("kernel {n}:\n{}", jit::program(&data));
        }
    }
}
