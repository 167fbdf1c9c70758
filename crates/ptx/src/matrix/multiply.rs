//! Products of matrices in registers.
//!
//! Owns unpacking matrices from registers and packing the result, and the choice of arithmetic: integers, bits,
//! doubles and singles by their own, all others by [`super::tensor`]. Must not know which lanes take part.

use super::fragment::{self, Fragment};
use super::tensor::{self, Factor};
use crate::alu;
use crate::exec::Lanes;
use crate::sem::{Family, Logic, Multiply};
use crate::soft::{self, Format, Round};
use crate::table::Part;
use crate::types::Scalar;

/// Matrices out of registers: elements row by row, of the second factor column by column, matrix by matrix.
struct Matrices {
    a: Vec<u64>,
    b: Vec<u64>,
    c: Vec<u64>,
    /// For each row of the first factor, the elements of the second's column by which its elements are multiplied.
    meets: Option<Vec<u16>>,
    /// There are four of each.
    four: bool,
}

/// `d = a * b + c`: it takes and returns as many registers as [`Multiply::operands`] and [`Multiply::results`] say,
/// each with all lanes. Registers of missing lanes are zero.
pub fn multiply(what: &Multiply, inputs: &[Lanes], out: &mut [Lanes]) {
    let Some(found) = Matrices::of(what, inputs) else { return };
    let d = found.product(what);
    let Some(fragment) = fragment_of(what, Part::D) else { return };
    scatter(fragment, &d, out);
}

fn fragment_of(what: &Multiply, part: Part) -> Option<Fragment> {
    let (ty, across, sparse) = match part {
        Part::A => (what.a, what.a_columns, what.sparse.is_some()),
        Part::B => (what.b, what.b_rows, false),
        Part::C => (what.c, false, false),
        _ => (what.d, false, false),
    };
    fragment::of(what.shape, part, ty, across, sparse)
}

/// The elements of a matrix; single bits in groups of 32 from one register.
fn gather(fragment: Fragment, count: usize, registers: &[Lanes]) -> Option<Vec<u64>> {
    let places = fragment.places()?;
    let per = fragment.per_register();
    let words = if fragment.bits == 1 { 32 } else { 1 };
    let mut all =
        vec![0; count * usize::from(fragment.rows) * usize::from(fragment.columns) / words];
    let mask = if fragment.bits == 64 { u64::MAX } else { (1 << fragment.bits) - 1 };
    for (lanes, places) in registers.iter().zip(places.chunks(32 * per)) {
        for (value, places) in lanes.iter().zip(places.chunks(per)) {
            if words == 32 {
                all[usize::from(places[0]) / 32] = *value;
                continue;
            }
            for (n, place) in places.iter().enumerate() {
                all[usize::from(*place)] = value >> (n as u32 * fragment.bits) & mask;
            }
        }
    }
    Some(all)
}

fn scatter(fragment: Fragment, elements: &[u64], registers: &mut [Lanes]) {
    let Some(places) = fragment.places() else { return };
    let per = fragment.per_register();
    for (lanes, places) in registers.iter_mut().zip(places.chunks(32 * per)) {
        for (value, places) in lanes.iter_mut().zip(places.chunks(per)) {
            let part = |(n, place): (usize, &u16)| {
                elements[usize::from(*place)] << (n as u32 * fragment.bits)
            };
            *value = places.iter().enumerate().map(part).fold(0, |all, part| all | part);
        }
    }
}

impl Matrices {
    fn of(what: &Multiply, inputs: &[Lanes]) -> Option<Matrices> {
        let counts = [Part::A, Part::B, Part::C].map(|part| what.registers(part));
        let (a, rest) = inputs.split_at_checked(counts[0])?;
        let (b, rest) = rest.split_at_checked(counts[1])?;
        let (c, rest) = rest.split_at_checked(counts[2])?;
        let fragment = fragment_of(what, Part::A)?;
        let four = fragment.layout().is_some_and(|l| !l.matrix.is_empty());
        let count = if four { 4 } else { 1 };
        let meets = match (what.sparse, rest.first()) {
            (Some(selector), Some(words)) => Some(met(what, selector, words)),
            _ => None,
        };
        Some(Matrices {
            a: gather(fragment, count, a)?,
            b: gather(fragment_of(what, Part::B)?, count, b)?,
            c: gather(fragment_of(what, Part::C)?, count, c)?,
            meets,
            four,
        })
    }

