//! Normalises both texts: name, operands, modifiers sorted by name.

use cushim_amdgpu::inst::{Form, Inst};
use cushim_amdgpu::table::{Control, Exec};

/// Instructions that LLVM reads and this decoder leaves out on purpose.
pub fn known_only_to_llvm(text: &str, format: &str) -> bool {
    let name = text.split_whitespace().next().unwrap_or("");
    // Not executed: instructions without a result, and relative registers, with DPP or SDWA.
    let nothing = ["v_movrel", "v_nop", "v_clrexcp", "v_pipeflush", "v_screen_partition"];
    let lanes_or_parts = format.ends_with("SDWA") || format.contains("DPP");
    // Dot products of halves with negated operands; accumulation registers.
    if name.starts_with("v_dot2c") || name.starts_with("v_accvgpr") {
        return true;
    }
    lanes_or_parts && nothing.iter().any(|start| name.starts_with(start))
}

/// Whether cushim's text contains a modifier.
fn shown(word: &str) -> bool {
    ["clamp", "mul:", "div:", "offset", "glc", "slc", "dlc", "scc", "offen", "idxen"]
        .iter()
        .any(|start| word.starts_with(start))
}

/// Splits a line. The operands end at the first space that no comma precedes.
fn parts(text: &str) -> (String, Vec<String>, Vec<String>) {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut operands = Vec::new();
    let mut modifiers = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        operands.push(rest[..end].to_owned());
        match rest[end..].strip_prefix(", ") {
            Some(more) => rest = more,
            None => {
                modifiers.extend(rest[end..].split_whitespace().map(str::to_owned));
                break;
            }
        }
    }
    (name.to_owned(), operands, modifiers)
}

/// The constant 1/(2π), which has more digits as a double.
const LONG: &str = "0.15915494309189532";
const SHORT: &str = "0.15915494";

/// Float constants as operands of 16-bit integer instructions: LLVM prints their bits.
const HALVES: [(&str, &str); 9] = [
    ("0x3800", "0.5"),
    ("0xb800", "-0.5"),
    ("0x3c00", "1.0"),
    ("0xbc00", "-1.0"),
    ("0x4000", "2.0"),
    ("0xc000", "-2.0"),
    ("0x4400", "4.0"),
    ("0xc400", "-4.0"),
    ("0x3118", "0.15915494"),
];

/// Whether LLVM prints the bits of such a constant.
pub fn half(text: &str) -> bool {
    parts(text).1.iter().any(|operand| HALVES.iter().any(|(bits, _)| bits == operand))
}

/// LLVM prints groups of scalar registers from their aligned start, whatever the bits say.
fn aligned(operand: &str) -> String {
    let group = ["s[", "ttmp["].iter().find_map(|name| {
        let (before, rest) = operand.split_once(name)?;
        let (range, after) = rest.split_once(']')?;
        let (first, last) = range.split_once(':')?;
        Some((before, name, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?, after))
    });
    let Some((before, name, first, last, after)) = group else { return operand.to_owned() };
    let count = last - first + 1;
    let first = first / count.min(4) * count.min(4);
    format!("{before}{name}{first}:{}]{after}", first + count - 1)
}

fn joined(name: &str, operands: &[String], mut modifiers: Vec<String>) -> String {
    modifiers.sort();
    format!("{name} {} | {}", operands.join(", "), modifiers.join(" "))
}

/// Whether cushim's text omits the operands.
fn bare(inst: &Inst) -> bool {
    use Control as C;
    match inst.row.exec {
        Exec::Refused | Exec::ScalarMemory(_) => true,
        Exec::Control(what) => !matches!(
            what,
            C::Branch
                | C::BranchScc(_)
                | C::BranchVcc(_)
                | C::BranchExec(_)
                | C::GetPc
                | C::SetPc
                | C::SwapPc
                | C::Call
        ),
        _ => false,
    }
}

pub fn ours(inst: &Inst) -> String {
    if bare(inst) {
        return inst.row.name.to_owned();
    }
    let (name, mut operands, modifiers) = parts(&inst.to_string().replace(LONG, SHORT));
    operands.iter_mut().for_each(|operand| *operand = aligned(operand));
    joined(&name, &operands, modifiers)
}

pub fn llvms(text: &str, inst: &Inst) -> String {
    let (name, mut operands, modifiers) = parts(&text.replace(LONG, SHORT));
    for operand in &mut operands {
        if let Some((_, constant)) = HALVES.iter().find(|(bits, _)| bits == operand) {
            *operand = (*constant).to_owned();
        }
        // neg of an integer has no meaning; LLVM prints the bit by its SDWA name.
        if !matches!(inst.form, Form::Sdwa(_))
            && let Some(inner) =
                operand.strip_prefix("sext(").and_then(|rest| rest.strip_suffix(')'))
        {
            *operand = inner.to_owned();
        }
        // LLVM writes neg() where a minus sign would read as part of the number.
        if let Some(inner) = operand.strip_prefix("neg(").and_then(|rest| rest.strip_suffix(')')) {
            *operand = format!("-{inner}");
        }
    }
    let name = name.trim_end_matches("_e32").trim_end_matches("_e64").to_owned();
    if bare(inst) {
        return name;
    }
    joined(&name, &operands, modifiers.into_iter().filter(|word| shown(word)).collect())
}
