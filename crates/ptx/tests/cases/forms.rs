//! Every form of every instruction that computes: the list, and the text of each.

use super::inputs::{Sort, hash};
use super::{legal, special};
use cushim_ptx::table::{self, Op, OperandKind, Row, Word};
use cushim_ptx::types::Scalar;
use std::collections::HashSet;

/// One instruction with its types and modifiers, as PTX that reads registers
/// `a0`.. and writes `d0`..
#[derive(Debug, Clone)]
pub struct Form {
    /// The instruction's full name.
    pub name: String,
    /// The operation.
    pub op: Op,
    /// The types in its name.
    pub types: Vec<Scalar>,
    /// The modifiers in its name.
    pub words: Vec<Word>,
    /// The statements.
    pub code: String,
    /// The kind of values that each operand gets.
    pub sorts: Vec<Sort>,
    /// The types of the result registers.
    pub results: Vec<Scalar>,
    /// Whether a GPU of the architecture that the cases name can run it.
    pub device: bool,
    /// Whether a lane's result depends on its own operands only.
    pub lane: bool,
}

impl Form {
    /// Forms of one family get the same inputs and are in the same kernels.
    pub fn family(&self) -> String {
        let mnemonic = self.name.split('.').next().unwrap_or_default();
        let sorts: Vec<String> = self.sorts.iter().map(|s| format!("{s:?}")).collect();
        format!("{mnemonic} {} {}", sorts.join(" "), self.lane)
    }
}

/// Whether an operation has its cases elsewhere, or has none: it concerns
/// memory, other threads or control flow.
fn apart(op: Op) -> bool {
    use Op::*;
    // The table has no part selectors.
    if op.is_video() {
        return true;
    }
    matches!(
        op,
        AddCarry
            | SubCarry
            | MadCarry
            | Mov
            | Cvta
            | Isspacep
            | Ld
            | St
            | Atom
            | CpAsync
            | CpArrive
            | MbarInit
            | MbarArrive
            | MbarTx
            | MbarTest
            | MbarPending
            | BarSync
            | BarArrive
            | BarRed
            | BarWarp
            | Shfl
            | Vote
            | Match
            | Redux
            | Activemask
            | Elect
            | Ldmatrix
            | Stmatrix
            | Movmatrix
            | WmmaLoad
            | WmmaStore
            | Mma
            | MmaSparse
            | WmmaMma
            | Mapa
            | CtaRank
            | ClusterArrive
            | ClusterWait
            | StAsync
            | RedAsync
            | CpBulk
            | CpReduce
            | Bra
            | BrxIdx
            | Call
            | Ret
            | Exit
            | Trap
            | Nanosleep
            | Nop
            | Fence
            | FenceSc
            | Refused
    )
}

/// All forms; forms with the same inputs are adjacent.
pub fn all() -> Vec<Form> {
    let mut rows: Vec<&Row> = table::rows().filter(|r| !apart(r.op)).collect();
    rows.sort_by_key(|r| (r.mnemonic, r.syntax(), format!("{:?}", r.places)));
    let mut forms: Vec<Form> = rows.into_iter().flat_map(of_row).collect();
    forms.extend(special::all());
    forms.sort_by_cached_key(|f| (f.device, f.family()));
    // Two rows of the table may contain the same form.
    let mut seen = HashSet::new();
    forms.retain(|f| seen.insert((f.code.clone(), f.results.clone(), f.family())));
    forms
}

/// All choices of one item from each list.
pub(super) fn product<T: Clone>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    lists.iter().fold(vec![Vec::new()], |all, list| {
        let with = |v: &Vec<T>, x: &T| v.iter().chain([x]).cloned().collect::<Vec<T>>();
        all.iter().flat_map(|v| list.iter().map(move |x| with(v, x))).collect()
    })
}

fn of_row(row: &'static Row) -> Vec<Form> {
    let words: Vec<Vec<Option<Word>>> = row
        .modifiers()
        .map(|(group, required)| {
            let none = (!required).then_some(None);
            none.into_iter().chain(group.into_iter().map(Some)).collect()
        })
        .collect();
    let mut forms = Vec::new();
    for types in product(row.slots()) {
        for words in product(&words) {
            let words: Vec<Word> = words.into_iter().flatten().collect();
            if legal::exists(row, &words, &types) {
                forms.extend(spell(row, &words, &types));
            }
        }
    }
    forms
}

