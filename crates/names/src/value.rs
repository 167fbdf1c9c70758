//! Values of kernel arguments.
//!
//! Owns: reading a value from an argument's bytes by its type, and writing it as C++ would. Must not know: where the
//! bytes are in a parameter block.

use std::fmt::{self, Write};

use crate::narrow::{BF16, F16, Narrow};
use crate::types::{Number, Type};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true`, `false`; another byte is a [`Value::Unsigned`].
    Bool(bool),
    /// A `char`.
    Char(u8),
    /// A signed integer.
    Signed(i128),
    /// An unsigned integer.
    Unsigned(u128),
    /// A floating-point number of any width, and its shortest text that reads back as the same bits.
    Real(f64, String),
    /// An address.
    Address(u64),
    /// The elements of a vector.
    List(Vec<Value>),
    /// A class by value, or any value without a better form.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value that `bytes` hold. Without a type, and for what may be an enumeration, the size
    /// decides: up to four bytes a decimal number; eight bytes an address where nothing smaller
    /// than an address is that big, else a decimal number. A type whose size is not that of `bytes`
    /// is ignored.
    pub fn read(kind: Option<Type>, bytes: &[u8]) -> Self {
        match kind {
            Some(Type::Number(number)) => number_of(number, bytes),
            Some(Type::Vector(number, count)) if number.size() * count == bytes.len() => {
                let elements: Option<Vec<Value>> =
                    bytes.chunks_exact(number.size()).map(|b| number_of(number, b)).collect();
                elements.map(Value::List)
            }
            Some(Type::Pointer | Type::Null) if bytes.len() == 8 => {
                Some(Value::Address(unsigned(bytes) as u64))
            }
            // Enumerators are small; a float in a class is not.
            Some(Type::Named) if bytes.len() <= 4 => {
                plain(bytes).filter(|_| (-4096..65_536).contains(&signed(bytes)))
            }
            None => plain(bytes),
            Some(_) => None,
        }
        .unwrap_or_else(|| Value::Bytes(bytes.to_vec()))
    }

    /// The value as text; `mark` replaces the omitted part of long ones.
    pub fn text(&self, mark: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, mark);
        out
    }

    /// Appends [`Value::text`].
    pub fn write(&self, out: &mut String, mark: &str) {
        // Writing to a string does not fail.
        let _ = self.put(out, mark);
    }

    fn put(&self, out: &mut String, mark: &str) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(out, "{value}"),
            Value::Char(byte) if (b' '..=b'~').contains(byte) && ![b'\'', b'\\'].contains(byte) => {
                write!(out, "'{}'", char::from(*byte))
            }
            Value::Char(byte) => write!(out, "{}", *byte as i8),
            // The formatter of 64 bits is several times as fast.
            Value::Signed(value) => match i64::try_from(*value) {
                Ok(value) => write!(out, "{value}"),
                Err(_) => write!(out, "{value}"),
            },
            Value::Unsigned(value) => match u64::try_from(*value) {
                Ok(value) => write!(out, "{value}"),
                Err(_) => write!(out, "{value}"),
            },
            Value::Real(_, text) => out.write_str(text),
            Value::Address(0) => out.write_str("NULL"),
            Value::Address(address) => write!(out, "{address:#x}"),
            Value::List(elements) => {
                out.push('{');
                for (n, element) in elements.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    element.put(out, mark)?;
                }
                out.push('}');
                Ok(())
            }
            Value::Bytes(bytes) => words(bytes, out, mark),
        }
    }
}

/// The most words of a class that are written.
const WORDS_MAX: usize = 4;

/// `{0x7f3a00000000, 0x10}`: in the largest words that divide the size, so that pointers and
/// lengths in a class are readable.
fn words(bytes: &[u8], out: &mut String, mark: &str) -> fmt::Result {
    let width = [8, 4, 2].into_iter().find(|w| bytes.len().is_multiple_of(*w)).unwrap_or(1);
    out.push('{');
    for (n, word) in bytes.chunks(width).take(WORDS_MAX).enumerate() {
        write!(out, "{}{:#x}", if n > 0 { ", " } else { "" }, unsigned(word))?;
    }
    if bytes.len() > WORDS_MAX * width {
        write!(out, ", {mark} {} bytes", bytes.len())?;
    }
    out.push('}');
    Ok(())
}

fn plain(bytes: &[u8]) -> Option<Value> {
    match bytes.len() {
        1 | 2 | 4 => Some(Value::Signed(signed(bytes))),
        8 => {
            let value = signed(bytes);
            // Sizes and strides stay below 4 Gi; device and host pointers on 64-bit Linux do not.
            let is_small = (-(1 << 31)..1 << 32).contains(&value);
            Some(if is_small { Value::Signed(value) } else { Value::Address(value as u64) })
        }
        _ => None,
    }
}

fn number_of(number: Number, bytes: &[u8]) -> Option<Value> {
    if bytes.len() != number.size() {
        return None;
    }
    Some(match number {
        Number::Bool => match bytes {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            other => Value::Unsigned(unsigned(other)),
        },
        Number::Char => Value::Char(*bytes.first()?),
        Number::Signed(_) => Value::Signed(signed(bytes)),
        Number::Unsigned(_) => Value::Unsigned(unsigned(bytes)),
        Number::Half => narrow(F16, bytes),
        Number::Bfloat16 => narrow(BF16, bytes),
        Number::Float => {
            let value = f32::from_bits(unsigned(bytes) as u32);
            Value::Real(value.into(), real(value.into(), format!("{value:e}")))
        }
        Number::Double => {
            let value = f64::from_bits(unsigned(bytes) as u64);
            Value::Real(value, real(value, format!("{value:e}")))
        }
    })
}

/// Little-endian, at most 16 bytes.
fn unsigned(bytes: &[u8]) -> u128 {
    bytes.iter().rev().take(16).fold(0, |value, byte| value << 8 | u128::from(*byte))
}

fn signed(bytes: &[u8]) -> i128 {
    let shift = 128usize.saturating_sub(8 * bytes.len().min(16)) as u32;
    // Without a byte there is nothing to shift.
    unsigned(bytes).checked_shl(shift).map_or(0, |value| (value as i128) >> shift)
}

/// A value of a narrow type, with the shortest decimal that reads back as the same value.
fn narrow(format: Narrow, bytes: &[u8]) -> Value {
    let bits = unsigned(bytes) as u16;
    let value = format.value(bits);
    let reads_back = |text: &str| text.parse().is_ok_and(|near| format.rounds_to(near, bits));
    Value::Real(value, shortest(value, reads_back))
}

/// The first text with enough digits, in scientific notation.
fn shortest(value: f64, reads_back: impl Fn(&str) -> bool) -> String {
    let texts = (0..17).map(|digits| format!("{value:.digits$e}"));
    let found = texts.into_iter().find(|text| reads_back(text));
    real(value, found.unwrap_or_else(|| format!("{value:e}")))
}

/// `scientific` as C writes it: `0.01`, `1e-08`, `inf`, `nan`; never mistaken for an integer.
fn real(value: f64, scientific: String) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific; // inf, -inf
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    while digits.len() > 1 && digits.ends_with('0') {
        digits.pop();
    }
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let minus = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{minus}{:02}", exponent.unsigned_abs());
    }
    let whole = exponent + 1;
    if whole <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(whole.unsigned_abs() as usize));
    }
    let whole = whole as usize;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    let (before, after) = digits.split_at(whole);
    format!("{sign}{before}.{after}")
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    fn text(kind: &str, bytes: &[u8]) -> String {
        Value::read(Some(Type::of(kind)), bytes).text("...")
    }
    fn untyped(bytes: &[u8]) -> String {
        Value::read(None, bytes).text("...")
    }

    #[test]
    fn integers_and_pointers() {
        assert_eq!(text("int", &(-5i32).to_le_bytes()), "-5");
        assert_eq!(text("unsigned int", &u32::MAX.to_le_bytes()), "4294967295");
        assert_eq!(text("long long", &i64::MIN.to_le_bytes()), "-9223372036854775808");
        assert_eq!(text("__int128", &(-2i128).to_le_bytes()), "-2");
        assert_eq!(text("unsigned char", &[65]), "65");
        assert_eq!(text("char", b"A"), "'A'");
        assert_eq!(text("char", &[0xff]), "-1");
        assert_eq!(text("char", b"'"), "39");
        assert_eq!(text("bool", &[1]), "true");
        assert_eq!(text("bool", &[7]), "7");
        assert_eq!(text("float*", &0x7f3a_0000_0000u64.to_le_bytes()), "0x7f3a00000000");
        assert_eq!(text("float*", &[0; 8]), "NULL");
    }

    #[test]
    fn reals_as_c_writes_them() {
        for (value, expected) in [
            (0.01f32, "0.01"),
            (1e-8, "1e-08"),
            (3.0, "3.0"),
            (-0.0, "-0.0"),
            (1.5e20, "1.5e+20"),
            (123.25, "123.25"),
            (f32::INFINITY, "inf"),
            (f32::NEG_INFINITY, "-inf"),
            (f32::NAN, "nan"),
            (f32::MAX, "3.4028235e+38"),
            (16_777_216.0, "16777216.0"),
        ] {
            assert_eq!(text("float", &value.to_le_bytes()), expected);
        }
        assert_eq!(text("double", &0.1f64.to_le_bytes()), "0.1");
        assert_eq!(text("double", &1e-5f64.to_le_bytes()), "1e-05");
        assert_eq!(text("double", &1e-4f64.to_le_bytes()), "0.0001");
        assert_eq!(text("__half", &f16::from_f32(0.1).to_bits().to_le_bytes()), "0.1");
        assert_eq!(text("__half", &f16::INFINITY.to_bits().to_le_bytes()), "inf");
        assert_eq!(text("__half", &f16::NAN.to_bits().to_le_bytes()), "nan");
        assert_eq!(text("__nv_bfloat16", &bf16::from_f32(2.75).to_bits().to_le_bytes()), "2.75");
    }

    #[test]
    fn reals_read_back() {
        for bits in (0..=u16::MAX).step_by(7) {
            let value = f16::from_bits(bits);
            if let Value::Real(_, text) = number_of(Number::Half, &bits.to_le_bytes()).unwrap()
                && !value.is_nan()
            {
                assert_eq!(f16::from_f64(text.parse().unwrap()), value, "{text}");
            }
        }
        let mut bits = 1u64;
        for _ in 0..20_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits);
            let Value::Real(_, text) = number_of(Number::Double, &bits.to_le_bytes()).unwrap()
            else {
                panic!("a double is a real")
            };
            assert!(value.is_nan() || text.parse::<f64>().unwrap() == value, "{text}");
            let narrow = f32::from_bits(bits as u32);
            let text = self::text("float", &narrow.to_le_bytes());
            assert!(narrow.is_nan() || text.parse::<f32>().unwrap() == narrow, "{text}");
        }
    }

    #[test]
    fn vectors_and_classes() {
        let bytes: Vec<u8> = [1.0f32, 2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(text("float2", &bytes), "{1.0, 2.5}");
        assert_eq!(text("dim3", &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]), "{1, 2, 3}");
        assert_eq!(text("Pod<int>", &[1, 0, 0, 0]), "{0x1}");
        let words: Vec<u8> = (1..=6u64).flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(text("Params", &words), "{0x1, 0x2, 0x3, 0x4, ... 48 bytes}");
        assert_eq!(text("Params", &words[..16]), "{0x1, 0x2}");
        assert_eq!(text("Params", &[1, 2, 3]), "{0x1, 0x2, 0x3}");
        assert_eq!(text("Params", &[]), "{}");
    }

    #[test]
    fn without_a_type_the_size_decides() {
        assert_eq!(untyped(&7i32.to_le_bytes()), "7");
        assert_eq!(untyped(&4096u64.to_le_bytes()), "4096");
        assert_eq!(untyped(&(-1i64).to_le_bytes()), "-1");
        assert_eq!(untyped(&0x7f3a_0000_0000u64.to_le_bytes()), "0x7f3a00000000");
        assert_eq!(text("Mode", &2i32.to_le_bytes()), "2");
        assert_eq!(text("Scale", &1.5f32.to_le_bytes()), "{0x3fc00000}");
        assert_eq!(untyped(&[1, 2, 3]), "{0x1, 0x2, 0x3}");
    }

    #[test]
    fn no_size_and_no_type_panics() {
        for kind in
            ["int", "float", "float4", "char*", "Pod", "a<b>", "bool", "__int128", "dim3", "__half"]
        {
            for size in 0..70 {
                assert!(!text(kind, &vec![0xa5; size]).is_empty());
                assert!(!untyped(&vec![0x5a; size]).is_empty());
            }
        }
    }
}
