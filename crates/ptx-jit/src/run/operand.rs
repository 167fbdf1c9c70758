//! The memory operand of a machine instruction.
//!
//! Owns finding the address that an instruction was about to access. The system reports the byte that is unmapped;
//! for 16 bytes that cross the end of a page, that is not the first one. Must not know: what the code does.

/// A memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) address: u64,
    /// The instruction computes with what it reads, in integer registers.
    pub(super) computes: bool,
}

/// The memory operand of an instruction, from its bytes and the registers; `None` where it has none, or is of a kind
/// that the code does not use for memory (EVEX).
///
/// Source: Intel's manual, volume 2, 2.1 (formats), 2.2.1 (REX), 2.3.5 (VEX), A.3 (opcodes).
pub(super) fn find(code: &[u8], registers: &[u64; 16]) -> Option<Operand> {
    let mut rest = code;
    let mut next = || {
        let (byte, tail) = rest.split_first()?;
        rest = tail;
        Some(*byte)
    };
    let mut byte = next()?;
    // Sizes of operands, repetition, lock.
    let mut locked = false;
    while matches!(byte, 0x66 | 0xf2 | 0xf3 | 0xf0) {
        locked |= byte == 0xf0;
        byte = next()?;
    }
    // The fourth bits of the numbers of index and base.
    let (mut index, mut base) = (0, 0);
    if byte & 0xf0 == 0x40 {
        (index, base) = (byte >> 1 & 1, byte & 1);
        byte = next()?;
    }
    let mut computes =
        matches!(byte, 0..=0x3f | 0x69 | 0x6b | 0x80..=0x85 | 0xf6 | 0xf7) && byte != 0x0f;
    match byte {
        0x62 => return None,
        0xc5 => {
            next()?;
            next()?;
        }
        0xc4 => {
            let bits = !next()?;
            (index, base) = (bits >> 6 & 1, bits >> 5 & 1);
            next()?;
            next()?;
        }
        0x0f => {
            let second = next()?;
            computes = second == 0xaf;
            if matches!(second, 0x38 | 0x3a) {
                next()?;
            }
        }
        _ => {}
    }
    let form = next()?;
    let (mode, low) = (form >> 6, form & 7);
    let register = |low: u8, high: u8| registers.get(usize::from(low | high << 3)).copied();
    let mut wide = mode == 2;
    let start = match (mode, low) {
        (3, _) | (0, 5) => return None,
        (_, 4) => {
            let scaled = next()?;
            let n = scaled >> 3 & 7;
            let offset =
                if (n, index) == (4, 0) { 0 } else { register(n, index)? << (scaled >> 6) };
            let none = mode == 0 && scaled & 7 == 5;
            wide |= none;
            offset.wrapping_add(if none { 0 } else { register(scaled & 7, base)? })
        }
        _ => register(low, base)?,
    };
    let more = if wide {
        i64::from(i32::from_le_bytes([next()?, next()?, next()?, next()?]))
    } else if mode == 1 {
        i64::from(next()? as i8)
    } else {
        0
    };
    // An atomic operation is one by itself.
    let computes = computes && !locked;
    Some(Operand { address: start.wrapping_add_signed(more), computes })
}

#[cfg(test)]
mod tests {
    use super::find;

    /// Machine code from GNU's assembler.
    #[test]
    fn operands_of_loads_and_stores() {
        let r: [u64; 16] = std::array::from_fn(|n| (n as u64 + 1) << 16);
        let (rax, rcx, rsp, r9, r12) = (r[0], r[1], r[4], r[9], r[12]);
        let cases: [(&[u8], Option<u64>); 14] = [
            (&[0x8b, 0x01], Some(rcx)),                   // mov eax, [rcx]
            (&[0x49, 0x8b, 0x51, 0xf8], Some(r9 - 8)),    // mov rdx, [r9 - 8]
            (&[0x0f, 0x11, 0x42, 0x10], Some(r[2] + 16)), // movups [rdx + 16], xmm0
            (&[0xf3, 0x0f, 0x6f, 0x8c, 0x88, 0, 1, 0, 0], Some(rax + 4 * rcx + 256)), // movdqu xmm1, [rax + 4 * rcx + 256]
            (&[0x66, 0x43, 0x0f, 0x6e, 0x04, 0x21], Some(r9 + r12)), // movd xmm0, [r9 + r12]
            (&[0x8b, 0x44, 0x24, 0x08], Some(rsp + 8)),              // mov eax, [rsp + 8]
            (&[0x41, 0x8b, 0x04, 0x24], Some(r12)),                  // mov eax, [r12]
            (&[0xc5, 0xfa, 0x6f, 0x41, 0x20], Some(rcx + 32)),       // vmovdqu xmm0, [rcx + 32]
            (&[0xc4, 0xc1, 0x7a, 0x6f, 0x01], Some(r9)),             // vmovdqu xmm0, [r9]
            (&[0xc4, 0xe2, 0x79, 0x18, 0x01], Some(rcx)),            // vbroadcastss xmm0, [rcx]
            (&[0xf0, 0x0f, 0xb1, 0x11], Some(rcx)),                  // lock cmpxchg [rcx], edx
            (&[0x66, 0x0f, 0x3a, 0x22, 0x41, 0x04, 0x01], Some(rcx + 4)), // pinsrd xmm0, [rcx + 4], 1
            (&[0x8b, 0xc1], None),                                        // mov eax, ecx
            (&[0x8b], None),
        ];
        for (code, expected) in cases {
            assert_eq!(
                find(code, &r).map(|o| (o.address, o.computes)),
                expected.map(|a| (a, false)),
                "{code:x?}"
            );
        }
        let adds: [(&[u8], u64); 3] = [
            (&[0x48, 0x03, 0x01], rcx),             // add rax, [rcx]
            (&[0x0f, 0xaf, 0x42, 0x10], r[2] + 16), // imul eax, [rdx + 16]
            (&[0x83, 0x39, 0x07], rcx),             // cmp dword ptr [rcx], 7
        ];
        for (code, expected) in adds {
            assert_eq!(
                find(code, &r).map(|o| (o.address, o.computes)),
                Some((expected, true)),
                "{code:x?}"
            );
        }
    }
}
