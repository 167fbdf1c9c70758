//! Table lookups and permutations of lanes, by the instruction that looks up 16 numbers in two registers (AVX-512).
//!
//! Owns splitting 32 lanes into two halves, and joining them. Must not know what is looked up.

use super::emitter::LANES;
use cushim_translate::llvm::{Body, Type, Value};

/// Lanes of a register.
const HALF: u32 = LANES / 2;
const NAME: &str = "@llvm.x86.avx512.vpermi2var.d.512";

/// A 32-bit constant for each lane.
pub(super) fn steps(b: &mut Body, of: impl Fn(i64) -> i64) -> Value {
    let all: Vec<String> = (0..i64::from(LANES)).map(|l| format!("i32 {}", of(l) as i32)).collect();
    b.result(Type::Int(32), &format!("add <32 x i32> zeroinitializer, <{}>", all.join(", ")))
}

/// The table element at each lane's index. The table has a power of two of elements, at least 32; all indices are in
/// range.
pub(super) fn look_up(b: &mut Body, table: &[u32], index: Value) -> Value {
    let index = b.typed(index);
    let halves = [0, HALF].map(|first| {
        let own = half(b, &index, first);
        let mut parts: Vec<String> = Vec::new();
        for part in table.chunks(LANES as usize) {
            let (low, high) = part.split_at(HALF as usize);
            parts.push(of_two(b, &literal(low), &own, &literal(high)));
        }
        let mut bit = LANES;
        while parts.len() > 1 {
            let one = literal(&[bit; HALF as usize]);
            let set = line(b, &format!("and <16 x i32> {own}, {one}"));
            let set = line(b, &format!("icmp ne <16 x i32> {set}, zeroinitializer"));
            let choose = |pair: &[String]| {
                let (low, high) = (&pair[0], &pair[1]);
                line(b, &format!("select <16 x i1> {set}, <16 x i32> {high}, <16 x i32> {low}"))
            };
            parts = parts.chunks_exact(2).map(choose).collect();
            bit *= 2;
        }
        parts.swap_remove(0)
    });
    joined(b, &halves)
}

/// A permutation of 32-bit lanes: lane `l` gets the value of lane `from[l]`.
pub(super) fn permuted(b: &mut Body, v: Value, from: Value) -> Value {
    let [v, from] = [v, from].map(|v| b.typed(v));
    let [low, high] = [0, HALF].map(|first| half(b, &v, first));
    let halves = [0, HALF].map(|first| {
        let own = half(b, &from, first);
        of_two(b, &low, &own, &high)
    });
    joined(b, &halves)
}

/// The same for constant lane numbers, on any processor.
pub(super) fn reordered(b: &mut Body, v: Value, from: &[usize; LANES as usize]) -> Value {
    let order: Vec<String> = from.iter().map(|l| format!("i32 {l}")).collect();
    let (v, order) = (b.typed(v), order.join(", "));
    b.result(Type::Int(32), &format!("shufflevector {v}, <32 x i32> poison, <32 x i32> <{order}>"))
}

/// The elements of two registers that `index` selects.
fn of_two(b: &mut Body, low: &str, index: &str, high: &str) -> String {
    b.declare(&format!("declare <16 x i32> {NAME}(<16 x i32>, <16 x i32>, <16 x i32>)"));
    let call =
        format!("call <16 x i32> {NAME}(<16 x i32> {low}, <16 x i32> {index}, <16 x i32> {high})");
    line(b, &call)
}

/// 16 lanes of a typed vector.
fn half(b: &mut Body, v: &str, first: u32) -> String {
    let order = order(first..first + HALF);
    line(b, &format!("shufflevector {v}, <32 x i32> poison, <16 x i32> <{order}>"))
}

fn joined(b: &mut Body, [low, high]: &[String; 2]) -> Value {
    let order = order(0..LANES);
    let text = format!("shufflevector <16 x i32> {low}, <16 x i32> {high}, <32 x i32> <{order}>");
    b.result(Type::Int(32), &text)
}

fn order(lanes: std::ops::Range<u32>) -> String {
    lanes.map(|l| format!("i32 {l}")).collect::<Vec<_>>().join(", ")
}

/// Emits an instruction with a result of any type; returns its name.
pub(super) fn line(b: &mut Body, text: &str) -> String {
    let name = format!("%h{}", b.number());
    b.line(&format!("{name} = {text}"));
    name
}

fn literal(values: &[u32]) -> String {
    let all: Vec<String> = values.iter().map(|v| format!("i32 {}", v.cast_signed())).collect();
    format!("<{}>", all.join(", "))
}
