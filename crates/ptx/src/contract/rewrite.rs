//! Rewrites the code with the fused operations that were chosen.
//!
//! A sum becomes `fma`. If a factor's register is written before the sum, or its sign changes, it is copied at the
//! product's position; a product without other uses is removed, with its copies.

use super::products::{Found, Meant, Sum};
use super::terms::is_plus;
use crate::error::Pos;
use crate::ir::{Dst, Function, Inst, Src};
use crate::sem::{Float, FloatOp, Operation};
use crate::types::Scalar;

/// Instructions to add, each before the one with this number.
type Added = Vec<(u32, Inst)>;

/// Copies of a product's factors that were made.
#[derive(Clone, Default)]
struct Made {
    /// As they were.
    saved: [Option<Src>; 2],
    /// The first with the other sign.
    negated: Option<Src>,
    /// Sums that took it in.
    taken: u32,
}

pub(super) fn rewrite(f: &mut Function, found: &Found) {
    let mut added = Added::new();
    let mut made = vec![Made::default(); found.products.len()];
    for sum in &found.sums {
        let Some(k) = sum.fused else { continue };
        if let Some(meant) = sum.operands[k] {
            fuse(f, found, sum, k, meant, &mut made[meant.product as usize], &mut added);
        }
    }
    if !found.sums.iter().any(|s| s.fused.is_some()) {
        return;
    }
    let mut gone = vec![false; f.code.len()];
    for (product, made) in found.products.iter().zip(&made) {
        if product.escapes == 0 && made.taken == product.uses && made.taken > 0 {
            gone[product.mul as usize] = true;
            product.copies.iter().for_each(|n| gone[*n as usize] = true);
        }
    }
    rebuild(f, added, &gone);
}

/// Makes a sum an `fma`.
fn fuse(
    f: &mut Function,
    found: &Found,
    sum: &Sum,
    k: usize,
    meant: Meant,
    made: &mut Made,
    added: &mut Added,
) {
    made.taken += 1;
    let mul = found.products[meant.product as usize].mul;
    let (ty, mul_pos) = (f.code[mul as usize].sem.ty(), f.code[mul as usize].pos);
    let factors = [f.code[mul as usize].src[0].clone(), f.code[mul as usize].src[1].clone()];
    let (sub, pos) = (!is_plus(&f.code[sum.at as usize]), f.code[sum.at as usize].pos);
    let mut factors: [Src; 2] = std::array::from_fn(|n| {
        if sum.fresh[k][n] {
            return factors[n].clone();
        }
        let copy = || copy(f, false, ty, &factors[n], mul, mul_pos, added);
        made.saved[n].get_or_insert_with(copy).clone()
    });
    if meant.negated ^ (sub && k == 1) {
        let first = f.code[mul as usize].src[0].clone();
        let copy = || copy(f, true, ty, &first, mul, mul_pos, added);
        factors[0] = made.negated.get_or_insert_with(copy).clone();
    }
    let mut third = f.code[sum.at as usize].src[1 - k].clone();
    if sub && k == 0 {
        third = copy(f, true, ty, &third, sum.at, pos, added);
    }
    let [first, second] = factors;
    let inst = &mut f.code[sum.at as usize];
    inst.src = vec![first, second, third];
    if let Operation::Float(sum) = &mut inst.sem {
        // Rounded as the sum was, to nearest, and no sum any more.
        (sum.op, sum.contract) = (FloatOp::Fma, false);
    }
}

/// A value in a new register, copied or negated by an instruction inserted before number `at`. A constant stays a
/// constant.
fn copy(
    f: &mut Function,
    negated: bool,
    ty: Scalar,
    from: &Src,
    at: u32,
    pos: Pos,
    added: &mut Added,
) -> Src {
    if let Src::Imm(v) = from {
        return Src::Imm(if negated { v ^ signs(ty) } else { *v });
    }
    let register = f.registers.len() as u32;
    f.registers.push(ty);
    let sem = if negated { Operation::Float(Float::negation(ty)) } else { Operation::Move(ty) };
    let mut inst = Inst::new(sem, pos);
    inst.dst.push(Dst::Reg(register, ty.bits()));
    inst.src.push(from.clone());
    added.push((at, inst));
    Src::Reg(register)
}

/// The sign bits of a type.
fn signs(ty: Scalar) -> u64 {
    match ty {
        Scalar::F16x2 | Scalar::Bf16x2 => 0x8000_8000,
        _ => 1 << (ty.bits() - 1),
    }
}

/// The code with the added and without the removed instructions; references to instructions are renumbered.
fn rebuild(f: &mut Function, mut added: Added, gone: &[bool]) {
    added.sort_by_key(|(at, _)| *at);
    let mut added = added.into_iter().peekable();
    let old = std::mem::take(&mut f.code);
    let mut places = Vec::with_capacity(old.len() + 1);
    for (n, inst) in old.into_iter().enumerate() {
        places.push(f.code.len() as u32);
        while let Some((_, before)) = added.next_if(|(at, _)| *at as usize == n) {
            f.code.push(before);
        }
        if !gone[n] {
            f.code.push(inst);
        }
    }
    places.push(f.code.len() as u32);
    let place = |n: &mut u32| *n = places.get(*n as usize).copied().unwrap_or(*n);
    for src in f.code.iter_mut().flat_map(|inst| &mut inst.src) {
        match src {
            Src::Target(n) => place(n),
            Src::Targets(list) => list.iter_mut().for_each(place),
            _ => {}
        }
    }
    for variable in &mut f.variables {
        place(&mut variable.scope.0);
        place(&mut variable.scope.1);
    }
    f.find_blocks();
}
