//! The kernels that transform lines in the work area.
//!
//! A pass of factor `r` turns transforms of length `done` into ones of length `r * done`, in Stockham's order, which
//! leaves the result sorted. Neighbouring elements of a line are `inner` elements apart, so that any dimension is
//! transformed in place.
//!
//! Owns: their PTX. Must not know: how lengths are factored, how kernels are launched.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::kernel::{Parameter, element, number, split};
use crate::kind::Work;
use crate::table::root;

/// A thread's index in lines of a length (at `length` in the parameter): `%i0` within the line, `%i2` within the
/// inner elements, `%t` the number of the line. `%v` has the number of inner elements.
fn line(text: &mut String, length: usize) {
    number(text, "%v", offset_of!(Parameter, inner));
    split(text, "%t", "%i2", "%v");
    number(text, "%u", length);
    split(text, "%t", "%i0", "%u");
}

/// `%k = (line * length + index) * inner + inner index`: the number of an element.
fn at(text: &mut String, length: &str, index: &str) {
    let _ = write!(text, "mad.lo.u32 %k, %t, {length}, {index};\nmad.lo.u32 %k, %k, %v, %i2;\n");
}

/// `(r, i) = (r, i) * (wr, wi)`.
fn multiply(text: &mut String, ty: &str, r: &str, i: &str, wr: &str, wi: &str) {
    let _ = write!(
        text,
        "mul.rn.{ty} %e, {i}, {wi};\nneg.{ty} %e, %e;\nmul.rn.{ty} %g, {i}, {wr};\nfma.rn.{ty} {i}, {r}, {wi}, %g;\n\
         fma.rn.{ty} {r}, {r}, {wr}, %e;\n"
    );
}

/// A pass whose factor is known: the thread computes as many elements.
pub(crate) fn unrolled(text: &mut String, work: Work, factor: u32, first: bool) {
    let ty = work.word();
    for q in 0..factor {
        let _ = writeln!(text, ".reg .{ty} %xr{q}, %xi{q};");
    }
    text.push_str(".reg .b64 %step, %next;\n.reg .b32 %done;\n");
    line(text, offset_of!(Parameter, apart));
    number(text, "%w", offset_of!(Parameter, length));
    at(text, "%w", "%i0");
    element(text, work, "%from", "%k");
    number(text, "%u", offset_of!(Parameter, apart));
    let _ = write!(text, "mul.lo.u32 %u, %u, %v;\nmul.wide.u32 %step, %u, {};\n", work.size());
    number(text, "%done", offset_of!(Parameter, done));
    // The index within the completed transforms is %i1, and their number %i0.
    if first {
        text.push_str("mov.u32 %i1, 0;\n");
    } else {
        split(text, "%i0", "%i1", "%done");
        number(text, "%u", offset_of!(Parameter, step));
        let _ = write!(text, "mul.lo.u32 %u, %u, %i1;\nmul.wide.u32 %next, %u, {};\n", work.size());
    }
    for q in 0..factor {
        let (r, i) = (format!("%xr{q}"), format!("%xi{q}"));
        let _ = write!(
            text,
            "ld.global.v2.{ty} {{{r}, {i}}}, [%from];\nadd.u64 %from, %from, %step;\n"
        );
        if !first && q > 0 {
            let _ = write!(
                text,
                "add.u64 %table, %table, %next;\nld.global.v2.{ty} {{%wr, %wi}}, [%table];\n"
            );
            multiply(text, ty, &r, &i, "%wr", "%wi");
        }
    }
    let _ = writeln!(text, "mul.lo.u32 %u, %done, {factor};\nmad.lo.u32 %i0, %i0, %u, %i1;");
    number(text, "%w", offset_of!(Parameter, length));
    at(text, "%w", "%i0");
    element(text, work, "%to", "%k");
    let _ = write!(text, "mul.lo.u32 %u, %done, %v;\nmul.wide.u32 %step, %u, {};\n", work.size());
    for s in 0..factor {
        sum(text, work, factor, s);
        let _ = write!(text, "st.global.v2.{ty} [%to], {{%r, %i}};\nadd.u64 %to, %to, %step;\n");
    }
}

/// `(%r, %i)`: the sum of all `x` by the roots of the factor, for its element `s`.
fn sum(text: &mut String, work: Work, factor: u32, s: u32) {
    let ty = work.word();
    let _ = write!(text, "mov.{ty} %r, %xr0;\nmov.{ty} %i, %xi0;\n");
    for q in 1..factor {
        let (r, i) = (format!("%xr{q}"), format!("%xi{q}"));
        let [c, d] = root(u64::from(q * s), u64::from(factor));
        // On an axis there is nothing to multiply.
        let lines = if d == 0.0 && c == 1.0 {
            format!("add.rn.{ty} %r, %r, {r};\nadd.rn.{ty} %i, %i, {i};\n")
        } else if d == 0.0 {
            format!("sub.rn.{ty} %r, %r, {r};\nsub.rn.{ty} %i, %i, {i};\n")
        } else if c == 0.0 && d == -1.0 {
            format!("add.rn.{ty} %r, %r, {i};\nsub.rn.{ty} %i, %i, {r};\n")
        } else if c == 0.0 {
            format!("sub.rn.{ty} %r, %r, {i};\nadd.rn.{ty} %i, %i, {r};\n")
        } else {
            let [c, d, n] = [c, d, -d].map(|value| work.constant(value));
            format!(
                "fma.rn.{ty} %r, {r}, {c}, %r;\nfma.rn.{ty} %r, {i}, {n}, %r;\n\
                 fma.rn.{ty} %i, {i}, {c}, %i;\nfma.rn.{ty} %i, {r}, {d}, %i;\n"
            )
        };
        text.push_str(&lines);
    }
}

