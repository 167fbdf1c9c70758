//! The variables that a PTX text declares at module level.
//!
//! Owns: the grammar of such a declaration. Must not know: bodies, what is bound.

use std::ops::Range;

use cushim_image::ptx::type_size;

use crate::error::Error;
use crate::words::{Words, is_name, number};

/// Where a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// `.const`.
    Const,
    /// `.global`, managed or not.
    Global,
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Space::Const => ".const",
            Space::Global => ".global",
        })
    }
}

/// A variable of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its symbol.
    pub name: String,
    /// Its state space.
    pub space: Space,
    /// Bytes; `None` for an array without a bound.
    pub size: Option<u64>,
    /// `.extern`: another image defines it.
    pub external: bool,
    /// A constant text made by the compiler, such as a format of `printf`: no variable of the
    /// source.
    pub literal: bool,
    /// A texture, sampler or surface reference.
    pub reference: bool,
}

/// A declaration, and where its parts are, in words.
pub struct Declaration {
    pub variables: Vec<Variable>,
    /// All of it, with its linkage and its `;`.
    pub words: Range<usize>,
    /// The state space.
    pub space: usize,
    /// Whether there is a linkage directive.
    pub linked: bool,
    /// The initialiser, less its `=`, of a declaration of one variable.
    pub initial: Range<usize>,
    /// The type of an element, such as `u64`.
    pub element: String,
}

/// The variables of a PTX text in `.global` and `.const`.
///
/// # Errors
/// The text is not understood.
pub fn variables(ptx: &[u8]) -> Result<Vec<Variable>, Error> {
    let words = Words::new(ptx);
    let items = items(&words)?;
    Ok(items
        .into_iter()
        .filter_map(|item| match item {
            Item::Variables(declaration) => Some(declaration.variables),
            _ => None,
        })
        .flatten()
        .collect())
}

/// An item at module level that holds names.
pub enum Item {
    Variables(Declaration),
    /// The head of a function, and its body's words between the braces.
    Function {
        head: Range<usize>,
        body: Option<Range<usize>>,
    },
    /// A section of debugger's data.
    Section(Range<usize>),
    /// Anything else that ends with `;`.
    Other(Range<usize>),
}

/// All of the text, in order.
pub fn items(words: &Words<'_>) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    let (mut i, mut start) = (0, 0);
    let (mut linked, mut external) = (false, false);
    while i < words.len() {
        match words.get(i) {
            word @ (b".visible" | b".extern" | b".weak" | b".common") => {
                (linked, external) = (true, external || word == b".extern");
                i += 1;
                continue;
            }
            b".global" | b".const" | b".tex" => {
                let end = end(words, i)?;
                let declaration = declaration(words, start..end, i, linked, external)?;
                items.push(Item::Variables(declaration));
                i = end;
            }
            b".entry" | b".func" => {
                let brace = (i..words.len()).find(|i| matches!(words.get(*i), b"{" | b";"));
                let brace =
                    brace.ok_or_else(|| words.error(i, "a function without body or `;`"))?;
                let close = if words.get(brace) == b"{" { words.closing(brace)? } else { brace };
                let body = (close != brace).then_some(brace + 1..close);
                items.push(Item::Function { head: start..brace, body });
                i = close + 1;
            }
            b".section" => {
                let brace =
                    words.find(i, b"{").ok_or_else(|| words.error(i, "a section without `{`"))?;
                let close = words.closing(brace)?;
                items.push(Item::Section(brace + 1..close));
                i = close + 1;
            }
            b".shared" | b".local" | b".alias" => {
                let end = end(words, i)?;
                items.push(Item::Other(start..end));
                i = end;
            }
            b"{" => return Err(words.error(i, "found a block outside a function")),
            _ => {
                i += 1;
            }
        }
        (start, linked, external) = (i, false, false);
    }
    Ok(items)
}

/// The word after the `;` of what begins at `from`.
fn end(words: &Words<'_>, from: usize) -> Result<usize, Error> {
    let end = words.find(from, b";");
    end.map(|end| end + 1).ok_or_else(|| words.error(from, "a declaration without `;`"))
}

