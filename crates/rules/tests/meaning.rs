//! Compiled rules match and compare like the manifest's rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;

use cushim_rules::{
    Action, Compare, Condition, Element, Error, Keep, LaunchShape, Match, Names, OnFailure, Rule,
    Subject, compiled,
};
use regex_lite::Regex;

fn rule(action: Action) -> Rule {
    let name = "r, =%".to_owned();
    Rule { name, matching: Match::default(), action, on_failure: OnFailure::Stop }
}

fn compared(compare: Compare) -> Action {
    let (images, own) = (vec!["/a b".into(), "c,d".into()], vec!["own".to_owned(), "é".to_owned()]);
    Action::Kernel { images, kernel: Some("k".to_owned()), compare: Some(compare), own }
}

#[test]
fn every_action_comes_back_as_it_was() {
    let mut all = vec![Action::Skip, Action::Image { images: vec!["x.cubin".into()] }];
    for element in Element::ALL {
        for (tolerance, keep) in [(0.0, Keep::Original), (1e-3, Keep::Replacement)] {
            for parameters in [None, Some(Vec::new()), Some(vec![0, 7])] {
                all.push(compared(Compare { parameters, element, tolerance, keep }));
            }
        }
    }
    for (grid, block, shared) in [(None, Some([1, 2, 3]), Some(0)), (Some([4, 5, 6]), None, None)] {
        all.push(Action::Launch(LaunchShape { grid, block, shared }));
    }
    let rules: Vec<Rule> = all.iter().cloned().map(rule).collect();
    let text = compiled::write(Path::new("/m"), &rules);
    let (manifest, read) = compiled::read(&text).unwrap();
    assert_eq!(manifest, Path::new("/m"));
    assert_eq!(read.iter().map(|rule| rule.action.clone()).collect::<Vec<_>>(), all);
    assert!(read.iter().all(|r| r.name == "r, =%" && r.on_failure == OnFailure::Stop));
}

#[test]
fn a_tolerance_is_a_number_of_nought_or_more() {
    let text = |tolerance| {
        let compare = Compare { tolerance, element: Element::F32, ..Compare::default() };
        compiled::write(Path::new("/m"), &[rule(compared(compare))])
    };
    assert!(compiled::read(&text(0.5)).is_ok());
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(compiled::read(&text(bad)).is_err(), "{bad}");
    }
}

#[test]
fn conditions_come_back_as_they_were() {
    let launch = Condition {
        grid: [Some(1), None, Some(3)],
        block: [None, Some(2), None],
        nth: Some(2..=9),
    };
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    let (hash, arch) = (Some("ab".to_owned()), Some("sm_90".to_owned()));
    let matching =
        Match { kernel: regex("a|b"), owner: regex("^/x"), hash, arch, launch: launch.clone() };
    let one = Rule { matching, ..rule(Action::Skip) };
    let (_, read) = compiled::read(&compiled::write(Path::new("/m"), &[one])).unwrap();
    let found = &read[0].matching;
    assert_eq!((found.hash.as_deref(), found.arch.as_deref()), (Some("ab"), Some("sm_90")));
    assert_eq!(found.launch, launch);
    assert_eq!(found.kernel.as_ref().unwrap().as_str(), "a|b");
    assert_eq!(found.owner.as_ref().unwrap().as_str(), "^/x");
}

struct Image;

impl Subject for Image {
    fn owner(&self) -> &str {
        "/lib/x.so"
    }
    fn has_hash(&self, beginning: &str) -> bool {
        "0123".starts_with(beginning)
    }
    fn has_arch(&self, arch: &str) -> bool {
        arch == "sm_90"
    }
}

/// Each condition on an image can reject it, alone and together with two that match.
#[test]
fn an_image_meets_all_conditions_or_none() {
    let matching = |owner: &str, hash: &str, arch: &str| Match {
        owner: Some(Regex::new(owner).unwrap()),
        hash: Some(hash.to_owned()),
        arch: Some(arch.to_owned()),
        ..Match::default()
    };
    assert!(Match::default().image(&Image) && matching("x", "01", "sm_90").image(&Image));
    for (owner, hash, arch) in [("y", "01", "sm_90"), ("x", "1", "sm_90"), ("x", "01", "sm_80")] {
        assert!(!matching(owner, hash, arch).image(&Image), "{owner} {hash} {arch}");
    }
    let names = Names { mangled: "_Z1fv", full: "f()", short: "f" };
    let kernel = |text: &str| Match { kernel: Some(Regex::new(text).unwrap()), ..Match::default() };
    assert!(Match::default().names(names));
    for (text, does) in [("^_Z1fv$", true), (r"^f\(\)$", true), ("^f$", true), ("^g", false)] {
        assert_eq!(kernel(text).names(names), does, "{text}");
    }
}

fn differ(element: Element, tolerance: f64, a: &[u8], b: &[u8]) -> (usize, usize, f64, (f64, f64)) {
    let compare = Compare { element, tolerance, ..Compare::default() };
    let found = compare.differ(a, b).unwrap();
    (found.count, found.at, found.largest, found.values)
}

fn halves(values: [u16; 3]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn halves_have_their_values() {
    // 1.5, -0.75, and the largest finite number.
    let (a, b) = (halves([0x3e00, 0xba00, 0x7bff]), halves([0x3c00, 0x3a00, 0x7bff]));
    assert_eq!(differ(Element::F16, 0.0, &a, &b), (2, 1, 1.5, (-0.75, 0.75)));
    assert_eq!(differ(Element::F16, 0.5, &a, &b).0, 1);
    let (a, b) = (halves([0x7bff, 0, 0]), halves([0, 0, 0]));
    assert_eq!(differ(Element::F16, 0.0, &a, &b).2, 65504.0);
}

#[test]
fn the_first_of_equal_differences_is_told() {
    let bytes = |values: [i32; 3]| values.map(i32::to_le_bytes).concat();
    let (a, b) = (bytes([1, 5, 9]), bytes([1, 7, 7]));
    assert_eq!(differ(Element::I32, 0.0, &a, &b), (2, 1, 2.0, (5.0, 7.0)));
    let (a, b) = (i64::MAX - 1, i64::MAX);
    let compare = Compare { element: Element::I64, tolerance: 1.0, ..Compare::default() };
    assert!(compare.differ(&a.to_le_bytes(), &b.to_le_bytes()).is_none(), "within the tolerance");
    // Infinities with the same sign are equal, with different signs they are not.
    let floats = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
    let a = floats([f32::INFINITY, f32::INFINITY]);
    let b = floats([f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(differ(Element::F32, 1e30, &a, &b).0, 1);
}

#[test]
fn an_error_names_line_and_column() {
    let text = "ab\ncdé f";
    for (at, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (5, 2, 3), (7, 2, 4), (99, 2, 6)] {
        let error = Error::at(Path::new("m"), text, at, "x");
        let Error::Syntax { line: l, column: c, .. } = error else { panic!("another error") };
        assert_eq!((l, c), (line, column), "{at}");
    }
    assert_eq!(Error::at(Path::new("m"), text, 3, "why").to_string(), "m:2:1: why");
}
