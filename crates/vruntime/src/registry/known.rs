//! PTX of kernels that programs contain only as machine code.
//!
//! Owns their names and PTX. There is one: the kernel with which PyTorch fills memory (`zero_`, `fill_`, `zeros`,
//! `ones`, `full`). Its wheels contain no PTX, and when Triton and Inductor tune a kernel, they clear a buffer with
//! it before each timing. Source of the names and the order of parameters: ATen/native/cuda/CUDALoops.cuh and
//! FillKernel.cu, and the symbols of PyTorch 2.11's wheel. Must not know: when one is needed ([`super::load`]).

use std::fmt::Write as _;

/// The mangled name up to the type of the elements; the number of elements per thread comes before the second type.
const UNROLLED: &str = "_ZN2at6native27unrolled_elementwise_kernelINS0_";
const VECTORIZED: &str = "_ZN2at6native29vectorized_elementwise_kernelILi";
const FILL: &str = "11FillFunctorI";
/// What follows it: one array, whose elements are of the same type.
const ONE_ARRAY: &str = "EESt5arrayIPcLm1EE";
const NO_CAST: &str = "16StoreWithoutCastE";
/// Types, as names of C++ have them, with their size in bytes, which is their alignment.
const TYPES: [(&str, usize); 22] = [
    ("a", 1),
    ("b", 1),
    ("h", 1),
    ("s", 2),
    ("t", 2),
    ("i", 4),
    ("j", 4),
    ("f", 4),
    ("l", 8),
    ("m", 8),
    ("x", 8),
    ("y", 8),
    ("d", 8),
    ("N3c104HalfE", 2),
    ("N3c108BFloat16E", 2),
    ("N3c1011Float8_e5m2E", 1),
    ("N3c1013Float8_e4m3fnE", 1),
    ("N3c1014Float8_e8m0fnuE", 1),
    ("N3c1015Float8_e4m3fnuzE", 1),
    ("N3c1015Float8_e5m2fnuzE", 1),
    ("N3c107complexIfEE", 8),
    ("N3c107complexIdEE", 16),
];

/// The name of the kernel in the text.
pub const ENTRY: &std::ffi::CStr = c"fill";

/// A text with [`ENTRY`], which takes the parameters of the kernel of this name and does what that does; with a NUL at its end.
pub fn text(name: &str) -> Option<String> {
    Some(fill(filled(name)?))
}

/// The size of an element, if this is a kernel that fills memory.
fn filled(name: &str) -> Option<usize> {
    let rest = match name.strip_prefix(UNROLLED) {
        Some(rest) => rest.contains(NO_CAST).then_some(rest)?,
        None => name
            .strip_prefix(VECTORIZED)?
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix("ENS0_")?,
    };
    let rest = rest.strip_prefix(FILL)?;
    let (ty, size) = TYPES.iter().find(|(ty, _)| rest.starts_with(ty))?;
    rest.get(ty.len()..)?.starts_with(ONE_ARRAY).then_some(*size)
}

/// The count of elements, the value, and where they go: further parameters say nothing where no type is converted.
fn fill(size: usize) -> String {
    let (ty, register, parts) = match size {
        1 => ("u8", "b16", 1),
        2 => ("u16", "b16", 1),
        4 => ("u32", "b32", 1),
        8 => ("u64", "b64", 1),
        _ => ("u64", "b64", 2),
    };
    let (load, store) = match parts {
        1 => (format!("ld.param.{ty} v0, [value];"), format!("st.global.{ty} [a], v0;")),
        _ => (
            format!("ld.param.{ty} v0, [value]; ld.param.{ty} v1, [value+8];"),
            format!("st.global.{ty} [a], v0; st.global.{ty} [a+8], v1;"),
        ),
    };
    let mut text = String::new();
    let _ = write!(
        text,
        ".version 7.0
.target sm_50
.address_size 64
.visible .entry fill(.param .u32 count, .param .align {size} .b8 value[{size}], .param .u64 memory)
{{
.reg .pred p;
.reg .b32 n, i, t, step;
.reg .b64 to, a;
.reg .{register} v0, v1;
ld.param.u32 n, [count];
ld.param.u64 to, [memory];
{load}
cvta.to.global.u64 to, to;
mov.u32 t, %tid.x;
mov.u32 step, %ntid.x;
mov.u32 i, %ctaid.x;
mad.lo.u32 i, i, step, t;
mov.u32 t, %nctaid.x;
mul.lo.u32 step, step, t;
NEXT:
setp.ge.u32 p, i, n;
@p bra END;
mad.wide.u32 a, i, {size}, to;
{store}
add.u32 i, i, step;
bra NEXT;
END:
ret;
}}
\0"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_fill_are_known_by_their_names() {
        let vectorized = |ty| {
            format!(
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorI{ty}ESt5arrayIPcLm1EEEEviT0_T1_"
            )
        };
        let unrolled = |store| {
            format!(
                "_ZN2at6native27unrolled_elementwise_kernelINS0_11FillFunctorIiEESt5arrayIPcLm1EELi4E23TrivialOffsetCalculatorILi0EjES7_ILi1EjENS0_6memory15LoadWithoutCastENSA_{store}EEviT_T0_T2_T3_T4_T5_"
            )
        };
        assert_eq!(filled(&vectorized("iE")), Some(4));
        assert_eq!(filled(&vectorized("iE").replace("Li4", "Li16")), Some(4));
        assert_eq!(filled(&vectorized("bE")), Some(1));
        assert_eq!(filled(&vectorized("N3c104HalfEE")), Some(2));
        assert_eq!(filled(&vectorized("N3c107complexIdEEE")), Some(16));
        assert_eq!(filled(&unrolled("16StoreWithoutCastE")), Some(4));
        // Other types, a conversion, another operation, two arrays, something else.
        assert_eq!(filled(&vectorized("N3c107complexINS3_4HalfEEEE")), None);
        assert_eq!(filled(&vectorized("5OtherE")), None);
        assert_eq!(filled(&unrolled("13StoreWithCastILi1EE")), None);
        assert_eq!(filled(&vectorized("iE").replace("11FillFunctor", "10AddFunctor")), None);
        assert_eq!(filled(&vectorized("iE").replace("Lm1", "Lm2")), None);
        assert_eq!(filled("fill"), None);
        assert_eq!(filled(""), None);
    }

    #[test]
    fn each_size_has_a_text_that_ends() {
        for (_, size) in TYPES {
            let text = fill(size);
            assert!(text.ends_with('\0') && text.contains(&format!("value[{size}]")), "{text}");
        }
    }
}
