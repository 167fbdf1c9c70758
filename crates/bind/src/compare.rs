//! Which variables of a replacement are bound to the program's.
//!
//! Must not know: how they are accessed.

use crate::declare::{Space, Variable};
use crate::theirs::Theirs;

/// A variable whose storage is the program's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// Its symbol, in both.
    pub name: String,
    /// Its state space, in both.
    pub space: Space,
    /// Bytes; 0 where the replacement does not say.
    pub size: u64,
}

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// Bound, by name.
    pub bound: Vec<Bound>,
    /// Those that keep their own storage.
    pub own: Vec<String>,
    /// Why the replacement cannot be used; empty where it can.
    pub problems: Vec<String>,
}

/// Compares the variables of a replacement with the program's. `own` are those that keep their own storage
/// whatever the program has.
pub fn compare(ours: &[Variable], theirs: &Theirs, own: &[String]) -> Compared {
    let mut compared = Compared::default();
    for name in own.iter().filter(|name| !ours.iter().any(|v| v.name == **name)) {
        compared.problems.push(format!("own: the replacement has no variable {name}"));
    }
    for ours in ours.iter().filter(|ours| !ours.literal) {
        let Variable { name, space, size, external, reference, .. } = ours;
        let is_own = own.contains(name);
        let known = theirs.variables.get(name);
        if is_own && !external {
            compared.own.push(name.clone());
            continue;
        }
        if is_own {
            compared
                .problems
                .push(format!("own: {name} is declared .extern, so it has no storage of its own"));
            continue;
        }
        if *reference {
            compared.problems.push(format!(
                "{name} is a texture or surface reference, which cannot be bound: the program sets it by name in its own image"
            ));
            continue;
        }
        match known {
            Some(known) => match known.iter().find(|theirs| fits(*space, *size, **theirs)) {
                Some(_) => compared.bound.push(Bound { name: name.clone(), space: *space, size: size.unwrap_or(0) }),
                None => {
                    let found = known.iter().map(|(space, size)| said(*space, Some(*size)));
                    compared.problems.push(format!(
                        "variable {name} is {}, expected {} as in the program's image",
                        said(*space, *size),
                        found.collect::<Vec<_>>().join(" or ")
                    ));
                }
            },
            None => match (&theirs.unread, alike(name, theirs), external) {
                (Some(why), ..) => compared.problems.push(format!(
                    "cannot tell whether the program's image has a variable {name}: {why}"
                )),
                (None, Some(other), _) => compared.problems.push(format!(
                    "the program's image has no variable {name}, but {other}, and one of the names contains the name of a source file; \
                     if they are the same variable, rename {name} to {other}"
                )),
                (None, None, true) => compared.problems.push(format!(
                    "variable {name} is declared .extern, but the program's image does not define it"
                )),
                (None, None, false) => compared.own.push(name.clone()),
            },
        }
    }
    compared.bound.sort();
    compared.bound.dedup();
    compared
}

fn fits(space: Space, size: Option<u64>, theirs: (Space, u64)) -> bool {
    // A size of 0 is an array without a bound.
    theirs.0 == space && (size.is_none_or(|size| size == theirs.1) || theirs.1 == 0)
}

fn said(space: Space, size: Option<u64>) -> String {
    match size {
        Some(0) | None => format!("of unknown size in {space}"),
        Some(size) => format!("{size} bytes in {space}"),
    }
}

/// The program's variable whose name differs from `name` only in what a compiler derives from a
/// file's name or text.
fn alike<'a>(name: &str, theirs: &'a Theirs) -> Option<&'a str> {
    let ours = own_part(name);
    let same = |other: &&String| {
        let its = own_part(other);
        (is_internal(name) || is_internal(other)) && ours == its
    };
    theirs.variables.keys().find(same).map(String::as_str)
}

/// Whether a name contains that of a file.
fn is_internal(name: &str) -> bool {
    name.contains("_INTERNAL_") || name.contains("__nv_static")
}

