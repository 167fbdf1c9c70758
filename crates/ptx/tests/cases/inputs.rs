//! Inputs: edge values and random ones, the same in every run.

use cushim_ptx::soft::{self, Format, Round};
use cushim_ptx::types::{Kind, Scalar};

/// A pseudorandom sequence (xorshift64*), seeded by a text.
pub struct Random(u64);

/// FNV-1a, 64 bits: makes seeds, and keys of cases.
pub fn hash(parts: impl IntoIterator<Item = u8>) -> u64 {
    parts
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Random {
    pub fn new(seed: &str) -> Random {
        Random(hash(seed.bytes()) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 20) % n
    }

    fn pick(&mut self, list: &[u64]) -> u64 {
        list[self.below(list.len() as u64) as usize]
    }
}

/// The kind of values of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sort {
    /// Any value of the type.
    Of(Scalar),
    /// A shift amount or a bit position in a 32-bit register.
    Amount,
    /// Byte selectors.
    Selector,
    /// A position in a warp.
    Lane,
    /// A small number of either sign.
    Small,
    /// The clamp and segment-mask operand of a shuffle.
    Segment,
    /// Values with many duplicates.
    Few,
    /// Numbers of words, half-words or bytes.
    Parts,
}

impl Sort {
    /// The type of register that holds such values.
    pub fn register(self) -> Scalar {
        match self {
            Sort::Of(Scalar::Pred) => Scalar::Pred,
            Sort::Of(t @ (Scalar::F32 | Scalar::F64)) => t,
            Sort::Of(t) => match t.bits() {
                // Values of 8 bits are in wider registers, whose upper bits are ignored.
                8 => Scalar::B32,
                16 => Scalar::B16,
                64 => Scalar::B64,
                _ => Scalar::B32,
            },
            _ => Scalar::B32,
        }
    }
}

fn format(ty: Scalar) -> Format {
    match ty {
        Scalar::F16 => Format::F16,
        Scalar::Bf16 => Format::BF16,
        Scalar::F64 => Format::F64,
        _ => Format::F32,
    }
}

/// A number of a format; `near` is another operand, so that sums cancel and
/// quotients are near one.
fn float(r: &mut Random, f: Format, near: Option<u64>) -> u64 {
    let sign = if r.below(2) == 0 { 0 } else { f.sign() };
    let fraction = (1u64 << f.fraction) - 1;
    let one = ((1u64 << (f.exponent - 1)) - 1) << f.fraction;
    let magnitude = match r.below(20) {
        0 => r.pick(&[0, 0, 1, 2]),
        1 => r.pick(&[fraction, fraction + 1, fraction + 2, fraction / 2 + 1]),
        2 => r.pick(&[f.infinity(), f.largest(), f.largest() - 1]),
        // A quiet NaN, a signalling NaN, and one with a random payload.
        3 => match r.below(3) {
            0 => f.infinity() | 1 << (f.fraction - 1),
            1 => f.infinity() | 1,
            _ => f.infinity() | 1 | (r.next() & fraction),
        },
        4 => r.pick(&[one, one + 1, one - 1, one + (1 << f.fraction)]),
        5 => r.next() & fraction,
        // Integers and halves, and their neighbours: ties.
        6..10 => {
            let whole = r.next() >> (r.below(u64::from(f.fraction.min(20)) + 3) + 64 - 23);
            let v = (whole as f64 / 2.0).to_bits();
            let v = soft::convert(v, Format::F64, f, Round::Nearest);
            (v + r.below(3)).saturating_sub(u64::from(r.below(3) == 0)).min(f.infinity())
        }
        // Around the limits of the integer types.
        10 => {
            let power = r.pick(&[7, 8, 15, 16, 31, 32, 63, 64]);
            let exponent = (one >> f.fraction) + power;
            let v = exponent.min((f.infinity() >> f.fraction) - 1) << f.fraction;
            v.wrapping_add(r.below(4)).wrapping_sub(2)
        }
        11..15 => match near {
            Some(n) => {
                let n = n & (f.sign() - 1);
                let by = r.below(5) << r.below(u64::from(f.fraction));
                if r.below(2) == 0 { n.saturating_sub(by) } else { n + by }.min(f.infinity() - 1)
            }
            None => r.next() & (f.sign() - 1),
        },
        // Of moderate size, with random fraction bits or few of them set.
        15..18 => {
            let span = 40.min(one >> f.fraction);
            let exponent = (one >> f.fraction) - span / 2 + r.below(span);
            let low = r.below(u64::from(f.fraction));
            exponent << f.fraction | (r.next() & fraction) >> low << low
        }
        _ => r.next() & (f.sign() - 1),
    };
    sign | magnitude
}

