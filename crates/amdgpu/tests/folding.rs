//! Compares the results of instructions with LLVM's constant folding, an independent model of each.
//!
//! For each row of a table the test draws 64 sets of operands (random bits, and edge values). It runs
//! the instruction on 64 lanes, and `opt` of LLVM 19 folds the same operation on the same constants.
//! Bits must be equal; any NaN equals any NaN. It needs clang from scripts/cuda-toolkits; without it,
//! it prints that it was left out.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use cushim_amdgpu::exec::{Code, Group, run};
use cushim_amdgpu::lanes::Lanes;
use cushim_amdgpu::memory::{Checked, Memory, Range};
use cushim_amdgpu::table::{Encoding, rows};
use cushim_amdgpu::target::Isa;
use cushim_amdgpu::wave::{State, Wave};
use cushim_testkit::needs;

/// Instructions and their equivalents in LLVM IR; the file's head explains the format.
const TABLE: &str = include_str!("folding/operations.txt");

/// Name, types of operands and result, and the operation, line by line.
fn operations() -> Vec<(&'static str, &'static str, String)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut parts = line.splitn(3, ' ');
            let mut part = || parts.next().expect("three parts");
            (part(), part(), part().replace("; ", "\n"))
        })
        .collect()
}

/// The LLVM type, and its number of bits.
fn kind(letter: u8) -> (&'static str, u32) {
    match letter {
        b'i' => ("i32", 32),
        b'l' => ("i64", 64),
        b'f' => ("float", 32),
        b'd' => ("double", 64),
        b'h' => ("half", 16),
        b's' => ("i16", 16),
        b'p' => ("<2 x half>", 32),
        _ => ("<2 x i16>", 32),
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 ^ self.0 >> 29
    }

    /// Random bits of a type, or an edge value.
    fn operand(&mut self, letter: u8) -> u64 {
        let (any, choice) = (self.next(), self.next() % 4);
        let edges: &[u64] = match letter {
            b'f' => &[
                0,
                0x8000_0000,
                0x3f80_0000,
                0xbf00_0000,
                0x7f80_0000,
                0x7fc0_0000,
                1,
                0x007f_ffff,
                0x0080_0000,
                0x7f7f_ffff,
                0x4f00_0000,
                0xcf00_0000,
            ],
            b'd' => &[
                0,
                1 << 63,
                0x3ff0 << 48,
                0x7ff0 << 48,
                0x7ff8 << 48,
                1,
                0x7fef_ffff_ffff_ffff,
                0x41df_ffff_ffc0_0000,
                0x10 << 48,
            ],
            b'h' | b'p' => {
                &[0, 0x8000_8000, 0x3c00_3c00, 0x7c00_fc00, 0x7e00_0001, 0x0001_03ff, 0x7bff_7bff]
            }
            _ => &[0, 1, u64::MAX, 0x8000_0000, 0x7fff_ffff, 0x8000, 31, 1 << 63],
        };
        let value = match (choice, letter) {
            (0, _) => edges[any as usize % edges.len()],
            // Numbers of medium size, so that not all sums and products overflow or vanish.
            (1, b'f') => u64::from((any as i32 as f32 / 65536.0).to_bits()),
            (1, b'd') => (any as i64 as f64 / 1e12).to_bits(),
            (1, b'i') => any % 70,
            _ => any,
        };
        value & (u64::MAX >> (64 - kind(letter).1))
    }
}

struct Buffer(Range);

// SAFETY: the range belongs to a buffer that lives as long as the machine.
unsafe impl Memory for Buffer {
    fn find(&self, address: u64) -> Option<Range> {
        Some(self.0).filter(|range| range.start <= address && address < range.end)
    }

    fn interrupt(&self, _: u32) {}
}

