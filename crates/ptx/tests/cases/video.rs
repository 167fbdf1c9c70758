//! Forms of video instructions: all types and modifiers, random part selectors, and the forms that CUDA's own
//! headers use.

use super::forms::{Form, product};
use super::inputs::{Random, Sort};
use super::special::form;
use cushim_ptx::table::{self, OperandKind, Row, Word};
use cushim_ptx::types::Scalar::B32;

/// Known differences: an H100 deviates from the ISA, and cushim follows it. GPUs since Maxwell do not have these
/// instructions, and the driver's assembler replaces them with code that is not always right.
pub fn differs_from_isa(form: &Form) -> Option<&'static str> {
    let (name, operands) = form.name.split_once(" (")?;
    let (op, rest) = name.split_once('.')?;
    let words: Vec<&str> = rest.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let compares = has("min") || has("max");
    // Instructions with two and four parts agree with the ISA.
    if op.ends_with(['2', '4']) {
        None
    } else if operands.starts_with("d0.h1") {
        Some("the upper half of the word goes to the upper half, not the lower one")
    } else if has("sat") && operands.starts_with("d0.") {
        Some("a result for a part is saturated without its sign, of vshr not at all")
    } else if op == "vmad" && (has("shr7") || has("shr15")) {
        Some("the upper word of the product is that of signed words")
    } else if compares && matches!(op, "vadd" | "vsub" | "vabsdiff" | "vshl") {
        Some("what does not fit into a word is compared in another way")
    } else {
        None
    }
}

pub(super) fn all(forms: &mut Vec<Form>) {
    let mut rows: Vec<&Row> = table::rows().filter(|r| r.op.is_video()).collect();
    rows.sort_by_key(|r| (r.mnemonic, r.syntax()));
    for row in rows {
        of_row(row, forms);
    }
}

fn of_row(row: &'static Row, forms: &mut Vec<Form>) {
    let words: Vec<Vec<Option<Word>>> = row
        .modifiers()
        .map(|(group, required)| {
            (!required).then_some(None).into_iter().chain(group.into_iter().map(Some)).collect()
        })
        .collect();
    for types in product(row.slots()) {
        for words in product(&words) {
            let words: Vec<Word> = words.into_iter().flatten().collect();
            let modifiers = words.iter().map(|w| w.text()).chain(types.iter().map(|t| t.name()));
            // Types first, as in common code.
            let mut all: Vec<&str> = modifiers.collect();
            all.rotate_left(words.len());
            let name = format!("{}.{}", row.mnemonic, all.join("."));
            // Only a sample of the combinations of independent choices, with random part selectors.
            let mut r = Random::new(&name);
            let plain = words.is_empty() && types.windows(2).all(|t| t[0] == t[1]);
            let often =
                if row.mnemonic == "vmad" || row.mnemonic.starts_with("vset") { 4 } else { 2 };
            if plain {
                push(row, &name, ["", "", ""], [""; 3], forms);
            } else if r.below(often) != 0 {
                continue;
            }
            let third = words.iter().any(|w| matches!(w, Word::Add | Word::Min | Word::Max));
            let mut part = |list: &[&'static str]| list[r.below(list.len() as u64) as usize];
            let places = match row.mnemonic.as_bytes().last() {
                Some(b'2') => {
                    let from = ["", "", ".h10", ".h32", ".h01", ".h12", ".h20", ".h33", ".h21"];
                    [part(&["", "", ".h0", ".h1", ".h10"]), part(&from), part(&from)]
                }
                Some(b'4') => {
                    let from = [
                        "", "", ".b3210", ".b7654", ".b0123", ".b7012", ".b6420", ".b5555",
                        ".b1467",
                    ];
                    let to = ["", "", ".b0", ".b1", ".b21", ".b3", ".b310", ".b32", ".b3210"];
                    [part(&to), part(&from), part(&from)]
                }
                _ => {
                    let all = ["", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];
                    let to = if third || row.mnemonic == "vmad" { "" } else { part(&all) };
                    [to, part(&all), part(&all)]
                }
            };
            let mut signs = [""; 3];
            if row.mnemonic == "vmad" && !words.contains(&Word::Po) {
                signs = [["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"], ["-", "-", ""]]
                    [r.below(5) as usize];
            }
            push(row, &name, places, signs, forms);
        }
    }
}

fn push(row: &Row, name: &str, places: [&str; 3], signs: [&str; 3], forms: &mut Vec<Form>) {
    let [to, a, b] = places;
    let optional = row.places.iter().any(|p| p.optional);
    let secondary = ["add", "min", "max"].iter().any(|w| name.split('.').any(|part| part == *w));
    let given = !optional || secondary || !to.is_empty();
    let third = if given { format!(", {}a2", signs[2]) } else { String::new() };
    let code = format!("{name} d0{to}, {}a0{a}, {}a1{b}{third};", signs[0], signs[1]);
    let shifts = matches!(row.mnemonic, "vshl" | "vshr");
    let mut sorts = vec![Sort::Parts, if shifts { Sort::Amount } else { Sort::Parts }];
    // One family for each instruction, whether or not operands are omitted.
    sorts.push(Sort::Parts);
    debug_assert!(matches!(row.places[0].kind, OperandKind::Selected(_) | OperandKind::Slot(_)));
    let name = code.trim_end_matches(';').replacen(" ", " (", 1) + ")";
    forms.push(form(row.op, name, code, &sorts, &[B32]));
}
