//! The declarative table of instructions.
//!
//! Owns which instruction forms exist, and what operands each takes. The checker reads it, and [`crate::sem`]
//! converts its [`Op`]s and words to meanings; no later stage sees them. Must not know how anything is executed.

mod modifier;
pub mod needs;
mod rows;

use crate::types::Scalar;
pub use modifier::{Word, Words};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Operations. One operation may have many forms: types and modifiers tell
/// them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
#[rustfmt::skip]
pub enum Op {
    Add, AddCarry, Sub, SubCarry, Mul, MulWide, Mad, MadWide, MadCarry, Mul24, Mad24, Sad,
    Div, Rem, Abs, Neg, Min, Max, Popc, Clz, Bfind, Fns, Brev, Bfe, Bfi, Bmsk, Szext, Dp4a, Dp2a,
    Fma, Rcp, Sqrt, Rsqrt, Sin, Cos, Lg2, Ex2, Tanh, Testp, Copysign,
    Vadd, Vsub, Vavrg, Vabsdiff, Vmin, Vmax, Vshl, Vshr, Vmad, Vset,
    Setp, Set, Selp, Slct, And, Or, Xor, Not, Cnot, Lop3, Shf, Shl, Shr, Prmt,
    Mov, Cvt, Cvt2, CvtPack, Cvta, Isspacep,
    Ld, St, Atom, CpAsync, CpArrive, MbarInit, MbarArrive, MbarTx, MbarTest, MbarPending,
    Fence, FenceSc, BarSync, BarArrive, BarRed, BarWarp, Shfl, Vote, Match, Redux, Activemask,
    Ldmatrix, Stmatrix, Movmatrix, WmmaLoad, WmmaStore, Mma, MmaSparse, WmmaMma, Elect,
    Mapa, CtaRank, ClusterArrive, ClusterWait, StAsync, RedAsync, CpBulk, CpReduce,
    Bra, BrxIdx, Call, Ret, Exit, Trap, Nanosleep, Nop,
    /// An instruction that this crate does not run.
    Refused,
}

impl Op {
    /// A video instruction: its operands have selectors.
    pub fn is_video(self) -> bool {
        use Op::*;
        matches!(self, Vadd | Vsub | Vavrg | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset)
    }

    /// The checks make several instructions of it.
    pub fn is_composed(self) -> bool {
        use Op::*;
        matches!(self, Ldmatrix | Stmatrix | Movmatrix | WmmaLoad | WmmaStore | Elect)
    }
}

/// The kind of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandKind {
    /// A value of the type in this slot.
    Slot(usize),
    /// A value twice as wide as the type in this slot.
    Wide(usize),
    /// A value of the slot's type in a register that may be wider.
    Relaxed(usize),
    /// One value or a vector of the slot's type, in registers that may be wider.
    Data(usize),
    /// A value of this type.
    Type(Scalar),
    /// A value of the slot's type, of which a selector may name a part (video instructions).
    Selected(usize),
    /// A value or vector, an address or a special register (`mov`).
    Value,
    /// An address in a register or a variable's.
    Address,
    /// A memory operand.
    Memory,
    /// An integer constant.
    Immediate,
    /// A register of any type, or a constant.
    Any,
    /// A label.
    Label,
    /// The label of a list of branch targets.
    Table,
    /// The registers that hold a lane's part of a matrix.
    Fragment(Part),
}

/// Which matrix a fragment is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The first factor.
    A,
    /// The second factor.
    B,
    /// What is added.
    C,
    /// The result.
    D,
    /// Matrices of 8 rows of 16 bytes (`ldmatrix`, `stmatrix`).
    Rows,
}

/// One operand of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What it takes.
    pub kind: OperandKind,
    /// It is a result.
    pub result: bool,
    /// A second result after a bar.
    pub second: Option<OperandKind>,
    /// It may be left out.
    pub optional: bool,
}

