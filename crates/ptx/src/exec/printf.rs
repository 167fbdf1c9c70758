//! `printf` of kernels: C's formats over the argument block that the compiler
//! lays out (each argument at its natural alignment, `float` as `double`).

/// The text, and how many arguments it took (what device `printf` returns).
/// `format` with the arguments at `args`: `read` copies memory (false where nothing is
/// mapped), `text` gives the string at an address.
pub fn format(
    format: &[u8],
    args: u64,
    read: &dyn Fn(u64, &mut [u8]) -> bool,
    text: &dyn Fn(u64) -> Vec<u8>,
) -> (Vec<u8>, u32) {
    let mut out = Vec::new();
    let mut at = args;
    let mut count = 0;
    let mut next = |bytes: u64| {
        at = at.next_multiple_of(bytes);
        let mut raw = [0; 8];
        // A missing argument reads as zero.
        read(at, &mut raw[..bytes as usize]);
        at += bytes;
        count += 1;
        u64::from_le_bytes(raw)
    };
    let mut rest = format.iter().copied().peekable();
    while let Some(c) = rest.next() {
        if c != b'%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::read(&mut rest, &mut next);
        let Some(kind) = rest.next() else { break };
        let (size, short) = (spec.size, spec.short);
        match kind {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let v = next(size);
                let v = match (size, short) {
                    (8, _) => v as i64,
                    (_, 0) => i64::from(v as i32),
                    (_, 1) => i64::from(v as i16),
                    _ => i64::from(v as i8),
                };
                spec.integer(&mut out, v < 0, v.unsigned_abs().to_string(), "");
            }
            b'u' | b'x' | b'X' | b'o' => {
                let v = next(size);
                let v = match (size, short) {
                    (_, 1) => v & 0xffff,
                    (_, 2) => v & 0xff,
                    _ => v,
                };
                let (digits, prefix) = match kind {
                    b'x' => (format!("{v:x}"), "0x"),
                    b'X' => (format!("{v:X}"), "0X"),
                    b'o' => (format!("{v:o}"), "0"),
                    _ => (v.to_string(), ""),
                };
                let prefix = if spec.alternative && v != 0 { prefix } else { "" };
                (spec.plus, spec.space) = (false, false);
                spec.integer(&mut out, false, digits, prefix);
            }
            b'c' => {
                let v = next(4) as u8;
                spec.zero = false;
                spec.pad(&mut out, "", &[v]);
            }
            b's' => {
                let mut s = text(next(8));
                s.truncate(spec.precision.unwrap_or(usize::MAX));
                spec.zero = false;
                spec.pad(&mut out, "", &s);
            }
            b'p' => {
                let digits = format!("{:x}", next(8));
                spec.precision = None;
                spec.integer(&mut out, false, digits, "0x");
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let v = f64::from_bits(next(8));
                spec.float(&mut out, v, kind);
            }
            other => out.extend([b'%', other]),
        }
    }
    (out, count)
}

/// What is left of a format.
type Rest<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>;

/// A number of a format: `*` takes it from an argument, which `next` reads, or it is in digits; `None` for neither.
fn number(rest: &mut Rest<'_>, next: &mut dyn FnMut(u64) -> u64) -> Option<i32> {
    if rest.next_if_eq(&b'*').is_some() {
        return Some(next(4) as u32 as i32);
    }
    let mut v = None;
    while let Some(d) = rest.next_if(u8::is_ascii_digit) {
        v = Some((v.unwrap_or(0i32) * 10 + i32::from(d - b'0')).min(100_000));
    }
    v
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer: 4 or 8.
    size: u64,
    /// How many `h` precede the letter.
    short: u32,
}

