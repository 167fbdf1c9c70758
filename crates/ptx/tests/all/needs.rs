//! The versions of PTX and the targets that accept each form, compared with NVIDIA's assembler.

use crate::cases;

use cases::needs::{self, Record, module};
use cushim_ptx::table::needs::{Needs, Target};
use cushim_testkit::sample;
use std::collections::{HashMap, HashSet};

/// The forms that ptxas 13.5 accepts, at all versions and targets.
fn kept() -> Record {
    needs::read(include_bytes!("../cases/needs.bin")).unwrap_or_else(|e| panic!("needs.bin: {e}"))
}

/// The forms that the driver of an H200 accepts, at some versions and targets.
fn driver() -> Record {
    let packed = include_bytes!("../cases/needs-driver.bin");
    needs::read(packed).unwrap_or_else(|e| panic!("needs-driver.bin: {e}"))
}

fn version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

fn target(text: &str) -> Target {
    Target::from_name(text).unwrap()
}

/// Forms that cushim accepts and the assembler refuses: the driver of an H200 accepts them.
fn is_lenient(statement: &str) -> bool {
    let starts = |list: &[&str]| list.iter().any(|s| statement.starts_with(s));
    starts(&["fence.acquire.", "fence.release."]) && !statement.contains("sync_restrict")
}

fn accepts(text: &str) -> bool {
    cushim_ptx::parse(text).is_ok_and(|tree| cushim_ptx::check(&tree).is_ok())
}

