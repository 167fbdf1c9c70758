//! Accesses of a full warp whose lanes are not contiguous, but at known distances: those of two rows of a tile, of a column, of
//! one address for each half of the warp.
//!
//! Owns the loads and stores: a vector register's lanes together where they are contiguous or the same, else lane by lane at
//! constant offsets from one pointer. Must not know what is loaded or stored.

use super::emitter::{Emit, LANES};
use super::lookup::line;
use super::pieces::joined;
use crate::simt::plan::shape::Steps;
use cushim_translate::llvm::{Type, Value};

/// The farthest that lanes may be apart, in bytes: less than any arena has.
const MOST_BYTES: i64 = 1 << 15;

/// Addresses of lanes at known distances from a pointer.
#[derive(Debug, Clone)]
pub(super) struct KnownSteps {
    /// The pointer of a lane of no step.
    pub(super) first: String,
    /// Bytes that each lane adds.
    pub(super) steps: Steps,
}

impl KnownSteps {
    /// The least step.
    pub(super) fn low(&self) -> i64 {
        self.steps.iter().copied().min().unwrap_or(0)
    }

    /// Bytes from the lowest address to the highest.
    pub(super) fn span(&self) -> i64 {
        self.steps.iter().copied().max().unwrap_or(0) - self.low()
    }
}

/// Whether accesses of `width` bytes at these steps are done here.
pub(super) fn are_near(steps: &[i64; 32], width: u32) -> bool {
    let (low, high) = (steps.iter().min(), steps.iter().max());
    let span = high.zip(low).and_then(|(high, low)| high.checked_sub(*low));
    let fits = span.is_some_and(|span| span + i64::from(width) <= MOST_BYTES);
    let near = |s: &i64| s.unsigned_abs() < MOST_BYTES as u64 && s % i64::from(width) == 0;
    matches!(width, 4 | 8) && fits && steps.iter().all(near)
}

/// How the lanes of one register lie.
enum Piece {
    Contiguous,
    Same,
    Apart,
}

fn piece(steps: &[i64], width: i64) -> Piece {
    let all = |by: i64| steps.windows(2).all(|p| p[1] - p[0] == by);
    if all(width) {
        Piece::Contiguous
    } else if all(0) {
        Piece::Same
    } else {
        Piece::Apart
    }
}

impl Emit<'_> {
    /// A value of so many bits for each lane.
    pub(super) fn read_known(&mut self, at: &KnownSteps, bits: u32) -> Value {
        let (count, width) = (256 / bits as usize, i64::from(bits / 8));
        let b = self.scalar();
        let mut parts: Vec<String> = Vec::new();
        for steps in at.steps.chunks(count) {
            let place = |b: &mut _, step: i64| {
                line(b, &format!("getelementptr i8, ptr {}, i64 {step}", at.first))
            };
            let empty = "poison".to_owned();
            let ty = format!("<{count} x i{bits}>");
            parts.push(match piece(steps, width) {
                Piece::Contiguous => {
                    let p = place(b, steps[0]);
                    line(b, &format!("load {ty}, ptr {p}, align {width}"))
                }
                Piece::Same => {
                    let p = place(b, steps[0]);
                    let v = line(b, &format!("load i{bits}, ptr {p}, align {width}"));
                    let v = line(b, &format!("insertelement {ty} poison, i{bits} {v}, i32 0"));
                    let zero = format!("<{count} x i32> zeroinitializer");
                    line(b, &format!("shufflevector {ty} {v}, {ty} poison, {zero}"))
                }
                Piece::Apart => steps.iter().enumerate().fold(empty, |all, (lane, step)| {
                    let p = place(b, *step);
                    let v = line(b, &format!("load i{bits}, ptr {p}, align {width}"));
                    line(b, &format!("insertelement {ty} {all}, i{bits} {v}, i32 {lane}"))
                }),
            });
        }
        let all = joined(b, bits, (count as u32, LANES), parts);
        self.vector().result(Type::Int(bits), &format!("freeze <{LANES} x i{bits}> {all}"))
    }

    /// Stores each lane's value, in the order of lanes.
    pub(super) fn write_known(&mut self, at: &KnownSteps, v: Value) {
        let bits = v.ty.bits();
        let (count, width) = (256 / bits as usize, i64::from(bits / 8));
        let all = self.vector().typed(v);
        let b = self.scalar();
        for (n, steps) in at.steps.chunks(count).enumerate() {
            let place = |b: &mut _, step: i64| {
                line(b, &format!("getelementptr i8, ptr {}, i64 {step}", at.first))
            };
            if matches!(piece(steps, width), Piece::Contiguous) {
                let which: Vec<String> =
                    (n * count..(n + 1) * count).map(|lane| format!("i32 {lane}")).collect();
                let order = format!("<{count} x i32> <{}>", which.join(", "));
                let part = format!("shufflevector {all}, <{LANES} x i{bits}> poison, {order}");
                let (part, p) = (line(b, &part), place(b, steps[0]));
                b.line(&format!("store <{count} x i{bits}> {part}, ptr {p}, align {width}"));
                continue;
            }
            for (lane, step) in steps.iter().enumerate() {
                let one = line(b, &format!("extractelement {all}, i32 {}", n * count + lane));
                let p = place(b, *step);
                b.line(&format!("store i{bits} {one}, ptr {p}, align {width}"));
            }
        }
    }
}
