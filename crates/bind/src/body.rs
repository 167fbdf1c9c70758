//! Bodies of functions: each use of a bound variable.
//!
//! Before an instruction that names a bound variable, a load of its address from the table into a new register is
//! inserted; the register replaces the name. If a constant is bound, addresses of constants are generic in the whole
//! text, because they may meet in one register: `.const` is removed from loads through a register. Owns: where
//! statements begin and end. Must not know: module level.

use std::ops::Range;

use crate::error::Error;
use crate::rewrite::{Edits, Names, REGISTER, TABLE, no_use};
use crate::words::{Words, is_name};

/// Adds the edits of a body, given by its words between the braces.
pub fn rewrite(
    words: &Words<'_>,
    body: Range<usize>,
    names: &Names<'_>,
    edits: &mut Edits,
) -> Result<(), Error> {
    let mut most = 0;
    let mark = edits.len();
    let (mut i, mut start) = (body.start, body.start);
    while i < body.end {
        match words.get(i) {
            b";" => {
                most = most.max(statement(words, start..i, names, edits)?);
                start = i + 1;
            }
            b"{" | b"}" if i == start => start = i + 1,
            // Operands: `{%f1, %f2}`.
            b"{" => {
                i = words.closing(i)?;
            }
            b"}" => return Err(words.error(i, "the block ends within a statement")),
            b".loc" | b".file" if i == start => {
                i = words.next_line(i).min(body.end);
                start = i;
                continue;
            }
            // A label, and no `::`.
            b":" if i == start + 1 && is_name(words.get(start)) => {
                no_use(words, start..i, names)?;
                start = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    if start < body.end {
        return Err(words.error(start, "a statement without `;`"));
    }
    if most > 0 {
        // This goes before what is inserted before the first statement.
        edits.insert(mark, (body.start..body.start, format!(".reg .b64 {REGISTER}<{most}>;\n")));
    }
    Ok(())
}

/// One statement, without its `;`; returns how many registers it takes.
fn statement(
    words: &Words<'_>,
    all: Range<usize>,
    names: &Names<'_>,
    edits: &mut Edits,
) -> Result<usize, Error> {
    let uses = |test: &dyn Fn(&[u8]) -> bool| all.clone().any(|i| test(words.get(i)));
    let bound = uses(&|word| names.bound(word).is_some());
    let of_constants = names.generic && uses(&|word| word == b".const" || names.constant(word));
    if !bound && !of_constants {
        return Ok(0);
    }
    let guard = match words.get(all.start) {
        b"@" if words.get(all.start + 1) == b"!" => 3,
        b"@" => 2,
        word if word.starts_with(b"@") => 1,
        _ => 0,
    };
    let opcode = all.start + guard;
    if words.get(opcode).starts_with(b".") {
        // `.reg`, `.param`, `.branchtargets`…: not uses.
        if of_constants && words.get(opcode) == b".const" {
            return Err(words.error(
                opcode,
                "a constant that is declared within a function, beside a bound one",
            ));
        }
        return no_use(words, all, names).map(|()| 0);
    }
    if !is_name(words.get(opcode)) {
        let found = words.name(opcode);
        return Err(words.error(opcode, format!("found `{found}`, expected an instruction")));
    }
    let operands = (opcode + 1..all.end).find(|i| {
        let word = words.get(*i);
        !word.starts_with(b".") && word != b":" && words.get(i - 1) != b":"
    });
    let operands = operands.unwrap_or(all.end);
    no_use(words, all.start..opcode, names)?;
    // A variable may have the name of an instruction: `add.s32` is no use of `add`.
    let named = words.get(opcode + 1).starts_with(b".");
    no_use(words, opcode + usize::from(named)..operands.max(opcode + 1), names)?;
    if names.generic {
        constants(words, opcode..operands, operands..all.end, names, edits)?;
    }
    let mut before = String::new();
    let mut count = 0;
    let mut inside = 0usize;
    for i in operands..all.end {
        match words.get(i) {
            b"[" => inside += 1,
            b"]" => inside = inside.saturating_sub(1),
            _ => {}
        }
        let Some(place) = names.bound(words.get(i)) else { continue };
        let wrong = match (words.get(i + 1), words.get(i.wrapping_sub(1))) {
            (b"[", _) => Some("found an index after a bound variable, expected [name + number]"),
            (_, b"(") if words.get(i.wrapping_sub(2)) == b"generic" => {
                Some("generic() of a bound variable")
            }
            _ => None,
        };
        if let Some(why) = wrong {
            return Err(words.error(i, why));
        }
        let register = format!("{REGISTER}{count}");
        count += 1;
        before += &format!("ld.const.u64 {register}, [{TABLE}+{}]; ", 8 * place);
        let mut end = i + 1;
        if inside == 0 && matches!(words.get(i + 1), b"+" | b"-") {
            let added;
            (end, added) = addend(words, i, all.end)?;
            before += &format!("add.s64 {register}, {register}, {added}; ");
        }
        edits.push((i..end, register));
    }
    if !before.is_empty() {
        edits.push((all.start..all.start, before));
    }
    Ok(count)
}

/// The number added to the bound name at `i`, and the end of both; the operand ends before
/// `all_end`.
fn addend(words: &Words<'_>, i: usize, all_end: usize) -> Result<(usize, String), Error> {
    let end = words.find(i + 1, b",").filter(|end| *end < all_end).unwrap_or(all_end);
    let close = (i + 1..end).find(|i| matches!(words.get(*i), b")" | b"}"));
    let end = close.unwrap_or(end);
    let is_number = words.get(i + 2).first().is_some_and(u8::is_ascii_digit);
    match (words.get(i + 1), end - i) {
        (b"+", 3) if is_number => Ok((end, words.name(i + 2))),
        (_, 3) if is_number => Ok((end, format!("-{}", words.name(i + 2)))),
        _ => Err(words.error(i, "found an expression, expected name + number")),
    }
}

/// An instruction that may have to do with addresses of constants.
fn constants(
    words: &Words<'_>,
    head: Range<usize>,
    operands: Range<usize>,
    names: &Names<'_>,
    edits: &mut Edits,
) -> Result<(), Error> {
    let opcode = words.get(head.start);
    let of_const = head.clone().find(|i| words.get(*i) == b".const");
    let stays = operands.clone().find(|i| names.constant(words.get(*i)));
    match (opcode, of_const) {
        (b"cvta", Some(_)) => {
            let wide = head.clone().any(|i| matches!(words.get(i), b".u64"));
            // Only addresses of constants that stay need `cvta`; all others are generic already.
            if stays.is_none() || head.clone().any(|i| words.get(i) == b".to") {
                if !wide || stays.is_some() {
                    return Err(words.error(head.start, "found this form of cvta, expected cvta.const.u64 or cvta.to.const.u64 of a register"));
                }
                edits.push((head, "mov.u64".to_owned()));
            }
        }
        (b"isspacep", Some(i)) => {
            return Err(words.error(i, "isspacep.const, which cannot tell a bound constant"));
        }
        (b"mov", _) if stays.is_some() => {
            let last = words.get(head.end - 1);
            if !matches!(last, b".u64" | b".b64" | b".s64") {
                return Err(words.error(
                    head.start,
                    "an address of a constant in a register that is not 64 bits wide",
                ));
            }
            edits.push((head, "cvta.const.u64".to_owned()));
        }
        (_, Some(at)) => {
            let open = operands.clone().find(|i| words.get(*i) == b"[");
            let address = open.map_or(operands.start, |open| open + 1);
            if !names.constant(words.get(address)) {
                edits.push((at..at + 1, String::new()));
            }
        }
        (_, None) => {
            if let Some(i) = stays {
                return Err(words.error(
                    i,
                    "an address of a constant, beside a bound one; expected ld.const, mov or cvta",
                ));
            }
        }
    }
    Ok(())
}
