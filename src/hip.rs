//! The face of AMD's HIP: the functions of libamdhip64, each under the version node of the release that introduced
//! it.
//!
//! No export is a default version (as in [`crate::offload`]). A program that was linked with HIP names the version
//! and gets cushim's function. A lookup without a version, such as a test whether HIP is there, gives the same result
//! as without cushim.

macro_rules! function {
    ($how:tt $node:literal $name:ident $exported:tt ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            #[allow(clippy::indexing_slicing)]
            let site: &'static Site = &SITES[const { Hip::$name as usize }];
            hook_body!(hip, site, $how, ($($arg: $type),*) -> $ret)
        }
        global_asm!(
            concat!(".globl cushim_hip_", stringify!($name)),
            concat!(".type cushim_hip_", stringify!($name), ",@function"),
            concat!("cushim_hip_", stringify!($name), ":"),
            "cmp byte ptr [rip + cushim_off], 0",
            "je {hook}",
            "mov rax, qword ptr [rip + {sites} + {real}]",
            "test rax, rax",
            "je {hook}",
            "jmp rax",
            concat!(".size cushim_hip_", stringify!($name), ", .-cushim_hip_", stringify!($name)),
            concat!(".symver cushim_hip_", stringify!($name), ",",
                cushim_abi::exported_name!($name $exported), "@", $node, ",remove"),
            hook = sym $name,
            sites = sym SITES,
            real = const Hip::$name as usize * size_of::<Site>() + std::mem::offset_of!(Site, real),
        );
    };
}

macro_rules! row {
    ($how:tt $node:literal {$($name:ident $exported:tt)+} $args:tt $ret:ty) => {
        $($crate::hip::function!($how $node $name $exported $args $ret);)+
    };
}

macro_rules! table {
    ($($class:ident $how:tt $node:literal [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:ty;)*) => {
        $($crate::hip::row!($how $node {$($name [$($exported)?])+} $args $ret);)*

        /// The sites, in the order of [`Hip`].
        #[allow(clippy::indexing_slicing, reason = "what is not there is found when this is compiled")]
        pub(crate) static SITES: [Site; [$($(stringify!($name),)+)*].len()] = [
            $($(Site {
                id: HIP_BASE + Hip::$name as u16,
                class: Class::$class,
                name: c!(cushim_abi::exported_name!($name [$($exported)?])),
                node: Some(c!($node)),
                major: None,
                own_stream: HIP[Hip::$name as usize].own_stream,
                // GPU times come from CUPTI and CUDA's events, which do not see HIP's work.
                puts_work: false,
                hook: Hook($name as *const ()),
                home: &HOME,
                real: AtomicPtr::new(std::ptr::null_mut()),
            },)+)*
        ];
    };
}

pub(crate) use {function, row, table};
