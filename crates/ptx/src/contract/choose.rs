//! Chooses which products are fused into which sums.
//!
//! For `.f32` and `.f64`, first the products with one use, then all, each time in the order of the sums; for halves,
//! all at once. A product may be fused as long as each of its uses is a sum that is not fused yet, or that has fused
//! this product. If a sum could fuse either of two, it fuses the one with fewer uses, else the first operand.

use super::products::{Found, Product, Sum};
use super::terms::{is_plus, is_wide};
use crate::ir::Function;

pub(super) fn choose(f: &Function, found: &mut Found) {
    // How often each product was an operand of a sum that fused another product.
    let mut passed_over = vec![false; found.products.len()];
    let uses: Vec<u32> = found.products.iter().map(|p| p.uses + p.escapes).collect();
    for once in [true, false] {
        for sum in found.sums.iter_mut().filter(|sum| sum.fused.is_none()) {
            take(f, sum, &mut found.products, &mut passed_over, &uses, once);
        }
    }
}

fn take(
    f: &Function,
    sum: &mut Sum,
    products: &mut [Product],
    passed_over: &mut [bool],
    uses: &[u32],
    once: bool,
) {
    let inst = &f.code[sum.at as usize];
    let wide = is_wide(inst.sem.ty());
    if once && !wide {
        return;
    }
    let candidate = |k: usize| {
        let p = sum.operands[k]?.product as usize;
        let free = products[p].escapes == 0 && !passed_over[p] && (uses[p] == 1 || !once);
        free.then_some((uses[p], k))
    };
    let Some((_, k)) = candidate(0).into_iter().chain(candidate(1)).min() else { return };
    let (Some(chosen), other) = (sum.operands[k], sum.operands[1 - k]) else { return };
    if let Some(other) = other {
        let [a, b] = [chosen, other].map(|m| m.product as usize);
        // A product that is computed twice becomes one that is doubled.
        let same = products[a].key == products[b].key && chosen.negated == other.negated;
        if uses[a] == 1 && same && wide && is_plus(inst) {
            products[a].escapes += 1;
            products[b].escapes += 1;
            return;
        }
        passed_over[b] = true;
    }
    sum.fused = Some(k);
}
