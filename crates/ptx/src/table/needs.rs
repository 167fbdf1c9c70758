//! The PTX versions and targets that accept a form of an instruction.
//!
//! Owns the facts, one row each: instructions, a condition on their form, and the lowest version and target that
//! accept it. A form needs what all rows that apply to it demand. The facts are what NVIDIA's assembler reports for
//! every form of the table at every version and target (`tests/needs.rs`, `scripts/record-needs`), and, if a driver
//! accepts more, what the driver accepts; they follow the notes in the ISA manual with few exceptions. A form without
//! a row is accepted: this module must never refuse what the assembler accepts. Must not know what the instructions
//! do.

/// Instructions; the condition; the least version, and the least target (0.0 and 0: any).
///
/// All parts of a condition must hold: `a|b`, the name has one of these modifiers; `!a|b`, it has none; `0:a|b`, the
/// first type in the name is one of these (`1:` the second); `=N`, the number of operands.
type Line = (&'static str, &'static str, (u32, u32), u32);

/// State spaces: where none is named, addresses are generic.
const SPACES: &str =
    "global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func";

#[rustfmt::skip]
const LINES: &[Line] = &[
    // What words mean wherever they stand.
    ("ld st atom red cvta isspacep mbarrier", "shared::cta", (7, 8), 0),
    ("cp", "mbarrier shared::cta", (7, 8), 80),
    ("ld st atom red cvta isspacep mbarrier", "shared::cluster", (7, 8), 90),
    ("ld st atom red cp", "L2::cache_hint", (7, 4), 80),
    ("abs add cvt div fma mad max min mul neg set setp slct sub", "ftz", (1, 4), 0),
    // Arithmetic of integers.
    ("add addc", "cc", (1, 2), 0),
    ("addc", "", (1, 2), 0),
    ("sub", "cc", (1, 3), 0),
    ("subc", "", (1, 3), 0),
    ("mad", "cc", (3, 0), 20),
    ("madc", "", (3, 0), 20),
    ("add sub mad", "cc 0:u64|s64", (4, 3), 20),
    ("addc subc madc", "cc 0:u64|s64", (4, 3), 20),
    ("add min max", "0:u16x2|s16x2", (8, 0), 90),
    ("min max", "relu", (8, 0), 90),
    ("popc clz bfind brev bfe bfi prmt", "", (2, 0), 20),
    ("fns", "", (5, 1), 30),
    ("bmsk szext", "", (7, 6), 70),
    ("dp2a dp4a", "", (5, 0), 61),
    ("shf", "", (3, 1), 32),
    ("lop3", "", (4, 3), 50),
    ("vadd vsub vabsdiff vmin vmax vshl vshr vmad vset", "", (2, 0), 20),
    ("vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2", "", (3, 0), 30),
    ("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4", "", (3, 0), 30),
    // Arithmetic of floating-point numbers.
    ("add sub mul mad", "rm|rp", (1, 2), 13),
    ("add sub mul mad", "rm|rp 0:f32", (2, 0), 20),
    ("mad", "rn|rz 0:f32", (2, 0), 20),
    ("fma", "", (1, 4), 0),
    ("fma", "0:f32", (2, 0), 20),
    ("fma", "rm|rp", (1, 4), 13),
    ("fma", "relu", (7, 0), 80),
    ("fma", "0:bf16|bf16x2", (7, 0), 80),
    ("add sub mul fma", "0:f16|f16x2", (4, 2), 53),
    ("add sub mul", "0:bf16|bf16x2", (7, 8), 90),
    ("abs", "0:f16|f16x2", (6, 5), 53),
    ("neg", "0:f16|f16x2", (5, 1), 53),
    ("abs neg", "0:bf16|bf16x2", (7, 0), 80),
    ("min max", "NaN", (7, 0), 80),
    ("min max", "0:f16|f16x2|bf16|bf16x2", (7, 0), 80),
    ("min max", "abs", (7, 2), 86),
    ("min max", "=4", (8, 8), 100),
    ("div", "approx|full", (1, 4), 0),
    ("div rcp sqrt", "rz|rm|rp", (2, 0), 20),
    ("div rcp sqrt", "rn 0:f32", (2, 0), 20),
    ("rcp rsqrt sin cos lg2 ex2", "approx|rn", (1, 4), 0),
    ("sqrt", "approx", (1, 4), 0),
    ("rcp", "approx ftz 0:f64", (2, 1), 20),
    ("rsqrt", "ftz 0:f64", (4, 0), 20),
    ("ex2", "0:f16|f16x2", (7, 0), 75),
    ("ex2", "0:bf16|bf16x2", (7, 8), 90),
    ("tanh", "", (7, 0), 75),
    ("tanh", "0:bf16|bf16x2", (7, 8), 90),
    ("testp copysign", "", (2, 0), 20),
    // Comparisons.
    ("setp", "0:f16|f16x2", (4, 2), 53),
    ("setp", "0:bf16|bf16x2", (7, 8), 90),
    ("set", "0:f16|f16x2", (4, 2), 53),
    ("set", "1:f16|f16x2", (4, 2), 53),
    ("set", "0:u32|s32|u16|s16 1:f16|f16x2", (6, 5), 53),
    ("set", "0:bf16|bf16x2", (7, 8), 90),
    ("set", "1:bf16|bf16x2", (7, 8), 90),
    // Conversions.
    ("cvt", "ftz 0:u64|s64|f64", (1, 5), 0),
    ("cvt", "0:bf16 1:f32", (7, 0), 80),
    ("cvt", "0:bf16 1:f16|f64|bf16|u8|u16|u32|u64|s8|s16|s32|s64", (7, 8), 90),
    ("cvt", "1:bf16", (7, 1), 80),
    ("cvt", "1:bf16 rni|rzi|rmi|rpi|ftz", (7, 8), 90),
    ("cvt", "0:f16 1:f32 relu", (7, 0), 80),
    ("cvt", "0:f16 1:f32 satfinite", (8, 1), 70),
    ("cvt", "1:bf16 0:f16|f64", (7, 8), 90),
    ("cvt", "0:f16x2|bf16x2", (7, 0), 80),
    ("cvt", "0:f16x2|bf16x2 satfinite", (8, 1), 80),
    ("cvt", "0:e4m3x2|e5m2x2", (7, 8), 89),
    ("cvt", "1:e4m3x2|e5m2x2", (7, 8), 89),
    ("cvt", "0:tf32", (7, 0), 80),
    ("cvt", "0:tf32 rn|rz", (7, 8), 90),
    ("cvt", "0:tf32 satfinite", (8, 1), 80),
    ("cvt", "0:tf32 rn|rz satfinite", (8, 6), 100),
    ("cvt", "pack", (6, 5), 72),
    ("cvt", "pack 0:u4|s4", (6, 5), 75),
    // Addresses.
    ("cvta isspacep", "", (2, 0), 20),
    ("cvta isspacep", "const", (3, 1), 20),
    ("isspacep", "param", (7, 7), 70),
    ("isspacep", "param::entry", (8, 3), 70),
    // Memory.
    ("ld st atom red", "!SPACE", (2, 0), 20),
    ("ld st", "volatile", (1, 1), 0),
    ("ld st", "volatile local", (9, 1), 0),
    ("ld st", "weak", (5, 1), 70),
    ("ld st", "relaxed|acquire|release", (5, 1), 70),
    ("ld st", "mmio", (8, 2), 70),
    ("ld st", "ca|cg|cs|cv|lu|wb|wt", (2, 0), 20),
    ("ld", "nc", (3, 1), 32),
    ("ldu", "", (2, 0), 20),
    ("ld st", "v8 0:b32|u32|s32|f32", (8, 8), 100),
    ("ld st", "v4 0:b64|u64|s64|f64", (8, 8), 100),
    ("ld st atom red", "cluster", (7, 8), 90),
    ("atom", "", (1, 0), 11),
    ("red", "", (1, 2), 11),
    ("atom red", "shared", (1, 2), 12),
    ("atom red", "shared::cta", (7, 8), 12),
    ("atom red", "0:u64|s64|b64", (1, 2), 12),
    ("atom red", "shared|shared::cta 0:u64|b64", (2, 0), 20),
    ("atom red", "0:s64 min|max", (3, 1), 32),
    ("atom red", "0:u64 min|max", (3, 1), 32),
    ("atom red", "0:b64 and|or|xor", (3, 1), 32),
    ("atom red", "cta|gpu|sys", (5, 0), 60),
    ("atom red", "relaxed|acquire|release|acq_rel", (5, 1), 70),
    ("atom red", "0:f32", (2, 0), 20),
    ("atom red", "0:f64", (5, 0), 60),
    ("atom red", "0:f16x2", (6, 2), 60),
    ("atom red", "0:f16", (6, 3), 70),
    ("atom red", "0:bf16|bf16x2", (7, 8), 90),
    ("atom red", "0:b16", (6, 3), 70),
    ("atom red", "v2|v4|v8", (8, 1), 90),
    ("atom", "0:b128", (8, 3), 90),
    ("ld st mov", "0:b128", (8, 3), 70),
    ("atom red", "noftz 0:f32", (9, 4), 90),
    ("cp", "async", (7, 0), 80),
    ("createpolicy applypriority discard", "", (7, 4), 80),
    ("prefetch prefetchu", "", (2, 0), 20),
    ("prefetch", "L2::evict_last|L2::evict_normal", (7, 4), 80),
    // Fences and barrier objects.
    ("membar", "", (1, 4), 0),
    ("membar", "sys", (2, 0), 20),
    ("membar fence", "alias", (7, 5), 60),
    ("fence", "", (5, 1), 70),
    ("fence", "cluster", (7, 8), 90),
    ("fence", "async", (8, 0), 90),
    ("fence", "mbarrier_init", (8, 0), 90),
    ("fence", "tensormap::generic", (8, 3), 90),
    // ptxas wants 8.6 and sm_90 for these by themselves, the driver of an H200 for CUDA 13.0 does not.
    ("fence", "sync_restrict::shared::cta|sync_restrict::shared::cluster", (8, 6), 90),
    ("mbarrier", "", (7, 0), 80),
    ("mbarrier", "cta", (8, 0), 80),
    ("mbarrier", "cluster", (8, 0), 90),
    ("mbarrier", "arrive|arrive_drop =3 !noComplete", (7, 8), 90),
    ("mbarrier", "expect_tx|complete_tx", (8, 0), 90),
    ("mbarrier", "test_wait parity", (7, 1), 80),
    ("mbarrier", "try_wait", (7, 8), 90),
    ("mbarrier", "relaxed arrive|arrive_drop|test_wait|try_wait", (8, 6), 90),
    ("griddepcontrol", "", (7, 8), 90),
    ("mapa getctarank", "", (7, 8), 90),
    ("barrier", "cluster", (7, 8), 90),
    ("barrier", "cluster release|relaxed|acquire", (8, 0), 90),
    ("st", "async", (8, 1), 90),
    ("red", "async", (8, 1), 90),
    ("cp", "bulk", (8, 0), 90),
    ("cp", "bulk shared::cta mbarrier::complete_tx::bytes global", (8, 6), 90),
    ("setmaxnreg", "", (8, 0), 90),
    // Barriers, and lanes of a warp.
    ("bar", "cta", (7, 8), 20),
    ("bar", "red|arrive", (2, 0), 20),
    ("bar", "warp", (5, 1), 30),
    ("barrier", "", (5, 1), 30),
    ("barrier", "cta", (7, 8), 30),
    ("shfl", "", (3, 0), 30),
    ("shfl", "sync", (5, 1), 30),
    ("vote", "", (1, 2), 12),
    ("vote", "ballot", (2, 0), 20),
    ("vote", "sync", (5, 1), 30),
    ("match", "", (5, 1), 70),
    ("redux", "", (7, 0), 80),
    ("redux", "0:f32", (8, 6), 100),
    ("activemask", "", (6, 2), 30),
    // Matrices.
    ("wmma", "", (5, 1), 70),
    ("wmma", "0:u8|s8", (6, 3), 72),
    ("wmma", "m8n8k32|m8n8k128", (6, 3), 75),
    ("wmma", "m8n8k4|m16n16k8", (7, 0), 80),
    ("wmma", "0:bf16|tf32", (7, 0), 80),
    ("wmma", "1:bf16", (7, 0), 80),
    ("wmma", "1:u8|s8", (6, 3), 72),
    ("wmma ldmatrix stmatrix", "shared::cta", (7, 8), 0),
    ("ldmatrix", "", (6, 5), 75),
    ("movmatrix", "", (7, 8), 75),
    ("stmatrix", "", (7, 8), 90),
    ("wgmma", "", (8, 0), 90),
    ("wgmma", "sp", (8, 2), 90),
    ("tensormap", "", (8, 3), 90),
    ("mma", "", (6, 4), 70),
    ("mma", "!m8n8k4", (6, 5), 75),
    ("mma", "m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256", (7, 0), 80),
    ("mma", "0:f64", (7, 0), 80),
    ("mma", "1:bf16|tf32", (7, 0), 80),
    ("mma", "1:b1", (7, 0), 75),
    ("mma", "m16n8k4|m16n8k8|m16n8k16 0:f64", (7, 8), 90),
    ("mma", "1:b1 and", (7, 1), 80),
    ("mma", "sp", (7, 1), 80),
    ("mma", "sp::ordered_metadata", (8, 5), 80),
    ("mma", "1:e4m3|e5m2", (8, 4), 89),
    ("mma", "0:f16 1:e4m3|e5m2", (8, 7), 89),
    ("mma", "m16n8k16 1:e4m3|e5m2", (8, 7), 89),
    // Control.
    ("brkpt", "", (1, 0), 11),
    ("pmevent", "", (1, 4), 0),
    ("nanosleep", "", (6, 2), 70),
];

