//! Compares the memory that two kernels wrote.
//!
//! Owns: what is compared, and as which element type. Must not know: where the bytes come from.

/// How a replacement is compared with the program's kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compare {
    /// The parameters (from 0) whose buffers are compared; `None`: all that hold a device address.
    pub parameters: Option<Vec<usize>>,
    /// What the buffers hold.
    pub element: Element,
    /// The largest difference of two elements that are alike.
    pub tolerance: f64,
    /// Which kernel's results the program keeps.
    pub keep: Keep,
}

/// What a buffer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// Anything: bytes must be equal.
    #[default]
    Bytes,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    BF16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
}

impl Element {
    /// All of them. Their indices are the numbers in the compiled form: new ones come last.
    pub const ALL: [Element; 7] = [
        Element::Bytes,
        Element::F16,
        Element::BF16,
        Element::F32,
        Element::F64,
        Element::I32,
        Element::I64,
    ];
}

/// Which kernel's results the program keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Those of its own kernel.
    #[default]
    Original,
    /// Those of the replacement.
    Replacement,
}

/// Where two buffers differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// How many elements differ by more than the tolerance.
    pub count: usize,
    /// How many there are.
    pub of: usize,
    /// The largest difference; infinite where one of the two is NaN.
    pub largest: f64,
    /// Index of the element with the largest difference.
    pub at: usize,
    /// Its values.
    pub values: (f64, f64),
}

impl Element {
    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Element::Bytes => 1,
            Element::F16 | Element::BF16 => 2,
            Element::F32 | Element::I32 => 4,
            Element::F64 | Element::I64 => 8,
        }
    }

    /// The value of one, from as many bytes.
    fn value(self, bytes: &[u8]) -> f64 {
        let mut wide = [0u8; 8];
        for (to, from) in wide.iter_mut().zip(bytes) {
            *to = *from;
        }
        let word = u64::from_le_bytes(wide);
        match self {
            Element::Bytes => word as f64,
            Element::F16 => half(word as u16),
            Element::BF16 => f64::from(f32::from_bits((word as u32) << 16)),
            Element::F32 => f64::from(f32::from_bits(word as u32)),
            Element::F64 => f64::from_bits(word),
            Element::I32 => f64::from(word as u32 as i32),
            Element::I64 => word as i64 as f64,
        }
    }
}

/// The value of a half-precision number.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = ((bits >> 10) & 31, f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

impl Compare {
    /// Where two buffers of the same length differ; `None` where they are alike. Trailing bytes
    /// that are no whole element are ignored.
    pub fn differ(&self, original: &[u8], replacement: &[u8]) -> Option<Difference> {
        if original == replacement {
            return None;
        }
        let size = self.element.size();
        let mut found = Difference {
            count: 0,
            of: original.len() / size,
            largest: 0.0,
            at: 0,
            values: (0.0, 0.0),
        };
        let pairs = original.chunks_exact(size).zip(replacement.chunks_exact(size));
        for (at, (a, b)) in pairs.enumerate().filter(|(_, (a, b))| a != b) {
            let (a, b) = (self.element.value(a), self.element.value(b));
            let difference = match (a.is_nan(), b.is_nan()) {
                (true, true) => continue,
                (false, false) if a == b && self.element != Element::I64 => continue,
                (false, false) => (a - b).abs(),
                _ => f64::INFINITY,
            };
            let difference = if difference.is_nan() { f64::INFINITY } else { difference };
            // Integers that a double cannot tell apart still differ.
            if difference <= self.tolerance
                && (self.tolerance > 0.0 || self.element != Element::I64)
            {
                continue;
            }
            found.count += 1;
            if difference > found.largest || found.count == 1 {
                (found.largest, found.at, found.values) = (difference, at, (a, b));
            }
        }
        (found.count > 0).then_some(found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn compare(element: Element, tolerance: f64) -> Compare {
        Compare { element, tolerance, ..Compare::default() }
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn numbers_and_bytes() {
        let (a, b) = (bytes(&[1.0, 2.0, 3.0]), bytes(&[1.0, 2.5, 2.0]));
        let found = compare(Element::F32, 0.0).differ(&a, &b).unwrap();
        assert_eq!((found.count, found.of, found.largest, found.at), (2, 3, 1.0, 2));
        assert_eq!(found.values, (3.0, 2.0));
        assert_eq!(compare(Element::F32, 0.75).differ(&a, &b).unwrap().count, 1);
        assert!(compare(Element::F32, 1.0).differ(&a, &b).is_none());
        assert!(compare(Element::Bytes, 0.0).differ(&a, &b).unwrap().of == 12);
        assert!(compare(Element::Bytes, 0.0).differ(&a, &a).is_none());
    }

    #[test]
    fn what_is_no_number() {
        let nan = bytes(&[f32::NAN, 0.0, f32::INFINITY]);
        let other = bytes(&[-f32::NAN, -0.0, f32::INFINITY]);
        assert!(compare(Element::F32, 0.0).differ(&nan, &other).is_none(), "alike, in other bits");
        let found = compare(Element::F32, 1e30).differ(&nan, &bytes(&[1.0, 0.0, 1.0])).unwrap();
        assert_eq!((found.count, found.largest), (2, f64::INFINITY));
    }

    #[test]
    fn other_types() {
        assert_eq!(
            [0x3c00, 0xc000, 0x0001, 0x7c00].map(half),
            [1.0, -2.0, 2f64.powi(-24), f64::INFINITY]
        );
        assert!(half(0x7e00).is_nan());
        assert_eq!(Element::BF16.value(&[0x80, 0x3f]), 1.0);
        assert_eq!(Element::I32.value(&[0xff; 4]), -1.0);
        let (a, b) = ((i64::MAX - 1).to_le_bytes(), i64::MAX.to_le_bytes());
        assert_eq!(compare(Element::I64, 0.0).differ(&a, &b).unwrap().count, 1);
    }
}
