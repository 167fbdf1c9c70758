//! The names of a kernel: its symbol, its C++ declaration, and a short name.
//!
//! Owns: what a short name leaves out, and how equal short names are told apart. Must not know: how symbols are
//! demangled.

use std::collections::{HashMap, HashSet};

use crate::demangle::{Demangled, demangle};
use crate::region::Region;
use crate::scan;

/// The names of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The symbol.
    pub mangled: String,
    /// The declaration, with return type where the symbol tells it, and parameters. The symbol itself
    /// where it is not C++.
    pub full: String,
    /// Without return type and parameters, template arguments kept. The symbol itself where it is not
    /// C++.
    pub short: String,
    /// The types of the parameters as C++ writes them; `None` where the symbol does not tell them.
    pub parameters: Option<Vec<String>>,
}

impl Name {
    /// The names of the kernel whose symbol is `mangled`.
    pub fn new(mangled: &str) -> Self {
        // A region is named after its function.
        if let Some(region) = Region::of(mangled) {
            let name = Name::new(region.function);
            let suffix = region.suffix();
            return Name {
                mangled: mangled.to_owned(),
                full: name.full + &suffix,
                short: name.short + &suffix,
                parameters: None,
            };
        }
        let Some(Demangled { full, no_return }) = demangle(mangled) else {
            let plain = mangled.to_owned();
            return Name {
                short: plain.clone(),
                full: plain.clone(),
                mangled: plain,
                parameters: None,
            };
        };
        let (declarator, parameters) = match scan::parameters(&no_return) {
            Some(open) => {
                let list = no_return.get(open + 1..no_return.len() - 1).unwrap_or_default();
                let types = scan::split(list).map(|types| match types.as_slice() {
                    ["void"] => Vec::new(),
                    types => types.iter().map(|t| (*t).to_owned()).collect(),
                });
                (no_return.get(..open).unwrap_or_default(), types)
            }
            None => (no_return.as_str(), None),
        };
        let short = python_words(lambdas(&without_marks(declarator)));
        Name { mangled: mangled.to_owned(), full: python_words(full), short, parameters }
    }
}

/// Leaves out what only a linker needs: `[abi:…]` tags (Numba puts a hash there), the namespaces
/// `_INTERNAL_<hash>_<file>` that nvcc makes with -rdc, and `CUB_200302_800_NS` and `THRUST_…_NS`, which
/// hold the version and the architectures (CCCL, `CUB_NS_PREFIX`).
fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(tag) = rest.strip_prefix("[abi:")
            && let Some(end) = tag.find(']')
        {
            rest = tag.get(end + 1..).unwrap_or("");
            continue;
        }
        let starts_word = !out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if starts_word && ["_INTERNAL_", "CUB_", "THRUST_"].iter().any(|p| rest.starts_with(p)) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if (word.starts_with("_INTERNAL_") || word.ends_with("_NS"))
                && let Some(after) = after.strip_prefix("::")
            {
                rest = after;
                continue;
            }
        }
        out.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or("");
    }
    out
}

/// Numba writes characters that no identifier may hold as `_` and two hexadecimal digits: Python's
/// `<locals>` is `_3clocals_3e` (numba.core.itanium_mangler).
fn python_words(text: String) -> String {
    const WORDS: [&str; 4] = ["locals", "lambda", "listcomp", "genexpr"];
    if !text.contains("_3c") {
        return text;
    }
    WORDS
        .iter()
        .fold(text, |text, word| text.replace(&format!("_3c{word}_3e"), &format!("<{word}>")))
}

