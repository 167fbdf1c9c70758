//! Rewrites a replacement's PTX: uses of bound variables become uses of addresses.
//!
//! Owns: module level, and assembling the text. Must not know: statements ([`crate::body`]).

use std::collections::BTreeSet;
use std::ops::Range;

use crate::body;
use crate::compare::Bound;
use crate::declare::Space;
use crate::declare::{Declaration, Item, items};
use crate::error::Error;
use crate::initial::{self, Fixup};
use crate::words::Words;

/// The table of addresses: an array of `.u64` in `.const`, in the order of the bound variables.
pub const TABLE: &str = "cushim_bound";
/// Name of the registers that hold them.
pub(crate) const REGISTER: &str = "%cushim_bound";

/// A rewritten text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// PTX.
    pub text: Vec<u8>,
    /// Addresses to be written before the first launch.
    pub fixups: Vec<Fixup>,
}

/// The names that matter to the rewriting.
pub(crate) struct Names<'a> {
    bound: &'a [Bound],
    /// Variables in `.const` that stay.
    constants: BTreeSet<Vec<u8>>,
    /// Whether a constant is bound: then addresses of constants are generic everywhere.
    pub generic: bool,
}

impl Names<'_> {
    /// The index of a bound variable in the table.
    pub fn bound(&self, word: &[u8]) -> Option<usize> {
        self.bound.iter().position(|bound| bound.name.as_bytes() == word)
    }

    /// Whether it is a constant that stays, where that matters.
    pub fn constant(&self, word: &[u8]) -> bool {
        self.generic && self.constants.contains(word)
    }
}

/// Edits: ranges of words, and their replacements.
pub(crate) type Edits = Vec<(Range<usize>, String)>;

/// Rewrites a text so that it reaches the variables `bound` by addresses. The same list for several texts gives the
/// same table.
///
/// # Errors
/// If the text cannot be parsed, or uses such a variable in a way that an address does not allow.
pub fn rewrite(ptx: &[u8], bound: &[Bound]) -> Result<Rewritten, Error> {
    let words = Words::new(ptx);
    let items = items(&words)?;
    for i in 0..words.len() {
        if words.get(i) == b".address_size" && words.get(i + 1) != b"64" {
            return Err(
                words.error(i, format!("found .address_size {}, expected 64", words.name(i + 1)))
            );
        }
        if words.get(i) == TABLE.as_bytes() || words.get(i).starts_with(REGISTER.as_bytes()) {
            return Err(words.error(i, format!("the name {} is taken", words.name(i))));
        }
    }
    let names = names(&items, bound);
    let mut edits = Edits::new();
    let mut fixups = Vec::new();
    let mut first = None;
    for item in &items {
        let begins = match item {
            Item::Variables(declaration) => {
                variables(&words, declaration, &names, &mut edits, &mut fixups)?;
                Some(declaration.words.start)
            }
            Item::Function { head, body } => {
                self::head(&words, head.clone(), &names)?;
                if let Some(body) = body {
                    body::rewrite(&words, body.clone(), &names, &mut edits)?;
                }
                Some(head.start)
            }
            Item::Section(range) => {
                // A debugger gets no address rather than a wrong one.
                edits.extend(
                    range
                        .clone()
                        .filter(|i| names.bound(words.get(*i)).is_some())
                        .map(|i| (i..i + 1, "0".to_owned())),
                );
                None
            }
            Item::Other(range) => {
                no_use(&words, range.clone(), &names)?;
                Some(range.start)
            }
        };
        first = first.or(begins);
    }
    between(&words, &items, &names)?;
    // The table goes before an item that was understood: the rest may end in an open string or
    // comment.
    let Some(first) = first else {
        return Err(words.error(0, "found neither a function nor a variable".to_owned()));
    };
    let table = format!(".visible .const .align 8 .u64 {TABLE}[{}];\n", bound.len().max(1));
    Ok(Rewritten { text: put_together(&words, first, &table, edits), fixups })
}

