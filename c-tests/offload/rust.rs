//! A region by rustc's own offloading (nightly, `-Z offload=Test`, which makes the host part only). It must be linked
//! with `rust.c`, which has the images that clang's linker wrapper would add.
#![feature(core_intrinsics)]
#![allow(internal_features)]

fn main() {
    let mut x = [3.0f64; 256];
    for _ in 0..3 {
        scale(&mut x);
    }
    println!("{}", x[0]);
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn scale(x: &mut [f64; 256]) {
    core::intrinsics::offload(device_scale, [256, 1, 1], [32, 1, 1], (x,))
}

unsafe extern "C" {
    pub fn device_scale(x: &mut [f64; 256]);
}
