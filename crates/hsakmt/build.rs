//! Links the library under its name, with its version node, and so that dlclose does not unload it: threads of queues
//! may still run then.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=nodes.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{folder}/nodes.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhsakmt.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
