//! The number of every function of virtual CUDA: its index in the two tables that the thin libraries jump through.
//!
//! Owns the numbers. They hold within one build only. Must not know: the functions.

/// The majors of the runtime, in the order of a table's columns.
pub const MAJORS: [usize; 3] = [11, 12, 13];

/// The column of a major in the table of runtime functions.
pub const fn column(major: usize) -> usize {
    major - MAJORS[0]
}

macro_rules! names {
    ($id:ident $names:ident $doc:literal; $($name:ident $exported:tt)*) => {
        #[doc = $doc]
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum $id { $($name,)* }

        #[doc = $doc]
        #[doc = "The exported names, by number."]
        pub static $names: [&str; [$(stringify!($name)),*].len()] = [$(crate::exported_name!($name $exported)),*];
    };
}

macro_rules! runtime_names {
    ($($majors:tt [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:tt;)*) => {
        names! { Runtime RUNTIME_NAMES "The functions of the runtime."; $($($name [$($exported)?])+)* }
    };
}

macro_rules! driver_names {
    ($($names:tt $args:tt -> $ret:tt;)*) => {
        driver_names! { @ $($names)* }
    };
    (@ $([$($name:ident)+])*) => {
        names! { Driver DRIVER_NAMES "The functions of the driver."; $($($name [])+)* }
    };
}

all_runtime_functions!(runtime_names);
all_driver_functions!(driver_names);
