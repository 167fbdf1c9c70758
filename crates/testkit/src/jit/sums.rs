//! Products and sums that may be fused, with their readers in several places.

use super::choices::Choices;

/// Some operations of a type, mostly without a rounding modifier. Half results pass through registers of 16 and of 32 bits.
pub fn some(c: &mut Choices<'_>) -> String {
    let (ty, class, count) =
        [("f32", 'f', 4), ("f64", 'e', 2), ("f16", 'h', 2), ("f16x2", 'r', 6), ("bf16", 'h', 2)]
            [[0, 0, 0, 1, 2, 3, 4][c.below(7) as usize]];
    let ftz = if matches!(ty, "f32" | "f16") && c.below(4) == 0 { ".ftz" } else { "" };
    let mut out = String::new();
    for _ in 0..2 + c.below(5) {
        let guard = ["", "", "", "", "", "@p0 ", "@!p1 "][c.below(7) as usize];
        let round = if c.below(8) == 0 { ".rn" } else { "" };
        let mut r = || format!("{class}{}", c.below(count));
        let [d, a, b] = [r(), r(), r()];
        out += &match c.below(9) {
            0..4 => format!("{guard}mul{round}{ftz}.{ty} {d}, {a}, {b}; "),
            4..6 => format!("{guard}add{round}{ftz}.{ty} {d}, {a}, {b}; "),
            6 => format!("{guard}sub{round}{ftz}.{ty} {d}, {a}, {b}; "),
            7 => format!("neg.{ty} {d}, {a}; "),
            _ => format!("{guard}fma.rn{ftz}.{ty} {d}, {a}, {b}, {d}; "),
        };
    }
    out.truncate(out.trim_end().len() - 1);
    out
}