    /// The result's elements, row by row.
    fn product(&self, what: &Multiply) -> Vec<u64> {
        let both = (self.a.as_slice(), self.b.as_slice());
        match what.a {
            Scalar::B1 => self.each(what, both, 32, |a, b, c| bits(what, a, b, c)),
            Scalar::F64 => self.each(what, both, 1, |a, b, c| doubles(what.round, a, b, c)),
            Scalar::U8 | Scalar::S8 | Scalar::U4 | Scalar::S4 => {
                self.each(what, both, 1, |a, b, c| integers(what, a, b, c))
            }
            _ if self.four => self.each(what, both, 1, |a, b, c| singles(what, a, b, c)),
            _ => self.numbers(what),
        }
    }

    /// Computes every element of the result from a row, a column and a summand. For a sparse row, only the column's
    /// elements that it multiplies; elements are in words of so many.
    fn each<T: Copy + Default>(
        &self,
        what: &Multiply,
        (a, b): (&[T], &[T]),
        words: usize,
        of: impl Fn(&[T], &[T], u64) -> u64,
    ) -> Vec<u64> {
        let [m, n, k] = [what.shape.m, what.shape.n, what.shape.k].map(usize::from);
        let kept = if self.meets.is_some() { k / 2 } else { k };
        let (row, column) = (kept / words, k / words);
        let mut d = Vec::with_capacity(self.c.len());
        let mut met = vec![T::default(); row];
        for (i, a) in a.chunks_exact(row).enumerate() {
            let matrix = i / m;
            for j in 0..n {
                let b = &b[(matrix * n + j) * column..][..column];
                let b = match &self.meets {
                    None => b,
                    Some(meets) => {
                        let which = meets.iter().skip(i * row);
                        met.iter_mut().zip(which).for_each(|(to, k)| *to = b[usize::from(*k)]);
                        met.as_slice()
                    }
                };
                d.push(of(a, b, self.c[i * n + j]));
            }
        }
        d
    }

    /// Numbers, as tensor cores add their products.
    fn numbers(&self, what: &Multiply) -> Vec<u64> {
        let (a, f) = factors(&self.a, what.a, what.family);
        let (b, _) = factors(&self.b, what.b, what.family);
        // Where one is a single, the other becomes one.
        let single = what.c == Scalar::F32 || what.d == Scalar::F32;
        let sums = if single { Format::F32 } else { Format::F16 };
        let (from, to) = (format(what.c), format(what.d));
        let near = Round::Nearest;
        if what.a.bits() > 8 {
            // `wmma` of numbers of 32 bits adds four products at a time, the rest all of them.
            let tile = what.family == Family::Wmma && what.a == Scalar::Tf32;
            let most = if tile { 4 } else { usize::from(what.shape.k) };
            return self.each(what, (&a, &b), 1, |a, b, c| {
                let steps = a.chunks(most).zip(b.chunks(most));
                let c = soft::convert(c, from, sums, near);
                let d = steps.fold(c, |sum, (a, b)| tensor::step(a, b, f.fraction, sum, sums));
                soft::convert(d, sums, to, near)
            });
        }
        if what.family == Family::Wgmma {
            return self
                .each(what, (&a, &b), 1, |a, b, c| tensor::short_step(a, b, f.fraction, c, to));
        }
        // The device makes halves of them, and adds first the products of two in four, then of the others.
        self.each(what, (&a, &b), 1, |a, b, c| {
            let half = |odd: usize| {
                let pick = |x: &[Factor]| -> Vec<Factor> {
                    x.chunks_exact(4)
                        .flat_map(|four| four[2 * odd..][..2].iter().copied())
                        .collect()
                };
                (pick(a), pick(b))
            };
            let (low, high) = (half(0), half(1));
            let sum = tensor::step(&low.0, &low.1, f.fraction, 0, to);
            let sum = tensor::step(&high.0, &high.1, f.fraction, sum, to);
            soft::fma(sum, one(to), c, to, near)
        })
    }
}

/// 1 in a format.
const fn one(f: Format) -> u64 {
    ((1 << (f.exponent - 1)) - 1) << f.fraction
}

fn format(ty: Scalar) -> Format {
    match ty {
        Scalar::F16 => Format::F16,
        Scalar::Bf16 => Format::BF16,
        Scalar::Tf32 => Format::TF32,
        _ => Format::F32,
    }
}

