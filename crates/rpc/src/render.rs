//! Prints arguments by a checked format.
//!
//! Owns: the text of each conversion. C's own snprintf writes numbers, one at a time and with a conversion that this
//! module composes, so that they look as C's do. Must not know: where formats come from.

use std::ffi::{CString, c_char, c_int};

use crate::format::{Count, FLAGS, Length, MOST_WIDE, Part, Spec, Value};

const LEFT: u8 = 1;
const HASH: u8 = 8;
const ZERO: u8 = 16;

/// The text of a format. `strings` are those that `%s` shows, in order, none for a null pointer; bytes after a NUL are
/// not shown.
///
/// # Errors
/// A width or a precision is too large, or the text has more than `most` bytes.
pub fn render(
    parts: &[Part<'_>],
    values: &[Value],
    strings: &[Option<Vec<u8>>],
    most: usize,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut values = values.iter().copied();
    let mut strings = strings.iter();
    for part in parts {
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Spec(spec) => {
                let shape = Shape::of(*spec, &mut values)?;
                match spec.letter {
                    b'%' => out.push(b'%'),
                    // It would write to an address from the device.
                    b'n' => drop(values.next()),
                    b's' => {
                        values.next();
                        shape.string(strings.next().and_then(Option::as_deref), &mut out);
                    }
                    b'c' => {
                        let Some(Value::Int(value)) = values.next() else { continue };
                        shape.pad(&[value as u8], &mut out);
                    }
                    _ => {
                        let Some(value) = values.next() else { continue };
                        shape.number(value, &mut out);
                    }
                }
            }
        }
        if out.len() > most {
            return Err(format!("a printf of more than {most} bytes"));
        }
    }
    Ok(out)
}

/// A conversion with the numbers of its `*`.
struct Shape {
    spec: Spec,
    flags: u8,
    width: usize,
    precision: Option<usize>,
}

impl Shape {
    fn of(spec: Spec, values: &mut impl Iterator<Item = Value>) -> Result<Self, String> {
        let mut star = |count| match count {
            Count::None => Ok(None),
            Count::Is(number) => Ok(Some(i64::from(number))),
            Count::Star => {
                let Some(Value::Int(number)) = values.next() else { return Ok(None) };
                let number = i64::from(number as i32);
                match number.unsigned_abs() <= u64::from(MOST_WIDE) {
                    true => Ok(Some(number)),
                    false => Err(format!("a * of {number}, expected at most {MOST_WIDE}")),
                }
            }
        };
        let (width, precision) = (star(spec.width)?.unwrap_or(0), star(spec.precision)?);
        // C: a negative width is the flag and a width, a negative precision is none.
        let flags = spec.flags | if width < 0 { LEFT } else { 0 };
        let precision = precision.and_then(|number| usize::try_from(number).ok());
        Ok(Shape { spec, flags, width: width.unsigned_abs() as usize, precision })
    }

    /// With spaces up to the width.
    fn pad(&self, text: &[u8], out: &mut Vec<u8>) {
        let spaces = self.width.saturating_sub(text.len());
        let left = self.flags & LEFT != 0;
        out.resize(out.len() + if left { 0 } else { spaces }, b' ');
        out.extend_from_slice(text);
        out.resize(out.len() + if left { spaces } else { 0 }, b' ');
    }

    fn string(&self, text: Option<&[u8]>, out: &mut Vec<u8>) {
        const NULL: &[u8] = b"(null)";
        let text = match (text, self.precision) {
            (Some(text), _) => text,
            // As in glibc: all of it or nothing.
            (None, Some(precision)) if precision < NULL.len() => b"",
            (None, _) => NULL,
        };
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        self.pad(text.get(..end.min(self.precision.unwrap_or(end))).unwrap_or(text), out);
    }

    fn number(&self, value: Value, out: &mut Vec<u8>) {
        if matches!(self.spec.letter, b'b' | b'B') {
            return self.binary(value, out);
        }
        let mut written = String::from("%");
        for (bit, flag) in FLAGS.into_iter().enumerate() {
            if self.flags >> bit & 1 != 0 {
                written.push(flag as char);
            }
        }
        written.push_str(&self.width.max(1).to_string());
        if let Some(precision) = self.precision {
            written.push('.');
            written.push_str(&precision.to_string());
        }
        let integer = !self.spec.is_float() && self.spec.letter != b'p';
        written.push_str(match self.spec.length {
            Length::Char if integer => "hh",
            Length::Short if integer => "h",
            Length::Long if integer => "ll",
            _ => "",
        });
        written.push(self.spec.letter as char);
        // No letter is a NUL: `format::parse` only accepts known ones.
        let Ok(format) = CString::new(written) else { return };
        // As many as asked for, and the digits before the point of the largest double.
        let room = self.width + self.precision.unwrap_or(0) + 512;
        let begun = out.len();
        out.resize(begun + room, 0);
        let Some(to) = out.get_mut(begun..) else { return };
        let to: *mut c_char = to.as_mut_ptr().cast();
        // SAFETY: `room` bytes; the format has one conversion, of the type of the one argument.
        let size = unsafe {
            match value {
                Value::Int(value) => libc::snprintf(to, room, format.as_ptr(), value as c_int),
                Value::Long(value) if self.spec.is_float() => {
                    libc::snprintf(to, room, format.as_ptr(), f64::from_bits(value))
                }
                Value::Long(value) => libc::snprintf(to, room, format.as_ptr(), value),
            }
        };
        out.truncate(begun + usize::try_from(size).unwrap_or(0).min(room - 1));
    }

