//! Random kernels whose lanes diverge and reconverge.

use crate::again::with_both;
use cushim_testkit::jit;

#[test]
fn random_kernels_whose_lanes_part_do_the_same() {
    if !with_both("random::random_kernels_whose_lanes_part_do_the_same") {
        return;
    }
    let (mut all, mut taken) = (0, 0);
    let run = &mut |data: &[u8]| {
        let (d, shapes) = jit::run_parting(data);
        let kernel = d.kernel(d.find("k")).unwrap();
        let by_llvm = shapes.iter().filter(|block| kernel.by_llvm(**block) == Some(Ok(())));
        (all, taken) = (all + shapes.len(), taken + by_llvm.count());
    };
    jit::random(jit::PARTING, 12, run, &jit::parting);
    assert!(4 * taken > 3 * all, "{taken} of {all}");
}
