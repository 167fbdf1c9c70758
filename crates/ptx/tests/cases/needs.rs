//! Every form of every row of the table, as a statement, to ask which versions of PTX and which targets accept it.
//!
//! Owns the statements: each is valid except for version and target, as far as the table knows. A statement that an
//! assembler refuses at every version is no form, and the record says so. Must not know the answers.

use super::forms::product;
use super::legal;
use cushim_ptx::sem::registers;
use cushim_ptx::table::{self, OperandKind, Row, Word, Words};
use cushim_ptx::types::{Kind, Scalar};
use std::collections::{BTreeSet, HashSet};

/// One statement.
pub struct Spelled {
    /// The mnemonic.
    pub mnemonic: &'static str,
    /// The modifiers as they appear in the statement, types included.
    pub modifiers: Vec<&'static str>,
    /// The statement, with its semicolon.
    pub code: String,
}

/// The start of a kernel's body, on one line: registers by width, and a variable in each space.
pub const HEAD: &str =
    ".reg .b16 h; .reg .b32 r; .reg .b64 l; .reg .pred p; .local .align 16 .b8 lo[64];";

/// Declarations before the kernel, on one line.
pub const OUTSIDE: &str =
    ".global .align 16 .b8 g[64]; .shared .align 16 .b8 s[64]; .const .align 16 .b8 c[64];";

/// A row with more combinations than this is tried with any three choices at a time,
const MOST: usize = 600;
/// or with any two, if even these exceed this number.
const TRIPLES: usize = 6000;

/// Statements that the table accepts without checking them.
const OPEN: &[(&str, &[&str], &str)] = &[
    ("prefetch", &["global", "L1"], "[g]"),
    ("prefetch", &["global", "L2"], "[g]"),
    ("prefetch", &["global", "L2::evict_last"], "[g]"),
    ("prefetch", &["global", "L2::evict_normal"], "[g]"),
    ("prefetchu", &["L1"], "[g]"),
    ("applypriority", &["global", "L2::evict_normal"], "[g], 128"),
    ("discard", &["global", "L2"], "[g], 128"),
    ("griddepcontrol", &["wait"], ""),
    ("griddepcontrol", &["launch_dependents"], ""),
    ("setmaxnreg", &["inc", "sync", "aligned", "u32"], "64"),
    ("pmevent", &[], "1"),
];

/// All statements, each once, in a stable order.
pub fn all() -> Vec<Spelled> {
    let mut rows: Vec<&'static Row> = table::rows().collect();
    rows.sort_by_key(|r| (r.mnemonic, r.syntax(), format!("{:?}", r.places)));
    let mut list: Vec<Spelled> = OPEN
        .iter()
        .map(|(mnemonic, words, operands)| spelled(mnemonic, words.to_vec(), operands))
        .collect();
    for row in rows {
        // Lists of branch targets exist in old code only and need a statement of their own.
        if row.mnemonic != "brx" {
            list.extend(of_row(row));
        }
    }
    let mut seen = HashSet::new();
    list.retain(|s| seen.insert(s.code.clone()));
    list
}

fn spelled(mnemonic: &'static str, modifiers: Vec<&'static str>, operands: &str) -> Spelled {
    let mut code = mnemonic.to_string();
    modifiers.iter().for_each(|m| code = format!("{code}.{m}"));
    Spelled { mnemonic, modifiers, code: format!("{code} {operands};") }
}

/// One choice in an instruction's name: a word, a type, or nothing.
type Choice = Option<&'static str>;

fn of_row(row: &'static Row) -> Vec<Spelled> {
    let mut lists: Vec<Vec<Choice>> = row
        .modifiers()
        .map(|(group, required)| {
            let none = (!required).then_some(None);
            none.into_iter().chain(group.into_iter().map(|w| Some(w.text()))).collect()
        })
        .collect();
    if row.modifiers().count() == 0 && row.syntax().ends_with('*') {
        return Vec::new();
    }
    lists.extend(row.slots().iter().map(|s| s.iter().map(|t| Some(t.name())).collect()));
    let mut all = Vec::new();
    for choice in combinations(&lists) {
        let modifiers: Vec<&'static str> = choice.into_iter().flatten().collect();
        let optional = row.places.iter().any(|p| p.optional);
        for given in [false, true].into_iter().take(1 + usize::from(optional)) {
            if let Some(operands) = operands(row, &modifiers, given) {
                all.push(spelled(row.mnemonic, modifiers.clone(), &operands));
            }
        }
    }
    all
}