/// A pass of any factor: the thread computes one element, as a sum of as many.
pub(crate) fn any(text: &mut String, work: Work) {
    let ty = work.word();
    text.push_str(".reg .b64 %step;\n.reg .b32 %done, %n, %turn, %now, %factor;\n");
    line(text, offset_of!(Parameter, length));
    number(text, "%n", offset_of!(Parameter, length));
    at(text, "%n", "%i0");
    element(text, work, "%to", "%k");
    // From the index in the result: within the completed part (%i1), the factor's element (%w), and the number of
    // transforms (%i0).
    number(text, "%done", offset_of!(Parameter, done));
    number(text, "%factor", offset_of!(Parameter, factor));
    split(text, "%i0", "%i1", "%done");
    text.push_str(".reg .b32 %s;\n");
    split(text, "%i0", "%s", "%factor");
    number(text, "%u", offset_of!(Parameter, step));
    text.push_str(
        "mad.lo.u32 %turn, %s, %done, %i1;\nmul.lo.u32 %turn, %turn, %u;\nmad.lo.u32 %i0, %i0, %done, %i1;\n",
    );
    at(text, "%n", "%i0");
    element(text, work, "%from", "%k");
    number(text, "%u", offset_of!(Parameter, apart));
    let _ = write!(
        text,
        "mul.lo.u32 %u, %u, %v;\nmul.wide.u32 %step, %u, {size};\n",
        size = work.size()
    );
    let zero = work.constant(0.0);
    let _ = write!(
        text,
        "mov.{ty} %r, {zero};\nmov.{ty} %i, {zero};\nmov.u32 %now, 0;\n.reg .{ty} %xr, %xi;\n\
         NEXT:\nld.global.v2.{ty} {{%xr, %xi}}, [%from];\nmad.wide.u32 %x, %now, {size}, %table;\n\
         ld.global.v2.{ty} {{%wr, %wi}}, [%x];\nneg.{ty} %e, %wi;\n\
         fma.rn.{ty} %r, %xr, %wr, %r;\nfma.rn.{ty} %r, %xi, %e, %r;\n\
         fma.rn.{ty} %i, %xi, %wr, %i;\nfma.rn.{ty} %i, %xr, %wi, %i;\n\
         add.u64 %from, %from, %step;\nadd.u32 %now, %now, %turn;\nsub.u32 %u, %now, %n;\n\
         setp.ge.u32 %p, %now, %n;\nselp.b32 %now, %u, %now, %p;\n\
         sub.u32 %factor, %factor, 1;\nsetp.ne.u32 %p, %factor, 0;\n@%p bra NEXT;\n\
         st.global.v2.{ty} [%to], {{%r, %i}};\n",
        size = work.size()
    );
}

/// Reads the twiddle factor of index `%i0`, and multiplies.
fn by_table(text: &mut String, work: Work) {
    let ty = work.word();
    element(text, work, "%table", "%i0");
    let _ = writeln!(text, "ld.global.v2.{ty} {{%wr, %wi}}, [%table];");
    multiply(text, ty, "%r", "%i", "%wr", "%wi");
}

/// Multiplies lines by a chirp, and pads them with zeros.
pub(crate) fn chirp(text: &mut String, work: Work) {
    let (ty, zero) = (work.word(), work.constant(0.0));
    element(text, work, "%to", "%t");
    line(text, offset_of!(Parameter, padded));
    let _ = write!(text, "mov.{ty} %r, {zero};\nmov.{ty} %i, {zero};\n");
    number(text, "%u", offset_of!(Parameter, length));
    text.push_str("setp.ge.u32 %p, %i0, %u;\n@%p bra STORE;\n");
    at(text, "%u", "%i0");
    element(text, work, "%from", "%k");
    let _ = writeln!(text, "ld.global.v2.{ty} {{%r, %i}}, [%from];");
    by_table(text, work);
    let _ = writeln!(text, "STORE:\nst.global.v2.{ty} [%to], {{%r, %i}};");
}

/// Padded lines times a table, conjugate.
pub(crate) fn product(text: &mut String, work: Work) {
    let ty = work.word();
    element(text, work, "%from", "%t");
    element(text, work, "%to", "%t");
    line(text, offset_of!(Parameter, padded));
    let _ = writeln!(text, "ld.global.v2.{ty} {{%r, %i}}, [%from];");
    by_table(text, work);
    let _ = write!(text, "neg.{ty} %i, %i;\nst.global.v2.{ty} [%to], {{%r, %i}};\n");
}

/// The conjugates of padded lines times the chirp, without the padding.
pub(crate) fn back(text: &mut String, work: Work) {
    let ty = work.word();
    element(text, work, "%to", "%t");
    line(text, offset_of!(Parameter, length));
    number(text, "%u", offset_of!(Parameter, padded));
    at(text, "%u", "%i0");
    element(text, work, "%from", "%k");
    let _ = write!(text, "ld.global.v2.{ty} {{%r, %i}}, [%from];\nneg.{ty} %i, %i;\n");
    by_table(text, work);
    let _ = writeln!(text, "st.global.v2.{ty} [%to], {{%r, %i}};");
}
