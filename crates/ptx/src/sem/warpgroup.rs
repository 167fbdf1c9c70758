//! Matrix products by four warps (PTX ISA 9, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Owns the meaning of the modifiers of `wgmma`. They are no rows of the table: a shape is one of 128 words that
//! encode two numbers. Must not know where elements are, or how the checker expands a product.

use super::bits::Logic;
use super::matrix::Shape;
use crate::types::Scalar;

/// What a `wgmma` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `fence`, `commit_group`: nothing is to do where a product is done at once.
    Order,
    /// `wait_group`, with a number of groups.
    Wait,
    /// `mma_async`.
    Product(Product),
}

/// `d = a * b + d`, of 64 rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Columns of the result.
    pub n: u16,
    /// What a warp multiplies at a time: 16 rows and 8 columns.
    pub tile: Shape,
    /// The type of the result's elements.
    pub d: Scalar,
    /// The type of the first factor.
    pub a: Scalar,
    /// The type of the second factor.
    pub b: Scalar,
    /// Integer results are clamped to the type's range.
    pub saturate: bool,
    /// How single bits are combined before ones are counted.
    pub logic: Option<Logic>,
    /// The first factor has half of its elements, and two operands say which.
    pub sparse: bool,
}

/// Columns of the first factor, the result's types, and those of factors: any two of a list.
#[rustfmt::skip]
const TYPES: [(u16, &[Scalar], &[Scalar]); 6] = [
    (16, &[Scalar::F16, Scalar::F32], &[Scalar::F16]),
    (16, &[Scalar::F32], &[Scalar::Bf16]),
    (8, &[Scalar::F32], &[Scalar::Tf32]),
    (32, &[Scalar::F16, Scalar::F32], &[Scalar::E4m3, Scalar::E5m2]),
    (32, &[Scalar::S32], &[Scalar::S8, Scalar::U8]),
    (256, &[Scalar::S32], &[Scalar::B1]),
];

/// The form of an instruction with this name; `None` for other names. The error says what was expected.
pub fn find(opcode: &str, modifiers: &[&str]) -> Option<Result<Form, String>> {
    if opcode != "wgmma" {
        return None;
    }
    Some(match modifiers {
        ["fence" | "commit_group", "sync", "aligned"] => Ok(Form::Order),
        ["wait_group", "sync", "aligned"] => Ok(Form::Wait),
        ["mma_async", "sp", "sync", "aligned", shape, types @ ..] => product(shape, types, true),
        ["mma_async", "sync", "aligned", shape, types @ ..] => product(shape, types, false),
        _ => {
            Err("known forms: fence, commit_group, wait_group, mma_async, mma_async.sp, each .sync.aligned"
                .into())
        }
    })
}

fn product(shape: &str, rest: &[&str], sparse: bool) -> Result<Form, String> {
    let numbers = shape.strip_prefix("m64n").and_then(|rest| rest.split_once('k'));
    let numbers = numbers.and_then(|(n, k)| Some((n.parse().ok()?, k.parse().ok()?)));
    let Some((n, k)) = numbers else {
        return Err(format!("`.{shape}`, expected a shape such as `.m64n8k16`"));
    };
    let types: Vec<Scalar> = rest.iter().map_while(|word| Scalar::from_name(word)).collect();
    let words = rest.get(types.len()..).unwrap_or_default();
    let [d, a, b] = types[..] else {
        return Err(format!("{} types, expected 3", types.len()));
    };
    let known = |&(depth, results, factors): &(u16, &[Scalar], &[Scalar])| {
        // With its omitted elements, a sparse factor is twice as long.
        let depth = if sparse { 2 * depth } else { depth };
        depth == k
            && (a != Scalar::B1 || !sparse)
            && results.contains(&d)
            && factors.contains(&a)
            && factors.contains(&b)
    };
    if !TYPES.iter().any(known) {
        return Err(format!("`.{shape}` of these types, expected types that have such products"));
    }
    let integers = d == Scalar::S32;
    // For integers, beyond 32 columns only even numbers of tiles.
    let columns = (8..=256).contains(&n) && n % 8 == 0 && (!integers || n <= 32 || n % 16 == 0);
    if !columns {
        return Err(format!(
            "{n} columns, expected a multiple of 8 (of integers beyond 32: of 16) up to 256"
        ));
    }
    let (saturate, logic) = match (words, a) {
        ([], _) if a != Scalar::B1 => (false, None),
        (["satfinite"], Scalar::S8 | Scalar::U8) => (true, None),
        (["and", "popc"], Scalar::B1) => (false, Some(Logic::And)),
        _ => return Err(format!("`.{}` behind the types", words.join("."))),
    };
    let tile = Shape { m: 16, n: 8, k };
    Ok(Form::Product(Product { n, tile, d, a, b, saturate, logic, sparse }))
}