/// Removed forms: the version, for this target and later ones; what is missing, and the replacement.
type Gone = (&'static str, &'static str, (u32, u32), u32, &'static str, &'static str);

#[rustfmt::skip]
const GONE: &[Gone] = &[
    ("shfl vote", "!sync", (6, 4), 70, "no `.sync`", "it from .version 6.4 on for sm_70 and later"),
    ("mad", "0:f32 !rn|rz|rm|rp", (3, 2), 20, "no rounding", "one such as `.rn` from .version 3.2 on for sm_20 and later"),
    ("div", "0:f32 !approx|full|rn|rz|rm|rp", (1, 4), 0, "no rounding", "one such as `.rn`, `.approx` or `.full`"),
];

/// Forms that targets before one know only from a later version on.
type Before = (&'static str, &'static str, (u32, u32), u32);

#[rustfmt::skip]
const BEFORE: &[Before] = &[
    ("cvt", "0:e4m3x2|e5m2x2", (8, 1), 90),
    ("cvt", "1:e4m3x2|e5m2x2", (8, 1), 90),
];

/// Forms whose code is specific to one device (`sm_100a`) or its family (`sm_100f`), and whose target must say so:
/// the numbers of the targets that have them, none for all; the suffix to write.
type Specific = (&'static str, &'static str, &'static [u32], &'static str);

