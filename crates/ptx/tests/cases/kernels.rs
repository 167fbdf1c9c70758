//! Kernels that run the forms; each lane handles one row of inputs.

use super::forms::{self, Form};
use super::inputs::{self, Sort, hash};
use cushim_ptx::types::Scalar;
use std::fmt::Write;

/// Rows of inputs: the threads of a kernel's only block.
pub const ROWS: usize = 128;
/// The maximum number of forms in one kernel; one failing form can hide the others.
const FORMS: usize = 24;

/// A kernel of several forms with the same inputs.
///
/// Its parameters are the addresses of the inputs (rows of four 8-byte values) and of the
/// outputs: for each result of each form [`ROWS`] 8-byte places, whose first bytes
/// hold the result; as much scratch memory follows.
pub struct Case {
    /// The kernel's name.
    pub name: String,
    /// The forms, in this order.
    pub forms: Vec<Form>,
    /// The inputs.
    pub rows: Vec<[u64; 4]>,
}

/// How the lanes of a kernel are launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// The threads of one block.
    Threads,
    /// Blocks of one thread, so that a warp's values are all uniform.
    Blocks,
}

/// All cases.
pub fn all() -> Vec<Case> {
    let forms = forms::all();
    let same = |a: &Form, b: &Form| a.device == b.device && a.family() == b.family();
    let families = forms.chunk_by(same);
    let mut cases: Vec<Case> = Vec::new();
    for family in families {
        let rows = inputs::rows(&family[0].family(), &family[0].sorts, ROWS);
        for some in family.chunks(FORMS) {
            let name = format!("k{}", cases.len());
            cases.push(Case { name, forms: some.to_vec(), rows: rows.clone() });
        }
    }
    cases
}

impl Case {
    /// The number of results of all forms.
    pub fn slots(&self) -> usize {
        self.forms.iter().map(|f| f.results.len()).sum()
    }

    /// Bytes of the outputs.
    pub fn bytes(&self) -> usize {
        (self.slots() + 1) * ROWS * 8
    }

    /// A key of 40 bits that identifies this form with these inputs.
    pub fn key(&self, form: &Form) -> u64 {
        let to = form.results.iter().flat_map(|t| t.name().bytes());
        let text = form.code.split_whitespace().flat_map(|w| w.bytes().chain([b' '])).chain(to);
        let given = self.rows.iter().flat_map(|row| &row[..form.sorts.len()]);
        hash(text.chain(given.flat_map(|v| v.to_le_bytes()))) >> 24
    }

    /// The inputs in the layout that the kernel reads.
    pub fn input(&self) -> Vec<u8> {
        self.rows.iter().flatten().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// One entry point. [`head`] makes the head of the file.
    pub fn text(&self, lanes: Lanes) -> String {
        let from = if lanes == Lanes::Threads { "%tid.x" } else { "%ctaid.x" };
        let mut s = format!(
            ".visible .entry {}(.param .u64 in, .param .u64 out) {{
.reg .b64 %in; .reg .b64 %out; .reg .b64 %cell; .reg .b32 %i;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
mov.u32 %i, {from}; mad.wide.u32 %in, %i, 32, %in; mad.wide.u32 %out, %i, 8, %out;
add.s64 %cell, %out, {};\n",
            self.name,
            self.slots() * ROWS * 8,
        );
        for (n, sort) in self.forms[0].sorts.iter().enumerate() {
            s += &load(n, *sort);
        }
        let mut slot = 0;
        for form in &self.forms {
            s += "{ ";
            for (n, ty) in form.results.iter().enumerate() {
                let _ = write!(s, ".reg .{} d{n}; ", ty.name());
            }
            s += &form.code;
            for (n, ty) in form.results.iter().enumerate() {
                let at = slot * ROWS * 8;
                slot += 1;
                let _ = match ty {
                    Scalar::Pred => write!(
                        s,
                        " {{ .reg .b32 t; selp.u32 t, 1, 0, d{n}; st.global.b32 [%out+{at}], t; }}"
                    ),
                    _ => write!(s, " st.global.b{} [%out+{at}], d{n};", ty.bits()),
                };
            }
            s += " }\n";
        }
        s + "ret;\n}\n"
    }
}

fn load(n: usize, sort: Sort) -> String {
    let (reg, at) = (sort.register(), n * 8);
    match reg {
        Scalar::Pred => format!(
            ".reg .pred a{n}; .reg .b32 t{n}; ld.global.b32 t{n}, [%in+{at}]; setp.ne.b32 a{n}, t{n}, 0;\n"
        ),
        _ => format!(".reg .{} a{n}; ld.global.b{} a{n}, [%in+{at}];\n", reg.name(), reg.bits()),
    }
}

/// The head of a file of kernels: for a GPU to run, or for the other forms.
pub fn head(device: bool) -> String {
    let (version, target) = if device { ("8.7", "sm_90") } else { ("8.8", "sm_100a") };
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}
