//! Replacements that use the program's variables, with a CUDA that has no variables: they cannot be bound and are not
//! launched. `c-tests/harness/bound.py` checks bound variables on the CPU and on a GPU.

use std::fs;

use crate::lab::{Lab, Ran};
use crate::redirect::{ALPHA, ALPHA_PARAMS, Way, launches, ptx, under, ways};

const RULE: &str = "[[redirect]]\nname = 'it'\nmatch = { kernel = 'alpha'";

/// Runs with a replacement that contains these declarations, under a rule with this end.
fn ran(lab: &Lab, way: &Way, declared: &str, rule: &str) -> Ran {
    let text = ptx(&[(ALPHA, ALPHA_PARAMS)]).replace("64\n", &format!("64\n{declared}\n"));
    fs::write(lab.path("new.ptx"), text).unwrap();
    let rules = lab.path("rules.toml");
    fs::write(&rules, format!("{RULE}{rule}")).unwrap();
    under(way, lab, &[], &rules)
}

/// The number of launches that reached the library, and how many were of the program's own kernel.
fn reached(lab: &Lab, way: &Way, ran: &Ran) -> (usize, usize) {
    let bare = lab.run(&way.program, &[], &way.how);
    let own = launches(&bare, way.face, &["code"]);
    let codes = launches(ran, way.face, &["code"]);
    (codes.len(), codes.iter().filter(|code| own.contains(code)).count())
}

#[test]
fn what_cannot_be_bound_is_not_launched() {
    let lab = Lab::new();
    const SCALE: &str = ".visible .const .align 4 .f32 scale;";
    for way in ways(&lab, "variables.c") {
        let bound = ran(&lab, &way, SCALE, " }\nimage = 'new.ptx'\n");
        assert_eq!(reached(&lab, &way, &bound).0, 0, "{}", bound.stderr);
        assert!(
            bound.stdout.lines().count() == 2 && bound.stdout.lines().all(|l| l != "0"),
            "{}",
            bound.stdout
        );
        assert_eq!(
            bound.stderr.matches("its variables cannot be bound: scale: ").count(),
            1,
            "{}",
            bound.stderr
        );
        // Under a condition on launches the program's own kernel is available.
        let asked = ran(&lab, &way, SCALE, ", grid = [1, '*', '*'] }\nimage = 'new.ptx'\n");
        assert_eq!(reached(&lab, &way, &asked), (2, 2), "{}", asked.stderr);
        assert!(asked.stderr.contains("is launched unchanged"), "{}", asked.stderr);
        // A variable of the replacement's own needs no binding.
        let own = ran(&lab, &way, SCALE, " }\nimage = 'new.ptx'\nown = ['scale']\n");
        assert_eq!((reached(&lab, &way, &own), own.stderr.as_str()), ((2, 0), ""));
        let private = ran(&lab, &way, ".global .u32 private = 3;", " }\nimage = 'new.ptx'\n");
        assert_eq!((reached(&lab, &way, &private), private.stderr.as_str()), ((2, 0), ""));
    }
}

#[test]
fn variables_that_differ_are_refused() {
    let lab = Lab::new();
    for way in ways(&lab, "variables.c") {
        for (declared, more, why) in [
            (
                ".visible .const .align 8 .f64 scale;",
                "",
                "variable scale is 8 bytes in .const, expected 4 bytes in .const",
            ),
            (
                ".visible .global .f32 scale;",
                "",
                "variable scale is 4 bytes in .global, expected 4 bytes in .const",
            ),
            (
                ".extern .global .f32 gone;",
                "",
                "gone is declared .extern, but the program's image does not define it",
            ),
            (
                ".visible .const .f32 scale;",
                "own = ['scales']\n",
                "`own` names scales, which is not a variable of the replacement",
            ),
            (".global .texref picture;", "", "picture is a texture"),
        ] {
            let rule = format!(" }}\nimage = 'new.ptx'\n{more}");
            let passed = ran(&lab, &way, declared, &rule);
            assert!(passed.stderr.contains(why), "{declared}: {}", passed.stderr);
            assert_eq!(reached(&lab, &way, &passed), (2, 2));
            let stopped = ran(&lab, &way, declared, &format!("{rule}on-failure = 'stop'\n"));
            assert_eq!(stopped.end, "exit 78", "{}", stopped.stderr);
        }
    }
}
