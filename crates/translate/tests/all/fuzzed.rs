//! The body of the fuzz target on valid PTX, and on the same text damaged.

use cushim_testkit::{corpus, translate};

const TEXTS: [&str; 3] = [
    include_str!("../../../ptx/tests/fixtures/memory.ptx"),
    include_str!("../../../ptx/tests/fixtures/warps.ptx"),
    include_str!("../../../ptx-jit/tests/fib.ptx"),
];

#[test]
fn texts_are_emitted_or_refused() {
    for text in TEXTS {
        translate::emitted(text.as_bytes());
    }
    translate::table(b"cushim kernels 1\nk\t4\t8\tFH\t0\t1\t64\n");
    translate::table(b"cushim kernels 1\nk\t4\t8\n");
    corpus::regressions("translate_emit", |input| {
        translate::emitted(input);
        translate::table(input);
    });
}

#[test]
fn damaged_texts_are_emitted_or_refused() {
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) as usize % below
    };
    for text in TEXTS {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..60 {
            // Lines omitted, repeated and swapped: much of it is still valid PTX.
            let mut damaged = lines.clone();
            for _ in 0..1 + next(4) {
                let (a, b) = (next(damaged.len()), next(damaged.len()));
                match next(3) {
                    0 => drop(damaged.remove(a)),
                    1 => damaged.insert(b, damaged[a]),
                    _ => damaged.swap(a, b),
                }
            }
            translate::emitted(damaged.join("\n").as_bytes());
        }
    }
}