impl Spec {
    /// The characters between `%` and the letter.
    fn read(rest: &mut Rest<'_>, next: &mut dyn FnMut(u64) -> u64) -> Spec {
        let mut spec = Spec { size: 4, ..Spec::default() };
        while let Some(flag) = rest.next_if(|c| b"-+ #0".contains(c)) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternative = true,
                _ => spec.zero = true,
            }
        }
        if let Some(w) = number(rest, next) {
            spec.left |= w < 0;
            spec.width = (w.unsigned_abs() as usize).min(100_000);
        }
        if rest.next_if_eq(&b'.').is_some() {
            let p = number(rest, next).unwrap_or(0);
            spec.precision = usize::try_from(p).ok().map(|p| p.min(100_000));
        }
        while let Some(l) = rest.next_if(|c| b"hljztL".contains(c)) {
            match l {
                b'h' => spec.short += 1,
                _ => spec.size = 8,
            }
        }
        spec
    }

    /// Brings text to the width; zeros go between sign and digits.
    fn pad(&self, out: &mut Vec<u8>, sign: &str, body: &[u8]) {
        let fill = self.width.saturating_sub(sign.len() + body.len());
        if self.left {
            out.extend(sign.as_bytes());
            out.extend(body);
            out.resize(out.len() + fill, b' ');
        } else if self.zero {
            out.extend(sign.as_bytes());
            out.resize(out.len() + fill, b'0');
            out.extend(body);
        } else {
            out.resize(out.len() + fill, b' ');
            out.extend(sign.as_bytes());
            out.extend(body);
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn integer(&mut self, out: &mut Vec<u8>, negative: bool, mut digits: String, prefix: &str) {
        if let Some(p) = self.precision {
            self.zero = false;
            if p == 0 && digits == "0" {
                digits.clear();
            }
            digits.insert_str(0, &"0".repeat(p.saturating_sub(digits.len())));
        }
        let sign = format!("{}{prefix}", self.sign(negative));
        self.pad(out, &sign, digits.as_bytes());
    }

    fn float(&mut self, out: &mut Vec<u8>, v: f64, kind: u8) {
        let sign = self.sign(v.is_sign_negative());
        let m = v.abs();
        let upper = kind.is_ascii_uppercase();
        let body = if m.is_finite() {
            let precision = self.precision.unwrap_or(6);
            match kind.to_ascii_lowercase() {
                b'f' => format!("{m:.precision$}"),
                b'e' => exponential(m, precision),
                b'g' => self.general(m, precision.max(1)),
                _ => hexadecimal(m, self.precision),
            }
        } else {
            self.zero = false;
            if m.is_nan() { "nan".into() } else { "inf".into() }
        };
        let body = if upper { body.to_uppercase() } else { body };
        self.pad(out, sign, body.as_bytes());
    }

    /// `%g`: the shorter of the two, without trailing zeros.
    fn general(&self, m: f64, precision: usize) -> String {
        let e = exponential(m, precision - 1);
        let exponent: i32 = e.split('e').nth(1).and_then(|x| x.parse().ok()).unwrap_or(0);
        let trim = |s: &str| {
            if self.alternative || !s.contains('.') {
                return s.to_string();
            }
            s.trim_end_matches('0').trim_end_matches('.').to_string()
        };
        if exponent < -4 || exponent >= precision as i32 {
            let (mantissa, tail) = e.split_once('e').unwrap_or((&e, ""));
            return format!("{}e{tail}", trim(mantissa));
        }
        let digits = (precision as i32 - 1 - exponent).max(0) as usize;
        trim(&format!("{m:.digits$}"))
    }
}

/// C's exponent has a sign and two digits at least.
fn exponential(m: f64, precision: usize) -> String {
    let s = format!("{m:.precision$e}");
    let (mantissa, exponent) = s.split_once('e').unwrap_or((&s, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn hexadecimal(m: f64, precision: Option<usize>) -> String {
    let bits = m.to_bits();
    let (field, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    if m == 0.0 {
        return "0x0p+0".into();
    }
    let (lead, exponent) = if field == 0 { (0u64, -1022) } else { (1, field as i64 - 1023) };
    let mut value = lead << 52 | fraction;
    let mut digits = 13;
    if let Some(p) = precision.filter(|p| *p < 13) {
        let cut = 4 * (13 - p as u32);
        let half = 1u64 << (cut - 1);
        let rest = value & ((1 << cut) - 1);
        value >>= cut;
        value += u64::from(rest > half || (rest == half && value & 1 == 1));
        digits = p;
    }
    let lead = value >> (4 * digits);
    let mut s = format!("{:0digits$x}", value & ((1u64 << (4 * digits)) - 1));
    if digits == 0 {
        s.clear();
    }
    if precision.is_none() {
        s = s.trim_end_matches('0').into();
    }
    let point = if s.is_empty() { "" } else { "." };
    format!("0x{lead:x}{point}{s}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::format;

    fn one(text: &str, bytes: &[u8]) -> String {
        let read = |at: u64, out: &mut [u8]| {
            let at = at as usize;
            bytes.get(at..at + out.len()).map(|b| out.copy_from_slice(b)).is_some()
        };
        let string = |_| b"text".to_vec();
        String::from_utf8(format(text.as_bytes(), 0, &read, &string).0).unwrap()
    }

    #[test]
    fn as_c_prints() {
        let d = |v: f64| v.to_le_bytes();
        assert_eq!(one("%d|%5d|%-4d|", &[255, 255, 255, 255, 7, 0, 0, 0, 9]), "-1|    7|0   |");
        assert_eq!(one("%08.3f", &d(-1.5)), "-001.500");
        assert_eq!(one("%e %%", &d(12345.678)), "1.234568e+04 %");
        assert_eq!(one("%g", &d(0.0001)), "0.0001");
        assert_eq!(one("%g", &d(1e-5)), "1e-05");
        assert_eq!(one("%g", &d(1234567.0)), "1.23457e+06");
        assert_eq!(one("%.3g", &d(100.0)), "100");
        assert_eq!(one("%a", &d(1.5)), "0x1.8p+0");
        assert_eq!(one("%#x %X", &[255, 0, 0, 0, 171]), "0xff 0");
        assert_eq!(one("%6s|%.2s", &[0; 16]), "  text|te");
        assert_eq!(one("%+d %llu", &[3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]), "+3 5");
        assert_eq!(one("%f %F", &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f]), "nan 0.000000");
    }
}
