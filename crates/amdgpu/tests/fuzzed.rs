//! The bodies of the fuzz targets on random data, and on data that is almost valid.

use cushim_testkit::{amdgpu, corpus};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}

/// The first word of an instruction of each format.
const FORMATS: [u32; 12] = [
    2 << 30,
    0b1011 << 28,
    0b1_0111_1101 << 23,
    0b1_0111_1110 << 23,
    0b11_0000 << 26,
    0x3f << 25,
    0x3e << 25,
    0,
    0b11_0100 << 26,
    0b11_0110 << 26,
    0b11_0111 << 26,
    0b11_1000 << 26,
];

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..count {
        let word = random.next();
        let format = FORMATS[random.next() as usize % FORMATS.len()];
        // Formats have prefixes of different lengths; a word that matches another format is fine, too.
        let word = if random.next().is_multiple_of(8) { word } else { format | word & 0x01ff_ffff };
        data.extend(word.to_le_bytes());
    }
    data
}

#[test]
fn random_bytes_decode_or_do_not() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..2000 {
        amdgpu::decoded(&bytes(&mut random, 64));
    }
}

#[test]
fn random_code_ends_or_is_stopped() {
    let mut random = Random(0x0fed_cba9_8765_4321);
    for _ in 0..3000 {
        let mut data = bytes(&mut random, 16 + 24);
        // The rounding mode is one that the emulator accepts.
        data[48..52].copy_from_slice(&0x000f_003fu32.to_le_bytes());
        data[56..58].copy_from_slice(&0x0bu16.to_le_bytes());
        amdgpu::executed(&data);
    }
}

/// Inputs with which fuzzing once found a fault.
#[test]
fn regressions() {
    corpus::regressions("amd_decode", amdgpu::decoded);
    corpus::regressions("amd_execute", amdgpu::executed);
}