/// Elements as factors, and their format. 8-bit elements are converted to halves.
fn factors(elements: &[u64], ty: Scalar, family: Family) -> (Vec<Factor>, Format) {
    let f = if ty.bits() == 8 { Format::F16 } else { format(ty) };
    if ty == Scalar::E4m3 && family == Family::Wgmma {
        return (elements.iter().map(|v| Factor::of_e4m3(*v)).collect(), f);
    }
    let bits = |v: u64| match ty {
        // The lower bits of the register are not looked at.
        Scalar::Tf32 => v >> 13,
        Scalar::E4m3 => alu::widen(Scalar::E4m3x2, v as u8),
        Scalar::E5m2 => v << 8,
        _ => v,
    };
    (elements.iter().map(|v| Factor::of(bits(*v), f)).collect(), f)
}

fn integer(v: u64, ty: Scalar) -> i64 {
    let unused = 64 - ty.bits();
    match ty {
        Scalar::S8 | Scalar::S4 => (v << unused) as i64 >> unused,
        _ => v as i64,
    }
}

fn integers(what: &Multiply, a: &[u64], b: &[u64], c: u64) -> u64 {
    let product = |(a, b): (&u64, &u64)| integer(*a, what.a) * integer(*b, what.b);
    let sum = i64::from(c as i32) + a.iter().zip(b).map(product).sum::<i64>();
    let sum = match what.saturate {
        true => sum.clamp(i32::MIN.into(), i32::MAX.into()),
        false => sum,
    };
    u64::from(sum as u32)
}

/// How many bits there are, in words.
fn bits(what: &Multiply, a: &[u64], b: &[u64], c: u64) -> u64 {
    let both = |(a, b): (&u64, &u64)| match what.logic {
        Some(Logic::Xor) => a ^ b,
        _ => a & b,
    };
    let count: u32 = a.iter().zip(b).map(|pair| both(pair).count_ones()).sum();
    u64::from((c as u32).wrapping_add(count))
}

/// One after the other, each rounded.
fn doubles(round: Round, a: &[u64], b: &[u64], c: u64) -> u64 {
    a.iter().zip(b).fold(c, |sum, (a, b)| alu::fused_doubles(*a, *b, sum, round))
}

/// The alternative on devices without the instruction: sums of singles.
fn singles(what: &Multiply, a: &[u64], b: &[u64], c: u64) -> u64 {
    let single = |v: u64| soft::convert(v, Format::F16, Format::F32, Round::Nearest);
    let fused = |a, b, c| soft::fma(a, b, c, Format::F32, Round::Nearest);
    let add = |sum, n: usize| fused(single(a[n]), single(b[n]), sum);
    let plus = |x, y| fused(x, one(Format::F32), y);
    let c = if what.c == Scalar::F16 { single(c) } else { c };
    if what.d == Scalar::F32 {
        return plus((0..4).fold(0, add), c);
    }
    // Two and two, of which the first product is added to nothing.
    let [first, second] = [[0, 1], [2, 3]].map(|two| two.into_iter().fold(Format::F32.sign(), add));
    soft::convert(plus(plus(c, first), second), Format::F32, Format::F16, Round::Nearest)
}

/// For each row of a sparse first factor, the elements of a column by which its elements are multiplied. The metadata
/// are words of four consecutive lanes, from the selected one on.
fn met(what: &Multiply, selector: u8, words: &Lanes) -> Vec<u16> {
    let (m, k) = (usize::from(what.shape.m), usize::from(what.shape.k));
    let selection = what.selection() as usize;
    // Words that speak for a row and the one 8 below it.
    let words_each = selection / 16;
    let group = match what.a.bits() {
        32 => 2,
        4 => 8,
        _ => 4,
    };
    let mut all = Vec::with_capacity(m * k / 2);
    for row in 0..m {
        let below = row / 8;
        let first = 4 * (row % 8) + usize::from(selector) * words_each;
        let mut said = 0u64;
        if what.a.bits() <= 8 {
            // A word has 32 bits of one row, the next those of the other.
            for n in 0..words_each / 2 {
                said |= (words[first + below + 2 * n] & 0xffff_ffff) << (32 * n);
            }
        } else {
            // A word has 16 bits of both.
            for n in 0..words_each {
                said |= (words[first + n] >> (16 * below) & 0xffff) << (16 * n);
            }
        }
        for n in 0..k / group {
            let first = (n * group) as u16;
            let (a, b) = ((said >> (4 * n) & 3) as u16, (said >> (4 * n + 2) & 3) as u16);
            match group {
                // One of two, in halves.
                2 => all.push(first + u16::from(a == 2)),
                // Two pairs of four.
                8 => all.extend([2 * a, 2 * a + 1, 2 * b, 2 * b + 1].map(|x| first + x)),
                _ => all.extend([first + a, first + b]),
            }
        }
    }
    all
}
