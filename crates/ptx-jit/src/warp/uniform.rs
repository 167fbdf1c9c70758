//! Special registers that are uniform in a warp.

/// Places of uniform special registers in [`super::Warp::uniform`]; those of
/// three axes take three.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Uniform {
    Ntid = 0,
    Nctaid = 3,
    WarpId = 6,
    NWarpId = 7,
    Env1 = 8,
    Env2 = 9,
    Dynamic = 10,
    Total = 11,
    ClusterNctaid = 12,
    ExplicitCluster = 15,
}
