//! Tensor copies (PTX ISA 9, `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`),
//! and changes of tensor maps by kernels (`tensormap`).
//!
//! Owns the meaning of their modifiers. They are no rows of the table, because their operands have another form:
//! coordinates are inside an address's brackets, and some fields of a map have a number of their own. Must not know
//! the contents of a tensor map.

use crate::types::Space;

/// How stored elements are combined with those in memory.
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
    /// In im2col mode, for tensors with 3 axes or more; else in tile mode.
    pub columns: bool,
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

/// The tensor copy with this name; `None` for another instruction. The error says what is not supported.
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
        "known forms: cp.async.bulk.tensor, .prefetch.tensor and cp.reduce.async.bulk.tensor with .1d to .5d, .tile or (from .3d) .im2col"
            .to_string()
    };
    let (prefetch, reduce, rest) = match words {
        ["async", "bulk", "prefetch", "tensor", rest @ ..] => (true, false, rest),
        ["async", "bulk", "tensor", rest @ ..] => (false, false, rest),
        ["reduce", "async", "bulk", "tensor", rest @ ..] => (false, true, rest),
        _ => return Err(other()),
    };
    if let Some(word) =
        rest.iter().find(|word| word.starts_with("im2col::") || word.starts_with("tile::"))
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
    let loads = |word: &&str| *word == "im2col" || *word == "im2col_no_offs";
    let mode: Vec<&str> = rest.iter().filter(|w| **w == "tile" || loads(w)).copied().collect();
    let rest: Vec<&str> = rest.iter().filter(|w| **w != "tile" && !loads(w)).copied().collect();
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
    let stores = matches!(op, TensorOp::Store(_));
    let columns = match mode[..] {
        [] | ["tile"] => false,
        ["im2col"] if axes >= 3 && !stores => true,
        // An H100 (driver 580.159) refuses an im2col store with "illegal instruction".
        ["im2col_no_offs"] if axes >= 3 && stores => {
            return Err("`.im2col_no_offs` is not supported".into());
        }
        _ => return Err(other()),
    };
    Ok(Tensor { axes, columns, op })
}

/// A field of a tensor map that a kernel may replace (PTX ISA 9, `tensormap.replace`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// Where the first element is.
    Address,
    /// Axes less one.
    Rank,
    /// Elements of the box along an axis.
    Box(u8),
    /// Elements of the tensor along an axis.
    Size(u8),
    /// Bytes from one index to the next of the axis after this one.
    Stride(u8),
    /// The step between copied elements along an axis.
    Step(u8),
    /// The type of elements, by CUDA's numbers.
    Element,
    /// The interleaved layout, by CUDA's numbers.
    Interleave,
    /// The swizzle, by CUDA's numbers.
    Swizzle,
    /// The value of elements outside the tensor.
    Fill,
}

/// What a `tensormap` instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// Replaces a field; if every axis has one, the axis comes from an operand.
    Replace {
        /// Where the map is.
        space: Space,
        /// With axis 0.
        field: Field,
    },
    /// Copies the map from shared to global memory.
    Copy,
}

const FIELDS: [(&str, Field, &str); 10] = [
    ("global_address", Field::Address, "b64"),
    ("rank", Field::Rank, "b32"),
    ("box_dim", Field::Box(0), "b32"),
    ("global_dim", Field::Size(0), "b32"),
    ("global_stride", Field::Stride(0), "b64"),
    ("element_stride", Field::Step(0), "b32"),
    ("elemtype", Field::Element, "b32"),
    ("interleave_layout", Field::Interleave, "b32"),
    ("swizzle_mode", Field::Swizzle, "b32"),
    ("fill_mode", Field::Fill, "b32"),
];

impl Field {
    /// How many axes have their own field; 0 if there is one for all.
    pub fn axes(self) -> u8 {
        match self {
            Field::Box(_) | Field::Size(_) | Field::Step(_) => 5,
            Field::Stride(_) => 4,
            _ => 0,
        }
    }

    /// The same field for an axis.
    pub fn of(self, axis: u8) -> Field {
        match self {
            Field::Box(_) => Field::Box(axis),
            Field::Size(_) => Field::Size(axis),
            Field::Step(_) => Field::Step(axis),
            Field::Stride(_) => Field::Stride(axis),
            other => other,
        }
    }

    /// Whether the value is an address or a stride, of 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Field::Address | Field::Stride(_))
    }
}

/// The `tensormap` instruction with this name; `None` for another instruction. The error says what is not supported.
pub fn find_map(opcode: &str, modifiers: &[&str]) -> Option<Result<MapOp, String>> {
    if opcode != "tensormap" {
        return None;
    }
    let other = || {
        "known forms: tensormap.replace.tile of one field, tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
            .to_string()
    };
    Some(match modifiers {
        ["replace", "tile", name, rest @ ..] => {
            let (space, rest) = match rest {
                ["global", rest @ ..] => (Space::Global, rest),
                ["shared::cta", rest @ ..] => (Space::Shared, rest),
                _ => (Space::Generic, rest),
            };
            let found = FIELDS.iter().find(|(word, _, ty)| word == name && rest == ["b1024", *ty]);
            found.map(|(_, field, _)| MapOp::Replace { space, field: *field }).ok_or_else(other)
        }
        [
            "cp_fenceproxy",
            "global",
            "shared::cta",
            "tensormap::generic",
            "release",
            scope,
            "sync",
            "aligned",
        ] if ["cta", "cluster", "gpu", "sys"].contains(scope) => Ok(MapOp::Copy),
        _ => Err(other()),
    })
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
            (
                "async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster",
                4,
                load(true),
            ),
            ("async.bulk.prefetch.tensor.5d.L2.global.im2col", 5, TensorOp::Prefetch),
        ] {
            assert_eq!(
                of(text),
                Some(Ok(Tensor { axes, columns: text.contains("im2col"), op })),
                "{text}"
            );
        }
        assert_eq!(of("async.bulk.global.shared::cta.bulk_group"), None);
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
            "async.bulk.tensor.3d.shared::cluster.global.im2col_no_offs.mbarrier::complete_tx::bytes",
            "async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes",
            "async.bulk.tensor.3d.global.shared::cta.im2col.bulk_group",
            "async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
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

    #[test]
    fn fields_of_maps_are_known_by_their_names() {
        let of = |text: &str| {
            let words: Vec<&str> = text.split('.').collect();
            find_map("tensormap", &words).expect("its name")
        };
        let replace = |space, field| Ok(MapOp::Replace { space, field });
        assert_eq!(
            of("replace.tile.rank.shared::cta.b1024.b32"),
            replace(Space::Shared, Field::Rank)
        );
        assert_eq!(
            of("replace.tile.global_stride.b1024.b64"),
            replace(Space::Generic, Field::Stride(0))
        );
        assert_eq!(
            of("cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"),
            Ok(MapOp::Copy)
        );
        for text in [
            "replace.tile.rank.global.b1024.b64",
            "replace.tile.swizzle_atomicity.global.b1024.b32",
            "replace.im2col.rank.global.b1024.b32",
            "cp_fenceproxy.global.shared::cta.tensormap::generic.acquire.gpu.sync.aligned",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert_eq!(find_map("cp", &["async"]), None);
    }
}
