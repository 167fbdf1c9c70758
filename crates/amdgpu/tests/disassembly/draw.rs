//! Random words for each opcode of each format; most operands are valid.

use cushim_amdgpu::target::Target;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) as u32) % end
    }
}

/// The content of a field.
#[derive(Clone, Copy)]
pub enum Field {
    /// A scalar destination register.
    ScalarOut,
    /// A scalar source: 8 bits, or the 9 bits of a vector format.
    Scalar,
    /// A scalar source, but no literal.
    Offset,
    /// A vector register or a scalar source, 9 bits.
    Source,
    /// A vector register.
    Vector,
    /// Random bits; the field has this width.
    Bits(u32),
    /// Random bits in one of four draws, else zero.
    Rare(u32),
    /// This value.
    Is(u32),
}
use Field::*;

fn value(random: &mut Random, field: Field, rdna: bool) -> u32 {
    let aligned = |random: &mut Random, end: u32| {
        let number = random.below(end);
        if random.below(4) == 0 { number } else { number & !3 }
    };
    let scalar = |random: &mut Random| match random.below(12) {
        0 => 128 + random.below(81),
        1 => 240 + random.below(9),
        2 => 255,
        3 => *[106, 126, 124, 251, 252, 253].get(random.below(6) as usize).unwrap_or(&106),
        4 if rdna => 125,
        5 => 235 + random.below(4),
        _ => aligned(random, 100) & !1,
    };
    match field {
        ScalarOut => match random.below(8) {
            0 => 106,
            1 if rdna => 125,
            _ => aligned(random, 100) & !1,
        },
        Scalar => scalar(random),
        Offset => match scalar(random) {
            255 => 128,
            other => other,
        },
        Source if random.below(3) == 0 => scalar(random),
        Source => 256 + aligned(random, 256),
        Vector => aligned(random, 256),
        Bits(width) => random.below(1 << width),
        Rare(width) if random.below(4) == 0 => random.below(1 << width),
        Rare(_) => 0,
        Is(value) => value,
    }
}

/// A format: the fixed bits of its first word, position and number of its opcodes, fields by word and position.
struct Format {
    name: &'static str,
    first: u32,
    at: u32,
    opcodes: u32,
    words: usize,
    fields: Vec<(usize, u32, Field)>,
}

// A line for each format: name, fixed bits, place of the opcode, number of opcodes, number of words, and
// fields: word, place and content (`d` scalar destination, `s` scalar source, `o` scalar source but no
// literal, `c` source, `v` vector register, `b` any bits, `r` rare bits, `i` a value).
const SOP: &str = "
SOP2 80000000 23 96 1 0.16.d 0.8.s 0.0.s
SOPK b0000000 23 29 1 0.16.d 0.0.b16
SOP1 be800000 8 256 1 0.16.d 0.0.s
SOPC bf000000 16 128 1 0.8.s 0.0.s
SOPP bf800000 16 128 1 0.0.r16
";

const SHORT: &str = "
VOP1 7e000000 9 256 1 0.17.v 0.0.c
VOP2 00000000 25 62 1 0.17.v 0.9.v 0.0.c
VOPC 7c000000 17 256 1 0.9.v 0.0.c
VOP1_SDWA 7e000000 9 256 2 0.17.v 0.0.i249 1.0.b7 1.8.b2 1.11.b1 1.13.r3 1.16.b2 1.20.r2 1.23.r1
VOP2_SDWA 00000000 25 62 2 0.17.v 0.9.b6 0.0.i249 1.0.b6 1.8.b2 1.11.b1 1.13.r3 1.16.b2 1.20.r2 1.23.r1 1.24.b2 1.28.r2 1.31.r1
VOPC_SDWA 7c000000 17 256 2 0.9.b6 0.0.i249 1.0.b6 1.16.b2 1.20.r2 1.24.b2 1.28.r2
VOP1_DPP 7e000000 9 256 2 0.17.v 0.0.i250 1.0.v 1.8.b9 1.19.b1 1.20.r2 1.24.b8
VOP2_DPP 00000000 25 62 2 0.17.v 0.9.v 0.0.i250 1.0.v 1.8.b9 1.19.b1 1.20.r4 1.24.b8
VOPC_DPP 7c000000 17 256 2 0.9.v 0.0.i250 1.0.v 1.8.b9 1.19.b1 1.24.b8
";

const EIGHT: &str = "
VOP1_DPP8 7e000000 9 256 2 0.17.v 0.0.i233 1.0.v 1.8.b24
VOP2_DPP8 00000000 25 62 2 0.17.v 0.9.v 0.0.i234 1.0.v 1.8.b24
";