/// One form of an instruction.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// Its mnemonic.
    pub mnemonic: &'static str,
    /// Groups of words: at most one of each; the flag says that one must be.
    groups: Vec<(Words, bool)>,
    allowed: Words,
    /// Any modifier is accepted.
    open: bool,
    /// The types each slot may have.
    slots: Vec<Vec<Scalar>>,
    /// The operands.
    pub places: Vec<Place>,
    modifiers: &'static str,
    types: &'static str,
}

/// A form that was found, with the values of its modifiers.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The row of the table.
    pub row: &'static Row,
    /// The modifiers that are no types.
    pub words: Words,
    /// The types, slot by slot; `B32` where there is no slot.
    pub types: [Scalar; 4],
}

impl Form {
    /// The same with one more word, if there is such a form.
    pub fn with(self, word: Word) -> Form {
        let mut words = self.words;
        words.insert(word);
        let types = self.types.get(..self.row.slots.len()).unwrap_or(&self.types);
        if !self.row.open && self.row.accepts(&words, types) {
            Form { words, ..self }
        } else {
            self
        }
    }
}

/// Why no form was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoForm {
    /// Known, but not supported by this crate: what it is.
    Refused(&'static str),
    /// Nothing has this name.
    Unknown,
    /// The name exists, this combination does not: the forms that do.
    Modifiers(String),
}

