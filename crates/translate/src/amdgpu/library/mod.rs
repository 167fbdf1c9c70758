//! Functions in LLVM IR that translated code calls: the device's side of the host-call buffer, and barriers that
//! count.
//!
//! Owns their LLVM IR, and which parts a module needs. Must not know: when they are called.

use crate::abi::calls;
use crate::target::Target;
use std::collections::BTreeSet;

/// Definitions of a wave's lanes that do not depend on the wave's width.
const WAVE: &str = include_str!("wave.ll");
/// LLVM's RPC protocol.
const CLIENT: &str = include_str!("client.ll");
/// Barriers that count threads.
const BARRIER: &str = include_str!("barrier.ll");

/// What of it a module needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Kernels ask their host.
    pub(super) host: bool,
    /// Barriers count.
    pub(super) barriers: bool,
}

/// Intrinsics that the functions call.
const DECLARED: [&str; 9] = [
    "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i32 @llvm.usub.sat.i32(i32, i32)",
    "declare i64 @llvm.usub.sat.i64(i64, i64)",
    "declare i32 @llvm.amdgcn.workitem.id.x()",
    "declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
    "declare void @llvm.amdgcn.s.sleep(i32)",
    "declare void @llvm.amdgcn.s.barrier()",
    "declare void @llvm.trap()",
];

/// The functions for a target, and the declarations that they need.
pub(super) fn text(target: &Target, needs: Needs, declared: &mut BTreeSet<String>) -> String {
    if needs == Needs::default() {
        return String::new();
    }
    let wave = target.wave;
    declared.extend(DECLARED.map(str::to_owned));
    declared.insert(format!("declare i{wave} @llvm.amdgcn.ballot.i{wave}(i1)"));
    let widened = match wave {
        64 => "  ret i64 %lanes\n",
        _ => "  %wide = zext i32 %lanes to i64\n  ret i64 %wide\n",
    };
    let mut text = format!(
        "define internal i64 @cushim.wave.ballot(i1 %c) #3 {{\n  \
         %lanes = call i{wave} @llvm.amdgcn.ballot.i{wave}(i1 %c)\n{widened}}}\n\
         define internal i32 @cushim.wave.lane() #3 {{\n  \
         %item = call i32 @llvm.amdgcn.workitem.id.x()\n  \
         %lane = and i32 %item, {}\n  ret i32 %lane\n}}\n{WAVE}",
        wave - 1
    );
    if needs.host {
        let numbers = [("$LANES", wave), ("$PRINT", calls::PRINT), ("$ASSERT", calls::ASSERT)];
        text += &numbers.iter().fold(CLIENT.to_owned(), |text, (name, number)| {
            text.replace(name, &number.to_string())
        });
    }
    if needs.barriers {
        text += BARRIER;
    }
    text
}
