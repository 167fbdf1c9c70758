//! The bytes by which vectors of any width compute the unit's square.
//!
//! Owns these masks. Must not know instructions of processors, or lanes.
//!
//! The argument is an offset of 17 bits. Its square includes all products of the upper eight bits. Let l be the next
//! seven bits, and u the upper eight without the lowest. Of the products of l and u, the unit adds those of bits j
//! and k with j + k >= 6, and shifts the sum right by six bits. That is a sum over k of bit k of u, at its position,
//! times the bits of l from j = 6 - k on: seven products of bytes, which instructions multiply and add.

/// The bits k of u, one in each byte, for k from 0 to 3.
pub const FIRST_BITS: i32 = 0x0804_0201;
/// The bits of l that each of them is multiplied by.
pub const FIRST_KEPT: i32 = 0x7870_6040;
/// The same for k from 4 to 6.
pub const LAST_BITS: i32 = 0x0040_2010;
/// The same for k from 4 to 6.
pub const LAST_KEPT: i32 = 0x007f_7e7c;
