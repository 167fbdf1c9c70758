//! Accesses to shared memory whose lanes are at known distances within a few lines, but not contiguous: every second element of an array,
//! the steps of sorting networks.
//!
//! Owns when that is so, and the loads and stores of all elements between the first and the last lane's, from which and into which lanes
//! are shuffled. No other thread accesses a block's shared memory while LLVM's code runs, so elements between lanes may be stored again.
//! Must not know what is loaded or stored.

use super::emitter::{ALL, Emit, LANES, Val};
use super::lookup::line;
use crate::simt::plan::shape::Shape;
use crate::warp::INTERFACE;
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;
use cushim_translate::llvm::{Type, Value};

/// The most elements from the first to the last.
const MOST: i64 = 64;
/// Bytes of the grid, from the address register's value on, to which the elements are extended: accesses that follow one
/// another then load and store the same vectors.
const GRID: i64 = 32;

/// The elements around the lanes' own.
pub(super) struct Compact {
    /// The pointer of the first element.
    first: String,
    count: u32,
    /// The element of each lane; no two lanes have the same one.
    places: Vec<u32>,
    bits: u32,
}

/// The offset of the first element from lane 0's step, how many elements there are, and each lane's.
fn elements(steps: &[i64; 32], offset: i64, width: i64) -> Option<(i64, i64, Vec<u32>)> {
    let (low, high) = (steps.iter().min()?, steps.iter().max()?);
    let near = high.checked_sub(*low).is_some_and(|span| span < MOST * width);
    if !near || steps.iter().any(|s| s % width != 0) || offset % width != 0 {
        return None;
    }
    let from = (offset + low).div_euclid(GRID) * GRID;
    let to = (offset + high + width).div_euclid(GRID) * GRID;
    let to = if to < offset + high + width { to + GRID } else { to };
    let places: Vec<u32> = steps.iter().map(|s| ((offset + s - from) / width) as u32).collect();
    let mut sorted = places.clone();
    sorted.sort_unstable();
    let apart = sorted.windows(2).all(|p| p[0] != p[1]);
    let count = (to - from) / width;
    (apart && count <= MOST).then_some((from, count, places))
}

impl Emit<'_> {
    /// The elements of an access of `width` bytes in each lane, if it is one of these, and whether all of them are in range.
    pub(super) fn compact(&mut self, inst: &Inst, width: u32) -> Option<(Compact, Value)> {
        let Some(Src::Memory(Base::Reg(r, _), offset)) = inst.src.first() else { return None };
        let whole = inst.sem.ty().bytes() == width && matches!(width, 4 | 8);
        if !whole || inst.space(0) != Space::Shared {
            return None;
        }
        let Shape::Affine { steps, .. } = &self.plan.shapes[*r as usize] else { return None };
        if steps.windows(2).all(|p| p[1] - p[0] == i64::from(width)) {
            return None;
        }
        let (from, count, places) = elements(steps, *offset, width.into())?;
        let Val::Known(Shape::Affine { base, .. }) = self.raw(*r) else { return None };
        let memory = self.constant_pointer(INTERFACE.warp.shared);
        let at = self.scalar().signed(base, 64);
        let at = self.scalar().typed(at);
        let b = self.scalar();
        let p = line(b, &format!("getelementptr i8, ptr {memory}, {at}"));
        let first = line(b, &format!("getelementptr i8, ptr {p}, i64 {from}"));
        let here = self.all_in_shared(&first, count * i64::from(width), width);
        let bits = width * 8;
        Some((Compact { first, count: count as u32, places, bits }, here))
    }

    /// All lanes' values.
    pub(super) fn read_compact(&mut self, c: &Compact) -> Value {
        let Compact { first, count, bits, .. } = c;
        let b = self.vector();
        let ty = format!("<{count} x i{bits}>");
        let all = line(b, &format!("load {ty}, ptr {first}, align {}", bits / 8));
        let order: Vec<String> = c.places.iter().map(|e| format!("i32 {e}")).collect();
        let order = format!("<{LANES} x i32> <{}>", order.join(", "));
        b.result(Type::Int(*bits), &format!("shufflevector {ty} {all}, {ty} poison, {order}"))
    }

    /// Stores the active lanes' values.
    pub(super) fn write_compact(&mut self, c: &Compact, v: Value, mask: Value) {
        let Compact { first, count, bits, .. } = c;
        let (ty, of_lanes) = (format!("<{count} x i{bits}>"), format!("<{LANES} x i{bits}>"));
        let whole = mask == ALL;
        let lanes = (!whole).then(|| self.lanes_of_mask(mask));
        let v = self.vector().fit(v, *bits);
        let all = self.vector().typed(v);
        let owner = |e| c.places.iter().position(|p| *p == e);
        let order = |other: &str| {
            let from = (0..*count).map(|e| match owner(e) {
                Some(lane) => format!("i32 {lane}"),
                None => format!("i32 {other}"),
            });
            format!("<{count} x i32> <{}>", from.collect::<Vec<_>>().join(", "))
        };
        let b = self.vector();
        let new = line(b, &format!("shufflevector {all}, {of_lanes} poison, {}", order("poison")));
        let active = match lanes {
            None => {
                let own = (0..*count).map(|e| format!("i1 {}", owner(e).is_some()));
                format!("<{}>", own.collect::<Vec<_>>().join(", "))
            }
            Some(lanes) => {
                let lanes = b.typed(lanes);
                let wide = line(b, &format!("sext {lanes} to {of_lanes}"));
                let none = format!("{of_lanes} zeroinitializer, {}", order("32"));
                let wide = line(b, &format!("shufflevector {of_lanes} {wide}, {none}"));
                line(b, &format!("icmp slt {ty} {wide}, zeroinitializer"))
            }
        };
        let align = bits / 8;
        let old = line(b, &format!("load {ty}, ptr {first}, align {align}"));
        let both = line(b, &format!("select <{count} x i1> {active}, {ty} {new}, {ty} {old}"));
        b.line(&format!("store {ty} {both}, ptr {first}, align {align}"));
    }
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn elements_reach_to_the_grid_on_both_sides() {
        let every_second = std::array::from_fn(|lane| 8 * lane as i64);
        let (from, count, places) = elements(&every_second, 0, 4).unwrap();
        assert_eq!((from, count, places[0], places[31]), (0, 64, 0, 62));
        // The next word is in the same vectors.
        let (from, count, places) = elements(&every_second, 4, 4).unwrap();
        assert_eq!((from, count, places[0], places[31]), (0, 64, 1, 63));
        let falling = std::array::from_fn(|lane| -8 * lane as i64);
        let (from, count, places) = elements(&falling, 1016, 4).unwrap();
        assert_eq!((from, count, places[0], places[31]), (768, 64, 62, 0));
    }

    #[test]
    fn lanes_of_one_address_or_far_apart_are_none() {
        assert!(elements(&std::array::from_fn(|lane| 4 * (lane as i64 / 2)), 0, 4).is_none());
        assert!(elements(&std::array::from_fn(|lane| 16 * lane as i64), 0, 4).is_none());
        assert!(elements(&std::array::from_fn(|lane| 8 * lane as i64), 2, 4).is_none());
        // Within 64 elements, but not within the grid's.
        assert!(elements(&std::array::from_fn(|lane| 8 * lane as i64), 8, 4).is_none());
    }
}
