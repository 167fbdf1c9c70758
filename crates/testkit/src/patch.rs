//! The bodies of the fuzz targets for `cushim-patch`.
//!
//! A function panics only if the code under test breaks a promise.

use cushim_patch::{Exports, File, JUMP, Plan, Runtime, debug, node};

/// Any bytes as an object with a runtime, as its symbols and as the library to redirect to: every planned
/// patch is inside the file, and patches do not overlap.
pub fn object(data: &[u8]) {
    let Ok(file) = File::parse(data) else { return };
    let facts = file.facts();
    let _ = (facts.may_have_runtime(), file.extent(), file.dynamic_address());
    let _ = (file.belongs(&file), debug::places(b"/a/b", &file), file.variable(b"cushim_refused"));
    let Ok(Some(runtime)) = Runtime::find(&file, &facts, &file) else { return };
    let node = node(runtime.major).expect("a major that has a node");
    let exports = Exports::of(&file, node);
    let offered = |name: &[u8]| exports.as_ref().and_then(|e| e.function(name));
    let _ = Plan::new(&file, &runtime, node, offered);
    if let Ok(plan) = Plan::new(&file, &runtime, node, |_| Some(1)) {
        assert!(!plan.patches.is_empty());
        for pair in plan.patches.windows(2) {
            assert!(pair[0].address + JUMP as u64 <= pair[1].address, "{pair:?}");
        }
        for patch in &plan.patches {
            assert_eq!(patch.before.len(), JUMP);
            assert!(plan.span.0 <= patch.address && patch.address + JUMP as u64 <= plan.span.1);
        }
    }
}

/// Any bytes as an archive, and as a program that was linked with it: every found function is inside the program.
pub fn archive(data: &[u8]) {
    for member in cushim_patch::archive::members(data) {
        let Ok(program) = File::parse(member) else { continue };
        if let Some(runtime) = Runtime::of_archive(&program, data) {
            let _ = Plan::new(&program, &runtime, "node", |_| Some(1));
        }
    }
}