/// What remains of a name of internal linkage without the file's part. Relocatable code has
/// `_ZN…_INTERNAL_HASH_N_FILE_HASH…NAMEE` and `__nv_static_N__HASH_N_FILE_HASH_NAME` for a static variable, other code
/// `_ZLnNAME`.
fn own_part(name: &str) -> &str {
    let digits = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bare = |text: &'_ str| text.len() - digits(text);
    if let Some(rest) = name.strip_prefix("_ZL") {
        return rest.get(bare(rest)..).unwrap_or(rest);
    }
    let at = name.find("_INTERNAL_").or_else(|| name.find("__nv_static"));
    let Some(rest) = at.and_then(|at| name.get(at..)) else { return name };
    // The last stretch of eight hexadecimal digits belongs to the file; a process's number may follow.
    let is_hash =
        |part: &str| part.len() >= 8 && part.bytes().take(8).all(|b| b.is_ascii_hexdigit());
    let (mut tail, mut from) = (None, 0);
    for part in rest.split('_') {
        if is_hash(part) {
            tail = rest.get(from + 8..);
        }
        from += part.len() + 1;
    }
    let Some(tail) = tail else { return name };
    let tail = tail.trim_start_matches('_');
    let tail = tail.get(bare(tail)..).unwrap_or(tail);
    let tail = tail.trim_start_matches("_");
    if name.starts_with("_ZN") { tail.strip_suffix('E').unwrap_or(tail) } else { tail }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::declare::variables;

    fn theirs(list: &[(&str, Space, u64)]) -> Theirs {
        let mut theirs = Theirs::default();
        for (name, space, size) in list {
            theirs.variables.entry((*name).to_owned()).or_default().push((*space, *size));
        }
        theirs
    }

    fn ours(text: &str) -> Vec<Variable> {
        variables(format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}\n").as_bytes())
            .unwrap()
    }

    #[test]
    fn by_name_size_and_space() {
        let ours = ours(
            ".visible .const .align 4 .f32 scale;\n.extern .global .align 4 .b8 table[];\n.global .u32 private = 3;\n\
             .visible .global .align 4 .b8 both[2][8];\n.global .align 1 .b8 $str[3] = {37, 100, 0};",
        );
        let program = theirs(&[
            ("scale", Space::Const, 4),
            ("table", Space::Global, 400),
            ("both", Space::Global, 16),
            ("$str", Space::Global, 3),
        ]);
        let compared = compare(&ours, &program, &[]);
        let names: Vec<_> = compared.bound.iter().map(|b| (b.name.as_str(), b.size)).collect();
        assert_eq!(names, [("both", 16), ("scale", 4), ("table", 0)]);
        assert_eq!(compared.own, ["private"]);
        assert!(compared.problems.is_empty());
        let own = compare(&ours, &program, &["scale".into()]);
        assert_eq!(own.own, ["scale", "private"]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let ours = ours(
            ".visible .const .align 4 .f32 scale;\n.extern .global .u32 gone;\n.global .texref tex;",
        );
        for (program, word) in [
            (
                theirs(&[("scale", Space::Const, 8), ("gone", Space::Global, 4)]),
                "4 bytes in .const, expected 8 bytes in .const",
            ),
            (
                theirs(&[("scale", Space::Global, 4), ("gone", Space::Global, 4)]),
                "expected 4 bytes in .global",
            ),
            (theirs(&[]), "gone is declared .extern"),
            (theirs(&[("gone", Space::Global, 4)]), "tex is a texture"),
        ] {
            let problems = compare(&ours, &program, &[]).problems;
            assert!(problems.iter().any(|p| p.contains(word)), "{word}: {problems:?}");
        }
        let own = compare(&ours, &theirs(&[]), &["other".into(), "gone".into()]).problems;
        assert!(
            own.iter().any(|p| p.contains("no variable other"))
                && own.iter().any(|p| p.contains("gone is declared .extern"))
        );
        let unread = Theirs { unread: Some("no reader".into()), ..Theirs::default() };
        assert!(
            compare(&ours, &unread, &[])
                .problems
                .iter()
                .any(|p| p.contains("cannot tell whether the program's image has a variable"))
        );
    }

    #[test]
    fn names_of_other_compilations_are_told_apart() {
        let name = |hash: &str| format!("_ZN52_INTERNAL_{hash}_4_k_cu_{hash}_1775scaleE");
        let ours = ours(&format!(".const .f32 {};", name("08bbc9a4")));
        let problems =
            compare(&ours, &theirs(&[(&name("18bbc9a5"), Space::Const, 4)]), &[]).problems;
        assert!(problems.iter().any(|p| p.contains("rename ")), "{problems:?}");
        assert!(
            compare(&ours, &theirs(&[(&name("08bbc9a4"), Space::Const, 4)]), &[])
                .problems
                .is_empty()
        );
        assert!(compare(&ours, &theirs(&[("other", Space::Const, 4)]), &[]).problems.is_empty());
        // A static variable of code that is not relocatable, and one of relocatable code.
        let plain = super::tests::ours(".const .f32 _ZL5scale;");
        let found = compare(&plain, &theirs(&[(&name("08bbc9a4"), Space::Const, 4)]), &[]).problems;
        assert!(found.iter().any(|p| p.contains("rename ")), "{found:?}");
        assert!(compare(&plain, &theirs(&[("scale", Space::Const, 4)]), &[]).problems.is_empty());
    }
}
