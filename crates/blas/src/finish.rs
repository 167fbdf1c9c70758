//! The epilogue of a product: `d = f(alpha * sum + beta * c + bias)`, as PTX for its types.
//!
//! Each thread handles one row of the sum, which another kernel has stored in memory, and iterates over columns.
//!
//! Owns: the PTX, and the layout of its one parameter. Source: cuBLAS' documentation, "cublasLtEpilogue_t". Must not
//! know: how it is launched, where the arguments come from.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::element::{load, parts, store, zero};
use crate::kernel::Matrix;
use crate::kind::{Kind, Part};

/// `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Nothing.
    None,
    /// Negative values become 0; a bit mask of the others is stored if requested.
    Relu {
        /// It is.
        bits: bool,
    },
    /// GELU by the hyperbolic tangent; its argument is stored if requested.
    Gelu {
        /// It is.
        argument: bool,
    },
    /// Where the bits are 0, so is the element.
    ReluGradient,
    /// The element times GELU's derivative at the arguments that were stored.
    GeluGradient,
}

/// Where scalars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the program's memory, or there is none: 0.
    Host,
    /// In device memory.
    Device,
    /// One for each row, in device memory; and elements from a batch's to the next.
    Vector(i64),
}

/// What tells one kernel from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The type of the sums.
    pub sum: Kind,
    /// What is computed with.
    pub work: Part,
    /// The elements of `c` and `d`.
    pub result: Kind,
    /// The type of alpha and beta.
    pub scale: Kind,
    /// The type of the bias that is added to each column.
    pub bias: Option<Kind>,
    /// `f`.
    pub function: Function,
    /// The type of GELU's arguments in memory.
    pub argument: Kind,
    /// Each row's sum is stored in the bias, with this type.
    pub gradient: Option<Kind>,
}

/// The kernel's parameter. Strides are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameter {
    /// The sums.
    pub sum: Matrix,
    /// What is added, `beta` times.
    pub c: Matrix,
    /// The result.
    pub d: Matrix,
    /// Bits, of which `second` and `batch` are those of a word; or GELU's arguments.
    pub auxiliary: Matrix,
    /// The bias, or where the rows' sums go.
    pub bias: Matrix,
    /// Rows.
    pub m: u64,
    /// Columns.
    pub n: u64,
    /// The address of alpha in device memory, or 0; the strides between rows and between batches.
    pub alpha_at: [u64; 3],
    /// Where beta does.
    pub beta_at: [u64; 3],
    /// Alpha's bytes, if it lies nowhere.
    pub alpha: [u64; 2],
    /// Beta's.
    pub beta: [u64; 2],
    /// So many threads go through the columns of a row.
    pub tiles: u32,
    /// The number in the batch of the grid's first planes.
    pub first: u32,
}

impl Form {
    /// The kernel's name.
    pub fn name(&self) -> String {
        let [sum, result, scale] = [self.sum, self.result, self.scale].map(Kind::word);
        let function = match self.function {
            Function::None => "id".to_owned(),
            Function::Relu { bits } => if bits { "relubits" } else { "relu" }.to_owned(),
            Function::Gelu { argument: false } => "gelu".to_owned(),
            Function::Gelu { argument: true } => format!("geluof{}", self.argument.word()),
            Function::ReluGradient => "drelu".to_owned(),
            Function::GeluGradient => format!("dgelu{}", self.argument.word()),
        };
        let bias = self.bias.map_or(String::new(), |kind| format!("_bias{}", kind.word()));
        let gradient = self.gradient.map_or(String::new(), |kind| format!("_grad{}", kind.word()));
        format!(
            "cushim_finish_{sum}_{}_{result}_{scale}_{function}{bias}{gradient}",
            self.work.word()
        )
    }

    fn way(&self) -> (bool, Part) {
        (self.sum.complex, self.work)
    }

    fn has_bits(&self) -> bool {
        matches!(self.function, Function::Relu { bits: true })
    }

