//! The formats of the device's printf, and the layout of the arguments.
//!
//! Owns: parsing a format, and refusing what C leaves undefined. Must not know: how a value is printed
//! ([`crate::render`]), or how it arrived. Sizes of arguments are those of LLVM's server: 4 bytes for `int` and
//! shorter, 8 for all else.

/// The most characters that a width or a precision may ask for.
pub const MOST_WIDE: u32 = 1 << 20;

/// A width or a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Not given.
    None,
    /// Given as a number.
    Is(u32),
    /// `*`: given by an argument.
    Star,
}

/// The length modifier of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// `hh`.
    Char,
    /// `h`.
    Short,
    /// None.
    Int,
    /// `l`, `ll`, `j`, `z`, `t`, `q` and `L`: 8 bytes.
    Long,
}

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Of `-+ #0`, bit by bit in this order.
    pub flags: u8,
    /// The width.
    pub width: Count,
    /// The precision.
    pub precision: Count,
    /// The argument's length.
    pub length: Length,
    /// The conversion's letter.
    pub letter: u8,
}

/// The flags, in the order of [`Spec::flags`]' bits.
pub const FLAGS: [u8; 5] = *b"-+ #0";

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Literal text.
    Text(&'a [u8]),
    /// An argument.
    Spec(Spec),
}

/// An argument from the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// 4 bytes.
    Int(u32),
    /// 8 bytes: an integer, an address, or the bits of a double.
    Long(u64),
}

impl Spec {
    /// Whether it shows a double.
    pub fn is_float(self) -> bool {
        b"fFeEgGaA".contains(&self.letter)
    }

    /// Bytes of its own argument, without those of `*`.
    fn bytes(self) -> usize {
        match self.letter {
            b'%' => 0,
            b'c' => 4,
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B'
                if self.length != Length::Long =>
            {
                4
            }
            _ => 8,
        }
    }

    /// Bytes of its arguments, in order.
    fn arguments(self) -> impl Iterator<Item = usize> {
        let stars = [self.width, self.precision].into_iter().filter(|count| *count == Count::Star);
        stars.map(|_| 4).chain(Some(self.bytes()).filter(|bytes| *bytes > 0))
    }
}

/// The parts of a format, up to its NUL if there is one.
///
/// # Errors
/// What is wrong with it, and where.
pub fn parse(format: &[u8]) -> Result<Vec<Part<'_>>, String> {
    let end = format.iter().position(|&byte| byte == 0).unwrap_or(format.len());
    let text = format.get(..end).unwrap_or(format);
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let next =
            text.iter().skip(at).position(|&byte| byte == b'%').map_or(text.len(), |n| at + n);
        if next > at {
            parts.push(Part::Text(text.get(at..next).unwrap_or_default()));
        }
        at = next;
        if at < text.len() {
            let mut scan = Scan { text, at: at + 1 };
            let spec = scan.spec().map_err(|why| {
                let shown = String::from_utf8_lossy(
                    text.get(next..text.len().min(next + 16)).unwrap_or_default(),
                );
                format!("the format has {shown:?} at {next}: {why}")
            })?;
            parts.push(Part::Spec(spec));
            at = scan.at;
        }
    }
    Ok(parts)
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn spec(&mut self) -> Result<Spec, String> {
        let mut flags = 0;
        while let Some(flag) = self.peek().and_then(|byte| FLAGS.iter().position(|f| *f == byte)) {
            flags |= 1 << flag;
            self.at += 1;
        }
        let width = self.count()?;
        let precision = match (self.take(b'.'), ()) {
            (true, ()) => match self.count()? {
                // A point without digits is a precision of 0.
                Count::None => Count::Is(0),
                given => given,
            },
            (false, ()) => Count::None,
        };
        let length = self.length();
        let letter = self.peek().ok_or("it ends within a conversion")?;
        self.at += 1;
        let spec = Spec { flags, width, precision, length, letter };
        allowed(spec).map(|()| spec)
    }

    fn count(&mut self) -> Result<Count, String> {
        if self.take(b'*') {
            return Ok(Count::Star);
        }
        let begun = self.at;
        let mut count = 0u32;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            count = count.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            self.at += 1;
        }
        match (self.at > begun, count) {
            (false, _) => Ok(Count::None),
            (true, 0..=MOST_WIDE) => Ok(Count::Is(count)),
            (true, _) => Err(format!("expected at most {MOST_WIDE} characters")),
        }
    }

    fn length(&mut self) -> Length {
        if self.take(b'h') {
            return if self.take(b'h') { Length::Char } else { Length::Short };
        }
        if self.take(b'l') {
            self.take(b'l');
            return Length::Long;
        }
        let long = self.peek().is_some_and(|byte| b"jztqL".contains(&byte));
        self.at += usize::from(long);
        if long { Length::Long } else { Length::Int }
    }
}

