//! For the build scripts of the thin libraries.
//!
//! Owns how they are linked: SONAME, version node, and libvcuda.so as a dependency beside them. Must not know: the
//! functions.

use std::path::PathBuf;
use std::process::Command;

/// Tells the linker the library's names, and that it needs libvcuda.so.
///
/// libvcuda.so itself is built by the same run of cargo, in no fixed order: the link uses an empty
/// library of its name, like an import library; the loader binds the symbols.
pub fn front(soname: &str, node: Option<&str>) {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let source = out.join("vcuda.s");
    let text = ".globl vcuda_runtime, vcuda_driver\n.data\nvcuda_runtime: .quad 0\nvcuda_driver: .quad 0\n\
                .type vcuda_runtime,@object\n.type vcuda_driver,@object\n\
                .section .note.GNU-stack,\"\",@progbits\n";
    let library = out.join("libvcuda.so");
    let written = std::fs::write(&source, text);
    assert!(written.is_ok(), "{} cannot be written", source.display());
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libvcuda.so", "-o"])
        .args([&library, &source])
        .status();
    assert!(status.is_ok_and(|s| s.success()), "{compiler} cannot make {}", library.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,now");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo::rustc-cdylib-link-arg=-L{}", out.display());
    // One argument each: zig's driver takes no library inside -Wl.
    for arg in ["-Wl,--no-as-needed", "-lvcuda", "-Wl,--as-needed"] {
        println!("cargo::rustc-cdylib-link-arg={arg}");
    }
    // Rust's library is part of every cdylib, and unwind tables, each entry of which names
    // `rust_eh_personality`, would keep nearly all of it. A front never unwinds: its jumps have no
    // frame. So the name is defined as nothing here, and the linker drops unused code.
    let mut text = String::from("rust_eh_personality = 0;\n");
    if let Some(node) = node {
        text.push_str(&format!("VERSION {{ {node} {{ }}; }}\n"));
    }
    let script = out.join("front.ld");
    let written = std::fs::write(&script, text);
    assert!(written.is_ok(), "{} cannot be written", script.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{}", script.display());
}
