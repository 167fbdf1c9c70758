//! Invalid text: an error, no panic, and no IR with dangling references.

use cushim_testkit::{corpus, ptx as fuzz};

const TEXTS: [&str; 2] =
    [include_str!("../fixtures/warps.ptx"), include_str!("../fixtures/memory.ptx")];

#[test]
fn every_cut_and_many_swaps() {
    for text in TEXTS {
        let words: Vec<&str> = text.split_inclusive([' ', ',', ';', '\n', '.']).collect();
        let mut seed = 0x2545_f491_4f6c_dd1du64;
        for n in 0..400 {
            let cut = &text[..text.len() * n / 400];
            fuzz::parse(cut.as_bytes());
            fuzz::check(cut.as_bytes());
            let mut swapped = words.clone();
            for _ in 0..3 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                let (a, b) = (seed as usize % words.len(), (seed >> 32) as usize % words.len());
                swapped.swap(a, b);
            }
            fuzz::check(swapped.concat().as_bytes());
        }
    }
}

#[test]
fn seeds_for_fuzzing() {
    for (target, run) in [("ptx_parse", fuzz::parse as fn(&[u8])), ("ptx_check", fuzz::check)] {
        for text in TEXTS {
            run(text.as_bytes());
        }
        corpus::regressions(target, run);
        corpus::seeds(target, TEXTS);
    }
}
