//! Gives the library the name that the four thin libraries look for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvcuda.so");
    // What a constructor of a program may call before ours runs must be bound by then.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,now");
    // Threads of queues run its code: it stays when the library that needed it goes.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
