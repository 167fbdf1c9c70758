//! Random kernels with sums and products that may be fused, and a GPU's results for them.
//!
//! Owns the list of kernels and their inputs. Must not know who runs them: the interpreter, compiled code or a
//! GPU (`scripts/record-contraction`).

#![allow(dead_code)] // each user needs a part

mod generate;

use flate2::read::ZlibDecoder;
use std::io::Read;

/// Threads of each kernel, in one block; each has its own inputs.
pub const ROWS: usize = 8;
/// Inputs of a thread, 8 bytes each: values, a number for a predicate, a number of rounds.
pub const INPUTS: usize = 10;
/// The number of kernels in a sample.
pub const KERNELS: usize = 3000;

/// Some kernels.
pub struct Sample {
    pub name: &'static str,
    seed: u64,
    /// With parameters, constants in memory and more forms ([`generate`]).
    more: bool,
    /// A GPU's results.
    results: &'static [u8],
    /// Kernels that a GPU rounds in places that the rules do not predict (docs/design/contraction.md).
    unforetold: &'static str,
}

impl Sample {
    pub fn cases(&self) -> Vec<Case> {
        (0..KERNELS).map(|n| generate::case(self, n)).collect()
    }

    /// The names of the kernels that the rules do not predict.
    pub fn unforetold(&self) -> Vec<&'static str> {
        self.unforetold.lines().collect()
    }

    /// The recorded results in this folder.
    ///
    /// # Errors
    /// Text that says what is wrong with the file.
    pub fn recorded(&self, cases: &[Case]) -> Result<Recorded, String> {
        read(self.results, cases)
    }
}

/// The rules were derived from `first` and `second`; `others` and `third` measure how well they predict kernels that
/// no one had examined.
pub const SAMPLES: [Sample; 4] = [
    Sample {
        name: "first",
        seed: 0,
        more: false,
        results: include_bytes!("first.bin"),
        unforetold: include_str!("first.txt"),
    },
    Sample {
        name: "others",
        seed: 1,
        more: false,
        results: include_bytes!("others.bin"),
        unforetold: include_str!("others.txt"),
    },
    Sample {
        name: "second",
        seed: 2,
        more: true,
        results: include_bytes!("second.bin"),
        unforetold: include_str!("second.txt"),
    },
    Sample {
        name: "third",
        seed: 3,
        more: true,
        results: include_bytes!("third.bin"),
        unforetold: include_str!("third.txt"),
    },
];

const TITLE: &str = "cushim: results of contraction, version 1";

/// A kernel.
pub struct Case {
    /// Its name.
    pub name: String,
    /// The type that it computes with, by its PTX name.
    pub ty: &'static str,
    /// Its text.
    pub text: String,
    /// Bytes of one result.
    pub width: usize,
    /// Results of a thread, 8 bytes each: the `slot`th of thread `row` is at `(slot * ROWS + row) * 8`.
    pub slots: usize,
    /// Its parameters after the addresses of inputs and results.
    pub params: Vec<u64>,
}

/// The start of a file of kernels.
pub fn head() -> String {
    generate::head()
}

/// The inputs of a kernel with this type.
pub fn input(ty: &str) -> Vec<u8> {
    let mut rng = Rng(0x5eed_0000 + ty.bytes().map(u64::from).sum::<u64>());
    let mut out = Vec::new();
    for _ in 0..ROWS {
        for _ in 0..INPUTS - 2 {
            out.extend(rng.value(ty).to_le_bytes());
        }
        out.extend(u64::from(rng.below(2)).to_le_bytes());
        out.extend(u64::from(rng.below(6) + 1).to_le_bytes());
    }
    out
}

/// The parameters of a kernel with this type.
fn params(ty: &str) -> Vec<u64> {
    let mut rng = Rng(0x9a7a_0000 + ty.bytes().map(u64::from).sum::<u64>());
    (0..2).map(|_| rng.value(ty)).collect()
}

/// A hash of the kernels: a recording of other kernels does not match.
pub fn hash(cases: &[Case]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for b in bytes {
            hash = (hash ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for case in cases {
        add(case.text.as_bytes());
        case.params.iter().for_each(|p| add(&p.to_le_bytes()));
    }
    for ty in generate::TYPES {
        add(&input(ty.name));
    }
    hash
}

/// Random numbers (xorshift64*).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u32) -> u32 {
        ((self.next() >> 32) % u64::from(n)) as u32
    }

    /// True in `n` percent of all calls.
    pub fn often(&mut self, n: u32) -> bool {
        self.below(100) < n
    }

    /// The bits of a number whose magnitude is from a half to four.
    fn value(&mut self, ty: &str) -> u64 {
        let mut one = |fraction: u32, bias: u64| {
            let (exponent, sign) = (bias - 1 + u64::from(self.below(3)), u64::from(self.below(2)));
            let exponents = 64 - (bias.leading_zeros() - 1);
            sign << (fraction + exponents) | exponent << fraction | self.next() >> (64 - fraction)
        };
        match ty {
            "f32" => one(23, 127),
            "f64" => one(52, 1023),
            "f16" => one(10, 15),
            "bf16" => one(7, 127),
            "f16x2" => one(10, 15) | one(10, 15) << 16,
            _ => one(7, 127) | one(7, 127) << 16,
        }
    }
}

/// A GPU's results for each case: for each slot, a value for each row.
pub struct Recorded {
    /// Device and driver.
    pub device: String,
    pub columns: Vec<Vec<[u64; ROWS]>>,
}

/// Reads a file of results.
///
/// # Errors
/// Text that says what is wrong with the file.
pub fn read(packed: &[u8], cases: &[Case]) -> Result<Recorded, String> {
    let mut data = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut data).map_err(|e| e.to_string())?;
    let mut lines = data.splitn(4, |b| *b == b'\n');
    let mut line = || lines.next().map(|l| String::from_utf8_lossy(l).into_owned());
    let (title, device, hashed) = (line(), line(), line());
    if title.as_deref() != Some(TITLE) {
        return Err(format!("begins with {title:?}, expected {TITLE:?}"));
    }
    let expected = format!("{:016x}", hash(cases));
    if hashed.as_deref() != Some(&expected) {
        return Err(format!("is of cases {hashed:?}, expected {expected}: record them anew"));
    }
    let mut body = lines.next().unwrap_or_default();
    let mut columns = Vec::with_capacity(cases.len());
    for case in cases {
        let mut slots = Vec::with_capacity(case.slots);
        for _ in 0..case.slots {
            let mut rows = [0; ROWS];
            for row in &mut rows {
                let (bytes, rest) = body.split_at_checked(case.width).ok_or("ends too early")?;
                body = rest;
                *row = bytes.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
            }
            slots.push(rows);
        }
        columns.push(slots);
    }
    match body.is_empty() {
        true => Ok(Recorded { device: device.unwrap_or_default(), columns }),
        false => Err(format!("{} bytes after the last result", body.len())),
    }
}