/// nvcc wraps a lambda of host code that a kernel takes: `__nv_dl_wrapper_t<__nv_dl_tag<int (*)(), &main,
/// 1u>, int*>` is what clang and gcc call `main::{lambda#1}` (CUDA C++ Programming Guide, "Extended
/// Lambdas"; `__nv_hdl_wrapper_t` for `__host__ __device__` ones).
fn lambdas(text: &str) -> String {
    const WRAPPERS: [&str; 2] = ["__nv_dl_wrapper_t<", "__nv_hdl_wrapper_t<"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let found = WRAPPERS.iter().filter_map(|w| Some((rest.find(w)?, w.len()))).min();
        let whole = found.and_then(|(at, length)| {
            let end = scan::closing(rest, at + length - 1)?;
            let lambda = lambda(rest.get(at + length..end)?)?;
            Some((rest.get(..at)?, lambda, rest.get(end + 1..)?))
        });
        let Some((before, lambda, after)) = whole else { break };
        out.push_str(before);
        out.push_str(&lambda);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The lambda of a wrapper with these template arguments: its tag names the enclosing function and the number of the
/// lambda in it.
fn lambda(arguments: &str) -> Option<String> {
    let is_tag = |a: &&&str| a.starts_with("__nv_dl_") && a.contains("tag<");
    let pieces = scan::split(arguments)?;
    let tag = pieces.iter().find(is_tag)?;
    let open = tag.find('<')?;
    let inside = tag.get(open + 1..scan::closing(tag, open)?)?;
    let pieces = scan::split(inside)?;
    let number = pieces.last()?.trim_end_matches(['u', 'l']);
    let mut function = pieces.get(1)?.strip_prefix('&')?;
    if function.starts_with('(') && scan::closing(function, 0)? == function.len() - 1 {
        function = function.get(1..function.len() - 1)?;
    }
    let function = function.strip_suffix("()").unwrap_or(function);
    number.parse::<u32>().ok().map(|n| format!("{}::{{lambda#{n}}}", lambdas(function)))
}

/// One label for each of `names`: the short name where it is unique among the symbols, else the
/// declaration, else the symbol. Labels are equal only where symbols are.
pub fn distinct(names: &[&Name]) -> Vec<String> {
    let mut seen = HashSet::new();
    let (mut short, mut full, mut plain) = (HashMap::new(), HashMap::new(), HashMap::new());
    for name in names.iter().filter(|name| seen.insert(name.mangled.as_str())) {
        *short.entry(name.short.as_str()).or_insert(0) += 1;
        *full.entry(name.full.as_str()).or_insert(0) += 1;
        *plain.entry(without_marks(&name.full)).or_insert(0) += 1;
    }
    let once = |counts: &HashMap<&str, usize>, label: &str| counts.get(label) == Some(&1);
    names
        .iter()
        .map(|name| match without_marks(&name.full) {
            _ if once(&short, &name.short) => name.short.clone(),
            declared if plain.get(&declared) == Some(&1) => declared,
            _ if once(&full, &name.full) => name.full.clone(),
            _ => name.mangled.clone(),
        })
        .collect()
}

/// A name in at most `width` characters; `mark` replaces the omitted part. Namespaces go first
/// where the kernel's own name would be cut, then the middle; slightly more of the beginning stays.
pub fn elide(text: &str, width: usize, mark: &str) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(mark.chars().count());
    let head = (room.div_ceil(5) * 3).min(room);
    let own = own_name(text);
    if own.start > 0 && text.get(..own.end).map_or(0, |t| t.chars().count()) > head {
        let rest = text.get(own.start..).unwrap_or_default();
        let without = format!("{mark}{rest}");
        if without.chars().count() < length {
            return cut(&without, width, mark);
        }
    }
    cut(text, width, mark)
}

/// `text` without its middle.
fn cut(text: &str, width: usize, mark: &str) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(mark.chars().count());
    let head = (room.div_ceil(5) * 3).min(room);
    let mut out: String = text.chars().take(head).collect();
    out.push_str(mark);
    out.extend(text.chars().skip(length - (room - head)));
    out
}

/// The position of `step` in `a::b::step<c::d>`.
fn own_name(text: &str) -> std::ops::Range<usize> {
    // Python's `f::<locals>::g` has them as words, not for template arguments.
    let opens = |(at, _): &(usize, &str)| !text.get(..*at).unwrap_or_default().ends_with("::");
    let end = text.match_indices('<').find(opens).map_or(text.len(), |(at, _)| at);
    let start = text.get(..end).and_then(|path| path.rfind("::")).map_or(0, |at| at + 2);
    start..end
}

