//! Protocol buffers, written field by field (protobuf.dev, "Encoding").
//!
//! Must not know: what any field means.

/// Bytes of a message in the making.
#[derive(Default)]
pub struct Wire {
    bytes: Vec<u8>,
}

/// A message within the message, begun and not yet ended.
#[must_use]
pub struct Open(usize);

impl Wire {
    /// What has been written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Forgets what has been written.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
    #[inline]
    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// An integer, boolean or enumeration; negative numbers as their two's complement.
    #[inline]
    pub fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }
    /// A `fixed64`.
    #[inline]
    pub fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
    /// A `double`.
    pub fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }
    /// A text.
    pub fn text(&mut self, field: u32, text: &str) {
        self.raw(field, text.as_bytes());
    }
    /// Bytes, or a message that was written elsewhere.
    pub fn raw(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Begins a message.
    #[inline]
    pub fn begin(&mut self, field: u32) -> Open {
        self.key(field, 2);
        // Most are shorter than 128 bytes; the others are moved at the end.
        self.bytes.push(0);
        Open(self.bytes.len())
    }
    /// Ends the message that was begun last.
    #[inline]
    pub fn end(&mut self, open: Open) {
        let Open(start) = open;
        let mut size = self.bytes.len() - start;
        if size < 0x80 {
            if let Some(place) = self.bytes.get_mut(start - 1) {
                *place = size as u8;
            }
            return;
        }
        let mut prefix = [0u8; 10];
        let mut used = 0;
        for place in &mut prefix {
            *place = size as u8 & 0x7f | if size >= 0x80 { 0x80 } else { 0 };
            used += 1;
            size >>= 7;
            if size == 0 {
                break;
            }
        }
        let prefix = prefix.get(..used).unwrap_or_default();
        self.bytes.splice(start - 1..start, prefix.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_manual() {
        let mut wire = Wire::default();
        wire.number(1, 150);
        assert_eq!(wire.bytes(), [0x08, 0x96, 0x01]);
        wire.clear();
        wire.text(2, "testing");
        assert_eq!(wire.bytes(), b"\x12\x07testing");
        wire.clear();
        let open = wire.begin(3);
        wire.number(1, 150);
        wire.end(open);
        assert_eq!(wire.bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        wire.clear();
        wire.number(1, -2i64 as u64);
        assert_eq!(wire.bytes(), b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        wire.clear();
        wire.double(16, 1.0);
        assert_eq!(wire.bytes(), b"\x81\x01\0\0\0\0\0\0\xf0\x3f");
    }

    #[test]
    fn long_messages() {
        for size in [0, 1, 126, 127, 128, 16_383, 16_384, 3_000_000] {
            let mut wire = Wire::default();
            let outer = wire.begin(1);
            let inner = wire.begin(2);
            wire.text(3, &"x".repeat(size));
            wire.end(inner);
            wire.end(outer);
            let mut at = 0;
            for field in [1, 2, 3] {
                assert_eq!(wire.bytes()[at], field << 3 | 2);
                at += 1;
                let (mut length, mut shift) = (0, 0);
                loop {
                    let byte = wire.bytes()[at];
                    length |= usize::from(byte & 0x7f) << shift;
                    (at, shift) = (at + 1, shift + 7);
                    if byte < 0x80 {
                        break;
                    }
                }
                assert_eq!(length, wire.bytes().len() - at);
            }
        }
    }
}
