//! The part of MessagePack that code-object metadata uses, with bounds.
//!
//! Source: the MessagePack specification. Memory: at most some 50 bytes for
//! each byte of input; depth is bounded.

use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// Nesting beyond which a document is refused; metadata have five levels.
const MAX_DEPTH: u32 = 32;

/// A value, strings borrowed.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Nil, and types that metadata never contain: floats, binary, extensions.
    Nil,
    /// A boolean.
    Bool(bool),
    /// Any integer; those outside `i64` are clamped.
    Int(i64),
    /// A string, as bytes.
    Text(&'a [u8]),
    /// An array.
    Array(Vec<Value<'a>>),
    /// A map, in file order.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Value of the text key `key` of a map.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        let Self::Map(pairs) = self else { return None };
        let found = pairs.iter().find(|(name, _)| *name == Value::Text(key.as_bytes()));
        found.map(|(_, value)| value)
    }

    /// An unsigned number that fits.
    pub fn number<T: TryFrom<i64>>(&self) -> Option<T> {
        if let Self::Int(value) = self { T::try_from(*value).ok() } else { None }
    }

    /// The text.
    pub fn text(&self) -> Option<String> {
        if let Self::Text(text) = self {
            Some(String::from_utf8_lossy(text).into_owned())
        } else {
            None
        }
    }

    /// The elements; none where it is no array.
    pub fn elements(&self) -> &[Value<'a>] {
        if let Self::Array(elements) = self { elements } else { &[] }
    }
}

/// Reads the one value at the start of `data`.
pub fn read(data: &[u8], base: u64) -> Result<Value<'_>> {
    let mut reader = Reader { bytes: Bytes::new(data, base, "MessagePack value"), at: 0 };
    reader.value(0)
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    at: u64,
}

impl<'a> Reader<'a> {
    /// Big-endian unsigned number of `width` bytes.
    fn unsigned(&mut self, width: u64) -> Result<u64> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let bytes = self.bytes.slice(self.at, length)?;
        self.at += length;
        Ok(bytes)
    }

    fn text(&mut self, length: u64) -> Result<Value<'a>> {
        self.take(length).map(Value::Text)
    }

    fn skip(&mut self, length: u64) -> Result<Value<'a>> {
        self.take(length).map(|_| Value::Nil)
    }

    fn signed(&mut self, width: u64) -> Result<Value<'a>> {
        let number = self.unsigned(width)?;
        let shift = 64 - 8 * width as u32;
        Ok(Value::Int((number << shift) as i64 >> shift))
    }

    /// Every element takes at least a byte, so a larger count than the rest is wrong.
    fn count(&mut self, count: u64, each: u64) -> Result<u64> {
        let there = self.bytes.len() as u64 - self.at;
        if count.saturating_mul(each) > there {
            let expected = format!("at most {there} bytes of elements");
            return Err(self.bytes.field(self.at, "count", count, expected));
        }
        Ok(count)
    }

    fn array(&mut self, count: u64, depth: u32) -> Result<Value<'a>> {
        let count = self.count(count, 1)?;
        (0..count).map(|_| self.value(depth + 1)).collect::<Result<_>>().map(Value::Array)
    }

    fn map(&mut self, count: u64, depth: u32) -> Result<Value<'a>> {
        let count = self.count(count, 2)?;
        (0..count)
            .map(|_| Ok((self.value(depth + 1)?, self.value(depth + 1)?)))
            .collect::<Result<_>>()
            .map(Value::Map)
    }

    fn value(&mut self, depth: u32) -> Result<Value<'a>> {
        if depth > MAX_DEPTH {
            return Err(Error::TooBig {
                what: "MessagePack nesting",
                at: self.bytes.base() + self.at,
                found: depth.into(),
                limit: MAX_DEPTH.into(),
                name: "32 levels",
            });
        }
        let tag = self.bytes.u8(self.at)?;
        self.at += 1;
        match tag {
            0x00..=0x7F => Ok(Value::Int(tag.into())),
            0x80..=0x8F => self.map((tag & 0xF).into(), depth),
            0x90..=0x9F => self.array((tag & 0xF).into(), depth),
            0xA0..=0xBF => self.text((tag & 0x1F).into()),
            0xC0 | 0xC1 => Ok(Value::Nil),
            0xC2 | 0xC3 => Ok(Value::Bool(tag == 0xC3)),
            0xC4..=0xC6 => {
                let length = self.unsigned(1 << (tag - 0xC4))?;
                self.skip(length)
            }
            0xC7..=0xC9 => {
                let length = self.unsigned(1 << (tag - 0xC7))?;
                self.skip(length + 1)
            }
            0xCA => self.skip(4),
            0xCB => self.skip(8),
            0xCC..=0xCF => {
                let number = self.unsigned(1 << (tag - 0xCC))?;
                Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
            }
            0xD0..=0xD3 => self.signed(1 << (tag - 0xD0)),
            0xD4..=0xD8 => self.skip(1 + (1 << (tag - 0xD4))),
            0xD9..=0xDB => {
                let length = self.unsigned(1 << (tag - 0xD9))?;
                self.text(length)
            }
            0xDC | 0xDD => {
                let count = self.unsigned(2 << (tag - 0xDC))?;
                self.array(count, depth)
            }
            0xDE | 0xDF => {
                let count = self.unsigned(2 << (tag - 0xDE))?;
                self.map(count, depth)
            }
            0xE0..=0xFF => Ok(Value::Int(i64::from(tag as i8))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        // {"a": [1, -1, 0x1234, -200, true, nil, "bc"], "d": 1.0 (skipped)}
        let data = [
            0x82, 0xA1, b'a', 0x97, 1, 0xFF, 0xCD, 0x12, 0x34, 0xD1, 0xFF, 0x38, 0xC3, 0xC0, 0xD9,
            2, b'b', b'c', 0xA1, b'd', 0xCA, 0x3F, 0x80, 0, 0,
        ];
        let value = read(&data, 0).unwrap();
        let elements = value.get("a").unwrap().elements();
        let numbers: Vec<Option<i64>> = elements.iter().map(Value::number).collect();
        assert_eq!(numbers, [Some(1), Some(-1), Some(0x1234), Some(-200), None, None, None]);
        assert_eq!(elements[6].text().as_deref(), Some("bc"));
        assert_eq!(value.get("d"), Some(&Value::Nil));
        for length in 0..data.len() {
            assert!(read(&data[..length], 0).is_err(), "{length}");
        }
    }

    #[test]
    fn lying_counts_and_depth() {
        assert!(read(&[0xDD, 0xFF, 0xFF, 0xFF, 0xFF, 0], 0).is_err());
        assert!(read(&[0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0], 0).is_err());
        assert!(matches!(read(&[0x91; 100], 0), Err(Error::TooBig { .. })));
    }
}
