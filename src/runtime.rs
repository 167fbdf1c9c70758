//! The CUDA runtime face: one export per function and major, each under its major's version node.
//!
//! rustc cannot give a function a symbol version, and callers of every major would bind an unversioned export. So
//! each hook is a generic function over its major, and a line of assembly gives each instance its exported name and
//! version. The newest major's is the default version, which an unversioned lookup finds.

macro_rules! node {
    (11) => {
        "libcudart.so.11.0"
    };
    (12) => {
        "libcudart.so.12"
    };
    (13) => {
        "libcudart.so.13"
    };
}

/// `@@` makes a version the default one.
macro_rules! at {
    (13) => {
        "@@"
    };
    ($other:tt) => {
        "@"
    };
}

/// One name under one version. If cushim leaves the process alone, the export only tests a byte and jumps to the real
/// function.
macro_rules! export {
    ($major:tt $name:ident $exported:tt) => {
        global_asm!(
            concat!(".globl cushim_", $major, "_", stringify!($name)),
            concat!(".type cushim_", $major, "_", stringify!($name), ",@function"),
            concat!("cushim_", $major, "_", stringify!($name), ":"),
            "cmp byte ptr [rip + cushim_off], 0",
            "je {hook}",
            "mov rax, qword ptr [rip + {sites} + {real}]",
            "test rax, rax",
            "je {hook}",
            "jmp rax",
            concat!(".size cushim_", $major, "_", stringify!($name), ", .-cushim_", $major, "_", stringify!($name)),
            concat!(".symver cushim_", $major, "_", stringify!($name), ",",
                cushim_abi::exported_name!($name $exported), $crate::runtime::at!($major), $crate::runtime::node!($major), ",remove"),
            hook = sym $name::hook::<$major>,
            sites = sym $name::SITES,
            real = const $name::real_at::<$major>(),
        );
    };
}

/// One name under all its versions.
macro_rules! function {
    ($class:ident $how:tt [$($major:tt)*] $name:ident $exported:tt ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        mod $name {
            use std::sync::atomic::AtomicPtr;

            #[allow(unused_imports)]
            use cushim_abi::types::*;
            use cushim_abi::{Class, RUNTIME, Runtime};
            use cushim_interpose::site::{Hook, Site};

            const MAJORS: [usize; [$($major),*].len()] = [$($major),*];

            #[allow(clippy::indexing_slicing, reason = "what is not there is found when this is compiled")]
            pub(super) static SITES: [Site; MAJORS.len()] = [$(Site {
                id: Runtime::$name as u16,
                class: Class::$class,
                name: c!(cushim_abi::exported_name!($name $exported)),
                node: Some(c!($crate::runtime::node!($major))),
                major: Some($major),
                own_stream: RUNTIME[Runtime::$name as usize].own_stream,
                puts_work: RUNTIME[Runtime::$name as usize].work.is_some(),
                hook: Hook(hook::<$major> as *const ()),
                home: &$crate::exports::HOME,
                real: AtomicPtr::new(std::ptr::null_mut()),
            }),*];

            /// The offset of a major's real function in `SITES`, in bytes.
            pub(super) const fn real_at<const MAJOR: usize>() -> usize {
                place(MAJOR) * size_of::<Site>() + std::mem::offset_of!(Site, real)
            }

            const fn place(major: usize) -> usize {
                let mut at = 0;
                while at + 1 < MAJORS.len() {
                    #[allow(clippy::indexing_slicing)]
                    if MAJORS[at] == major {
                        break;
                    }
                    at += 1;
                }
                at
            }

            #[allow(clippy::indexing_slicing)]
            pub(super) unsafe extern "C-unwind" fn hook<const MAJOR: usize>($($arg: $type),*) -> $ret {
                let site: &'static Site = &SITES[const { place(MAJOR) }];
                hook_body!(runtime, site, $how, ($($arg: $type),*) -> $ret)
            }
        }

        $($crate::runtime::export!($major $name $exported);)*
    };
}

/// One row of the table: names that share a signature.
macro_rules! row {
    ($class:ident $how:tt $majors:tt {$($name:ident $exported:tt)+} $args:tt $ret:ty) => {
        $($crate::runtime::function!($class $how $majors $name $exported $args $ret);)+
    };
}

macro_rules! table {
    ($($class:ident $how:tt $majors:tt [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:ty;)*) => {
        $($crate::runtime::row!($class $how $majors {$($name [$($exported)?])+} $args $ret);)*

        /// The sites of all functions, one list per row name.
        pub(crate) static SITES: [&[Site]; [$($(stringify!($name),)+)*].len()] =
            [$($(&$name::SITES,)+)*];
    };
}

pub(crate) use {at, export, function, node, row, table};