fn declaration(
    words: &Words<'_>,
    all: Range<usize>,
    space: usize,
    linked: bool,
    external: bool,
) -> Result<Declaration, Error> {
    let which = if words.get(space) == b".const" { Space::Const } else { Space::Global };
    let last = all.end - 1;
    let (mut i, lanes, element) = typed(words, space, last);
    let reference = element.ends_with("ref") || words.get(space) == b".tex";
    let unit = type_size(&element, 64)
        .ok_or_else(|| words.error(space, format!("a variable of an unknown type `.{element}`")))?;
    let mut variables = Vec::new();
    let mut initial = last..last;
    while i < last {
        let at = i;
        if !is_name(words.get(i)) {
            return Err(
                words.error(i, format!("found `{}`, expected a variable's name", words.name(i)))
            );
        }
        i += 1;
        let Bounds { mut count, open, array, end } = bounds(words, i)?;
        i = end;
        let mut elements = 0;
        if words.get(i) == b"=" {
            let to = words.find(i, b",").filter(|to| *to < last).unwrap_or(last);
            initial = i + 1..to;
            elements = count_elements(words, initial.clone());
            i = to;
        }
        if open {
            // `[]` has as many elements as its initialiser; with further dimensions, they are not
            // counted here.
            let flat = count == Some(1) && elements > 0;
            count = flat.then_some(elements);
        }
        let name = words.name(at);
        let size = count.and_then(|n| n.checked_mul(unit)?.checked_mul(lanes));
        let literal = !linked
            && array
            && unit == 1
            && lanes == 1
            && which == Space::Global
            && (is_compilers(&name) || !name.starts_with("_Z"))
            && is_text(words, initial.clone());
        let literal = literal || name.starts_with('$');
        variables.push(Variable { name, space: which, size, external, literal, reference });
        match words.get(i) {
            b"," => i += 1,
            _ if i == last => {}
            _ => return Err(words.error(i, format!("found `{}`, expected `;`", words.name(i)))),
        }
    }
    if variables.len() != 1 {
        initial = last..last;
    }
    Ok(Declaration {
        variables,
        words: all,
        space,
        linked,
        initial,
        element: if lanes == 1 { element } else { String::new() },
    })
}

/// Reads what comes before the first name of a declaration: returns the name's index, the lanes of a vector, the
/// type.
fn typed(words: &Words<'_>, space: usize, last: usize) -> (usize, u64, String) {
    let (mut lanes, mut element) = (1u64, String::new());
    let mut i = space + 1;
    // A bank, in old texts: `.const[2]`.
    if words.get(i) == b"[" {
        i += 3;
    }
    while i < last && !is_name(words.get(i)) {
        match words.get(i) {
            b".align" => i += 1,
            b".attribute" => i = closing_round(words, i),
            b".v2" => lanes = 2,
            b".v4" => lanes = 4,
            b".v8" => lanes = 8,
            word => {
                element =
                    String::from_utf8_lossy(word.strip_prefix(b".").unwrap_or(word)).into_owned()
            }
        }
        i += 1;
    }
    (i, lanes, element)
}

/// The dimensions of an array.
struct Bounds {
    /// The product of all bounds that have a number; none where it is too large.
    count: Option<u64>,
    /// One bound has no number.
    open: bool,
    array: bool,
    /// The word after them.
    end: usize,
}

fn bounds(words: &Words<'_>, from: usize) -> Result<Bounds, Error> {
    let (mut i, mut count, mut open, mut array) = (from, Some(1u64), false, false);
    while words.get(i) == b"[" {
        array = true;
        if words.get(i + 1) == b"]" {
            open = true;
            i += 2;
            continue;
        }
        let bound = number(words.get(i + 1)).filter(|_| words.get(i + 2) == b"]");
        let bound = bound.ok_or_else(|| words.error(i, "an array whose bound is not a number"))?;
        count = count.and_then(|count| count.checked_mul(bound));
        i += 3;
    }
    Ok(Bounds { count, open, array, end: i })
}

/// The `)` of what begins after word `i`.
fn closing_round(words: &Words<'_>, i: usize) -> usize {
    let mut depth = 0usize;
    for at in i + 1..words.len() {
        match words.get(at) {
            b"(" => depth += 1,
            b")" if depth <= 1 => return at,
            b")" => depth -= 1,
            _ => {}
        }
    }
    words.len()
}

/// How many elements an initialiser has.
fn count_elements(words: &Words<'_>, range: Range<usize>) -> u64 {
    let mut depth = 0usize;
    let mut count = 0;
    let mut any = false;
    for i in range {
        match words.get(i) {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            b"," if depth == 0 => {
                count += u64::from(any);
                any = false;
            }
            b"{" | b"}" => {}
            _ => any = true,
        }
    }
    count + u64::from(any)
}

/// Names that compilers give to `__func__` and the like.
fn is_compilers(name: &str) -> bool {
    ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"].iter().any(|part| name.contains(part))
}

/// Whether an initialiser is a C string: bytes other than 0, and a 0 at the end.
fn is_text(words: &Words<'_>, range: Range<usize>) -> bool {
    let mut bytes = Vec::new();
    for i in range {
        match words.get(i) {
            b"{" | b"}" | b"," => {}
            word => match number(word) {
                Some(byte) => bytes.push(byte),
                None => return false,
            },
        }
    }
    matches!(bytes.as_slice(), [text @ .., 0] if text.iter().all(|byte| (1..256).contains(byte)))
}
