//! Counts how results agree with a GPU's, and reports differences.

use super::forms::Form;
use super::judge::{Verdict, judge};
use super::kernels::{Case, ROWS};
use super::results::Results;
use std::collections::BTreeMap;

/// Known differences: the GPU deviates from the ISA, and cushim follows the ISA.
fn differs_from_isa(form: &Form) -> Option<&'static str> {
    super::video::differs_from_isa(form).or(super::sequences::differs_from_isa(&form.name))
}

/// How many differing forms are reported in full.
const SHOWN: usize = 20;

pub struct Tally {
    kept: Results,
    /// Whether results within an error bound count as agreeing.
    bounded: bool,
    forms: usize,
    rows: BTreeMap<&'static str, usize>,
    same: usize,
    /// The number of forms without a recording.
    pub missing: Vec<String>,
    wrong: Vec<String>,
    /// Forms for which the GPU deviates from the ISA, by kind of deviation.
    beside: BTreeMap<&'static str, usize>,
}

/// A value for each result of a form, in hexadecimal.
pub fn hex(columns: &[Vec<u64>], row: usize) -> String {
    columns.iter().map(|c| format!("{:#x}", c[row])).collect::<Vec<_>>().join(" ")
}

/// The operands of a row of a form, in hexadecimal.
pub fn given(case: &Case, form: &Form, row: usize) -> String {
    let values = &case.rows[row][..form.sorts.len()];
    values.iter().map(|v| format!("{v:#x}")).collect::<Vec<_>>().join(" ")
}

impl Tally {
    /// All bits must be equal.
    pub fn new(kept: Results) -> Tally {
        Tally {
            kept,
            bounded: false,
            forms: 0,
            rows: BTreeMap::new(),
            same: 0,
            missing: Vec::new(),
            wrong: Vec::new(),
            beside: BTreeMap::new(),
        }
    }

    /// Results within the ISA's error bounds suffice.
    #[allow(dead_code)] // not in every test that takes this file
    pub fn within_bounds(kept: Results) -> Tally {
        Tally { bounded: true, ..Tally::new(kept) }
    }

    /// Judges the results of a form: one column each.
    pub fn add(&mut self, case: &Case, form: &Form, ours: &[Vec<u64>]) {
        self.forms += 1;
        let Some(gpu) = self.kept.get(case.key(form)) else {
            self.missing.push(form.name.clone());
            return;
        };
        assert_eq!(gpu.len(), ours.len(), "{}: recorded results", form.name);
        let mut bad = Vec::new();
        let mut all_same = true;
        for row in 0..ROWS {
            let verdicts =
                ours.iter().zip(gpu).map(|(o, g)| judge(form, &case.rows[row], o[row], g[row]));
            let of = |v: Verdict| match v {
                Verdict::Same => "same bits",
                Verdict::Bounded => "within the bound",
                _ => "wrong",
            };
            for v in verdicts {
                *self.rows.entry(of(v)).or_default() += 1;
                all_same &= v == Verdict::Same;
                let agrees = v == Verdict::Same || self.bounded && v == Verdict::Bounded;
                if !agrees && bad.last().is_none_or(|(r, _)| *r != row) {
                    bad.push((row, v));
                }
            }
        }
        self.same += usize::from(all_same);
        if let (false, Some(how)) = (bad.is_empty(), differs_from_isa(form)) {
            *self.beside.entry(how).or_default() += 1;
        } else if let Some((row, v)) = bad.first() {
            self.wrong.push(format!(
                "{}: {} rows of {ROWS}; row {row}: {} -> {}, the GPU gives {} ({v:?})",
                form.name,
                bad.len(),
                given(case, form, *row),
                hex(ours, *row),
                hex(gpu, *row),
            ));
        }
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// If a form disagrees, or the recording has forms that no test used.
    pub fn finish(self, who: &str) {
        let answered = self.forms - self.missing.len();
        let beside: usize = self.beside.values().sum();
        println!(
            "{who} and {}: {} forms, {answered} recorded; all bits the same: {}, otherwise in \
             agreement: {}, not, as the ISA says something else: {beside}, not: {}; results: {:?}",
            self.kept.device,
            self.forms,
            self.same,
            answered - self.same - beside - self.wrong.len(),
            self.wrong.len(),
            self.rows
        );
        println!("the ISA says something else: {:?}", self.beside);
        println!("not recorded: {}", self.missing.join(", "));
        let shown = self.wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.wrong.is_empty(), "{} forms disagree:\n{shown}", self.wrong.len());
    }
}
