//! Roots of unity, and the factors of a convolution. All are computed as doubles, and rounded once for singles.
//!
//! Owns: these numbers. Must not know: kernels.

use std::f64::consts::FRAC_PI_2;

use crate::kind::Work;

/// A complex number.
pub type Complex = [f64; 2];

/// Numbers that kernels read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The roots of a length.
    Roots(u32),
    /// The chirp of a length.
    Chirp(u32),
    /// The transform of what the chirp of a length is convolved with, over the convolution's length.
    Convolved(u32, u32),
}

impl Table {
    /// Its numbers.
    pub fn values(self) -> Vec<Complex> {
        match self {
            Table::Roots(length) => roots(length),
            Table::Chirp(length) => chirp(length),
            Table::Convolved(length, padded) => convolved(length, padded),
        }
    }
}

/// The root `exp(-2 pi i * index / length)`, exact on an axis, and else as precise as a sine of at most 45 degrees.
pub fn root(index: u64, length: u64) -> Complex {
    let (length, index) = (u128::from(length.max(1)), u128::from(index));
    let quarters = 4 * (index % length);
    let (quadrant, rest) = (quarters / length, quarters % length);
    // The angle within the quadrant is a quarter turn times rest / length.
    let part = |numerator: u128| FRAC_PI_2 * (numerator as f64 / length as f64);
    let (sine, cosine) = if 2 * rest <= length {
        part(rest).sin_cos()
    } else {
        let (cosine, sine) = part(length - rest).sin_cos();
        (sine, cosine)
    };
    match quadrant {
        0 => [cosine, -sine],
        1 => [-sine, -cosine],
        2 => [-cosine, sine],
        _ => [sine, cosine],
    }
}

/// All roots of a length.
fn roots(length: u32) -> Vec<Complex> {
    (0..u64::from(length)).map(|index| root(index, u64::from(length))).collect()
}

/// `exp(-pi i * j * j / length)` for each `j` below the length.
fn chirp(length: u32) -> Vec<Complex> {
    let twice = 2 * u64::from(length);
    (0..u64::from(length)).map(|j| root(j * j % twice, twice)).collect()
}

/// The transform of what a chirp is convolved with, over the convolution's length.
fn convolved(length: u32, padded: u32) -> Vec<Complex> {
    let mut values = vec![[0.0; 2]; padded as usize];
    for (j, [real, imaginary]) in chirp(length).into_iter().enumerate() {
        let mirror = (padded as usize - j) % padded as usize;
        for at in [j, mirror] {
            if let Some(value) = values.get_mut(at) {
                *value = [real, -imaginary];
            }
        }
    }
    let scale = 1.0 / f64::from(padded);
    transform(values).into_iter().map(|value| value.map(|part| part * scale)).collect()
}

/// The transform of so many numbers as a power of two: of the even ones and of the odd ones, joined.
fn transform(values: Vec<Complex>) -> Vec<Complex> {
    let length = values.len();
    let roots = roots(length as u32);
    let (mut from, mut done) = (values, 1);
    while done < length {
        let mut to = vec![[0.0; 2]; length];
        for i in 0..length / 2 {
            let k = i % done;
            let step = length / (2 * done);
            let (Some(a), Some(b), Some(w)) =
                (from.get(i), from.get(i + length / 2), roots.get(k * step))
            else {
                continue;
            };
            let b = [b[0] * w[0] - b[1] * w[1], b[0] * w[1] + b[1] * w[0]];
            let at = 2 * (i - k) + k;
            if let Some(value) = to.get_mut(at) {
                *value = [a[0] + b[0], a[1] + b[1]];
            }
            if let Some(value) = to.get_mut(at + done) {
                *value = [a[0] - b[0], a[1] - b[1]];
            }
        }
        (from, done) = (to, 2 * done);
    }
    from
}

/// The numbers in the layout of device memory.
pub fn bytes(values: &[Complex], work: Work) -> Vec<u8> {
    let parts = values.iter().flatten();
    match work {
        Work::F32 => parts.flat_map(|part| (*part as f32).to_le_bytes()).collect(),
        Work::F64 => parts.flat_map(|part| part.to_le_bytes()).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn near(a: Complex, b: Complex, bound: f64) -> bool {
        (a[0] - b[0]).hypot(a[1] - b[1]) <= bound
    }

    #[test]
    fn roots_lie_on_the_circle_and_axes() {
        assert_eq!(roots(4), [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]]);
        for length in [3u64, 8, 12, 1000, 1 << 33] {
            for index in [0, 1, length / 3, length / 2 + 1, length - 1, 7 * length + 2] {
                let angle = -std::f64::consts::TAU * ((index % length) as f64 / length as f64);
                let found = root(index, length);
                assert!(near(found, [angle.cos(), angle.sin()], 1e-15), "{index} of {length}");
            }
        }
    }

    #[test]
    fn powers_of_two_are_transformed() {
        let values: Vec<Complex> =
            (0..32).map(|i| [f64::from(i * i % 7), f64::from(i % 5) - 2.0]).collect();
        let got = transform(values.clone());
        for (k, found) in got.iter().enumerate() {
            let mut sum = [0.0; 2];
            for (j, x) in values.iter().enumerate() {
                let w = root((j * k) as u64, 32);
                sum[0] += x[0] * w[0] - x[1] * w[1];
                sum[1] += x[0] * w[1] + x[1] * w[0];
            }
            assert!(near(*found, sum, 1e-12), "{k}");
        }
    }

    #[test]
    fn singles_are_rounded_once() {
        let singles = bytes(&[root(1, 8)], Work::F32);
        let half = std::f64::consts::FRAC_1_SQRT_2 as f32;
        assert_eq!(singles, [half.to_le_bytes(), (-half).to_le_bytes()].concat());
        assert_eq!(bytes(&[root(1, 8)], Work::F64).len(), 16);
    }
}