/// The text of a form: with all operands in registers, and with constants where
/// these are usual or required.
fn spell(row: &Row, words: &[Word], types: &[Scalar]) -> Vec<Form> {
    let mut name = row.mnemonic.to_string();
    for part in words.iter().map(|w| w.text()).chain(types.iter().map(|t| t.name())) {
        name.push('.');
        name.push_str(part);
    }
    if thinned(row.op, words, &name) {
        return Vec::new();
    }
    let typed = |kind: OperandKind| match kind {
        OperandKind::Slot(n) | OperandKind::Relaxed(n) | OperandKind::Data(n) => types[n],
        OperandKind::Wide(n) => legal::twice(types[n]),
        OperandKind::Type(t) => t,
        _ => Scalar::B32,
    };
    let given = row.places.iter().filter(|p| !p.optional || legal::third(words, types));
    let mut sorts = Vec::new();
    let mut results = Vec::new();
    let mut texts: Vec<Vec<String>> = vec![Vec::new()];
    for place in given {
        if place.result {
            let n = results.len();
            results.push(Sort::Of(typed(place.kind)).register());
            let mut text = format!("d{n}");
            if let Some(second) = place.second
                && (row.op != Op::Setp || legal::two_results(words, types))
            {
                results.push(typed(second));
                text += &format!("|d{}", n + 1);
            }
            texts.iter_mut().for_each(|t| t.push(text.clone()));
            continue;
        }
        let (sort, constants) = operand(row.op, sorts.len(), typed(place.kind));
        let text = format!("a{}", sorts.len());
        let lut = row.op == Op::Lop3 && sorts.len() == 3;
        if !lut {
            sorts.push(sort);
        }
        let choices: Vec<String> =
            constants.iter().map(|c| c.to_string()).chain((!lut).then_some(text)).collect();
        texts = texts
            .iter()
            .flat_map(|t| choices.iter().map(|c| t.iter().chain([c]).cloned().collect()))
            .collect();
    }
    // The predicate of `lop3` comes after the truth table, which is never a register.
    let fixed = |t: &[String]| t.join(", ");
    let mut forms = Vec::new();
    let device = legal::on_device(row.op, words, types);
    for text in texts {
        let code = format!("{name} {};", fixed(&text));
        let form = |name: String, results: Vec<Scalar>| Form {
            name,
            op: row.op,
            types: types.to_vec(),
            words: words.to_vec(),
            code: code.clone(),
            sorts: sorts.clone(),
            results,
            device,
            lane: true,
        };
        let constants: Vec<&String> = text.iter().filter(|t| !t.starts_with(['a', 'd'])).collect();
        let full = match constants.as_slice() {
            [] => name.clone(),
            list => format!("{name} {list:?}"),
        };
        forms.push(form(full.clone(), results.clone()));
        // A result may go to a wider register, which is then extended.
        let narrow = results == [Scalar::B16] && legal::integer(types[0]);
        if row.op == Op::Cvt && narrow && types[1] != Scalar::Bf16 {
            forms.push(form(format!("{full} to 32"), vec![Scalar::B32]));
        }
    }
    forms
}

/// The kind of values of operand `n`, and the constants to try for it.
fn operand(op: Op, n: usize, ty: Scalar) -> (Sort, &'static [u32]) {
    match (op, n) {
        (Op::Shl | Op::Shr, 1) | (Op::Shf, 2) => (Sort::Amount, &[5, 32]),
        (Op::Bfe, 1 | 2) | (Op::Bfi, 2 | 3) => (Sort::Amount, &[9]),
        (Op::Szext, 1) => (Sort::Amount, &[7]),
        (Op::Bmsk, 0 | 1) => (Sort::Amount, &[]),
        (Op::Prmt, 2) => (Sort::Selector, &[0x5410, 0x9b02]),
        (Op::Lop3, 3) => (Sort::Selector, &[0x96, 0xe8, 0xca, 0x80, 0x1b, 0x3c]),
        (Op::Fns, 1) => (Sort::Lane, &[]),
        (Op::Fns, 2) => (Sort::Small, &[]),
        _ => (Sort::Of(ty), &[]),
    }
}

/// Leaves out most combinations of independent choices: the boolean operation
/// after a comparison has nothing to do with the comparison.
fn thinned(op: Op, words: &[Word], name: &str) -> bool {
    let boolean = words.iter().any(|w| matches!(w, Word::And | Word::Or | Word::Xor));
    let one_in = match (op, boolean) {
        (Op::Setp, true) => 5,
        (Op::Set, true) => 20,
        (Op::Set, false) => 3,
        _ => 1,
    };
    !hash(name.bytes()).is_multiple_of(one_in)
}
