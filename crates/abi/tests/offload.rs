//! The fuzz target for the data that programs pass to LLVM's libomptarget, on seeds and random data.

use cushim_testkit::{corpus, offload as fuzz};

fn put(bytes: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
}

/// Entry tables of both forms, descriptors, arguments of each version, source texts.
fn seeds() -> Vec<Vec<u8>> {
    let mut all =
        vec![Vec::new(), b";src/a.c;main;6;3;;".to_vec(), b";a[f(\";\")];a.c;4;7;;".to_vec()];
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for n in 0..4u64 {
        put(
            &mut old,
            &[if n == 0 { 0 } else { 0x1000 + n }, 0x2000, 0, if n == 0 { 0x10 } else { 0 }],
        );
        put(&mut new, &[0, 0x1_0001, 0x1000 + n, 0x2000, 0, 0, 0]);
    }
    all.extend([old, new]);
    for version in 0..7u64 {
        let mut args = Vec::new();
        put(&mut args, &[version | 2 << 32, 1, 2, 3, 4, 5, 6, 100, 1, 8, 128 << 32, 0, 64]);
        all.push(args.clone());
        args.truncate(64);
        all.push(args);
    }
    all
}

#[test]
fn anything_at_all() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let seeds = seeds();
    seeds.iter().for_each(|seed| fuzz::everything(seed));
    for _ in 0..50_000 {
        let mut bytes = seeds[random(seeds.len())].clone();
        for _ in 0..random(4) {
            let at = random(bytes.len() + 1);
            match random(3) {
                0 => bytes.insert(at, random(256) as u8),
                1 => bytes.truncate(at),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = random(256) as u8),
            }
        }
        fuzz::everything(&bytes);
    }
}

/// Writes the seeds with which `scripts/fuzz` begins.
#[test]
fn seeds_for_fuzzing() {
    corpus::seeds("offload_tables", seeds());
}

/// A misspelt name would find no inputs, and the test would pass.
#[test]
#[should_panic(expected = "there is no fuzz target offload_table:")]
fn a_target_that_does_not_exist_has_no_inputs() {
    corpus::regressions("offload_table", fuzz::everything);
}

/// Inputs with which fuzzing once found a fault.
#[test]
fn regressions() {
    corpus::regressions("offload_tables", fuzz::everything);
}