fn names<'a>(items: &[Item], bound: &'a [Bound]) -> Names<'a> {
    let is_bound = |name: &str| bound.iter().any(|bound| bound.name == name);
    let constants = items.iter().filter_map(|item| match item {
        Item::Variables(declaration) => Some(&declaration.variables),
        _ => None,
    });
    let constants = constants.flatten().filter(|v| v.space == Space::Const && !is_bound(&v.name));
    Names {
        bound,
        constants: constants.map(|v| v.name.as_bytes().to_vec()).collect(),
        generic: bound.iter().any(|bound| bound.space == Space::Const),
    }
}

/// Text between the items is not understood, so it must not name a bound variable.
fn between(words: &Words<'_>, items: &[Item], names: &Names<'_>) -> Result<(), Error> {
    let mut next = 0;
    for item in items {
        let range = match item {
            Item::Variables(declaration) => declaration.words.clone(),
            Item::Function { head, body } => head.start..body.as_ref().map_or(head.end, |b| b.end),
            Item::Section(range) | Item::Other(range) => range.clone(),
        };
        no_use(words, next..range.start.max(next), names)?;
        next = range.end;
    }
    no_use(words, next..words.len(), names)
}

/// Removes a declaration whose variable is bound; otherwise its initialiser may hold addresses.
fn variables(
    words: &Words<'_>,
    declaration: &Declaration,
    names: &Names<'_>,
    edits: &mut Edits,
    fixups: &mut Vec<Fixup>,
) -> Result<(), Error> {
    let at = declaration.words.start;
    let bound =
        declaration.variables.iter().filter(|v| names.bound(v.name.as_bytes()).is_some()).count();
    if bound == declaration.variables.len() {
        edits.push((declaration.words.clone(), String::new()));
        return Ok(());
    }
    if bound != 0 {
        return Err(words.error(
            at,
            "one declaration of several variables, of which some are bound; expected one for each",
        ));
    }
    if declaration.variables.len() > 1 {
        return no_use(words, declaration.words.clone(), names);
    }
    let found = initial::elements(
        words,
        declaration,
        &|word| names.bound(word),
        &|word| names.constant(word),
        edits,
    )?;
    if !found.is_empty() && !declaration.linked {
        // It must be visible, to be found by name.
        let space = declaration.space;
        edits.push((space..space + 1, format!(".visible {}", words.name(space))));
    }
    fixups.extend(found);
    Ok(())
}

/// The head of a function: no parameter may have the name of a variable, or lead into constant memory.
fn head(words: &Words<'_>, range: Range<usize>, names: &Names<'_>) -> Result<(), Error> {
    let into = range.clone().find(|i| names.generic && words.get(*i) == b".const");
    match into {
        Some(i) => {
            Err(words.error(i, "a parameter that points into .const, beside a bound constant"))
        }
        None => no_use(words, range, names),
    }
}

/// Fails where a bound name occurs there.
pub(crate) fn no_use(
    words: &Words<'_>,
    mut range: Range<usize>,
    names: &Names<'_>,
) -> Result<(), Error> {
    match range.find(|i| names.bound(words.get(*i)).is_some()) {
        Some(i) => Err(words.error(
            i,
            format!(
                "found the name of the bound variable {} used for something else",
                words.name(i)
            ),
        )),
        None => Ok(()),
    }
}

fn put_together(words: &Words<'_>, first: usize, table: &str, mut edits: Edits) -> Vec<u8> {
    edits.push((first..first, table.to_owned()));
    // An insertion before a word comes before a replacement of the word.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = Vec::with_capacity(words.text.len() + table.len() + edits.len() * 64);
    let mut done = 0;
    for (range, new) in edits {
        let from = words.at(range.start);
        let to = if range.is_empty() { from } else { words.end(range.end - 1) };
        text.extend(words.text.get(done..from).unwrap_or_default());
        text.extend(new.as_bytes());
        done = done.max(to);
    }
    text.extend(words.text.get(done..).unwrap_or_default());
    text
}
