//! Symbols of real compilers: nvcc 11.8 (`__nv_static_…`), 12.4 and 13.5, clang 19, Thrust and CUB of
//! CUDA 12.4, PyTorch, Triton, JAX, CuPy, Numba. `symbols.txt` holds each symbol, its short
//! name and its parameter types; `UPDATE_GOLDEN=1 cargo test` writes it anew.

use cushim_testkit::{corpus, names as fuzz};

use std::path::Path;

use cushim_names::{Name, distinct};

const SYMBOLS: &str = include_str!("symbols.txt");

fn symbols() -> impl Iterator<Item = &'static str> {
    SYMBOLS.lines().filter(|line| !line.starts_with(' ') && !line.is_empty())
}

#[test]
fn real_symbols() {
    let mut text = String::new();
    for symbol in symbols() {
        let name = Name::new(symbol);
        let list = name.parameters.map_or("?".to_owned(), |list| list.join(" | "));
        text.push_str(&format!("{symbol}\n    {}\n    ({list})\n", name.short));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(text == std::fs::read_to_string(&path).unwrap(), "now:\n{text}");
}

/// Different symbols have different short names, or `distinct` makes them different.
#[test]
fn no_two_labels_are_alike() {
    let names: Vec<Name> = symbols().map(Name::new).collect();
    let mut labels = distinct(&names.iter().collect::<Vec<_>>());
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), names.len());
}

/// Damaged symbols have a name, too.
#[test]
fn changed_symbols_do_not_panic() {
    let all: Vec<&[u8]> = symbols().map(str::as_bytes).collect();
    let mut seed = 1u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    let letters = b"_ZNKSIELJPRTXDv0123456789stEfij*<>(),$. \xc3\xa9";
    for round in 0..4000 {
        let mut bytes = all[round % all.len()].to_vec();
        for _ in 0..1 + random(6) {
            let at = random(bytes.len());
            match random(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, letters[random(letters.len())]),
                2 => bytes.truncate(at.max(1)),
                _ => bytes[at] = letters[random(letters.len())],
            }
            if bytes.is_empty() {
                bytes.push(b'_');
            }
        }
        fuzz::symbol(&bytes);
        fuzz::value(&bytes);
    }
}

/// Writes the seeds with which `scripts/fuzz` begins.
#[test]
fn seeds_for_fuzzing() {
    let types =
        ["int", "float4", "__half", "float const*", "void (*)(int, float*)", "Box<int>::E", "dim3"];
    let values = types.map(|kind| [kind.as_bytes(), &[0], &[0x3f; 16]].concat());
    corpus::seeds("names_symbol", symbols());
    corpus::seeds("names_value", values);
}

/// Inputs with which fuzzing once found a fault.
#[test]
fn regressions() {
    corpus::regressions("names_symbol", fuzz::symbol);
    corpus::regressions("names_value", fuzz::value);
}