/// Whether the letter is known and goes with the length.
fn allowed(spec: Spec) -> Result<(), String> {
    let plain = spec.length == Length::Int;
    match spec.letter {
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'n' | b'%' => Ok(()),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A'
            if plain || spec.length == Length::Long =>
        {
            Ok(())
        }
        b'c' | b's' | b'p' if plain => Ok(()),
        b'c' | b's' if spec.length == Length::Long => {
            Err("wide characters are not supported".into())
        }
        letter @ (b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' | b'c' | b's' | b'p') => {
            Err(format!("%{} has no such length", letter as char))
        }
        b'$' => Err("numbered arguments are not supported".into()),
        letter => Err(format!("no conversion is called {:?}", letter as char)),
    }
}

/// Bytes that the arguments of a format take: one after the other, or each at its natural alignment.
pub fn size(parts: &[Part<'_>], packed: bool) -> u64 {
    specs(parts).flat_map(Spec::arguments).fold(0, |end, bytes| place(end, bytes, packed) + bytes)
        as u64
}

/// The conversions of a format.
pub fn specs<'a>(parts: &'a [Part<'_>]) -> impl Iterator<Item = Spec> + 'a {
    parts.iter().filter_map(|part| match part {
        Part::Spec(spec) => Some(*spec),
        Part::Text(_) => None,
    })
}

fn place(end: usize, bytes: usize, packed: bool) -> usize {
    if packed { end } else { end.next_multiple_of(bytes) }
}

/// The arguments of a format, those of `*` before their conversion's; none where their bytes are
/// not as many as [`size`] says.
pub fn values(parts: &[Part<'_>], args: &[u8], packed: bool) -> Option<Vec<Value>> {
    let mut end = 0;
    let mut values = Vec::new();
    for bytes in specs(parts).flat_map(Spec::arguments) {
        let at = place(end, bytes, packed);
        end = at + bytes;
        let word = args.get(at..end)?;
        values.push(match bytes {
            4 => Value::Int(u32::from_le_bytes(word.try_into().ok()?)),
            _ => Value::Long(u64::from_le_bytes(word.try_into().ok()?)),
        });
    }
    (end == args.len()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lie_at_their_alignment_or_packed() {
        for (format, natural, packed) in [
            ("none", 0, 0),
            ("%d", 4, 4),
            ("%d %ld", 16, 12),
            ("%f%c", 12, 12),
            ("%*.*s|%%|%hhx", 20, 20),
            ("%c%s%c%p", 32, 24),
            ("%-+ #05.3Lf %n", 16, 16),
            ("%d\0%ld", 4, 4),
        ] {
            let parts = parse(format.as_bytes()).unwrap();
            assert_eq!((size(&parts, false), size(&parts, true)), (natural, packed), "{format}");
        }
        let parts = parse(b"%c%lx").unwrap();
        let args: Vec<u8> = (0..16).collect();
        let all = values(&parts, &args, false).unwrap();
        assert_eq!(all, [Value::Int(0x0302_0100), Value::Long(0x0f0e_0d0c_0b0a_0908)]);
        assert_eq!(values(&parts, &args[..12], false), None);
        assert_eq!(values(&parts, &args, true), None);
    }

    #[test]
    fn what_c_leaves_undefined_is_refused() {
        for (format, why) in [
            ("100%", "ends within"),
            ("%y", "no conversion is called 'y'"),
            ("%1$d", "numbered"),
            ("%ls", "wide"),
            ("%lc", "wide"),
            ("%hf", "%f has no such length"),
            ("%zp", "%p has no such length"),
            ("%9999999d", "at most 1048576"),
            ("%.99999999999999999999f", "at most 1048576"),
            ("ok %d %", "\"%\" at 6"),
        ] {
            let said = parse(format.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{format}: {said}");
        }
    }
}
