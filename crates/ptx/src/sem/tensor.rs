//! Copies of boxes of tensors (PTX ISA 9, `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`,
//! `cp.async.bulk.prefetch.tensor`).
//!
//! Owns what their modifiers say. They are no rows of the table, since their operands are not: coordinates stand in an
//! address's brackets. Must not know what a tensor map holds.

/// How stored elements are combined with those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as in the ISA manual
pub enum Combine {
    Add,
    Min,
    Max,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
}

/// What a copy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorOp {
    /// Into shared memory, and tells a barrier object.
    Load {
        /// To all blocks of the cluster that an operand names.
        multicast: bool,
    },
    /// Out of shared memory.
    Store(Option<Combine>),
    /// Nothing that a program can see.
    Prefetch,
}

/// A copy of a box of a tensor with so many axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// 1 to 5.
    pub axes: u8,
    /// What is done.
    pub op: TensorOp,
}

const COMBINES: [(&str, Combine); 8] = [
    ("add", Combine::Add),
    ("min", Combine::Min),
    ("max", Combine::Max),
    ("inc", Combine::Increment),
    ("dec", Combine::Decrement),
    ("and", Combine::And),
    ("or", Combine::Or),
    ("xor", Combine::Xor),
];

/// The copy that an instruction is; `None` where it is another instruction. The error says what is not supported.
pub fn find(opcode: &str, modifiers: &[&str]) -> Option<Result<Tensor, String>> {
    if opcode != "cp" || !modifiers.contains(&"tensor") {
        return None;
    }
    let hints = |word: &&&str| !word.starts_with("L2::");
    let words: Vec<&str> = modifiers.iter().filter(hints).copied().collect();
    Some(of_words(&words))
}

fn of_words(words: &[&str]) -> Result<Tensor, String> {
    let other = || {
        "known forms: cp.async.bulk.tensor, .prefetch.tensor and cp.reduce.async.bulk.tensor with .1d to .5d, tiles".to_string()
    };
    let (prefetch, reduce, rest) = match words {
        ["async", "bulk", "prefetch", "tensor", rest @ ..] => (true, false, rest),
        ["async", "bulk", "tensor", rest @ ..] => (false, false, rest),
        ["reduce", "async", "bulk", "tensor", rest @ ..] => (false, true, rest),
        _ => return Err(other()),
    };
    if let Some(word) =
        rest.iter().find(|word| word.starts_with("im2col") || word.starts_with("tile::"))
    {
        return Err(format!("`.{word}` is not supported"));
    }
    let Some((axes, rest)) = rest.split_first() else { return Err(other()) };
    let axes = match *axes {
        "1d" => 1,
        "2d" => 2,
        "3d" => 3,
        "4d" => 4,
        "5d" => 5,
        _ => return Err(other()),
    };
    let rest: Vec<&str> = rest.iter().filter(|word| **word != "tile").copied().collect();
    let completes = "mbarrier::complete_tx::bytes";
    let op = match rest[..] {
        ["L2", "global"] if prefetch => TensorOp::Prefetch,
        ["shared::cta" | "shared::cluster", "global", end] if end == completes && !reduce => {
            TensorOp::Load { multicast: false }
        }
        ["shared::cluster", "global", end, "multicast::cluster"] if end == completes && !reduce => {
            TensorOp::Load { multicast: true }
        }
        ["global", "shared::cta", "bulk_group"] if !reduce && !prefetch => TensorOp::Store(None),
        ["global", "shared::cta", word, "bulk_group"] if reduce => {
            let found = COMBINES.iter().find(|(text, _)| *text == word);
            TensorOp::Store(Some(found.ok_or_else(other)?.1))
        }
        _ => return Err(other()),
    };
    if prefetch && op != TensorOp::Prefetch {
        return Err(other());
    }
    Ok(Tensor { axes, op })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Result<Tensor, String>> {
        let words: Vec<&str> = text.split('.').collect();
        find("cp", &words)
    }

    #[test]
    fn forms_are_known_by_their_words() {
        let load = |multicast| TensorOp::Load { multicast };
        for (text, axes, op) in [
            (
                "async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                2,
                load(false),
            ),
            (
                "async.bulk.tensor.5d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint",
                5,
                load(false),
            ),
            (
                "async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
                3,
                load(true),
            ),
            ("async.bulk.tensor.1d.global.shared::cta.tile.bulk_group", 1, TensorOp::Store(None)),
            (
                "reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group",
                4,
                TensorOp::Store(Some(Combine::Add)),
            ),
            ("async.bulk.prefetch.tensor.2d.L2.global.tile", 2, TensorOp::Prefetch),
        ] {
            assert_eq!(of(text), Some(Ok(Tensor { axes, op })), "{text}");
        }
        assert_eq!(of("async.bulk.global.shared::cta.bulk_group"), None);
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
            "async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
            "async.bulk.tensor.6d.global.shared::cta.bulk_group",
            "async.bulk.tensor.2d.global.shared::cta",
            "reduce.async.bulk.tensor.2d.global.shared::cta.mul.bulk_group",
            "async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster",
            "async.bulk.tensor",
        ] {
            assert!(of(text).is_some_and(|found| found.is_err()), "{text}");
        }
    }
}