fn integer(r: &mut Random, bits: u32, near: Option<u64>) -> u64 {
    let all = if bits == 64 { !0 } else { (1u64 << bits) - 1 };
    let top = 1u64 << (bits - 1);
    let v = match r.below(10) {
        0 => r.pick(&[0, 1, 2, all, all - 1]),
        1 => r.pick(&[top, top - 1, top + 1, top - 2]),
        2 => 1 << r.below(bits.into()),
        3 => (1u64 << r.below(bits.into())).wrapping_sub(1),
        4 => (r.below(200)).wrapping_sub(100),
        5 => {
            let by = r.below(5);
            near.unwrap_or_else(|| r.next()).wrapping_add(by).wrapping_sub(2)
        }
        6 => near.unwrap_or_else(|| r.next()).wrapping_neg(),
        // A random number of bits.
        7 => r.next() >> (64 - bits) >> r.below(bits.into()),
        _ => r.next(),
    };
    v & all
}

/// One value; `near` is the previous operand.
pub fn value(r: &mut Random, sort: Sort, near: Option<u64>) -> u64 {
    let twice = |r: &mut Random, f: Format| {
        let low = float(r, f, near.map(|n| n & 0xffff));
        low | float(r, f, near.map(|n| n >> 16 & 0xffff)) << 16
    };
    match sort {
        Sort::Of(Scalar::Pred) => r.below(2),
        Sort::Of(Scalar::F16x2) => twice(r, Format::F16),
        Sort::Of(Scalar::Bf16x2) => twice(r, Format::BF16),
        Sort::Of(Scalar::U16x2 | Scalar::S16x2) => {
            integer(r, 16, near.map(|n| n & 0xffff)) | integer(r, 16, near.map(|n| n >> 16)) << 16
        }
        Sort::Of(t) if t.kind() == Kind::Float => float(r, format(t), near),
        // The bits above the value in its register do not matter.
        Sort::Of(t) if t.bits() == 8 => {
            integer(r, 8, near) | if r.below(2) == 0 { 0 } else { r.next() << 8 & 0xffff_ff00 }
        }
        Sort::Of(t) => integer(r, t.bits(), near),
        Sort::Amount => match r.below(8) {
            0 => r.pick(&[0, 1, 31, 32, 33, 63, 64, 65]),
            1 => r.pick(&[255, 256, 257, 0xffff_ffff, 0x8000_0000, 0x8000_0001, 288]),
            2 | 3 => r.below(72),
            _ => r.below(33),
        },
        Sort::Selector => match r.below(4) {
            0 => r.below(8),
            1 => r.next() & 0xffff_ffff,
            _ => r.next() & 0xffff,
        },
        Sort::Lane => match r.below(6) {
            0 => r.pick(&[0, 31, 32, 33, 63, 0xffff_ffff]),
            _ => r.below(32),
        },
        Sort::Small => r.below(11).wrapping_sub(5) & 0xffff_ffff,
        Sort::Segment => match r.below(4) {
            0 => r.pick(&[0, 0x1f, 0x1c1f, 0x181f, 0x1800, 0x1000, 0x1e01]),
            _ => r.next() & 0x1f1f,
        },
        Sort::Parts => {
            let bits = r.pick(&[8, 8, 16, 32]) as u32;
            (0..32 / bits).fold(0, |word, k| {
                let near = near.map(|n| n >> (bits * k) & ((1 << bits) - 1));
                word | integer(r, bits, near) << (bits * k)
            })
        }
        Sort::Few => r.pick(&[0, 1, 1, 0x8000_0000_0000_0001, 0xffff_ffff_ffff_ffff]),
    }
}

/// `rows` rows of up to four operands. With three floating-point
/// operands the third sometimes makes `a * b + c` small.
pub fn rows(seed: &str, sorts: &[Sort], rows: usize) -> Vec<[u64; 4]> {
    let mut r = Random::new(seed);
    (0..rows)
        .map(|_| {
            let mut row = [0; 4];
            for (n, sort) in sorts.iter().enumerate() {
                let same = n > 0 && sorts[n - 1] == *sort;
                row[n] = value(&mut r, *sort, same.then(|| row[n - 1]));
            }
            if let [Sort::Of(t), Sort::Of(_), Sort::Of(u)] = sorts
                && t == u
                && t.kind() == Kind::Float
                && r.below(4) == 0
            {
                let f = format(*t);
                let zero = (row[0] ^ row[1]) & f.sign();
                let product = soft::fma(row[0], row[1], zero, f, Round::Nearest);
                row[2] = (product ^ f.sign()).wrapping_add(r.below(2));
            }
            row
        })
        .collect()
}