/// The names of lists in the rows.
const CLASSES: &[(&str, &str)] = &[
    ("RNDI", "rni|rzi|rmi|rpi"),
    ("RND", "rn|rz|rm|rp"),
    ("CMP", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"),
    ("BOOL", "and|or|xor"),
    ("TESTP", "finite|infinite|number|notanumber|normal|subnormal"),
    ("PRMT", "f4e|b4e|rc8|ecl|ecr|rc16"),
    (
        "SPACE",
        "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster",
    ),
    ("CACHE", "ca|cg|cs|lu|cv|wb|wt"),
    ("SCOPE", "cta|cluster|gpu|sys"),
    ("ORDER", "relaxed|acquire|release|acq_rel"),
    ("VEC", "v2|v4|v8"),
    ("LAYOUTS", "row.col|row.row|col.row|col.col"),
    ("TILES", "m16n16k16|m8n32k16|m32n8k16"),
    ("NEAR", "shared|shared::cta"),
    ("FAR", "global|shared|shared::cta"),
    ("INT", "u16/u32/u64/s16/s32/s64"),
    ("DATA", "b8/b16/b32/b64/u8/s8/INT/f16/f16x2/bf16/bf16x2/f32/f64"),
];

fn expand(text: &str) -> String {
    let mut out = text.to_string();
    // `DATA` names `INT`, and `RND|RNDI` two classes: replace to the end.
    for (name, list) in CLASSES.iter().rev() {
        let words: Vec<String> = out
            .split(' ')
            .map(|w| {
                let pieces: Vec<&str> = w.split_inclusive(['|', '/', '?']).collect();
                pieces
                    .iter()
                    .map(|p| {
                        let end = p.trim_end_matches(['|', '/', '?']);
                        if end == *name {
                            format!("{list}{}", &p[end.len()..])
                        } else {
                            p.to_string()
                        }
                    })
                    .collect()
            })
            .collect();
        out = words.join(" ");
    }
    out
}

fn place(text: &'static str) -> Place {
    let (text, result) = match text.strip_prefix('=') {
        Some(t) => (t, true),
        None => (text, false),
    };
    let (text, optional) = match text.strip_suffix('?') {
        Some(t) => (t, true),
        None => (text, false),
    };
    let (first, second) = match text.split_once('|') {
        Some((a, b)) => (a, Some(kind(b))),
        None => (text, None),
    };
    Place { kind: kind(first), result, second, optional }
}

fn kind(text: &'static str) -> OperandKind {
    let slot = |t: &str| t.parse::<usize>().ok();
    match text {
        "v" => OperandKind::Value,
        "a" => OperandKind::Address,
        "m" => OperandKind::Memory,
        "i" => OperandKind::Immediate,
        "any" => OperandKind::Any,
        "label" => OperandKind::Label,
        "table" => OperandKind::Table,
        "fa" => OperandKind::Fragment(Part::A),
        "fb" => OperandKind::Fragment(Part::B),
        "fc" => OperandKind::Fragment(Part::C),
        "fd" => OperandKind::Fragment(Part::D),
        "fr" => OperandKind::Fragment(Part::Rows),
        _ => {
            if let Some(n) = slot(text) {
                return OperandKind::Slot(n);
            }
            if let Some(t) = Scalar::from_name(text) {
                return OperandKind::Type(t);
            }
            match (text.get(..1), text.get(1..).and_then(slot)) {
                (Some("w"), Some(n)) => OperandKind::Wide(n),
                (Some("r"), Some(n)) => OperandKind::Relaxed(n),
                (Some("m"), Some(n)) => OperandKind::Data(n),
                (Some("s"), Some(n)) => OperandKind::Selected(n),
                _ => unreachable!("the table has an operand `{text}`"),
            }
        }
    }
}

fn row(&(op, mnemonic, modifiers, types, places): &rows::Line) -> Row {
    let mut groups = Vec::new();
    let mut allowed = Words::default();
    let mut open = false;
    for group in expand(modifiers).split_whitespace() {
        if group == "*" {
            open = true;
            continue;
        }
        let (list, required) = match group.strip_suffix('?') {
            Some(l) => (l, false),
            None => (group, true),
        };
        let mut words = Words::default();
        for text in list.split('|') {
            let Some(w) = Word::from_text(text) else {
                unreachable!("the table has a modifier `{text}`")
            };
            words.insert(w);
            allowed.insert(w);
        }
        groups.push((words, required));
    }
    let slots = expand(types)
        .split_whitespace()
        .map(|slot| slot.split('/').filter_map(Scalar::from_name).collect())
        .collect();
    let places = places.split_whitespace().map(place).collect();
    Row { op, mnemonic, groups, allowed, open, slots, places, modifiers, types }
}

impl Row {
    fn accepts(&self, words: &Words, types: &[Scalar]) -> bool {
        let exact = words.within(&self.allowed)
            && self.groups.iter().all(|(group, required)| {
                let n = words.count_of(group);
                n == 1 || (n == 0 && !required)
            });
        self.open
            || exact
                && types.len() == self.slots.len()
                && types.iter().zip(&self.slots).all(|(t, slot)| slot.contains(t))
    }

    /// The groups of modifiers: an instruction has at most one of each group; the flag says that it must have one.
    pub fn modifiers(&self) -> impl Iterator<Item = (Vec<Word>, bool)> {
        self.groups.iter().map(|(group, required)| {
            (Word::ALL.iter().copied().filter(|w| group.has(*w)).collect(), *required)
        })
    }

    /// The types that each slot may have, slot by slot.
    pub fn slots(&self) -> &[Vec<Scalar>] {
        &self.slots
    }

    /// The form as the table writes it.
    pub fn syntax(&self) -> String {
        let mut s = self.mnemonic.to_string();
        for part in self.modifiers.split_whitespace().chain(self.types.split_whitespace()) {
            s.push('.');
            s.push_str(part);
        }
        s
    }
}

fn table() -> &'static HashMap<&'static str, Vec<Row>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Row>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut map: HashMap<_, Vec<Row>> = HashMap::new();
        for line in rows::LINES {
            map.entry(line.1).or_default().push(row(line));
        }
        map
    })
}

/// Every form of the table.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    table().values().flatten()
}

