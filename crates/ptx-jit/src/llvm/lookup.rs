//! Table lookups and permutations of lanes, by the instruction that looks up 16 numbers in two registers (AVX-512).
//!
//! Owns splitting 32 lanes into two halves, and joining them. Must not know what is looked up.

use super::emitter::LANES;
use cushim_ptx::alu::sfu::bytes::{FIRST_BITS, FIRST_KEPT, LAST_BITS, LAST_KEPT};
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

/// The special function unit's square of offsets of 17 bits, by products of bytes ([`cushim_ptx::alu::sfu::bytes`]).
pub(super) fn square(b: &mut Body, place: Value) -> Value {
    const BYTES: &str = "@llvm.x86.avx512.pmaddubs.w.512";
    const WORDS: &str = "@llvm.x86.avx512.pmaddw.d.512";
    b.declare(&format!("declare <32 x i16> {BYTES}(<64 x i8>, <64 x i8>)"));
    b.declare(&format!("declare <16 x i32> {WORDS}(<32 x i16>, <32 x i16>)"));
    let place = b.typed(place);
    let halves = [0, HALF].map(|first| {
        let own = half(b, &place, first);
        let all = |v: u32| literal(&[v; HALF as usize]);
        let with = |b: &mut Body, op: &str, v: &str, by: u32| {
            line(b, &format!("{op} <16 x i32> {v}, {}", all(by)))
        };
        // The lowest byte of each lane, four times. (Of its bits, masks keep those that belong to the number.)
        let repeated = |b: &mut Body, v: &str| {
            let v = line(b, &format!("bitcast <16 x i32> {v} to <64 x i8>"));
            let order: Vec<String> = (0..64).map(|n| format!("i32 {}", n / 4 * 4)).collect();
            let order = order.join(", ");
            let v = line(
                b,
                &format!("shufflevector <64 x i8> {v}, <64 x i8> poison, <64 x i32> <{order}>"),
            );
            line(b, &format!("bitcast <64 x i8> {v} to <16 x i32>"))
        };
        let upper = with(b, "lshr", &own, 9);
        let lower = with(b, "lshr", &own, 2);
        let lower = repeated(b, &lower);
        let bits = with(b, "lshr", &own, 10);
        let bits = repeated(b, &bits);
        let part = |b: &mut Body, of: i32, kept: i32| {
            let of = with(b, "and", &bits, of.cast_unsigned());
            let kept = with(b, "and", &lower, kept.cast_unsigned());
            let [of, kept] =
                [of, kept].map(|v| line(b, &format!("bitcast <16 x i32> {v} to <64 x i8>")));
            line(b, &format!("call <32 x i16> {BYTES}(<64 x i8> {of}, <64 x i8> {kept})"))
        };
        let first = part(b, FIRST_BITS, FIRST_KEPT);
        let last = part(b, LAST_BITS, LAST_KEPT);
        let sum = line(b, &format!("add <32 x i16> {first}, {last}"));
        let ones = line(b, &format!("bitcast <16 x i32> {} to <32 x i16>", all(0x0001_0001)));
        let products = |b: &mut Body, v: &str, by: &str| {
            line(b, &format!("call <16 x i32> {WORDS}(<32 x i16> {v}, <32 x i16> {by})"))
        };
        let sum = products(b, &sum, &ones);
        let upper = line(b, &format!("bitcast <16 x i32> {upper} to <32 x i16>"));
        let squared = products(b, &upper, &upper);
        let squared = with(b, "lshr", &squared, 1);
        let sum = with(b, "lshr", &sum, 6);
        line(b, &format!("add <16 x i32> {squared}, {sum}"))
    });
    joined(b, &halves)
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
