//! The bodies of the fuzz targets on random data, and on data that is almost valid.

use cushim_testkit::{corpus, kfd};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}

#[test]
fn random_packets_are_done_or_refused() {
    let mut random = Random(0x1357_9bdf_0246_8ace);
    for _ in 0..2000 {
        let mut data = Vec::new();
        for i in 0..64 {
            let mut word = random.next();
            if i % 7 == 0 {
                word = word & 0xffff_0000
                    | [0, 1, 0x401, 5, 8, 10, 11, 13, 17][random.next() as usize % 9];
            }
            data.extend(word.to_le_bytes());
        }
        kfd::packets(&data);
    }
}

/// Inputs with which fuzzing once found a fault: a box of 33 million rows took 2.7 s.
#[test]
fn regressions() {
    corpus::regressions("amd_packets", kfd::packets);
}
