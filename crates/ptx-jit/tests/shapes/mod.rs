//! Kernels of every shape of code, at any size.
//!
//! Owns the text of kernels that stress one thing each: branches, loops, calls, live values. Every kernel is
//! `k(out, n)`, ends for any `n`, and writes one number for each thread of a block. Must not know its users: a
//! benchmark times the kernels; tests count the compiler's work on them, and run them.

#![allow(dead_code)] // each user takes a part

mod calls;
mod control;
mod data;
mod names;

use std::fmt::Write;

/// A shape: its name, and a function that makes a kernel of roughly this many instructions.
pub type Shape = (&'static str, fn(usize) -> String);

/// All shapes.
pub const ALL: &[Shape] = &[
    ("straight", data::straight),
    ("live", data::live),
    ("predicates", data::predicates),
    ("guards", data::guards),
    ("products", data::products),
    ("parted", data::parted),
    ("copies", data::copies),
    ("barriers", data::barriers),
    ("collectives", data::collectives),
    ("collectives-nested", data::collectives_nested),
    ("ifs", control::ifs),
    ("ifs-else", control::ifs_else),
    ("ifs-nested", control::ifs_nested),
    ("exits", control::exits),
    ("loops", control::loops),
    ("loops-nested", control::loops_nested),
    ("loop-exits", control::loop_exits),
    ("loops-atomic", control::loops_atomic),
    ("switch", control::switch),
    ("switch-uniform", control::switch_uniform),
    ("irreducible", control::irreducible),
    ("irreducible-nested", control::irreducible_nested),
    ("tangle", control::tangle),
    ("functions", calls::functions),
    ("calls-deep", calls::deep),
    ("calls-many", calls::many),
    ("calls-circle", calls::circle),
    ("pointers", calls::pointers),
    ("globals", names::globals),
    ("shared", names::shared),
    ("labels", names::labels),
    ("local", names::local),
    ("kernels", names::kernels),
];

/// The text of a kernel under construction. Registers: `%t` the thread, `%n` the argument, `%a` the result, which is
/// stored at the end, `%x` and `%p` temporaries.
struct Text {
    before: String,
    registers: String,
    body: String,
}

impl Text {
    fn new() -> Text {
        Text { before: String::new(), registers: String::new(), body: String::new() }
    }

    /// Adds a line to the kernel.
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "  {line}");
    }

    /// Adds a declaration to the kernel.
    fn declare(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.registers, "  {line}");
    }

    /// Adds a line to the module, before the kernel.
    fn outside(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.before, "{line}");
    }

    fn done(self) -> String {
        let Text { before, registers, body } = self;
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{before}\
             .visible .entry k(.param .u64 out, .param .u32 n) {{\n  \
             .reg .b64 %o, %d; .reg .b32 %t, %n, %a, %x, %y; .reg .pred %p, %q;\n{registers}  \
             ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;\n  \
             mul.wide.u32 %d, %t, 4; add.s64 %o, %o, %d; ld.global.u32 %a, [%o];\n{body}  \
             st.global.u32 [%o], %a; ret;\n}}\n"
        )
    }
}

/// `line!(text, "...")` adds a line to the kernel.
macro_rules! line {
    ($text:ident, $($arg:tt)*) => { $text.line(format_args!($($arg)*)) };
}
pub(crate) use line;