impl Product {
    /// Registers that a lane has of a tile of the result.
    pub fn registers(&self) -> usize {
        if self.d == Scalar::F16 { 2 } else { 4 }
    }

    /// Units of 16 bytes of a column of the second factor, each in a separate register.
    pub fn units(&self) -> u64 {
        if self.sparse { 4 } else { 2 }
    }

    /// How many tiles a warp has side by side.
    pub fn tiles(&self) -> usize {
        usize::from(self.n / 8)
    }

    /// Whether factors can be negated.
    pub fn has_signs(&self) -> bool {
        self.d != Scalar::S32
    }

    /// Whether factors in memory can lie the other way round.
    pub fn can_transpose(&self) -> bool {
        matches!(self.a, Scalar::F16 | Scalar::Bf16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Form, String> {
        let words: Vec<&str> = text.split('.').collect();
        find("wgmma", &words).expect("its name")
    }

    #[test]
    fn a_shape_is_two_numbers() {
        let Ok(Form::Product(p)) = of("mma_async.sync.aligned.m64n200k16.f32.bf16.bf16") else {
            panic!("a product");
        };
        assert_eq!((p.n, p.tiles(), p.registers()), (200, 25, 4));
        assert_eq!(p.tile, Shape { m: 16, n: 8, k: 16 });
        assert!(p.has_signs() && p.can_transpose());
        let Ok(Form::Product(p)) = of("mma_async.sync.aligned.m64n8k32.s32.u8.s8.satfinite") else {
            panic!("a product");
        };
        assert!(p.saturate && !p.has_signs());
        let Ok(Form::Product(p)) = of("mma_async.sp.sync.aligned.m64n24k64.f16.e5m2.e4m3") else {
            panic!("a product");
        };
        assert!(p.sparse && p.tile.k == 64);
        assert_eq!(of("fence.sync.aligned"), Ok(Form::Order));
        assert_eq!(of("wait_group.sync.aligned"), Ok(Form::Wait));
        assert_eq!(find("mma", &["sync"]), None);
    }

    #[test]
    fn what_no_device_has_is_refused() {
        for text in [
            "mma_async.sync.aligned.m64n12k16.f32.f16.f16",
            "mma_async.sync.aligned.m64n264k16.f32.f16.f16",
            "mma_async.sync.aligned.m64n40k32.s32.s8.s8",
            "mma_async.sync.aligned.m64n8k8.f32.f16.f16",
            "mma_async.sync.aligned.m64n8k16.f32.f16.bf16",
            "mma_async.sync.aligned.m64n8k16.f32.f16",
            "mma_async.sync.aligned.m64n8k16.f32.f16.f16.satfinite",
            "mma_async.sync.aligned.m64n8k256.s32.b1.b1",
            "mma_async.sync.aligned.m32n8k16.f32.f16.f16",
            "mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16",
            "mma_async.sp.sync.aligned.m64n8k512.s32.b1.b1.and.popc",
            "commit.sync",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
