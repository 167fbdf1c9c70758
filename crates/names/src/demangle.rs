//! Demangles symbols to C++ declarations.
//!
//! Owns: what compilers add around an Itanium name, and the limits within which a name is demangled. Must not know:
//! what a short name leaves out.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Longer symbols are left as they are. The longest seen in PyTorch and CUTLASS have some 20,000 bytes.
const SYMBOL_MAX: usize = 256 << 10;
/// Substitutions can turn a short symbol into a huge declaration: longer ones stay mangled.
const TEXT_MAX: usize = 1 << 20;
/// How deep the parser may recurse; a template in a template costs it five levels.
const DEPTH_MAX: u32 = 400;
/// Stack for [`DEPTH_MAX`] levels. Measured with the deepest kinds of names, expressions: at most 24 MiB
/// in a debug build, 2 MiB in a release build. Only touched pages cost anything.
const STACK: usize = if cfg!(debug_assertions) { 40 << 20 } else { 4 << 20 };

/// A demangled symbol.
pub struct Demangled {
    /// With return type and parameters.
    pub full: String,
    /// With parameters, without return types.
    pub no_return: String,
}

/// Collects text up to [`TEXT_MAX`].
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > TEXT_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The declaration behind `symbol`, or `None` where it is no C++ name (`extern "C"`, Triton, JAX).
pub fn demangle(symbol: &str) -> Option<Demangled> {
    let core = strip_wrapping(symbol);
    if !core.starts_with("_Z") || core.len() > SYMBOL_MAX {
        return None;
    }
    stacker::grow(STACK, || parse(core))
}

fn parse(core: &str) -> Option<Demangled> {
    let options = ParseOptions::default().recursion_limit(DEPTH_MAX);
    let symbol = Symbol::new_with_options(core.as_bytes(), &options).ok()?;
    let text = |options: DemangleOptions| {
        let mut out = Bounded(String::new());
        let options = options.recursion_limit(DEPTH_MAX);
        symbol.structured_demangle(&mut out, &options).ok()?;
        Some(tidy(&out.0))
    };
    Some(Demangled {
        full: text(DemangleOptions::default())?,
        no_return: text(DemangleOptions::default().no_return_type())?,
    })
}

/// Strips what compilers add to the names of kernels with internal linkage, so that those of
/// several translation units do not clash (measured with nvcc 11.8 and 12.4; clang:
/// `CodeGenModule::printPostfixForExternalizedDecl`).
///
/// - nvcc up to 12: `__nv_static_22__05e46e43_4_b_cu_plain__Z4statPi`, 22 being the length of the unit's id
/// - clang: `_ZL4statPi__intern__53612afe00_059a4aa7` (file, options), `…__static__…`, with dots where
///   the target allows them
fn strip_wrapping(symbol: &str) -> &str {
    let mut core = symbol;
    if let Some(rest) = core.strip_prefix("__nv_static_") {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest.get(..digits).and_then(|d| d.parse::<usize>().ok());
        let inner = length
            .and_then(|n| rest.get(digits..)?.strip_prefix('_')?.get(n..)?.strip_prefix('_'))
            .or_else(|| rest.find("__Z").and_then(|at| rest.get(at + 1..)));
        core = inner.unwrap_or(core);
    }
    for mark in ["__intern__", "__static__", ".intern.", ".static."] {
        if let Some((name, unit)) = core.rsplit_once(mark)
            && !unit.is_empty()
            && unit.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_')
        {
            core = name;
        }
    }
    core
}

/// The name as `c++filt` and C++11 have it: `(unsigned long)1` is `1ul`, `> >` is `>>`, and an empty
/// parameter pack leaves no comma.
fn tidy(text: &str) -> String {
    const CASTS: [(&str, &str); 5] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(long)", "l"),
        ("(unsigned long long)", "ull"),
        ("(long long)", "ll"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    'text: while let Some(first) = rest.chars().next() {
        if first == '(' {
            for (cast, suffix) in CASTS {
                let Some(literal) = rest.strip_prefix(cast) else { continue };
                let sign = usize::from(literal.starts_with('-'));
                let digits = literal.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
                if digits > 0
                    && let Some((number, after)) = literal.split_at_checked(sign + digits)
                {
                    out.push_str(number);
                    out.push_str(suffix);
                    rest = after;
                    continue 'text;
                }
            }
        }
        if first == '>' {
            // `operator> >` cannot occur: no template arguments end there.
            while out.ends_with("> ") || out.ends_with(", ") {
                out.truncate(out.len() - if out.ends_with(", ") { 2 } else { 1 });
            }
        }
        out.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or("");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_linkage() {
        for symbol in [
            "_Z4statPi",
            "_ZL4statPi",
            "__nv_static_22__05e46e43_4_b_cu_plain__Z4statPi",
            "__nv_static_99__05e46e43_4_b_cu_plain__Z4statPi",
            "_ZL4statPi__intern__05e46e43",
            "_ZL4statPi__intern__53612afe00_059a4aa7",
            "_ZL4statPi.static.05e46e43",
        ] {
            assert_eq!(demangle(symbol).unwrap().full, "stat(int*)", "{symbol}");
        }
        assert!(demangle("__nv_static_7").is_none() && demangle("__nv_static_").is_none());
    }

    #[test]
    fn tidy_as_cxxfilt() {
        assert_eq!(tidy("a<b<(unsigned long)1> >(long)"), "a<b<1ul>>(long)");
        assert_eq!(tidy("f<(long long)-5, (char)120, (long)x>"), "f<-5ll, (char)120, (long)x>");
        assert_eq!(tidy("w<t<(unsigned int)2>, >"), "w<t<2u>>");
        assert_eq!(tidy("é(unsigned int)7é"), "é7ué");
    }

    #[test]
    fn hostile_names_are_left_alone() {
        // Each substitution doubles the text.
        let mut bomb = String::from("_Z1fI1aE");
        bomb.push_str("1bIS_S_E");
        for n in 0..35 {
            let c = char::from_digit(n, 36).unwrap().to_ascii_uppercase();
            bomb.push_str(&format!("1bIS{c}_S{c}_E"));
        }
        let _ = demangle(&bomb);
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert!(demangle(&deep).is_none());
        let deep = format!("_Z1f{}i{}", "1bI".repeat(50_000), "E".repeat(50_000));
        assert!(demangle(&deep).is_none());
    }

    #[test]
    fn deep_names_end_within_the_stack() {
        for depth in [40, 60, 90, 150, 199, 250, 399, 100_000] {
            let pointers = format!("_Z1f{}i", "P".repeat(depth));
            let templates = format!("_Z1f{}i{}", "1bI".repeat(depth), "E".repeat(depth));
            let packs = format!("_Z1fi{}i", "Dp".repeat(depth));
            let functions = format!("_Z1f{}i{}", "PF".repeat(depth), "E".repeat(depth));
            let expressions = format!("_Z1fIX{}Li1EEEvv", "ng".repeat(depth));
            for symbol in [pointers, templates, packs, functions, expressions] {
                let small = std::thread::Builder::new().stack_size(128 << 10);
                let demangled = small.spawn(move || demangle(&symbol)).unwrap().join().unwrap();
                assert!(depth > 40 || demangled.is_some());
            }
        }
    }
}
