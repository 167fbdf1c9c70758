//! Which helpers generated code may call.
//!
//! Every helper has one shape: the warp, a number (mostly of a [`super::Site`]), and the lanes it is for. Code finds it in
//! the table behind [`super::Warp::helpers`] at its place here. What it does, whoever runs the code knows.

macro_rules! helpers {
    ($($name:ident),* $(,)?) => {
        /// A helper, by its place in the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Which {
            $($name,)*
        }

        impl Which {
            /// Every helper, in the order of the table.
            pub(crate) const ALL: &[Which] = &[$(Which::$name),*];
        }
    };
}

helpers! {
    Pure, Dispatch, Spin, Arrive, Meet, Load, Store, Atom, Collective, Clock, Trap, Call, CopyAsync, Ex2, Lg2, Tanh, Sin, Cos, Rcp, Rsqrt, Sqrt, DivApprox, DivFull, Directed, Fused, Halves, Enter, Save, Restore, Mbarrier, Integers, Shuffle, Asynchronous, Texture, Show, Pause,
}