    /// C23's `%b`, which older C libraries lack.
    fn binary(&self, value: Value, out: &mut Vec<u8>) {
        let value = match (value, self.spec.length) {
            (Value::Int(value), Length::Char) => u64::from(value as u8),
            (Value::Int(value), Length::Short) => u64::from(value as u16),
            (Value::Int(value), _) => u64::from(value),
            (Value::Long(value), _) => value,
        };
        let digits = match (value, self.precision) {
            (0, Some(0)) => String::new(),
            _ => format!("{value:b}"),
        };
        let prefix = match (self.flags & HASH != 0 && value != 0, self.spec.letter) {
            (false, _) => "",
            (true, b'B') => "0B",
            (true, _) => "0b",
        };
        let zeros = match self.precision {
            Some(precision) => precision,
            None if self.flags & (ZERO | LEFT) == ZERO => self.width.saturating_sub(prefix.len()),
            None => 0,
        };
        let missing = zeros.saturating_sub(digits.len());
        self.pad(format!("{prefix}{}{digits}", "0".repeat(missing)).as_bytes(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{parse, size, values};

    /// One `Long` or `Int` for each of `args`, as the format asks.
    fn shown(format: &str, args: &[u64], strings: &[Option<&str>]) -> String {
        let parts = parse(format.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let mut args = args.iter();
        // The tests write all arguments packed.
        for spec in crate::format::specs(&parts) {
            for count in [spec.width, spec.precision] {
                if count == Count::Star {
                    bytes.extend_from_slice(&args.next().unwrap().to_le_bytes()[..4]);
                }
            }
            let left = size(
                &[Part::Spec(Spec { width: Count::None, precision: Count::None, ..spec })],
                true,
            );
            if left > 0 {
                bytes.extend_from_slice(&args.next().unwrap().to_le_bytes()[..left as usize]);
            }
        }
        let strings: Vec<_> = strings.iter().map(|s| s.map(|s| s.as_bytes().to_vec())).collect();
        let values = values(&parts, &bytes, true).unwrap();
        String::from_utf8(render(&parts, &values, &strings, 1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn numbers_look_as_cs() {
        let minus = -5i64 as u64;
        for (format, args, expected) in [
            ("%d|%5d|%-5d|%05d", &[minus, 7, 7, 7][..], "-5|    7|7    |00007"),
            ("%u %x %X %#o", &[u64::from(u32::MAX), 255, 255, 8], "4294967295 ff FF 010"),
            ("%ld %llu %zd", &[minus, u64::MAX, minus], "-5 18446744073709551615 -5"),
            ("%hhd %hu", &[300, 65537], "44 1"),
            ("%+d % d %.3d", &[1, 1, 1], "+1  1 001"),
            (
                "%.2f %e %g %a",
                &[2.5f64.to_bits(), 1.0f64.to_bits(), 0.5f64.to_bits(), 1.0f64.to_bits()],
                "2.50 1.000000e+00 0.5 0x1p+0",
            ),
            ("%Lf %8.3lf", &[1.5f64.to_bits(), 1.5f64.to_bits()], "1.500000    1.500"),
            ("%*d|%-*d|%.*f", &[4, 1, 4, 1, 1, 0.25f64.to_bits()], "   1|1   |0.2"),
            ("%*d|", &[-4i64 as u64, 1], "1   |"),
            ("%.*d", &[-1i64 as u64, 5], "5"),
            ("%c%c%3c", &[65, 66, 67], "AB  C"),
            ("%p", &[0x1234], "0x1234"),
            (
                "%b %#b %08b %.4b %B %#B %lb",
                &[5, 5, 5, 1, 0, 0, 1 << 40],
                "101 0b101 00000101 0001 0 0 10000000000000000000000000000000000000000",
            ),
            ("100%% %n.", &[1], "100% ."),
        ] {
            assert_eq!(shown(format, args, &[]), expected, "{format}");
        }
        let large = shown("%f", &[f64::MAX.to_bits()], &[]);
        assert_eq!(large.len(), 316);
    }

    #[test]
    fn strings_are_cut_and_filled() {
        let strings = [Some("abc\0def"), Some("abc"), Some("abc"), None, None];
        assert_eq!(
            shown("%s|%5s|%-5.2s|%s|%.3s|", &[1, 1, 1, 0, 0], &strings),
            "abc|  abc|ab   |(null)||"
        );
    }

    #[test]
    fn what_is_too_wide_is_refused() {
        let parts = parse(b"%*d").unwrap();
        let values = [Value::Int(i32::MIN as u32), Value::Int(1)];
        assert!(render(&parts, &values, &[], 1).unwrap_err().contains("-2147483648"));
        let parts: Vec<_> = (0..80).flat_map(|_| parse(b"%1048576d").unwrap()).collect();
        assert!(
            render(&parts, &[Value::Int(1); 80], &[], 64 << 20).unwrap_err().contains("more than")
        );
    }
}
