//! PTX that reads and writes an element.
//!
//! Owns: the conversion of each type to the type of the computation, and back. Must not know: the kernel that uses
//! it.

use std::fmt::Write as _;

use crate::kind::{Kind, Part};

/// Real and imaginary parts.
pub(crate) fn parts(is_complex: bool) -> &'static [&'static str] {
    if is_complex { &["r", "i"] } else { &["r"] }
}

/// Zero as PTX writes it.
pub(crate) fn zero(work: Part) -> &'static str {
    match work {
        Part::F64 => "0d0000000000000000",
        Part::S32 => "0",
        _ => "0f00000000",
    }
}

/// Reads an element of type `kind` from `place` (space, address, offset), converted to the type of the computation:
/// `%NAMEr`, and `%NAMEi` for complex numbers. Uses `%h` of 16 bits, `%t` and `%s` of 32.
pub(crate) fn load(
    text: &mut String,
    (is_complex, work): (bool, Part),
    kind: Kind,
    place: &str,
    name: &str,
) {
    let mut words = place.split(' ');
    let (space, base) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let first: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let ty = work.word();
    for (number, part) in parts(is_complex).iter().enumerate() {
        let to = format!("%{name}{part}");
        if number == 1 && !kind.complex {
            let _ = writeln!(text, "mov.{ty} {to}, {};", zero(work));
            continue;
        }
        let at = first + number * kind.part.size() as usize;
        let from = format!("[{base}+{at}]");
        let _ = match (kind.part, work) {
            (part, work) if part == work => {
                writeln!(text, "ld.{space}.{} {to}, {from};", part.word())
            }
            (Part::F16, _) => {
                write!(text, "ld.{space}.b16 %h, {from};\ncvt.f32.f16 {to}, %h;\n")
            }
            (Part::Bf16, _) => write!(
                text,
                "ld.{space}.b16 %h, {from};\ncvt.u32.u16 %t, %h;\nshl.b32 %t, %t, 16;\nmov.b32 {to}, %t;\n"
            ),
            (Part::S8, Part::S32) => writeln!(text, "ld.{space}.s8 {to}, {from};"),
            (Part::S8 | Part::S32, _) => write!(
                text,
                "ld.{space}.{} %s, {from};\ncvt.rn.{ty}.s32 {to}, %s;\n",
                kind.part.word()
            ),
            // Nobody makes such a form.
            (part, _) => writeln!(text, "ld.{space}.{} {to}, {from};", part.word()),
        };
    }
}

/// Writes `%NAMEr` (and `%NAMEi`) to the address `to`, rounded to type `kind`: to the nearest, bytes within their range. Uses `%h`
/// and `%s`.
pub(crate) fn store(
    text: &mut String,
    (is_complex, work): (bool, Part),
    kind: Kind,
    to: &str,
    name: &str,
) {
    for (number, part) in parts(is_complex).iter().enumerate() {
        let (to, from) =
            (format!("[{to}+{}]", number * kind.part.size() as usize), format!("%{name}{part}"));
        let _ = match (kind.part, work) {
            (Part::F16, _) => {
                write!(text, "cvt.rn.f16.f32 %h, {from};\nst.global.b16 {to}, %h;\n")
            }
            (Part::Bf16, _) => {
                write!(text, "cvt.rn.bf16.f32 %h, {from};\nst.global.b16 {to}, %h;\n")
            }
            (Part::S8, Part::F32) => write!(
                text,
                "cvt.rni.s32.f32 %s, {from};\nmax.s32 %s, %s, -128;\nmin.s32 %s, %s, 127;\nst.global.s8 {to}, %s;\n"
            ),
            (other, _) => writeln!(text, "st.global.{} {to}, {from};", other.word()),
        };
    }
}
