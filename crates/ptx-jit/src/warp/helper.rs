//! The helpers that generated code may call.
//!
//! All helpers have one signature: the warp, a number (mostly of a [`super::Site`]), and the mask of lanes. Code
//! finds a helper in the table at [`super::Warp::helpers`], by its index here. Only the scheduler knows what it does.

macro_rules! helpers {
    ($($name:ident),* $(,)?) => {
        /// A helper, by its index in the table.
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