#[rustfmt::skip]
const SPECIFIC: &[Specific] = &[
    ("redux", "0:f32", &[100, 103], ".target sm_100a, sm_100f, sm_103a or sm_103f"),
    ("setmaxnreg", "", &[], "a .target such as sm_90a or sm_100f"),
    ("wgmma", "", &[90], ".target sm_90a"),
    ("tensormap", "replace", &[], "a .target such as sm_90a or sm_100f"),
];

/// A target device of PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Target {
    /// The number after `sm_` or `compute_`; 0 if unknown.
    pub number: u32,
    /// Code is for this device (`a`) or its family (`f`), and for no later one.
    pub only: Option<char>,
}

impl Target {
    /// The target of a name such as `sm_90a`; `None` for other names.
    pub fn from_name(name: &str) -> Option<Target> {
        let rest = name.strip_prefix("sm_").or(name.strip_prefix("compute_"))?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let only = rest[digits.len()..].chars().next_back();
        Some(Target { number: digits.parse().ok()?, only })
    }
}

/// The rows that a text of this version and target does not meet, which are few for new texts.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    version: (u32, u32),
    target: Target,
    unmet: Vec<&'static Line>,
    before: Vec<&'static Before>,
    specific: Vec<&'static Specific>,
    gone: Vec<&'static Gone>,
}