/// Two words of VOP3 or VOP3P: sources v[2:3], v[4:5], v[6:7], destination v[8:9].
fn assemble(name: &str, sources: usize) -> [u32; 2] {
    let row = |encoding| {
        rows(Isa::Cdna2, encoding).iter().find(|row| row.name == name).map(|row| u32::from(row.op))
    };
    let second =
        [258, 260, 262].iter().take(sources).enumerate().fold(0, |sum, (i, v)| sum | v << (9 * i));
    if let Some(op) = row(Encoding::Vop3p) {
        return [0b1_1010_0111 << 23 | op << 16 | 1 << 14 | 8, second | 3 << 27];
    }
    // Scalar formats: sources s[2:3] and s[4:5], destination s[8:9]; s_nop fills the second word.
    if let Some(op) = row(Encoding::Sop2) {
        return [2 << 30 | op << 23 | 8 << 16 | 4 << 8 | 2, 0xbf80_0000];
    }
    if let Some(op) = row(Encoding::Sop1) {
        return [0b1_0111_1101 << 23 | 8 << 16 | op << 8 | 2, 0xbf80_0000];
    }
    let op = row(Encoding::Vop3)
        .or(row(Encoding::Vop2).map(|op| op + 0x100))
        .or(row(Encoding::Vop1).map(|op| op + 0x140));
    [0b11_0100 << 26 | op.expect("a row of that name") << 16 | 8, second]
}

/// The results of 64 lanes.
fn executed(name: &str, types: &[u8], operands: &[[u64; 3]; 64]) -> Vec<u64> {
    let (result, sources) = types.split_last().expect("a result");
    let [first, second] = assemble(name, sources.len());
    let code = [first, second, 0xbf81_0000, 0, 0, 0];
    let start = code.as_ptr() as u64;
    let machine = Buffer(Range { start, end: start + 24, write: false });
    let mask = u64::MAX >> (64 - kind(*result).1);
    let finish = |wave: &mut Wave| {
        wave.pc = start;
        wave.set_pair(126, u64::MAX);
        let mut group = Group { memory: Checked::new(&machine), lds: Vec::new(), executed: 0 };
        let ran = run(wave, &mut group, &mut Code::default(), &mut Lanes::default(), 10);
        assert!(ran.is_ok() && wave.state == State::Ended, "{name}: {ran:?}");
    };
    if name.starts_with("s_") {
        let one = |values: &[u64; 3]| {
            let mut wave = Wave::new();
            wave.set_pair(2, values[0]);
            wave.set_pair(4, values[1]);
            finish(&mut wave);
            wave.pair(8) & mask
        };
        return operands.iter().map(one).collect();
    }
    let mut wave = Wave::new();
    for (lane, values) in operands.iter().enumerate() {
        for (i, value) in values.iter().enumerate() {
            wave.v[2 + 2 * i][lane] = *value as u32;
            wave.v[3 + 2 * i][lane] = (*value >> 32) as u32;
        }
    }
    finish(&mut wave);
    (0..64)
        .map(|lane| (u64::from(wave.v[8][lane]) | u64::from(wave.v[9][lane]) << 32) & mask)
        .collect()
}

/// An LLVM function without arguments that returns an operation's result as an integer.
fn function(text: &mut String, number: usize, types: &[u8], operation: &str, operands: &[u64; 3]) {
    let (result, sources) = types.split_last().expect("a result");
    let (kind_of_result, bits) = kind(*result);
    let _ = writeln!(text, "define i{bits} @f{number}() {{");
    for (i, letter) in sources.iter().enumerate() {
        let (name, bits) = kind(*letter);
        let _ =
            writeln!(text, "%{} = bitcast i{bits} {} to {name}", ["a", "b", "c"][i], operands[i]);
    }
    let _ = writeln!(
        text,
        "{operation}\n%bits = bitcast {kind_of_result} %r to i{bits}\nret i{bits} %bits\n}}"
    );
}

/// Declarations of all intrinsics that the operations call.
fn declarations(text: &mut String, operations: &[(&str, &str, String)]) {
    let mut seen = std::collections::BTreeSet::new();
    for (.., operation) in operations {
        for line in
            operation.lines().filter_map(|line| line.split_once("call ").map(|(_, call)| call))
        {
            let (result, rest) = line.split_once(" @").expect("a name");
            let (name, arguments) = rest.split_once('(').expect("arguments");
            let types: Vec<&str> = arguments
                .trim_end_matches(')')
                .split(", ")
                .map(|argument| argument.rsplit_once(' ').map_or(argument, |(kind, _)| kind))
                .collect();
            if seen.insert(name) {
                let _ = writeln!(text, "declare {result} @{name}({})", types.join(", "));
            }
        }
    }
}

