//! `include/cushim.h` is generated from this crate. `CUSHIM_UPDATE=1` writes it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

fn generated() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        include_guard: Some("CUSHIM_H".into()),
        header: Some(HEADER.into()),
        trailer: Some(TRAILER.into()),
        documentation_style: cbindgen::DocumentationStyle::C99,
        no_includes: true,
        sys_includes: vec!["stdint.h".into()],
        ..cbindgen::Config::default()
    };
    for (from, to) in NAMES {
        config.export.rename.insert(from.to_string(), to.to_string());
    }
    config.export.include = NAMES.map(|(from, _)| from.to_string()).to_vec();
    let bindings =
        cbindgen::Builder::new().with_config(config).with_src(source).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

const NAMES: [(&str, &str); 14] = [
    ("CushimDim3", "cushim_dim3"),
    ("CushimParam", "cushim_param"),
    ("CushimImage", "cushim_image"),
    ("CushimFunction", "cushim_function"),
    ("CushimLaunch", "cushim_launch"),
    ("CushimCall", "cushim_call"),
    ("CushimHost", "cushim_host"),
    ("CushimTool", "cushim_tool_table"),
    ("CushimRpcPacket", "cushim_rpc_packet"),
    ("CushimRpcPort", "cushim_rpc_port"),
    ("CushimRpcHandler", "cushim_rpc_handler"),
    ("CushimRpcHost", "cushim_rpc_host"),
    ("CushimRpcFunction", "cushim_rpc_function"),
    ("CushimRpcMain", "cushim_rpc_main"),
];

const HEADER: &str = "\
/* Tools of cushim: shared libraries that cushim calls at every device image and every kernel launch of a program.

       cushim trace --tool ./libmine.so ./app

   And libraries for programs on a GPU (docs/load.md): names that begin with cushim_rpc.

       cushim load --rpc ./libmine.so program.ptx

   A tool exports one function, cushim_tool, which is called once in each process that uses CUDA. Generated from
   crates/tool of cushim's sources; docs/tools.md explains it, c-tests/tools holds examples.

   Compatible changes add to the end of a structure; its `size` says how much of it is present. A tool that was
   compiled with an older header of the same CUSHIM_ABI still works. */";

const TRAILER: &str = "\
#ifdef __cplusplus
extern \"C\" {
#endif
/* The export of a tool: it receives cushim's functions, which stay valid, and returns its own table, which must stay
   valid, too; null if the tool does not want to run. */
const cushim_tool_table *cushim_tool(const cushim_host *host);
/* The export of a library of --rpc: called once, after the image was loaded and before it runs. Returns 0, or another
   number if the program must not run. */
int cushim_rpc(const cushim_rpc_host *host);
#ifdef __cplusplus
}
#endif";

#[test]
fn the_header_is_what_the_crate_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/cushim.h");
    let generated = generated();
    if std::env::var_os("CUSHIM_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &generated).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == generated,
        "include/cushim.h is not what crates/tool says: CUSHIM_UPDATE=1 cargo test -p cushim-tool"
    );
}

/// The header compiles as C and as C++, and its structures have the sizes that Rust gives them.
#[test]
fn compilers_agree_on_the_sizes() {
    use cushim_tool::*;
    let sizes = [
        ("cushim_dim3", size_of::<CushimDim3>()),
        ("cushim_param", size_of::<CushimParam>()),
        ("cushim_image", size_of::<CushimImage>()),
        ("cushim_function", size_of::<CushimFunction>()),
        ("cushim_launch", size_of::<CushimLaunch>()),
        ("cushim_call", size_of::<CushimCall>()),
        ("cushim_host", size_of::<CushimHost>()),
        ("cushim_tool_table", size_of::<CushimTool>()),
        ("cushim_rpc_packet", size_of::<CushimRpcPacket>()),
        ("cushim_rpc_port", size_of::<CushimRpcPort>()),
        ("cushim_rpc_host", size_of::<CushimRpcHost>()),
    ];
    let checks: String = sizes
        .iter()
        .map(|(name, size)| format!("char {name}_[sizeof({name}) == {size} ? 1 : -1];\n"))
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for (compiler, file) in [("gcc", "sizes.c"), ("g++", "sizes.cpp")] {
        std::fs::write(folder.join(file), format!("#include \"cushim.h\"\n{checks}")).unwrap();
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let done = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
            .arg(include)
            .arg(folder.join(file))
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