/// Two layouts side by side (`.row.col`), which are one modifier as their order matters, and the other modifiers.
fn layouts<'a>(modifiers: &[&'a str]) -> (Option<Word>, Vec<&'a str>) {
    let is = |m: &&str| matches!(*m, "row" | "col");
    let Some(at) = modifiers.windows(2).position(|pair| pair.iter().all(is)) else {
        return (None, modifiers.to_vec());
    };
    let (before, rest) = modifiers.split_at(at);
    let (both, after) = rest.split_at(2);
    (Word::from_text(&both.join(".")), [before, after].concat())
}

/// Finds the form of an instruction from its mnemonic and modifiers.
pub fn find(mnemonic: &str, modifiers: &[&str]) -> Result<Form, NoForm> {
    let refused = rows::REFUSED
        .iter()
        .find(|(m, word, _)| *m == mnemonic && (word.is_empty() || modifiers.contains(word)));
    if let Some((_, _, what)) = refused {
        return Err(NoForm::Refused(what));
    }
    let Some(rows) = table().get(mnemonic) else {
        return Err(NoForm::Unknown);
    };
    let mut words = Words::default();
    let mut types = Vec::new();
    let mut foreign = false;
    let (layouts, modifiers) = layouts(modifiers);
    words.extend(layouts);
    for m in modifiers {
        if let Some(t) = Scalar::from_name(m) {
            types.push(t);
        } else if let Some(w) = Word::from_text(m) {
            words.insert(w);
        } else if !(m.starts_with("L1::") || m.starts_with("L2::") || m == "unified") {
            // Eviction and prefetch hints change no result; the rest might.
            foreign = true;
        }
    }
    let hit = rows.iter().find(|r| (r.open || !foreign) && r.accepts(&words, &types));
    let Some(row) = hit else {
        let list: Vec<String> = rows.iter().take(8).map(Row::syntax).collect();
        return Err(NoForm::Modifiers(list.join(", ")));
    };
    let mut slots = [Scalar::B32; 4];
    for (slot, t) in slots.iter_mut().zip(types) {
        *slot = t;
    }
    Ok(Form { row, words, types: slots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_well_formed_and_can_be_found() {
        for row in rows() {
            for slot in &row.slots {
                assert!(!slot.is_empty(), "{}", row.syntax());
            }
            if row.open {
                continue;
            }
            // The first choice of each required modifier.
            let mut given: Vec<&str> = Vec::new();
            for (words, required) in &row.groups {
                if *required {
                    let w = Word::ALL.iter().find(|w| words.has(**w)).unwrap();
                    given.push(w.text());
                }
            }
            given.extend(row.slots.iter().map(|s| s[0].name()));
            let found = find(row.mnemonic, &given).unwrap();
            assert_eq!(found.row.op, row.op, "{}", row.syntax());
        }
    }

    #[test]
    fn forms_are_told_apart() {
        let op = |m: &str, w: &[&str]| find(m, w).map(|f| f.row.op);
        assert_eq!(op("mad", &["wide", "u32"]), Ok(Op::MadWide));
        assert_eq!(op("mad", &["lo", "cc", "u32"]), Ok(Op::MadCarry));
        assert_eq!(op("mad", &["rn", "f32"]), Ok(Op::Fma));
        assert_eq!(op("vote", &["ballot", "sync", "b32"]), Ok(Op::Vote));
        assert_eq!(op("ld", &["volatile", "global", "u32"]), Ok(Op::Ld));
        assert_eq!(op("ld", &["global", "nc", "L1::no_allocate", "v4", "f32"]), Ok(Op::Ld));
        assert_eq!(
            op("tcgen05", &["ld"]),
            Err(NoForm::Refused("a matrix instruction of Blackwell"))
        );
        assert_eq!(op("frobnicate", &[]), Err(NoForm::Unknown));
        assert!(matches!(op("add", &["sat", "u32"]), Err(NoForm::Modifiers(_))));
        assert!(matches!(op("add", &["rn", "rz", "f32"]), Err(NoForm::Modifiers(_))));
    }
}
