//! Accesses keep the order that matters. These tests check the code itself: in a run, the processor may hide a wrong
//! order, even from the litmus tests.

use super::*;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, SourceLoc, UserFuncName, types,
};
use cranelift_codegen::isa::CallConv;

/// An access: to private memory or any, a write or a read, and its first byte; all have 16.
#[derive(Debug, Clone, Copy)]
struct Access {
    own: bool,
    write: bool,
    /// A read that may pass others.
    free: bool,
    at: i32,
    lane: u32,
}

/// Whether `later` must stay after `earlier`.
fn ordered(earlier: Access, later: Access) -> bool {
    if !earlier.own && !later.own {
        return earlier.write || later.write || !later.free;
    }
    let apart = earlier.own && later.own && (earlier.at - later.at).abs() >= 16;
    (earlier.write || later.write) && !apart
}

/// A block of these accesses, put into order: which came when.
fn after(accesses: &[Access]) -> Vec<usize> {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = vec![AbiParam::new(types::I64); 2];
    let mut func = Function::with_name_signature(UserFuncName::default(), signature);
    let mut cursor = FuncCursor::new(&mut func);
    let block = cursor.func.dfg.make_block();
    let [own, other] = [(); 2].map(|()| cursor.func.dfg.append_block_param(block, types::I64));
    cursor.insert_block(block);
    let value = cursor.ins().iconst(types::I64, 7);
    let value = cursor.ins().splat(types::I64X2, value);
    let mut made = Vec::new();
    for access in accesses {
        cursor.set_srcloc(SourceLoc::new(access.lane));
        let base = if access.own { own } else { other };
        let flags = MemFlagsData::new();
        let flags = if access.free { flags.with_can_move() } else { flags };
        made.push(if access.write {
            cursor.ins().store(flags, value, base, access.at)
        } else {
            let read = cursor.ins().load(types::I64X2, flags, base, access.at);
            cursor.func.dfg.value_def(read).unwrap_inst()
        });
    }
    cursor.ins().return_(&[]);
    order(&mut func, &HashSet::from([own]));
    let place = |inst: Inst| made.iter().position(|m| *m == inst);
    func.layout.block_insts(block).filter_map(place).collect()
}

#[test]
fn accesses_of_one_place_and_of_foreign_memory_stay_in_order() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut moved = 0;
    for _ in 0..500 {
        let accesses: Vec<_> = (0..2 + draw(12))
            .map(|_| Access {
                own: draw(2) == 0,
                write: draw(2) == 0,
                free: draw(2) == 0,
                at: 8 * draw(8) as i32,
                lane: draw(32) as u32,
            })
            .collect();
        let after = after(&accesses);
        assert_eq!(after.len(), accesses.len());
        moved += usize::from(!after.is_sorted());
        for (n, later) in after.iter().enumerate() {
            for earlier in &after[n + 1..] {
                let passed = earlier < later && ordered(accesses[*earlier], accesses[*later]);
                assert!(!passed, "{later} passed {earlier} of {accesses:?}");
            }
        }
    }
    // The test sees something: lanes were brought together.
    assert!(moved > 50, "{moved}");
}