/// All combinations; if they are too many, those of any three choices (the others are the first), or of any two.
fn combinations(lists: &[Vec<Choice>]) -> Vec<Vec<Choice>> {
    if lists.iter().map(Vec::len).product::<usize>() <= MOST {
        return product(lists);
    }
    let some = |free: &dyn Fn(usize) -> bool| {
        let lists = lists.iter().enumerate();
        let lists: Vec<_> =
            lists.map(|(n, l)| if free(n) { l.clone() } else { l[..1].to_vec() }).collect();
        product(&lists)
    };
    let all = 0..lists.len();
    let mut found = BTreeSet::new();
    for a in all.clone() {
        for b in a + 1..lists.len() {
            for c in b + 1..lists.len() {
                found.extend(some(&|n| n == a || n == b || n == c));
            }
        }
    }
    if found.len() > TRIPLES {
        found.clear();
        for a in all {
            (a + 1..lists.len()).for_each(|b| found.extend(some(&|n| n == a || n == b)));
        }
    }
    found.into_iter().collect()
}

fn register(ty: Scalar) -> Option<&'static str> {
    Some(match (ty.kind(), ty.bits()) {
        (Kind::Pred, _) => "p",
        (Kind::Opaque, _) | (_, 65..) => return None,
        (_, 33..) => "l",
        (_, 17..) => "r",
        (Kind::Storage, ..=8) => return None,
        _ => "h",
    })
}

fn memory(modifiers: &[&str]) -> &'static str {
    let has = |list: &[&str]| modifiers.iter().any(|m| list.contains(m));
    if has(&["shared", "shared::cta", "shared::cluster"]) {
        "[s]"
    } else if has(&["const"]) {
        "[c]"
    } else if has(&["local"]) {
        "[lo]"
    } else {
        "[g]"
    }
}

