//! The bodies of the fuzz targets `rpc_serve` and `rpc_format`, on seeds, on damaged seeds and on random bytes.

use cushim_testkit::{corpus, rpc};

/// Pseudo-random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, size: usize) -> Vec<u8> {
        (0..size).map(|_| self.next() as u8).collect()
    }
}

/// Scripts for [`rpc::serve`]: each opcode in a request, followed by a text and a few packets.
fn scripts() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for lanes in 0..3 {
        for opcode in 0..44u8 {
            let mut script = vec![lanes];
            // Lanes and opcode at port 0, without handing the port over; then texts and small packets, each handed over.
            script.extend([0x10, 0xff, 0x00, 0x80, opcode]);
            for text in ["r.%s:%5d|%f\n", "second", "third of them"] {
                script.push(0x80 | 4 << 2 & 0x3c);
                script.extend(text.bytes().chain(std::iter::repeat(0)).take(16));
                script.extend([0x40 | 2 << 2, 1, 8, 0, 1, 0, 2, 0]);
            }
            all.push(script);
        }
    }
    all
}

fn formats() -> Vec<Vec<u8>> {
    ["%d %5.3f %s\n", "%-*.*s|%%|%c%p", "%lld%hhx%zu%#b %n", "%1048576d%1048576d"]
        .iter()
        .map(|format| [format.as_bytes(), &[0, 1, 2, 3, 4, 5, 6, 7, 8]].concat())
        .collect()
}

#[test]
fn seeds_and_damaged_seeds() {
    for (run, seeds) in [(rpc::serve as fn(&[u8]), scripts()), (rpc::format, formats())] {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for seed in &seeds {
            run(seed);
            for _ in 0..8 {
                let mut damaged = seed.clone();
                let at = random.next() as usize % damaged.len();
                damaged[at] = random.next() as u8;
                damaged.truncate(1 + random.next() as usize % damaged.len());
                run(&damaged);
            }
        }
        for size in 0..200 {
            run(&random.bytes(size));
        }
    }
}

#[test]
fn regressions() {
    corpus::regressions("rpc_serve", rpc::serve);
    corpus::regressions("rpc_format", rpc::format);
}

#[test]
fn seeds_for_fuzzing() {
    corpus::seeds("rpc_serve", scripts());
    corpus::seeds("rpc_format", formats());
}