fn compare(record: &Record, lenient: impl Fn(&str) -> bool) {
    let needs: Vec<Needs> =
        record.pairs.iter().map(|(v, t)| Needs::new(version(v), target(t))).collect();
    let spelled: HashMap<String, needs::Spelled> =
        needs::all().into_iter().map(|s| (s.code.clone(), s)).collect();
    let mut wrong = Vec::new();
    for (_, (statement, taken)) in
        record.forms.iter().enumerate().filter(|(n, _)| sample::takes(*n, 4))
    {
        let Some(s) = spelled.get(statement) else {
            wrong.push(format!("{statement}: recorded, and no longer a form"));
            continue;
        };
        let operands = s.code[s.code.find(' ').unwrap()..].trim_end_matches(';').trim();
        let (mut count, mut depth) = (u32::from(!operands.is_empty()), 0);
        for c in operands.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            count += u32::from(c == ',' && depth == 0);
        }
        for ((needs, pair), taken) in needs.iter().zip(&record.pairs).zip(taken) {
            let ours = needs.check(s.mnemonic, &s.modifiers, count as usize);
            if ours.is_ok() != *taken && !(ours.is_ok() && lenient(statement)) {
                wrong
                    .push(format!("{statement} {pair:?}: the assembler says {taken}, we {ours:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} forms:\n{}", wrong.len(), wrong.join("\n"));
    assert!(record.forms.len() > 5000, "{}: {} forms", record.who, record.forms.len());
}

#[test]
fn forms_are_taken_where_the_assembler_takes_them() {
    compare(&kept(), is_lenient);
}

#[test]
fn forms_are_taken_where_the_driver_takes_them() {
    compare(&driver(), |_| false);
}

/// Loads one form of each group that is accepted at the same versions and targets, by the whole loading path.
#[test]
fn texts_are_loaded_where_the_assembler_takes_them() {
    let record = kept();
    let mut groups: HashMap<&[bool], &str> = HashMap::new();
    for (statement, taken) in &record.forms {
        let shortest = groups.entry(taken).or_insert(statement);
        if statement.len() < shortest.len() {
            *shortest = statement;
        }
    }
    assert!(groups.len() > 50);
    for (taken, statement) in groups {
        for (pair, taken) in record.pairs.iter().zip(taken) {
            let ours = accepts(&module(&pair.0, &pair.1, &[statement]));
            let lenient = ours && is_lenient(statement);
            assert!(ours == *taken || lenient, "{statement} {pair:?}: expected {taken}");
        }
    }
}

#[test]
fn versions_and_targets_are_those_that_there_are() {
    let record = kept();
    let pairs: HashSet<(&str, &str)> =
        record.pairs.iter().map(|(v, t)| (v.as_str(), t.as_str())).collect();
    let targets: HashSet<&str> = pairs.iter().map(|p| p.1).collect();
    let newest = record.pairs.iter().map(|(v, _)| version(v)).max().unwrap();
    let none = [
        "sm_9", "sm_14", "sm_15", "sm_19", "sm_22", "sm_31", "sm_36", "sm_40", "sm_73", "sm_85",
        "sm_x",
    ];
    for v in (0..=newest.0).flat_map(|a| (0..10).map(move |b| (a, b))).filter(|v| *v <= newest) {
        let v = format!("{}.{}", v.0, v.1);
        for t in targets.iter().chain(&none) {
            // We do not distinguish the targets of one family or of one device.
            let known = pairs.contains(&(v.as_str(), *t));
            let loose = t.ends_with(['a', 'f']) || *t == "sm_88";
            let ours = accepts(&module(&v, t, &[]));
            assert!(ours == known || ours && loose, "{v} {t}: expected {known}");
        }
    }
}

// A table: version, target, statement, and the answer.
#[test]
fn what_is_missing_is_said() {
    let said = |v: &str, t: &str, statement: &str| {
        let text = module(v, t, &[statement]);
        match cushim_ptx::parse(&text).and_then(|tree| cushim_ptx::check(&tree)) {
            Ok(_) => "taken".to_string(),
            Err(error) => error.to_string(),
        }
    };
    for (v, t, statement, expected) in [
        (
            "2.0",
            "sm_13",
            "bfe.u32 r, r, r, r;",
            "5:1: `bfe.u32`: found .target sm_13, expected .target sm_20 or later",
        ),
        (
            "1.4",
            "sm_13",
            "bfe.u32 r, r, r, r;",
            "5:1: `bfe.u32`: found .target sm_13, expected .target sm_20 or later",
        ),
        (
            "6.2",
            "sm_70",
            "bmsk.wrap.b32 r, r, r;",
            "5:1: `bmsk.wrap.b32`: found .version 6.2, expected .version 7.6 or later",
        ),
        (
            "1.5",
            "sm_13",
            "sqrt.f32 r, r;",
            "5:1: `sqrt.f32`: found no rounding, expected one such as `.approx`",
        ),
        ("1.3", "sm_13", "sqrt.f32 r, r;", "taken"),
        (
            "8.0",
            "sm_80",
            "cvt.u32.f32 r, r;",
            "5:1: `cvt.u32.f32`: found no rounding, expected one such as `.rzi`",
        ),
        (
            "7.0",
            "sm_80",
            "shfl.idx.b32 r, r, r, r;",
            "5:1: `shfl.idx.b32`: found no `.sync`, expected it from .version 6.4 on for sm_70 and later",
        ),
        (
            "8.6",
            "sm_100",
            "redux.sync.min.f32 r, r, r;",
            "5:1: `redux.sync.min.f32`: found .target sm_100, expected .target sm_100a, sm_100f, sm_103a or sm_103f",
        ),
        (
            "9.0",
            "sm_120a",
            "redux.sync.min.f32 r, r, r;",
            "5:1: `redux.sync.min.f32`: found .target sm_120a, expected .target sm_100a, sm_100f, sm_103a or sm_103f",
        ),
        ("9.0", "sm_103f", "redux.sync.min.f32 r, r, r;", "taken"),
        (
            "8.0",
            "sm_90",
            "setmaxnreg.inc.sync.aligned.u32 64;",
            "5:1: `setmaxnreg.inc.sync.aligned.u32`: found .target sm_90, expected a .target such as sm_90a or sm_100f",
        ),
        ("8.0", "sm_90a", "setmaxnreg.inc.sync.aligned.u32 64;", "taken"),
        (
            "7.8",
            "sm_89",
            "cvt.rn.f16x2.e4m3x2 r, h;",
            "5:1: `cvt.rn.f16x2.e4m3x2`: found .version 7.8 for sm_89, expected .version 8.1 or later, or .target sm_90 or later",
        ),
        ("7.8", "sm_90", "cvt.rn.f16x2.e4m3x2 r, h;", "taken"),
        ("1.4", "sm_14", "add.u32 r, r, r;", "2:9: found .target sm_14, expected a known target"),
        (
            "0.9",
            "sm_10",
            "add.u32 r, r, r;",
            "1:10: found .version 0.9, expected a known version of PTX",
        ),
        (
            "1.4",
            "sm_20",
            "add.u32 r, r, r;",
            "2:9: found .target sm_20, expected .version 2.0 or later for it",
        ),
        // The record has pairs of choices, but this form needs three: a rounding and two types.
        ("8.0", "sm_80", "cvt.rn.bf16.f32 h, r;", "taken"),
        ("8.0", "sm_80", "cvt.rz.relu.bf16.f32 h, r;", "taken"),
        (
            "8.0",
            "sm_80",
            "cvt.rn.bf16.f16 h, h;",
            "5:1: `cvt.rn.bf16.f16`: found .target sm_80, expected .target sm_90 or later",
        ),
        // Versions and targets that are newer than the known ones are accepted.
        ("12.0", "sm_200", "add.u32 r, r, r;", "taken"),
    ] {
        assert_eq!(said(v, t, statement), expected, "{v} {t} {statement}");
    }
}

#[test]
fn a_damaged_record_is_refused() {
    let whole = include_bytes!("../cases/needs.bin");
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 5] {
        assert!(needs::read(&whole[..length]).is_err(), "{length} bytes");
    }
}
