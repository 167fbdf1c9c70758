//! Rows of memory instructions, by the data that they move.

use crate::table::access::{Access, Atomic, Op, Space};
use crate::table::row::{Exec, Row};

pub const fn row(op: u16, name: &'static str, space: Space, what: Op) -> Row {
    Row { op, name, exec: Exec::Memory(Access { space, op: what }) }
}

pub const fn load(op: u16, name: &'static str, space: Space, bytes: u8, signed: bool) -> Row {
    row(op, name, space, Op::Load { bytes, signed })
}

pub const fn d16(
    op: u16,
    name: &'static str,
    space: Space,
    bytes: u8,
    signed: bool,
    high: bool,
) -> Row {
    row(op, name, space, Op::LoadHalf { bytes, signed, high })
}

pub const fn store(op: u16, name: &'static str, space: Space, bytes: u8, high: bool) -> Row {
    row(op, name, space, Op::Store { bytes, high })
}

pub const fn atomic(op: u16, name: &'static str, space: Space, what: Atomic, wide: bool) -> Row {
    row(op, name, space, Op::Atomic { what, wide, returns: false })
}

pub const fn cache(op: u16, name: &'static str, space: Space) -> Row {
    row(op, name, space, Op::Cache)
}

pub const fn lds(op: u16, name: &'static str, what: Op) -> Row {
    row(op, name, Space::Lds, what)
}

pub const fn lds_atomic(
    op: u16,
    name: &'static str,
    what: Atomic,
    wide: bool,
    returns: bool,
) -> Row {
    lds(op, name, Op::Atomic { what, wide, returns })
}
