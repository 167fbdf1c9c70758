//! Initialisers that hold the address of a bound variable.
//!
//! Such an address is not known when the text is compiled: the element is 0 in the rewritten text, and a [`Fixup`]
//! says what to write there before the first launch. Owns: the forms of such elements. Must not know: bodies.

use std::ops::Range;

use crate::declare::Declaration;
use crate::declare::Space;
use crate::error::Error;
use crate::words::{Words, is_name, number};

/// An element of a variable of the replacement that holds an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixup {
    /// The variable, and its space and bytes.
    pub variable: String,
    /// Its space.
    pub space: Space,
    /// Bytes of the variable; 0 where not known.
    pub size: u64,
    /// Where the element begins, in bytes.
    pub offset: u64,
    /// Bytes of the element: 8, or 1 where only a byte of the address is there.
    pub bytes: u64,
    /// The lowest bit of the address that is stored.
    pub shift: u32,
    /// Index of the bound variable in the table.
    pub bound: usize,
    /// What is added to its address.
    pub addend: i64,
}

/// Goes through the initialiser of a variable that stays. `bound` gives a name's index in the
/// table, `constant` says whether a name is that of a `.const` variable that stays; edits are pairs
/// of words and a text.
pub fn elements(
    words: &Words<'_>,
    declaration: &Declaration,
    bound: &dyn Fn(&[u8]) -> Option<usize>,
    constant: &dyn Fn(&[u8]) -> bool,
    edits: &mut Vec<(Range<usize>, String)>,
) -> Result<Vec<Fixup>, Error> {
    let range = declaration.initial.clone();
    let holds = |name: &dyn Fn(&[u8]) -> bool| range.clone().any(|i| name(words.get(i)));
    let binds = holds(&|word| bound(word).is_some());
    if !binds && !holds(constant) {
        return Ok(Vec::new());
    }
    let [variable] = declaration.variables.as_slice() else { return Ok(Vec::new()) };
    let unit = cushim_image::ptx::type_size(&declaration.element, 64).unwrap_or(0);
    let inner = range.clone().filter(|i| words.get(*i) == b"{").count();
    if inner > 1 && binds {
        return Err(
            words.error(range.start, "an address of a bound variable in a nested initialiser")
        );
    }
    let mut fixups = Vec::new();
    let mut offset = 0;
    for element in split(words, range.clone()) {
        let names: Vec<usize> = element
            .clone()
            .filter(|i| is_name(words.get(*i)) && words.get(*i) != b"generic")
            .collect();
        let of_bound = names.iter().find_map(|i| bound(words.get(*i)));
        if let Some(bound) = of_bound {
            let (mask, addend) = address(words, element.clone()).ok_or_else(|| {
                words.error(
                    element.start,
                    format!(
                        "found `{}`, expected an address, `name + number`",
                        words.slice(element.start, element.end)
                    ),
                )
            })?;
            let shift = match (mask, unit) {
                (None, 8) => 0,
                (Some(mask), 1) if mask.is_power_of_two_run() => mask.trailing_zeros(),
                _ => {
                    return Err(words.error(
                        element.start,
                        "an address in an element that is too small for it",
                    ));
                }
            };
            edits.push((element.clone(), "0".to_owned()));
            fixups.push(Fixup {
                variable: variable.name.clone(),
                space: variable.space,
                size: variable.size.unwrap_or(0),
                offset,
                bytes: unit,
                shift,
                bound,
                addend,
            });
        } else if let [name] = names.as_slice()
            && constant(words.get(*name))
            && words.get(name.wrapping_sub(2)) != b"generic"
        {
            // Addresses of constants are generic everywhere now.
            edits.push((*name..name + 1, format!("generic({})", words.name(*name))));
        }
        offset += unit;
    }
    Ok(fixups)
}

trait Run {
    fn is_power_of_two_run(&self) -> bool;
}

impl Run for u64 {
    /// Whether it is 0xff at a byte boundary.
    fn is_power_of_two_run(&self) -> bool {
        (0..8).any(|byte| *self == 0xff << (8 * byte))
    }
}

/// The elements between commas, braces left out.
fn split(words: &Words<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut elements = Vec::new();
    let (mut depth, mut start) = (0usize, range.start);
    for i in range.clone() {
        match words.get(i) {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            b"{" if depth == 0 => start = i + 1,
            b"," | b"}" if depth == 0 => {
                if start < i {
                    elements.push(start..i);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
    if start < range.end {
        elements.push(start..range.end);
    }
    elements
}

/// Mask and number of `[MASK(] [generic(] name [)] [± number] [)]`.
fn address(words: &Words<'_>, element: Range<usize>) -> Option<(Option<u64>, i64)> {
    let list: Vec<&[u8]> = element.map(|i| words.get(i)).collect();
    let (mask, rest) = match list.as_slice() {
        [mask, b"(", inner @ .., b")"] if number(mask).is_some() => (number(mask), inner),
        rest => (None, rest),
    };
    let rest: Vec<&[u8]> = match rest {
        [b"generic", b"(", inner @ .., b")"] => inner.to_vec(),
        [b"generic", b"(", name, b")", more @ ..] => [&[*name], more].concat(),
        rest => rest.to_vec(),
    };
    let signed = |word: &[u8]| number(word).and_then(|n| i64::try_from(n).ok());
    match rest.as_slice() {
        [name] if is_name(name) => Some((mask, 0)),
        [name, b"+", n] if is_name(name) => Some((mask, signed(n)?)),
        [name, b"-", n] if is_name(name) => Some((mask, -signed(n)?)),
        _ => None,
    }
}
