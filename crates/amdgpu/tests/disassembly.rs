//! Compares the decoder with LLVM's disassembler, an independent reader of the same formats.
//!
//! For each opcode of each format the test draws random words and decodes them here and by `llvm-mc`
//! of LLVM 19. Both must agree whether the words are an instruction, on its length, name, operands and
//! modifiers. It needs clang from scripts/cuda-toolkits; without it, it reports what it left out.

#[path = "disassembly/draw.rs"]
mod draw;
#[path = "disassembly/llvm.rs"]
mod llvm;
#[path = "disassembly/text.rs"]
mod text;

use std::collections::BTreeMap;

use cushim_amdgpu::decode::{Error, decode};
use cushim_amdgpu::target::Target;
use cushim_testkit::sample;

/// Misaligned groups of registers: LLVM takes the aligned group that holds them.
const FIRST: Error = Error::Field("the first of two scalar registers");
const DESTINATION: Error = Error::Field("the destination of a scalar load");

/// Known differences: words that only one of the two takes for an instruction.
fn excused(ours: bool, llvm: &str, format: &str) -> bool {
    // LLVM refuses more: misaligned groups of registers, and operands of a kind that an instruction does
    // not take. It does no harm to execute such words.
    ours || text::known_only_to_llvm(llvm, format)
}

fn compare(name: &str, target: Target, arguments: &[&str]) {
    let Some(program) = llvm::program() else { return };
    let each = match (cfg!(debug_assertions), sample::all()) {
        (true, false) => 3,
        (true, true) => 8,
        (false, _) => 40,
    };
    let drawn = draw::all(target, each);
    let theirs = llvm::disassembled(&program, arguments, &drawn);
    let (mut wrong, mut same, mut ours_alone) = (Vec::new(), 0, 0);
    let mut formats: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for ((format, words), llvm) in drawn.iter().zip(&theirs) {
        let ours = decode(target, words);
        let count = formats.entry(format).or_default();
        let hex = || words.iter().map(|w| format!("{w:08x}")).collect::<Vec<_>>().join(" ");
        match (&ours, llvm) {
            (Ok(inst), Some((text, bytes))) => {
                let (a, b) = (text::ours(inst), text::llvms(text, inst));
                // LLVM encodes such a constant anew, as a literal.
                let longer = usize::from(inst.bytes) + 4 == *bytes && text::half(text);
                if a != b || usize::from(inst.bytes) != *bytes && !longer {
                    let length = inst.bytes;
                    wrong.push(format!(
                        "{format} {}: {a} ({length} bytes), LLVM: {b} ({bytes}) [{text}]",
                        hex()
                    ));
                } else {
                    same += 1;
                    count.0 += 1;
                }
            }
            (Err(_), None) => count.1 += 1,
            (Ok(inst), None) => {
                if excused(true, "", format) {
                    ours_alone += 1;
                } else {
                    wrong.push(format!("{format} {}: {inst}, LLVM: nothing", hex()));
                }
            }
            (Err(error), Some((text, _))) => {
                if !excused(false, text, format) && ![FIRST, DESTINATION].contains(error) {
                    wrong.push(format!("{format} {}: {error:?}, LLVM: {text}", hex()));
                }
            }
        }
    }
    println!(
        "{name}: {same} instructions are the same; LLVM refuses {ours_alone} that are read here; {formats:?}"
    );
    assert!(
        wrong.is_empty(),
        "{name}: {} of {} differ:\n{}",
        wrong.len(),
        drawn.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
    assert!(same > 2000, "only {same} were compared");
}

#[test]
fn cdna2_is_what_llvm_reads() {
    compare("gfx90a", Target::GFX90A, &["-mcpu=gfx90a"]);
}

#[test]
fn rdna2_is_what_llvm_reads() {
    compare("gfx1030", Target::GFX1030, &["-mcpu=gfx1030"]);
}

#[test]
fn rdna2_with_waves_of_64_is_what_llvm_reads() {
    let target = Target { wave32: false, ..Target::GFX1030 };
    compare(
        "gfx1030, waves of 64",
        target,
        &["-mcpu=gfx1030", "-mattr=-wavefrontsize32,+wavefrontsize64"],
    );
}
