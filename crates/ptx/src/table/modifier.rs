//! The modifier words of instructions, as a set.

macro_rules! words {
    ($($name:ident $text:literal),* $(,)?) => {
        /// One modifier word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Word { $($name),* }

        impl Word {
            /// Every word, in the order of the enumeration.
            pub const ALL: &'static [Word] = &[$(Word::$name),*];

            /// The word as PTX writes it, without the dot.
            pub const fn text(self) -> &'static str {
                match self { $(Word::$name => $text),* }
            }

            /// The word with this text.
            pub fn from_text(text: &str) -> Option<Word> {
                match text { $($text => Some(Word::$name),)* _ => None }
            }
        }
    };
}

words! {
    Rn "rn", Rz "rz", Rm "rm", Rp "rp", Rna "rna",
    Rni "rni", Rzi "rzi", Rmi "rmi", Rpi "rpi",
    Ftz "ftz", Sat "sat", Satfinite "satfinite", Relu "relu", Nan "NaN", CmpNan "nan", Xorsign "xorsign",
    Abs "abs", Noftz "noftz", Approx "approx", Full "full", Oob "oob",
    Lo "lo", Hi "hi", Wide "wide",
    Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", Ls "ls", Hs "hs",
    Equ "equ", Neu "neu", Ltu "ltu", Leu "leu", Gtu "gtu", Geu "geu", Num "num",
    And "and", Or "or", Xor "xor", To "to", Cc "cc",
    Volatile "volatile", Weak "weak", Relaxed "relaxed", Acquire "acquire", Release "release",
    AcqRel "acq_rel", Sc "sc", Mmio "mmio",
    Cta "cta", Cluster "cluster", Gpu "gpu", Sys "sys", Gl "gl",
    Ca "ca", Cg "cg", Cs "cs", Lu "lu", Cv "cv", Wb "wb", Wt "wt", Nc "nc",
    V2 "v2", V4 "v4", V8 "v8",
    Cas "cas", Exch "exch", Inc "inc", Dec "dec", Min "min", Max "max", Add "add", Popc "popc",
    Up "up", Down "down", Bfly "bfly", Idx "idx", Sync "sync", Aligned "aligned", Warp "warp",
    All "all", Any "any", Uni "uni", Ballot "ballot",
    F4e "f4e", B4e "b4e", Rc8 "rc8", Ecl "ecl", Ecr "ecr", Rc16 "rc16",
    L "l", R "r", Wrap "wrap", Clamp "clamp", Shiftamt "shiftamt",
    Async "async", CommitGroup "commit_group", WaitGroup "wait_group", WaitAll "wait_all",
    Mbarrier "mbarrier", Noinc "noinc", Init "init", Inval "inval", Arrive "arrive",
    ArriveDrop "arrive_drop", TestWait "test_wait", TryWait "try_wait",
    PendingCount "pending_count", ExpectTx "expect_tx", CompleteTx "complete_tx",
    NoComplete "noComplete", Parity "parity", Red "red",
    Const "const", Global "global", Local "local", Param "param", ParamEntry "param::entry",
    ParamFunc "param::func", Shared "shared", SharedCta "shared::cta",
    SharedCluster "shared::cluster",
    Finite "finite", Infinite "infinite", Number "number", Notanumber "notanumber",
    Normal "normal", Subnormal "subnormal", CacheHint "L2::cache_hint", Pack "pack",
    Proxy "proxy", Alias "alias", TensormapGeneric "tensormap::generic", AsyncGeneric "async::generic",
    MbarrierInit "mbarrier_init", RestrictCta "sync_restrict::shared::cta",
    RestrictCluster "sync_restrict::shared::cluster",
    Po "po", Shr7 "shr7", Shr15 "shr15",
    Fractional "fractional", Range "range", Cvt "cvt", L2 "L2",
    Load "load", Store "store", Mma "mma", A "a", B "b", C "c", D "d", Row "row", Col "col",
    RowCol "row.col", RowRow "row.row", ColRow "col.row", ColCol "col.col",
    M8n8 "m8n8", X1 "x1", X2 "x2", X4 "x4", Trans "trans",
    M8n8k4 "m8n8k4", M8n8k16 "m8n8k16", M8n8k32 "m8n8k32", M8n8k128 "m8n8k128",
    M16n8k4 "m16n8k4", M16n8k8 "m16n8k8", M16n8k16 "m16n8k16", M16n8k32 "m16n8k32",
    M16n8k64 "m16n8k64", M16n8k128 "m16n8k128", M16n8k256 "m16n8k256",
    M16n16k16 "m16n16k16", M8n32k16 "m8n32k16", M32n8k16 "m32n8k16", M16n16k8 "m16n16k8",
    Sparse "sp", SparseOrdered "sp::ordered_metadata",
    Wait "wait", Bulk "bulk", BulkGroup "bulk_group", CompleteTxBytes "mbarrier::complete_tx::bytes",
    Multicast "multicast::cluster", Combine "reduce", Prefetch "prefetch", Read "read", MmaAsync "mma_async",
}

/// A set of modifier words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Words([u64; 5]);

const _: () = assert!(Word::ALL.len() <= 320, "the set is too small for the words");

impl Extend<Word> for Words {
    fn extend<T: IntoIterator<Item = Word>>(&mut self, words: T) {
        words.into_iter().for_each(|w| self.insert(w));
    }
}

#[allow(clippy::indexing_slicing, reason = "there are fewer words than the set has bits")]
impl Words {
    /// Adds a word.
    pub fn insert(&mut self, w: Word) {
        self.0[w as usize / 64] |= 1 << (w as usize % 64);
    }

    /// Takes a word away.
    pub fn remove(&mut self, w: Word) {
        self.0[w as usize / 64] &= !(1 << (w as usize % 64));
    }

    /// Whether the word is there.
    pub const fn has(&self, w: Word) -> bool {
        self.0[w as usize / 64] >> (w as usize % 64) & 1 != 0
    }

    /// The first of `words` that is present.
    pub fn first(&self, words: &[Word]) -> Option<Word> {
        words.iter().copied().find(|w| self.has(*w))
    }

    /// Whether every word here is also in `other`.
    pub fn within(&self, other: &Words) -> bool {
        self.0.iter().zip(other.0).all(|(a, b)| a & !b == 0)
    }

    /// How many words of `other` are here.
    pub fn count_of(&self, other: &Words) -> u32 {
        self.0.iter().zip(other.0).map(|(a, b)| (a & b).count_ones()).sum()
    }
}
