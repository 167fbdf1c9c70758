//! Litmus tests, ways of ordering accesses, and the outcomes that PTX's memory model forbids.
//!
//! Source: PTX ISA 9, "Memory Consistency Model". The tests have their names from the literature.

/// One access of a role; `X` and `Y` are locations.
#[derive(Clone, Copy, PartialEq)]
pub enum Access {
    /// A store of a value; of plain data, unless the test uses it for ordering.
    Store(Place, u32),
    /// A store that releases, if the way has one.
    Release(Place, u32),
    /// A load to the role's next result.
    Load(Place),
    /// A load that acquires, if the way has one.
    Acquire(Place),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    X,
    Y,
}

use Access::{Acquire, Load, Release, Store};
use Place::{X, Y};

/// The result of an instance: the final values of the locations, and the values that each role read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seen {
    pub x: u32,
    pub y: u32,
    pub r: [[u32; 2]; 4],
}

/// The guarantee that forbids the test's odd outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Needs {
    /// Coherence of one location, between strong accesses.
    Nothing,
    /// Release and acquire.
    Order,
    /// A single total order of all fences.
    Total,
}

pub struct Litmus {
    pub name: &'static str,
    pub needs: Needs,
    /// The way's fence stands between the two accesses of a role, unless the test has one location only.
    pub roles: &'static [&'static [Access]],
    pub odd: fn(&Seen) -> bool,
}

pub const TESTS: [Litmus; 12] = [
    Litmus {
        name: "MP",
        needs: Needs::Order,
        roles: &[&[Store(X, 1), Release(Y, 1)], &[Acquire(Y), Load(X)]],
        odd: |s| s.r[1] == [1, 0],
    },
    Litmus {
        name: "SB",
        needs: Needs::Total,
        roles: &[&[Store(X, 1), Load(Y)], &[Store(Y, 1), Load(X)]],
        odd: |s| s.r[0][0] == 0 && s.r[1][0] == 0,
    },
    Litmus {
        name: "LB",
        needs: Needs::Order,
        roles: &[&[Acquire(X), Release(Y, 1)], &[Acquire(Y), Release(X, 1)]],
        odd: |s| s.r[0][0] == 1 && s.r[1][0] == 1,
    },
    Litmus {
        name: "R",
        needs: Needs::Total,
        roles: &[&[Store(X, 1), Store(Y, 1)], &[Store(Y, 2), Load(X)]],
        odd: |s| s.y == 2 && s.r[1][0] == 0,
    },
    Litmus {
        name: "S",
        needs: Needs::Order,
        roles: &[&[Store(X, 2), Release(Y, 1)], &[Acquire(Y), Store(X, 1)]],
        odd: |s| s.x == 2 && s.r[1][0] == 1,
    },
    Litmus {
        name: "2+2W",
        needs: Needs::Total,
        roles: &[&[Store(X, 1), Store(Y, 2)], &[Store(Y, 1), Store(X, 2)]],
        odd: |s| s.x == 1 && s.y == 1,
    },
    Litmus {
        name: "WRC",
        needs: Needs::Order,
        roles: &[&[Store(X, 1)], &[Acquire(X), Release(Y, 1)], &[Acquire(Y), Load(X)]],
        odd: |s| s.r[1][0] == 1 && s.r[2] == [1, 0],
    },
    Litmus {
        name: "IRIW",
        needs: Needs::Total,
        roles: &[&[Store(X, 1)], &[Store(Y, 1)], &[Acquire(X), Load(Y)], &[Acquire(Y), Load(X)]],
        odd: |s| s.r[2] == [1, 0] && s.r[3] == [1, 0],
    },
    Litmus {
        name: "CoRR",
        needs: Needs::Nothing,
        roles: &[&[Store(X, 1)], &[Load(X), Load(X)]],
        odd: |s| s.r[1] == [1, 0],
    },
    Litmus {
        name: "CoWW",
        needs: Needs::Nothing,
        roles: &[&[Store(X, 1), Store(X, 2)], &[Load(X), Load(X)]],
        odd: |s| s.x != 2 || s.r[1][0] > s.r[1][1],
    },
    Litmus {
        name: "CoWR",
        needs: Needs::Nothing,
        roles: &[&[Store(X, 1), Load(X)], &[Store(X, 2)]],
        odd: |s| s.r[0][0] == 0 || s.r[0][0] == 2 && s.x == 1,
    },
    Litmus {
        name: "CoRW",
        needs: Needs::Nothing,
        roles: &[&[Load(X), Store(X, 1)], &[Store(X, 2)]],
        odd: |s| s.r[0][0] == 1 || s.r[0][0] == 2 && s.x == 2,
    },
];

/// The scope that a way reaches.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Scope {
    Block,
    Device,
    System,
}

/// A way of ordering accesses: instructions without the type suffix.
pub struct Way {
    pub name: &'static str,
    pub scope: Scope,
    pub gives: Needs,
    /// The fence between a role's accesses.
    pub fence: &'static str,
    /// Instructions for data, and for ordering.
    pub store: &'static str,
    pub release: &'static str,
    pub load: &'static str,
    pub acquire: &'static str,
    /// Accesses to data are weak: the model guarantees nothing about them in a race.
    pub weak: bool,
}

