//! The jump that overwrites a function's entry. Must not know: where it is written.

/// Bytes of a jump to any address.
pub const JUMP: usize = 14;

/// `jmp [rip + 0]` and the address after it: it changes no register.
pub fn jump(target: u64) -> [u8; JUMP] {
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&target.to_le_bytes());
    code
}