/// The operands, with the optional ones if `optional`; `None` if they cannot be written here.
fn operands(row: &Row, modifiers: &[&'static str], optional: bool) -> Option<String> {
    let has = |m: &str| modifiers.contains(&m);
    // Parameter space needs a parameter, not one of the variables here.
    if modifiers.iter().any(|m| m.starts_with("param")) && row.mnemonic != "isspacep" {
        return None;
    }
    let policy = has("L2::cache_hint");
    if policy && !optional {
        return None;
    }
    let types: Vec<Scalar> = modifiers
        .iter()
        .filter(|m| Word::from_text(m).is_none())
        .filter_map(|m| Scalar::from_name(m))
        .collect();
    let lanes = if has("v2") {
        2
    } else if has("v4") {
        4
    } else if has("v8") {
        8
    } else {
        1
    };
    let mut list = Vec::new();
    let mut copies = ["[s]", "[g]"].into_iter();
    let mut sizes = [if has("cg") { "16" } else { "4" }].into_iter();
    for (n, place) in row.places.iter().enumerate() {
        let is_policy = n + 1 == row.places.len() && row.syntax().contains("cache_hint");
        if place.optional && (!optional || is_policy != policy) {
            continue;
        }
        let text = match place.kind {
            OperandKind::Slot(n) | OperandKind::Relaxed(n) | OperandKind::Selected(n) => {
                register(*types.get(n)?)?.to_string()
            }
            OperandKind::Data(n) => {
                let one = register(*types.get(n)?)?;
                if lanes == 1 { one.into() } else { format!("{{{}}}", vec![one; lanes].join(",")) }
            }
            OperandKind::Wide(n) => register(legal::twice(*types.get(n)?))?.into(),
            OperandKind::Value => register(*types.first()?)?.into(),
            // Numbers of barriers and threads, and tables: every version accepted constants.
            OperandKind::Type(Scalar::U32)
                if matches!(row.mnemonic, "bar" | "barrier") && !place.result =>
            {
                if has("warp") {
                    "r"
                } else if n == usize::from(has("red")) {
                    "0"
                } else {
                    "32"
                }
                .into()
            }
            OperandKind::Type(Scalar::U32) if row.mnemonic == "lop3" => "150".into(),
            OperandKind::Type(Scalar::F32) if row.mnemonic == "createpolicy" => "0f3f800000".into(),
            OperandKind::Type(t) => register(t)?.into(),
            OperandKind::Address => "l".into(),
            OperandKind::Memory if row.mnemonic == "cp" && (has("ca") || has("cg")) => {
                copies.next()?.into()
            }
            OperandKind::Memory => memory(modifiers).into(),
            OperandKind::Immediate if row.mnemonic == "cp" && has("wait_group") => "0".into(),
            OperandKind::Immediate if row.mnemonic == "cp" => sizes.next()?.into(),
            // The selector of a sparse matrix product.
            OperandKind::Immediate if row.mnemonic == "mma" => "0".into(),
            OperandKind::Immediate => "128".into(),
            OperandKind::Any if is_policy => "l".into(),
            OperandKind::Any => "r".into(),
            OperandKind::Label => "END".into(),
            OperandKind::Table => return None,
            OperandKind::Fragment(part) => {
                let mut words = Words::default();
                words.extend(modifiers.iter().filter_map(|m| Word::from_text(m)));
                let mut slots = [Scalar::B32; 4];
                slots.iter_mut().zip(&types).for_each(|(slot, ty)| *slot = *ty);
                let (n, ty) = registers(row.op, &words, &slots, part)?;
                let one = if ty == Scalar::F64 { "l" } else { "r" };
                format!("{{{}}}", vec![one; n].join(","))
            }
        };
        list.push(text);
    }
    Some(list.join(", "))
}

/// A module with one statement per line; the first is on line `FIRST`. Assemblers go on after an error.
pub fn module(version: &str, target: &str, statements: &[&str]) -> String {
    let size = if version.parse::<f32>().is_ok_and(|v| v > 2.25) { ".address_size 64" } else { "" };
    let mut text =
        format!(".version {version}\n.target {target}\n{size} {OUTSIDE}\n.entry k {{ {HEAD}\n");
    for s in statements {
        text += s;
        text.push('\n');
    }
    text + "END: exit;\n}\n"
}

/// See [`module`].
pub const FIRST: usize = 5;

/// The statements that an assembler accepts, as recorded by `scripts/record-needs`, which describes the format.
pub struct Record {
    /// The assembler.
    pub who: String,
    /// Pairs of version and target that it accepts.
    pub pairs: Vec<(String, String)>,
    /// Statements, each with one flag per pair: whether it is accepted there.
    pub forms: Vec<(String, Vec<bool>)>,
}

const TITLE: &str = "cushim: what forms of instructions need, version 1";

/// Reads a record.
///
/// # Errors
/// Text that says what is wrong with the file.
pub fn read(packed: &[u8]) -> Result<Record, String> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::ZlibDecoder::new(packed), &mut text)
        .map_err(|e| e.to_string())?;
    let (head, body) = text.split_once("\n.\n").ok_or("no line `.`")?;
    let mut lines = head.lines();
    if lines.next() != Some(TITLE) {
        return Err(format!("no title, expected {TITLE:?}"));
    }
    let who = lines.next().unwrap_or_default().into();
    let pairs: Option<Vec<_>> =
        lines.map(|l| l.split_once(' ').map(|(v, t)| (v.into(), t.into()))).collect();
    let pairs = pairs.ok_or("expected a version and a target a line")?;
    let (mut taken, mut forms) = (Vec::new(), Vec::new());
    for line in body.lines() {
        if let Some(statement) = line.strip_prefix('\t') {
            forms.push((statement.into(), taken.clone()));
            continue;
        }
        let digit =
            |c: char| c.to_digit(16).ok_or(format!("{line:?}: expected hexadecimal digits"));
        let digits = line.chars().rev().map(digit).collect::<Result<Vec<u32>, _>>()?;
        let bit = |n: usize| digits.get(n / 4).is_some_and(|d| d >> (n % 4) & 1 != 0);
        taken = (0..pairs.len()).map(bit).collect();
    }
    Ok(Record { who, pairs, forms })
}
