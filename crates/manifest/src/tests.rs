//! Manifests, well formed and not.

use super::*;
use cushim_rules::Names;

fn parse(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, Path::new("dir/rules.toml")).map_err(|e| e.to_string())
}

#[test]
fn the_smallest_one() {
    let text = "[[redirect]]\nmatch = { kernel = \"vecadd.*\" }\nimage = \"new.ptx\"\n";
    let manifest = parse(text).unwrap();
    let rule = &manifest.rules[0];
    assert_eq!(rule.name, "redirect 1");
    assert_eq!(
        rule.action,
        Action::Kernel {
            images: vec!["dir/new.ptx".into()],
            kernel: None,
            compare: None,
            own: Vec::new()
        }
    );
    let names = Names { mangled: "_Z6vecaddPf", full: "vecadd(float*)", short: "vecadd" };
    assert!(rule.matching.names(names) && rule.matching.launch.is_always());
}

#[test]
fn everything() {
    let text = r#"
        [[redirect]]
        name = "big ones"
        match = { kernel = "^gemm", owner = "libfoo", hash = "AB12", arch = "sm_90", grid = [8, "*", "*"], nth = "2.." }
        launch = { block = [128, 1, 1], shared = 4096 }
        on-failure = "stop"
        [[redirect]]
        match = { hash = "00ff" }
        image = "/abs/all.fatbin"
        whole = true
        [[redirect]]
        match = { kernel = "debug" }
        skip = true
    "#;
    let rules = parse(text).unwrap().rules;
    assert_eq!(rules.len(), 3);
    assert_eq!(rules[0].on_failure, OnFailure::Stop);
    assert_eq!(rules[0].matching.hash.as_deref(), Some("ab12"));
    assert!(rules[0].matching.launch.holds([8, 1, 1], [1; 3], 9));
    assert_eq!(rules[1].action, Action::Image { images: vec!["/abs/all.fatbin".into()] });
    assert_eq!(rules[2].action, Action::Skip);
}

#[test]
fn comparing() {
    let text = "[[redirect]]\nmatch = { kernel = 'k' }\nimage = 'x'\ncompare = { parameters = [2], type = 'f32', tolerance = 1e-3, keep = 'replacement' }\n\
                [[redirect]]\nmatch = { kernel = 'k' }\nimage = 'x'\ncompare = {}\n";
    let rules = parse(text).unwrap().rules;
    let compare = |rule: &Rule| match &rule.action {
        Action::Kernel { compare, .. } => compare.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let first = Compare {
        parameters: Some(vec![2]),
        element: Element::F32,
        tolerance: 1e-3,
        keep: Keep::Replacement,
    };
    assert_eq!((compare(&rules[0]), compare(&rules[1])), (first, Compare::default()));
}

#[test]
fn variables_of_its_own() {
    let text = "[[redirect]]\nmatch = { kernel = 'k' }\nimage = 'x'\nown = ['a', 'b']\n";
    let Action::Kernel { own, .. } = &parse(text).unwrap().rules[0].action else { panic!() };
    assert_eq!(own, &["a", "b"]);
}

#[test]
fn several_images() {
    let text = "[[redirect]]\nmatch = { kernel = 'k' }\nimage = ['a.ptx', '/b.hipfb']\n";
    let rules = parse(text).unwrap().rules;
    assert_eq!(rules[0].action.images(), [Path::new("dir/a.ptx"), Path::new("/b.hipfb")]);
}

#[test]
fn mistakes_have_a_place_and_a_reason() {
    let cases = [
        ("[[redirect]]\nimage = \"a\"\n", "dir/rules.toml:1:1: ", "has no `match`"),
        (
            "[[redirect]]\nmatch = { kernel = \"(\" }\nskip = true\n",
            ":2:20: ",
            "not a regular expression",
        ),
        ("[[redirect]]\nmatch = { kernle = \"a\" }\n", ":2:11: ", "kernle"),
        ("[[redirect]]\nmatch = {}\nskip = true\n", ":1:1: ", "at least one of"),
        ("[[redirect]]\nmatch = { hash = \"xyz\" }\nskip = true\n", ":2:18: ", "hexadecimal"),
        (
            "[[redirect]]\nmatch = { kernel = \"a\", nth = 0 }\nskip = true\n",
            ":2:31: ",
            "from 1 on",
        ),
        (
            "[[redirect]]\nmatch = { kernel = \"a\", nth = \"3..1\" }\nskip = true\n",
            ":2:31: ",
            "from 1 on",
        ),
        ("[[redirect]]\nmatch = { kernel = \"a\", grid = [1, 1] }\nskip = true\n", ":2:", ""),
        ("redirect = 3\n", ":1:12: ", ""),
        ("[[redirect\n", ":1:", ""),
    ];
    // The lines below a match, from line 3 on.
    let actions = [
        ("", ":1:1: ", "does nothing"),
        ("image = \"x\"\nskip = true\n", ":1:1: ", "expected one"),
        ("launch = { grid = [0, 1, 1] }\n", ":3:10: ", "skip = true"),
        ("skip = true\ncompare = {}\n", ":4:11: ", "needs an `image`"),
        ("image = \"x\"\ncompare = { tolerance = 1.0 }\n", ":4:11: ", "needs a type"),
        ("image = \"x\"\ncompare = { type = \"f33\" }\n", ":4:", "f33"),
        ("image = \"x\"\ncompare = { tolerance = nan, type = \"f32\" }\n", ":4:11: ", "0 or more"),
        ("image = []\n", ":3:9: ", "names no file"),
        ("image = 7\n", ":3:9: ", "a list of files"),
        ("image = \"x\"\nwhole = true\nown = [\"v\"]\n", ":5:7: ", "always has its own"),
        ("skip = true\nown = [\"v\"]\n", ":4:7: ", "`own` needs"),
    ];
    let rule = |action: &str| format!("[[redirect]]\nmatch = {{ kernel = \"a\" }}\n{action}");
    let cases = cases.map(|(text, place, reason)| (text.to_owned(), place, reason)).into_iter();
    let actions = actions.map(|(action, place, reason)| (rule(action), place, reason));
    for (text, place, reason) in cases.chain(actions) {
        let error = parse(&text).unwrap_err();
        assert!(error.contains(place) && error.contains(reason), "{text:?}: {error}");
    }
}
