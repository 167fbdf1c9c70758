//! Contraction: a product and the sum that uses it become one fused multiply-add, where NVIDIA's compilers do so.
//!
//! PTX leaves it open whether `mul` and `add` without a rounding modifier are fused (ISA, `add`, `sub`, `mul`: "an
//! add/sub instruction with no rounding modifier defaults to round-to-nearest-even and may be optimized aggressively
//! by the code optimizer"). ptxas and the driver's compiler fuse, so to give a GPU's bits, a program must be fused in
//! the same places. The rules are measured (H200, driver 580.159; ptxas 12.4 and 13.5); docs/design/contraction.md
//! lists them, and the cases that they do not predict.
//!
//! Owns which sums are fused, and how the code is rewritten. Its input and output are checked code, so the
//! interpreter and the compiler see no difference. Must not know how anything is executed.

mod choose;
mod products;
mod regions;
mod rewrite;
mod terms;
mod usage;
mod ways;

use crate::ir::{Function, Module};
use terms::is_product;

/// Fuses in every function of a module. It is linear in the size of the code except for liveness, which is computed
/// only for products that are used after their region.
pub fn contract(module: &mut Module) {
    for f in module.functions.iter_mut().filter(|f| f.defined) {
        function(f);
    }
}

fn function(f: &mut Function) {
    if !f.code.iter().any(is_product) {
        return;
    }
    let dead = usage::dead(f);
    let regions = regions::Regions::of(f, &dead);
    let mut found = products::Found::of(f, &regions, &dead);
    let live = usage::live_out(f, &regions, &dead, &found.pending());
    found.escape(&live);
    choose::choose(f, &mut found);
    rewrite::rewrite(f, &found);
}