    /// The whole text.
    pub fn text(&self) -> String {
        let ty = self.work.word();
        let mut text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {}(.param .align 8 .b8 p[{}])\n{{\n\
             .reg .pred %p, %q, %in, %noalpha, %nobeta, %bit;\n.reg .b16 %h;\n.reg .b32 %t, %u, %lane;\n.reg .s32 %s;\n\
             .reg .b64 %i, %j, %z, %m, %n, %x, %y, %step, %sum, %c, %d, %aux, %bias;\n\
             .reg .{ty} %vr, %vi, %wr, %wi, %cr, %ci, %alphar, %alphai, %betar, %betai, %br, %bi, %gr, %e, %f, %g;\n",
            self.name(),
            size_of::<Parameter>()
        );
        self.place(&mut text);
        self.scalars(&mut text);
        let next = "NEXT:\nsetp.ge.u64 %p, %j, %n;\n@%p bra DONE;\n";
        text.push_str(next);
        if self.has_bits() {
            text.push_str("setp.ne.u32 %bit, 0, 0;\n@!%in bra VOTE;\n");
        }
        self.value(&mut text);
        self.function(&mut text);
        if self.gradient.is_some() {
            let add = if self.work == Part::S32 { "add" } else { "add.rn" };
            let _ = writeln!(text, "{add}.{ty} %gr, %gr, %wr;");
        }
        store(&mut text, self.way(), self.result, "%d", "w");
        if self.has_bits() {
            text.push_str(
                "VOTE:\nvote.sync.ballot.b32 %u, %bit, 0xffffffff;\nsetp.ne.u32 %p, %lane, 0;\n@%p bra VOTED;\n@!%in bra VOTED;\n\
                 st.global.b32 [%aux], %u;\nVOTED:\n",
            );
        }
        self.advance(&mut text);
        text.push_str("add.u64 %j, %j, %step;\nbra NEXT;\nDONE:\n");
        if let Some(kind) = self.gradient {
            store(&mut text, self.way(), kind, "%bias", "g");
        }
        text.push_str("END:\nret;\n}\n");
        text
    }

    /// The matrices with their registers, and whether they are read or written here.
    fn matrices(&self) -> [(&'static str, usize, bool); 5] {
        let has_auxiliary = !matches!(
            self.function,
            Function::None | Function::Relu { bits: false } | Function::Gelu { argument: false }
        );
        [
            ("sum", offset_of!(Parameter, sum), true),
            ("c", offset_of!(Parameter, c), true),
            ("d", offset_of!(Parameter, d), true),
            ("aux", offset_of!(Parameter, auxiliary), has_auxiliary),
            ("bias", offset_of!(Parameter, bias), self.bias.is_some() || self.gradient.is_some()),
        ]
    }

    /// Row, first column, number in the batch, and the addresses there.
    fn place(&self, text: &mut String) {
        let _ = write!(
            text,
            "mov.u32 %t, %ctaid.x;\nmov.u32 %u, %ntid.x;\nmul.wide.u32 %i, %t, %u;\nmov.u32 %t, %tid.x;\nand.b32 %lane, %t, 31;\n\
             cvt.u64.u32 %x, %t;\nadd.u64 %i, %i, %x;\nld.param.u64 %m, [p+{m}];\nld.param.u64 %n, [p+{n}];\n\
             setp.lt.u64 %in, %i, %m;\n",
            m = offset_of!(Parameter, m),
            n = offset_of!(Parameter, n),
        );
        if !self.has_bits() {
            text.push_str("@!%in bra END;\n");
        }
        let _ = write!(
            text,
            "ld.param.u32 %t, [p+{tiles}];\ncvt.u64.u32 %step, %t;\nmov.u32 %u, %ctaid.y;\ndiv.u32 %u, %u, %t;\nmul.lo.u32 %s, %u, %t;\n\
             ld.param.u32 %t, [p+{first}];\nadd.u32 %t, %t, %u;\ncvt.u64.u32 %z, %t;\nmov.u32 %u, %ctaid.y;\nsub.u32 %u, %u, %s;\n\
             cvt.u64.u32 %j, %u;\n",
            tiles = offset_of!(Parameter, tiles),
            first = offset_of!(Parameter, first),
        );
        for (name, at, _) in self.matrices().iter().filter(|(.., is_used)| *is_used) {
            let [first, second, batch] = strides(*at);
            let _ = write!(
                text,
                "ld.param.u64 %{name}, [p+{at}];\nld.param.u64 %x, [p+{batch}];\nmad.lo.s64 %{name}, %z, %x, %{name};\n\
                 ld.param.u64 %x, [p+{second}];\nmad.lo.s64 %{name}, %j, %x, %{name};\n"
            );
            let is_bits = *name == "aux"
                && matches!(self.function, Function::Relu { .. } | Function::ReluGradient);
            let row = if is_bits {
                // A word has 32 rows.
                "shr.u64 %y, %i, 5;\nshl.b64 %y, %y, 2;\nadd.u64 %aux, %aux, %y;\n".to_owned()
            } else {
                format!("ld.param.u64 %x, [p+{first}];\nmad.lo.s64 %{name}, %i, %x, %{name};\n")
            };
            text.push_str(&row);
        }
    }

    fn advance(&self, text: &mut String) {
        for (name, at, _) in self.matrices().iter().filter(|(.., is_used)| *is_used) {
            let [_, second, _] = strides(*at);
            let _ = write!(
                text,
                "ld.param.u64 %x, [p+{second}];\nmad.lo.s64 %{name}, %step, %x, %{name};\n"
            );
        }
    }

    /// Alpha and beta of the row; `%noalpha` and `%nobeta`: factors of zero are not read.
    fn scalars(&self, text: &mut String) {
        let (ty, zero) = (self.work.word(), zero(self.work));
        let both = [
            ("alpha", offset_of!(Parameter, alpha_at), offset_of!(Parameter, alpha)),
            ("beta", offset_of!(Parameter, beta_at), offset_of!(Parameter, beta)),
        ];
        for part in parts(self.sum.complex) {
            let _ = writeln!(text, "mov.{ty} %alpha{part}, {zero};\nmov.{ty} %beta{part}, {zero};");
        }
        let _ = writeln!(text, "mov.{ty} %gr, {zero};");
        text.push_str("@!%in bra SCALARS;\n");
        for (name, at, value) in both {
            let up = name.to_uppercase();
            let _ = write!(
                text,
                "ld.param.u64 %x, [p+{at}];\nsetp.eq.u64 %p, %x, 0;\n@%p bra {up};\nld.param.u64 %y, [p+{}];\nmad.lo.s64 %x, %i, %y, %x;\n\
                 ld.param.u64 %y, [p+{}];\nmad.lo.s64 %x, %z, %y, %x;\n",
                at + 8,
                at + 16
            );
            load(text, self.way(), self.scale, "global %x 0", name);
            let _ = write!(text, "bra {up}READ;\n{up}:\n");
            load(text, self.way(), self.scale, &format!("param p {value}"), name);
            let _ = writeln!(text, "{up}READ:");
        }
        text.push_str("SCALARS:\n");
        for name in ["alpha", "beta"] {
            let _ = writeln!(text, "setp.eq.{ty} %no{name}, %{name}r, {zero};");
            if self.sum.complex {
                let _ = write!(
                    text,
                    "setp.eq.{ty} %q, %{name}i, {zero};\nand.pred %no{name}, %no{name}, %q;\n"
                );
            }
        }
    }

    /// `%w += by * of`.
    fn add(&self, text: &mut String, by: &str, of: &str) {
        let ty = self.work.word();
        let fused = |to: &str, x: &str, y: &str| match self.work {
            Part::S32 => format!("mad.lo.s32 {to}, {x}, {y}, {to};\n"),
            _ => format!("fma.rn.{ty} {to}, {x}, {y}, {to};\n"),
        };
        text.push_str(&fused("%wr", &format!("%{by}r"), &format!("%{of}r")));
        if self.sum.complex {
            text.push_str(&fused("%wi", &format!("%{by}r"), &format!("%{of}i")));
            text.push_str(&fused("%wi", &format!("%{by}i"), &format!("%{of}r")));
            let _ = writeln!(text, "neg.{ty} %e, %{by}i;");
            text.push_str(&fused("%wr", "%e", &format!("%{of}i")));
        }
    }

    /// `%w = alpha * sum + beta * c + bias`.
    fn value(&self, text: &mut String) {
        let (ty, zero) = (self.work.word(), zero(self.work));
        for part in parts(self.sum.complex) {
            let _ = writeln!(text, "mov.{ty} %w{part}, {zero};");
        }
        text.push_str("@%noalpha bra ADD;\n");
        load(text, self.way(), self.sum, "global %sum 0", "v");
        self.add(text, "alpha", "v");
        text.push_str("ADD:\n@%nobeta bra ADDED;\n");
        load(text, self.way(), self.result, "global %c 0", "c");
        self.add(text, "beta", "c");
        text.push_str("ADDED:\n");
        if let Some(bias) = self.bias {
            load(text, self.way(), bias, "global %bias 0", "b");
            let add = if self.work == Part::S32 { "add" } else { "add.rn" };
            for part in parts(self.sum.complex) {
                let _ = writeln!(text, "{add}.{ty} %w{part}, %w{part}, %b{part};");
            }
        }
    }

    /// `%w = f(%w)`; only singles have GELU.
    fn function(&self, text: &mut String) {
        let (ty, zero) = (self.work.word(), zero(self.work));
        match self.function {
            Function::None => {}
            Function::Relu { bits } => {
                if bits {
                    let _ = writeln!(text, "setp.ge.{ty} %bit, %wr, {zero};");
                }
                let _ = writeln!(text, "max.{ty} %wr, %wr, {zero};");
            }
            Function::Gelu { argument } => {
                if argument {
                    store(text, self.way(), self.argument, "%aux", "w");
                }
                text.push_str("mov.f32 %vr, %wr;\n");
                sigmoid(text);
                text.push_str("mul.rn.f32 %wr, %vr, %e;\n");
            }
            Function::ReluGradient => {
                let _ = write!(
                    text,
                    "ld.global.b32 %u, [%aux];\nshr.u32 %u, %u, %lane;\nand.b32 %u, %u, 1;\nsetp.eq.u32 %p, %u, 0;\n@%p mov.{ty} %wr, {zero};\n"
                );
            }
            Function::GeluGradient => {
                load(text, self.way(), self.argument, "global %aux 0", "v");
                sigmoid(text);
                // The derivative is s + x * s * (1 - s) * u', where s is the sigmoid of u; u' is 2k + 6k * 0.044715 * x * x.
                text.push_str(
                    "mul.rn.f32 %f, %vr, %vr;\nfma.rn.f32 %f, %f, 0f3E5B33B6, 0f3FCC422A;\nmul.rn.f32 %f, %f, %vr;\nmul.rn.f32 %f, %f, %e;\n\
                     sub.rn.f32 %g, 0f3F800000, %e;\nfma.rn.f32 %f, %f, %g, %e;\nmul.rn.f32 %wr, %wr, %f;\n",
                );
            }
        }
    }
}

/// `%e = 1 / (1 + exp(-u))` for `u = 2k * (x + 0.044715 * x^3)` of `x` in `%vr`, where `k` is the root of 2 / pi: half of one more than
/// the hyperbolic tangent of `u / 2`.
fn sigmoid(text: &mut String) {
    // -2k * log2(e) = -2.3022082, and 0.044715 of that: -0.10294324.
    text.push_str(
        "mul.rn.f32 %f, %vr, %vr;\nfma.rn.f32 %f, %f, 0fBDD2D3E8, 0fC0135761;\nmul.rn.f32 %f, %f, %vr;\nex2.approx.f32 %f, %f;\n\
         add.rn.f32 %f, %f, 0f3F800000;\nrcp.rn.f32 %e, %f;\n",
    );
}

/// Where the parameter has the strides of the matrix at `at`.
fn strides(at: usize) -> [usize; 3] {
    [offset_of!(Matrix, first), offset_of!(Matrix, second), offset_of!(Matrix, batch)]
        .map(|field| at + field)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::kind::{C, D, H, S};

    #[test]
    fn texts_are_right_and_names_tell_forms_apart() {
        let functions = [
            Function::None,
            Function::Relu { bits: false },
            Function::Relu { bits: true },
            Function::Gelu { argument: false },
            Function::Gelu { argument: true },
            Function::ReluGradient,
            Function::GeluGradient,
        ];
        let [bytes, words] = [Part::S8, Part::S32].map(|part| Kind { part, complex: false });
        let mut names = std::collections::HashMap::new();
        let kinds = [(S, H, S), (S, S, S), (S, H, H), (words, bytes, S)];
        let plain = [(D, D, D), (C, C, C), (words, words, words)];
        for (sum, result, scale) in kinds.into_iter().chain(plain) {
            for function in functions {
                let work = if scale == S || scale == H { Part::F32 } else { sum.part };
                if plain.contains(&(sum, result, scale)) && function != Function::None {
                    continue;
                }
                for (bias, gradient) in [(None, None), (Some(result), None), (None, Some(result))] {
                    // Complex numbers have no epilogue.
                    if sum.complex && gradient.is_some() {
                        continue;
                    }
                    let form =
                        Form { sum, work, result, scale, bias, function, argument: H, gradient };
                    let text = form.text();
                    let module = cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree));
                    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
                    assert!(module.functions.iter().any(|f| f.entry && *f.name == *form.name()));
                    assert!(names.insert(form.name(), form).is_none(), "{}", form.name());
                }
            }
        }
    }
}
