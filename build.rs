//! Hands the linker the version nodes of the exported runtime functions.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=nodes.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{folder}/nodes.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcushim.so");
    // What a constructor of a program may call before ours runs must be bound by then.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,now");
}
