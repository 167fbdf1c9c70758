//! Compares the tables with the lists of the libraries' exports: each name of each major has exactly one row, and
//! there is no other row.

use std::collections::{BTreeMap, BTreeSet};

use cushim_abi::{all_driver, all_runtime};

/// Parses `names.txt`: the kind and the releases of a group, then its names.
fn groups() -> Vec<(&'static str, Vec<&'static str>, Vec<&'static str>)> {
    let mut groups = Vec::new();
    for line in include_str!("names.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let mut words = line.split_whitespace();
        if line.starts_with(' ') {
            let (_, _, names): &mut (_, _, Vec<&str>) = groups.last_mut().unwrap();
            names.extend(words);
        } else {
            groups.push((words.next().unwrap(), words.collect(), Vec::new()));
        }
    }
    groups
}

#[test]
fn each_runtime_name_has_one_row_per_major() {
    let mut wanted = BTreeSet::new();
    for (kind, releases, names) in groups() {
        for release in releases.iter().filter(|_| kind == "runtime") {
            let major: u32 = release.split('.').next().unwrap().parse().unwrap();
            wanted.extend(names.iter().map(|name| (*name, major)));
        }
    }
    assert!(wanted.len() > 1200, "{}", wanted.len());
    let mut rows = BTreeMap::new();
    for s in all_runtime() {
        for major in s.majors {
            *rows.entry((s.name, *major)).or_insert(0) += 1;
        }
    }
    let twice: Vec<_> = rows.iter().filter(|(_, rows)| **rows > 1).collect();
    assert!(twice.is_empty(), "in several rows: {twice:?}");
    let ours: BTreeSet<_> = rows.into_keys().collect();
    assert_eq!(wanted.difference(&ours).collect::<Vec<_>>(), Vec::<&(&str, u32)>::new(), "lacking");
    assert_eq!(
        ours.difference(&wanted).collect::<Vec<_>>(),
        Vec::<&(&str, u32)>::new(),
        "invented"
    );
}

#[test]
fn each_driver_name_has_one_row() {
    let wanted: BTreeSet<&str> =
        groups().into_iter().filter(|g| g.0 == "driver").flat_map(|g| g.2).collect();
    assert!(wanted.len() > 700, "{}", wanted.len());
    let ours: Vec<&str> = all_driver().map(|s| s.name).collect();
    let set: BTreeSet<&str> = ours.iter().copied().collect();
    assert_eq!(ours.len(), set.len(), "some name has several rows");
    assert_eq!(wanted.difference(&set).collect::<Vec<_>>(), Vec::<&&str>::new(), "lacking");
    assert_eq!(set.difference(&wanted).collect::<Vec<_>>(), Vec::<&&str>::new(), "invented");
}

/// Other crates generate one item for each identifier.
#[test]
fn identifiers_are_unique() {
    let mut seen = BTreeSet::new();
    for s in all_runtime().chain(all_driver()) {
        assert!(seen.insert(s.identifier), "{} twice", s.identifier);
    }
}