/// The version or target that PTX text has, and the one that it would need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The version or target of the text.
    pub found: String,
    /// What the form needs.
    pub expected: String,
}

impl Needs {
    /// For PTX text; target 0 is one of which nothing is known, which has all.
    pub fn new(version: (u32, u32), target: Target) -> Needs {
        if target.number == 0 {
            let unmet = LINES.iter().filter(|l| version < l.2).collect();
            return Needs { version, target, unmet, ..Needs::default() };
        }
        let number = target.number;
        let has = |s: &Specific| target.only.is_some() && (s.2.is_empty() || s.2.contains(&number));
        Needs {
            version,
            target,
            unmet: LINES.iter().filter(|l| version < l.2 || number < l.3).collect(),
            before: BEFORE.iter().filter(|b| version < b.2 && number < b.3).collect(),
            specific: SPECIFIC.iter().filter(|s| !has(s)).collect(),
            gone: GONE.iter().filter(|g| version >= g.2 && number >= g.3).collect(),
        }
    }

    /// A requirement of an instruction that the text does not meet. The modifiers are as written, types included.
    ///
    /// # Errors
    /// The first row that is not met.
    pub fn check(&self, mnemonic: &str, modifiers: &[&str], operands: usize) -> Result<(), Unmet> {
        let is = |list: &str| list.split(' ').any(|m| m == mnemonic);
        let asked = |list: &str, condition: &str| is(list) && holds(condition, modifiers, operands);
        let Target { number, only } = self.target;
        let device =
            || format!(".target sm_{number}{}", only.map(String::from).unwrap_or_default());
        let newer = |(c, d): (u32, u32)| {
            let (a, b) = self.version;
            (format!(".version {a}.{b}"), format!(".version {c}.{d} or later"))
        };
        for (list, condition, version, target) in &self.unmet {
            if asked(list, condition) {
                let late = number != 0 && number < *target;
                let (found, expected) = match late {
                    true => (device(), format!(".target sm_{target} or later")),
                    false => newer(*version),
                };
                return Err(Unmet { found, expected });
            }
        }
        for (list, condition, version, target) in &self.before {
            if asked(list, condition) {
                let (found, expected) = newer(*version);
                let found = format!("{found} for sm_{number}");
                let expected = format!("{expected}, or .target sm_{target} or later");
                return Err(Unmet { found, expected });
            }
        }
        for (list, condition, _, expected) in &self.specific {
            if asked(list, condition) {
                return Err(Unmet { found: device(), expected: (*expected).into() });
            }
        }
        for (list, condition, _, _, found, expected) in &self.gone {
            if asked(list, condition) {
                return Err(Unmet { found: (*found).into(), expected: (*expected).into() });
            }
        }
        Ok(())
    }
}