const fn way(
    name: &'static str,
    scope: Scope,
    gives: Needs,
    fence: &'static str,
    of: [&'static str; 4],
) -> Way {
    let [store, release, load, acquire] = of;
    Way { name, scope, gives, fence, store, release, load, acquire, weak: false }
}

const fn same(store: &'static str, load: &'static str) -> [&'static str; 4] {
    [store, store, load, load]
}

const CTA: [&str; 4] = same("st.relaxed.cta", "ld.relaxed.cta");
const CLUSTER: [&str; 4] = same("st.relaxed.cluster", "ld.relaxed.cluster");
const GPU: [&str; 4] = same("st.relaxed.gpu", "ld.relaxed.gpu");
const SYS: [&str; 4] = same("st.relaxed.sys", "ld.relaxed.sys");
const VOLATILE: [&str; 4] = same("st.volatile", "ld.volatile");
const MMIO: [&str; 4] = same("st.mmio.relaxed.sys", "ld.mmio.relaxed.sys");
const ATOMIC: [&str; 4] = same("atom.relaxed.gpu", "atom.relaxed.gpu");

pub const WAYS: [Way; 26] = [
    way("fence.sc.gpu", Scope::Device, Needs::Total, "fence.sc.gpu", GPU),
    way("fence.sc.sys", Scope::System, Needs::Total, "fence.sc.sys", SYS),
    way("membar.gl, volatile", Scope::Device, Needs::Total, "membar.gl", VOLATILE),
    way("membar.sys, volatile", Scope::System, Needs::Total, "membar.sys", VOLATILE),
    way("fence.sc.gpu, atomics", Scope::Device, Needs::Total, "fence.sc.gpu", ATOMIC),
    way("fence.sc.sys, mmio", Scope::System, Needs::Total, "fence.sc.sys", MMIO),
    way("fence.acq_rel.gpu", Scope::Device, Needs::Order, "fence.acq_rel.gpu", GPU),
    way("fence.acq_rel.sys", Scope::System, Needs::Order, "fence.acq_rel.sys", SYS),
    way("fence.gpu", Scope::Device, Needs::Order, "fence.gpu", GPU),
    way(
        "fences of one way",
        Scope::Device,
        Needs::Order,
        "fence.acquire.gpu; fence.release.gpu",
        GPU,
    ),
    way("fence.acq_rel.gpu, volatile", Scope::Device, Needs::Order, "fence.acq_rel.gpu", VOLATILE),
    way(
        "acquire and release.gpu",
        Scope::Device,
        Needs::Order,
        "",
        ["st.relaxed.gpu", "st.release.gpu", "ld.relaxed.gpu", "ld.acquire.gpu"],
    ),
    way(
        "acquire and release.sys",
        Scope::System,
        Needs::Order,
        "",
        ["st.relaxed.sys", "st.release.sys", "ld.relaxed.sys", "ld.acquire.sys"],
    ),
    way(
        "atomics that acquire and release",
        Scope::Device,
        Needs::Order,
        "",
        ["st.relaxed.gpu", "atom.release.gpu", "ld.relaxed.gpu", "atom.acquire.gpu"],
    ),
    way(
        "atomics that do both",
        Scope::System,
        Needs::Order,
        "",
        ["st.relaxed.sys", "atom.acq_rel.sys", "ld.relaxed.sys", "atom.acq_rel.sys"],
    ),
    Way {
        weak: true,
        ..way(
            "fence.acq_rel.gpu, weak data",
            Scope::Device,
            Needs::Order,
            "fence.acq_rel.gpu",
            ["st.weak", "st.relaxed.gpu", "ld.weak", "ld.relaxed.gpu"],
        )
    },
    Way {
        weak: true,
        ..way(
            "acquire and release.gpu, weak data",
            Scope::Device,
            Needs::Order,
            "",
            ["st.weak", "st.release.gpu", "ld.weak", "ld.acquire.gpu"],
        )
    },
    way("relaxed.gpu", Scope::Device, Needs::Nothing, "", GPU),
    way("volatile", Scope::System, Needs::Nothing, "", VOLATILE),
    way("atomics", Scope::Device, Needs::Nothing, "", ATOMIC),
    way("fence.sc.cta", Scope::Block, Needs::Total, "fence.sc.cta", CTA),
    way("fence.sc.cluster", Scope::Block, Needs::Total, "fence.sc.cluster", CLUSTER),
    way("membar.cta, volatile", Scope::Block, Needs::Total, "membar.cta", VOLATILE),
    way("fence.acq_rel.cta", Scope::Block, Needs::Order, "fence.acq_rel.cta", CTA),
    way(
        "acquire and release.cta",
        Scope::Block,
        Needs::Order,
        "",
        ["st.relaxed.cta", "st.release.cta", "ld.relaxed.cta", "ld.acquire.cta"],
    ),
    way("relaxed.cta", Scope::Block, Needs::Nothing, "", CTA),
];

/// Whether the model forbids the odd outcome of a test whose roles share the scope `between`.
pub fn forbids(test: &Litmus, way: &Way, between: Scope) -> bool {
    let reaches = way.scope >= between;
    // Coherence also needs strong accesses whose scopes include each other.
    let ordered = match test.needs {
        Needs::Nothing => true,
        Needs::Order => way.gives != Needs::Nothing,
        Needs::Total => way.gives == Needs::Total,
    };
    reaches && ordered && (!way.weak || test.name == "MP")
}

/// Whether a test is useful for a way: its odd outcome is forbidden, or it is store buffering, which shows that
/// the roles run concurrently.
pub fn is_of(test: &Litmus, way: &Way) -> bool {
    let weak = !way.weak || test.name == "MP";
    let forbidden = match test.needs {
        Needs::Nothing => way.gives == Needs::Nothing,
        Needs::Order => way.gives != Needs::Nothing && weak,
        Needs::Total => way.gives == Needs::Total,
    };
    forbidden || test.name == "SB"
}
