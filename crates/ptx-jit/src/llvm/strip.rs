//! The order of warps in kernels whose warps do not meet: in blocks of several rows, a warp runs in some blocks along x
//! before the block's next warp does. Consecutive warps then access contiguous memory, where the rows of a matrix with a power of two of
//! columns would displace each other from the cache.
//!
//! Owns which kernels those are, and the loop over the blocks. Must not know what a warp does.

use super::emitter::Emit;
use crate::warp::{INTERFACE, Uniform};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// The most blocks of a strip, less one.
const MORE: u128 = 15;

impl Emit<'_> {
    /// Whether warps of different blocks may alternate: no warp waits, and none accesses shared memory.
    pub(super) fn has_strips(&self, resumed: &[usize]) -> bool {
        let spaces = |k: usize| self.f.code.iter().all(|inst| inst.space(k) != Space::Shared);
        resumed.is_empty() && self.turns.is_empty() && (0..2).all(spaces)
    }

    /// Begins a strip at the current block.
    pub(super) fn begin_strip(&mut self) {
        for name in ["strip", "along"] {
            self.b.variable(&format!("%{name} = alloca i32"));
        }
        let rows = [1, 2].map(|k| {
            let at = INTERFACE.warp.uniform + 4 * (Uniform::Ntid as usize + k);
            self.constant(32, at)
        });
        let (left, _) = self.left_and_block();
        let b = self.scalar();
        let left = b.result(Type::Int(32), &format!("load i32, ptr {left}"));
        let more = b.same("llvm.umin", &[left, Value::int(32, MORE)]);
        let rows = b.op("mul", rows[0], rows[1]);
        let one = b.icmp_with("ule", rows, 1);
        let more = b.select(one, Value::int(32, 0), more);
        self.set_variable("strip", more);
        self.set_variable("along", Value::int(32, 0));
    }

    /// A warp has ended in one block: it begins the next block of the strip, or returns to the first one.
    pub(super) fn along_strip(&mut self) {
        let (along, strip) = (self.load_variable("along"), self.load_variable("strip"));
        let more = self.scalar().icmp("ult", along, strip);
        self.branch(more, "further", "back");
        self.b.label("further");
        let along = self.scalar().with("add", along, 1);
        self.set_variable("along", along);
        self.move_block(Value::int(32, 1));
        self.jump("begin");
        self.b.label("back");
        self.set_variable("along", Value::int(32, 0));
        let back = self.scalar().op("sub", Value::int(32, 0), strip);
        self.move_block(back);
    }

    /// All warps have ended in all blocks of the strip: its last block is the current one.
    pub(super) fn end_strip(&mut self) {
        let strip = self.load_variable("strip");
        self.move_block(strip);
        let (left, _) = self.left_and_block();
        let less = self.scalar().op("sub", Value::int(32, 0), strip);
        self.add_at(&left, less);
    }

    fn move_block(&mut self, by: Value) {
        let (_, x) = self.left_and_block();
        self.add_at(&x, by);
    }

    /// Adds to a 32-bit number in memory.
    pub(super) fn add_at(&mut self, p: &str, by: Value) {
        let b = self.scalar();
        let v = b.result(Type::Int(32), &format!("load i32, ptr {p}"));
        let v = b.op("add", v, by);
        let v = b.typed(v);
        b.line(&format!("store {v}, ptr {p}"));
    }

    /// Where it stands how many blocks follow, and the current block's number along x.
    pub(super) fn left_and_block(&mut self) -> (String, String) {
        let loops = self.pointer();
        let at = INTERFACE.warp.warps;
        self.b.line(&format!("{loops}w = getelementptr i8, ptr %first, i64 {at}"));
        self.b.line(&format!("{loops} = load ptr, ptr {loops}w, !invariant.load !0"));
        let left = self.offset_by(&loops, INTERFACE.warps.left);
        (left, self.offset_by(&loops, INTERFACE.warps.block))
    }
}