const CDNA: &str = "
SMEM c0000000 18 256 2 0.0.b6 0.6.d 0.16.r1 0.17.i1 1.0.b20
VOP3 d0000000 16 1024 2 0.0.v 0.8.r3 0.15.r1 1.0.c 1.9.c 1.18.c 1.27.r5
VOP3_two_sources d0000000 16 1024 2 0.0.v 0.8.r2 0.15.r1 1.0.c 1.9.c 1.27.r4
VOP3P d3800000 16 128 2 0.0.v 0.8.r3 0.11.r3 0.14.b1 0.15.r1 1.0.c 1.9.c 1.18.c 1.27.b2 1.29.r3
DS d8000000 17 256 2 0.0.b16 1.0.v 1.8.v 1.16.v 1.24.v
FLAT dc000000 18 128 2 0.0.b12 0.16.b2 1.0.v 1.8.v 1.24.v
GLOBAL dc008000 18 128 2 0.0.b13 0.16.b2 1.0.v 1.8.v 1.16.i127 1.24.v
SCRATCH dc004000 18 128 2 0.0.b13 0.16.b2 1.0.v 1.8.v 1.16.d 1.24.v
MUBUF e0000000 18 128 2 0.0.b14 0.14.b1 0.17.r1 1.0.v 1.8.v 1.16.b4 1.24.o
";

const RDNA: &str = "
SMEM f4000000 18 256 2 0.0.b6 0.6.d 0.14.r1 0.16.r1 1.0.b20 1.25.d
VOP3 d4000000 16 1024 2 0.0.v 0.8.r3 0.15.r1 1.0.c 1.9.c 1.18.c 1.27.r5
VOP3_two_sources d4000000 16 1024 2 0.0.v 0.8.r2 0.15.r1 1.0.c 1.9.c 1.27.r4
VOP3P cc000000 16 128 2 0.0.v 0.8.r3 0.11.r3 0.14.b1 0.15.r1 1.0.c 1.9.c 1.18.c 1.27.b2 1.29.r3
DS d8000000 18 256 2 0.0.b16 1.0.v 1.8.v 1.16.v 1.24.v
FLAT dc000000 18 128 2 0.0.b11 0.12.r1 0.16.b2 1.0.v 1.8.v 1.16.i125 1.24.v
GLOBAL dc008000 18 128 2 0.0.b12 0.12.r1 0.16.b2 1.0.v 1.8.v 1.16.d 1.24.v
SCRATCH dc004000 18 128 2 0.0.b12 0.12.r1 0.16.b2 1.0.v 1.8.v 1.16.d 1.24.v
MUBUF e0000000 18 128 2 0.0.b14 0.14.b1 0.15.r1 1.0.v 1.8.v 1.16.b4 1.22.r1 1.24.o
";

fn formats(text: &'static str) -> impl Iterator<Item = Format> {
    text.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut parts = line.split(' ');
        let mut part = || parts.next().expect("a part");
        let (name, first) = (part(), u32::from_str_radix(part(), 16).expect("bits"));
        let mut number = || part().parse().expect("a number");
        let (at, opcodes, words) = (number(), number(), number() as usize);
        Format { name, first, at, opcodes, words, fields: parts.map(field).collect() }
    })
}

fn field(text: &str) -> (usize, u32, Field) {
    let mut parts = text.splitn(3, '.');
    let mut part = || parts.next().expect("a part");
    let (word, at, what) = (part(), part(), part());
    let number = what[1..].parse().unwrap_or(0);
    let field = match &what[..1] {
        "d" => ScalarOut,
        "s" => Scalar,
        "o" => Offset,
        "c" => Source,
        "v" => Vector,
        "b" => Bits(number),
        "r" => Rare(number),
        "i" => Is(number),
        other => panic!("{other}"),
    };
    (word.parse().expect("a word"), at.parse().expect("a place"), field)
}

/// Each format's name and an instruction's words, with two more words after it for a literal.
pub fn all(target: Target, times: usize) -> Vec<(&'static str, Vec<u32>)> {
    let mut random = Random(0x6a09_e667_f3bc_c909);
    let (long, eight) = if target.rdna() { (RDNA, EIGHT) } else { (CDNA, "") };
    let mut all = Vec::new();
    for format in [SOP, SHORT, eight, long].into_iter().flat_map(formats) {
        for op in 0..format.opcodes {
            for _ in 0..times {
                let mut words = vec![0; format.words];
                words[0] = format.first | op << format.at;
                for (word, at, field) in &format.fields {
                    words[*word] |= value(&mut random, *field, target.rdna()) << at;
                }
                // The value of a literal, or another instruction.
                words.push(0x4fdb);
                all.push((format.name, words));
            }
        }
    }
    all
}