/// A symbol as messages name it: the name in its source, and the symbol itself behind it where that
/// differs. Long names (of templates) are cut in the middle.
pub fn in_source(symbol: &str) -> String {
    /// Columns of a name, at most.
    const LONGEST: usize = 200;
    let name = Name::new(symbol);
    match name.full == symbol {
        true => symbol.into(),
        false => {
            format!("{} ({})", elide(&name.full, LONGEST, "..."), elide(symbol, LONGEST, "..."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(mangled: &str) -> String {
        Name::new(mangled).short
    }

    #[test]
    fn names_of_numba() {
        let mangled = "_ZN8__main__4make12_3clocals_3e1kB2v1B4cw51E5ArrayIfLi1E1CE";
        assert_eq!(short(mangled), "__main__::make::<locals>::k");
        assert_eq!(own_name("a::make::<locals>::kernel<int>"), 19..25);
        assert_eq!(
            elide("package::make::<locals>::kernel_of_some_length", 30, "..."),
            "...kernel_of_some_length"
        );
        // Two specialisations are distinguished by their arguments, without Numba's marks.
        let other = "_ZN8__main__4make12_3clocals_3e1kB2v2B4cw51E5ArrayIdLi1E1CE";
        let names = [Name::new(mangled), Name::new(other)];
        assert_eq!(
            distinct(&[&names[0], &names[1]]),
            [
                "__main__::make::<locals>::k(Array<float, 1, C>)",
                "__main__::make::<locals>::k(Array<double, 1, C>)"
            ]
        );
    }

    #[test]
    fn short_names() {
        assert_eq!(short("_Z4stepIfLi256EEvPT_iS0_"), "step<float, 256>");
        assert_eq!(short("plain"), "plain");
        assert_eq!(short("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
        assert_eq!(short(""), "");
        assert_eq!(short("_Z"), "_Z");
        assert_eq!(
            short("_ZN33_GLOBAL__N__05e46e43_4_b_cu_plain5tanonINS_3LocEEEvT_"),
            "(anonymous namespace)::tanon<(anonymous namespace)::Loc>"
        );
        assert_eq!(short("__nv_static_22__05e46e43_4_b_cu_plain__Z4statPi"), "stat");
        assert_eq!(short("_ZN2a_28_INTERNAL_05e46e43_4_b_cu_ab4statEPi"), "a_::stat");
        assert_eq!(short("_Z4viafIXadL_Z4dfuniEEEvv"), "viaf<&dfun(int)>");
        assert_eq!(short("_Z4packIJEEvDpT_"), "pack<>");
        assert_eq!(
            short(
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
            ),
            "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>"
        );
    }

    #[test]
    fn a_lambda_within_a_lambda_keeps_its_lists() {
        let name = Name::new(
            "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
        );
        assert!(
            name.short.starts_with("at::native::elementwise_kernel<128, 2, at::native::gpu_kernel")
        );
        assert!(name.short.ends_with("::{lambda(int)#1}>"), "{}", name.short);
        assert_eq!(name.parameters.unwrap().len(), 2);
    }

    #[test]
    fn host_lambdas() {
        assert_eq!(
            short("_Z3runI17__nv_dl_wrapper_tI11__nv_dl_tagIPFiiPPcEXadL_Z4mainEELj1EEJPifEEEvT_i"),
            "run<main::{lambda#1}>"
        );
        assert_eq!(
            short(
                "_Z3runI17__nv_dl_wrapper_tI11__nv_dl_tagIPFvvEXadL_ZN12_GLOBAL__N_14workEvEELj2EEJEEEvT_i"
            ),
            "run<(anonymous namespace)::work::{lambda#2}>"
        );
        assert_eq!(
            short(
                "_Z3runI18__nv_hdl_wrapper_tILb0ELb0ELb0E11__nv_dl_tagIPFivEXadL_Z4mainEELj1EEFviEJPiEEEvT_i"
            ),
            "run<main::{lambda#1}>"
        );
        assert_eq!(
            lambdas("f<__nv_dl_wrapper_t<x>, __nv_dl_wrapper_t<"),
            "f<__nv_dl_wrapper_t<x>, __nv_dl_wrapper_t<"
        );
    }

    #[test]
    fn parameters_of_all_kinds() {
        let name = Name::new(
            "_Z3allbcahstijlmxyfd6__half13__nv_bfloat167__half26float26float36float44int25uint34dim34Mode4Wide3Pod5EmptyPKfPFviPfEPA3_iMSA_i5char47double210ulonglong24int4y",
        );
        let types = name.parameters.unwrap();
        assert_eq!(types.len(), 36);
        assert_eq!(
            types[27..31],
            ["float const*", "void (*)(int, float*)", "int (*) [3]", "int Pod::*"]
        );
        assert_eq!(Name::new("_Z2enIL4Mode1ELc120EEvv").parameters.unwrap(), Vec::<String>::new());
        assert_eq!(Name::new("plain").parameters, None);
    }

    #[test]
    fn alike_names_are_told_apart() {
        let names: Vec<Name> =
            ["_Z1kPf", "_Z1kPd", "_Z1mi", "__nv_static_3__ab_cd_Z1si", "_Z1si", "_ZL1si"]
                .map(Name::new)
                .into();
        let labels = distinct(&names.iter().collect::<Vec<_>>());
        assert_eq!(labels[..3], ["k(float*)", "k(double*)", "m"]);
        assert_eq!(distinct(&[&names[2], &names[2]]), ["m", "m"]);
        let mut sorted = labels.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), labels.len(), "{labels:?}");
    }

    #[test]
    fn the_middle_goes() {
        let long = "at::native::vectorized_kernel<4, at::native::Fill<float>>";
        assert_eq!(elide(long, 40, "…"), "…vectorized_kernel<4, at…e::Fill<float>>");
        assert_eq!(elide(long, 54, "…"), "at::native::vectorized_kernel<4, …native::Fill<float>>");
        assert_eq!(elide("a::b", 2, "..."), "...");
        assert_eq!(elide("abcdefghij", 10, "…"), "abcdefghij");
        assert_eq!(elide("abcdefghij", 6, "…"), "abc…ij");
        assert_eq!(elide("äöüäöüäöü", 4, "…"), "äöü…");
        for width in 0..12 {
            for mark in ["", "…", "..."] {
                let length = elide("ab::cdefghi<jk>", width, mark).chars().count();
                assert!(length <= width.max(mark.len()), "{width} {mark}");
            }
        }
    }
}