/// Folds the functions by `opt`; the results by number.
fn folded(program: &PathBuf, text: &str) -> Vec<Option<u64>> {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.ll");
    std::fs::write(&input, text).expect("written");
    let output = Command::new(program)
        .args(["-S", "-passes=instcombine,instsimplify"])
        .arg(&input)
        .output()
        .expect("opt starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut results, mut number) = (Vec::new(), 0);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(rest) = line.strip_prefix("define ").and_then(|rest| rest.split_once("@f")) {
            number = rest.1.split('(').next().and_then(|n| n.parse().ok()).expect("a number");
        }
        if let Some(rest) = line.trim().strip_prefix("ret i") {
            results.resize(results.len().max(number + 1), None);
            let value = rest.split_once(' ').map_or("", |(_, value)| value);
            results[number] = value.parse::<i128>().ok().map(|value| value as u64);
        }
    }
    results
}

fn is_nan(letter: u8, bits: u64) -> bool {
    match letter {
        b'f' => f32::from_bits(bits as u32).is_nan(),
        b'd' => f64::from_bits(bits).is_nan(),
        b'h' => bits & 0x7fff > 0x7c00,
        _ => false,
    }
}

fn same(letter: u8, ours: u64, theirs: u64) -> bool {
    if letter == b'p' {
        return [0, 16]
            .iter()
            .all(|shift| same(b'h', ours >> shift & 0xffff, theirs >> shift & 0xffff));
    }
    let mask = u64::MAX >> (64 - kind(letter).1);
    ours == theirs & mask || is_nan(letter, ours) && is_nan(letter, theirs & mask)
}

/// Known differences: LLVM's minnum of two zeros gives either zero; AMD's manual defines the median with
/// a NaN as the minimum, and LLVM folds it to the maximum where the NaN comes last.
fn excused(name: &str, letter: u8, operands: &[u64; 3], ours: u64, theirs: u64) -> bool {
    if name == "v_med3_f32" && operands.iter().any(|operand| is_nan(b'f', *operand)) {
        return true;
    }
    let zero = |bits: u64| bits << (64 - kind(letter).1) << 1 == 0;
    (name.contains("min") || name.contains("max")) && zero(ours) && zero(theirs)
}

#[test]
fn instructions_are_what_llvm_folds() {
    let what = "AMD instructions beside what LLVM folds";
    let Some(program) = needs::of_toolkit("clang-19", "bin/opt", what) else { return };
    let mut random = Random(0x853c_49e6_748f_ea9b);
    let operations = operations();
    // LLVM folds AMD's intrinsics only for AMD's target.
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
    declarations(&mut text, &operations);
    let drawn: Vec<[[u64; 3]; 64]> = operations
        .iter()
        .map(|(_, types, _)| {
            let sources = &types.as_bytes()[..types.len() - 1];
            std::array::from_fn(|_| {
                std::array::from_fn(|i| sources.get(i).map_or(0, |letter| random.operand(*letter)))
            })
        })
        .collect();
    for (at, (_, types, operation)) in operations.iter().enumerate() {
        for (lane, operands) in drawn[at].iter().enumerate() {
            function(&mut text, at * 64 + lane, types.as_bytes(), operation, operands);
        }
    }
    let theirs = folded(&program, &text);
    let (mut wrong, mut compared, mut unfolded) = (Vec::new(), 0, 0);
    for (at, (name, types, _)) in operations.iter().enumerate() {
        let letter = *types.as_bytes().last().expect("a result");
        let ours = executed(name, types.as_bytes(), &drawn[at]);
        for lane in 0..64 {
            let Some(right) = theirs.get(at * 64 + lane).copied().flatten() else {
                unfolded += 1;
                continue;
            };
            compared += 1;
            if !same(letter, ours[lane], right)
                && !excused(name, letter, &drawn[at][lane], ours[lane], right)
            {
                wrong.push(format!(
                    "{name} {:x?}: {:#x}, LLVM folds to {:#x}",
                    drawn[at][lane], ours[lane], right
                ));
            }
        }
    }
    println!("{compared} results compared, {unfolded} not folded");
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    assert!(compared > operations.len() * 60, "only {compared} results were folded");
}
