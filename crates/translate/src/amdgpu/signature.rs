//! The signature of a function in LLVM IR: first the pointer to [`crate::abi::LaunchArguments`], then each parameter
//! as integers of its size.
//!
//! Owns the type in which each parameter is passed. Must not know how calls are made.

use cushim_ptx::ir::{Function, Param};

/// How a value of some bytes is passed: words, and a last one that may be shorter.
pub(super) fn passed(bytes: u32) -> String {
    match bytes {
        0..=4 => "i32".into(),
        5..=8 => "i64".into(),
        n => format!("[{} x i32]", n.div_ceil(4)),
    }
}

/// The result and the parameters of a function.
pub(super) fn signature(f: &Function) -> (String, String) {
    let size = |p: &Param| passed(p.size);
    let params = f.params.iter().enumerate().map(|(n, p)| format!(", {} %a{n}", size(p)));
    let params = format!("ptr addrspace(4) %launch{}", params.collect::<String>());
    (results(&f.returns.iter().map(size).collect::<Vec<_>>()), params)
}

/// The result of a function, by the types of its parts.
pub(super) fn results(types: &[String]) -> String {
    match types {
        [] => "void".into(),
        all => format!("{{ {} }}", all.join(", ")),
    }
}