/// Whether a condition holds for an instruction as it is written.
fn holds(condition: &str, modifiers: &[&str], operands: usize) -> bool {
    let types = || modifiers.iter().filter(|m| crate::types::Scalar::from_name(m).is_some());
    condition.split_whitespace().all(|part| {
        let among = |list: &str, word: &str| list.split('|').any(|w| w == word);
        let any = |list: &str| modifiers.iter().any(|m| among(list, m));
        if let Some(list) = part.strip_prefix('!') {
            !any(if list == "SPACE" { SPACES } else { list })
        } else if let Some(n) = part.strip_prefix('=') {
            n.parse() == Ok(operands)
        } else if let Some(list) = part.strip_prefix("0:") {
            types().next().is_some_and(|t| among(list, t))
        } else if let Some(list) = part.strip_prefix("1:") {
            types().nth(1).is_some_and(|t| among(list, t))
        } else {
            any(part)
        }
    })
}

/// The last PTX version of each completed major, from 1 on.
const LAST: [u32; 8] = [5, 3, 2, 3, 1, 5, 8, 8];

/// Whether this is a PTX version; one newer than all known ones may be.
pub fn is_version((major, minor): (u32, u32)) -> bool {
    match (major as usize).checked_sub(1) {
        None => false,
        Some(n) => LAST.get(n).is_none_or(|last| minor <= *last),
    }
}

/// Targets and the first version that knows each.
const TARGETS: &[(u32, (u32, u32))] = &[
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (5, 1)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (82, (6, 2)),
    (86, (7, 1)),
    (87, (7, 4)),
    // ptxas 13.5 wants 9.0, the driver of an H200 for CUDA 13.0 takes it with 7.5.
    (88, (7, 4)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

/// The first PTX version that has a target: `sm_` or `compute_` with this number. 1.0 for a possible newer target;
/// `None` for an invalid one.
pub fn target_since(number: u32) -> Option<(u32, u32)> {
    let row = TARGETS.iter().find(|t| t.0 == number);
    row.map(|t| t.1).or((number > 90).then_some((1, 0)))
}
