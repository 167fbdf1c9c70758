//! The face of LLVM's offloading: the functions of libomptarget, all under the one version node that they have there.
//!
//! No export is a default version: a reference without a version, and `dlsym`, never find it. So a test for
//! libomptarget by a weak reference or by `dlsym` (as libomp does) gives the same result as without cushim. A program
//! that was linked with libomptarget names the version and gets cushim's function.

macro_rules! function {
    ($how:tt $name:ident ($($arg:ident : $type:ty),* $(; $result:ident : $answer:ty)?) $ret:ty) => {
        #[allow(non_snake_case)]
        unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            #[allow(clippy::indexing_slicing)]
            let site: &'static Site = &SITES[const { Offload::$name as usize }];
            if site.real().is_null() {
                cushim_interpose::offload::absent(site);
            }
            hook_body!(offload, site, $how, ($($arg: $type),*) -> $ret)
        }
        global_asm!(
            concat!(".globl cushim_offload_", stringify!($name)),
            concat!(".type cushim_offload_", stringify!($name), ",@function"),
            concat!("cushim_offload_", stringify!($name), ":"),
            "cmp byte ptr [rip + cushim_off], 0",
            "je {hook}",
            "mov rax, qword ptr [rip + {sites} + {real}]",
            "test rax, rax",
            "je {hook}",
            "jmp rax",
            concat!(".size cushim_offload_", stringify!($name), ", .-cushim_offload_", stringify!($name)),
            concat!(".symver cushim_offload_", stringify!($name), ",", stringify!($name), "@VERS1.0,remove"),
            hook = sym $name,
            sites = sym SITES,
            real = const Offload::$name as usize * size_of::<Site>() + std::mem::offset_of!(Site, real),
        );
    };
}

macro_rules! row {
    ($how:tt [$($name:ident)+] $args:tt $ret:ty) => {
        $($crate::offload::function!($how $name $args $ret);)+
    };
}

macro_rules! table {
    ($($class:ident $how:tt [$($name:ident)+] $args:tt -> $ret:ty;)*) => {
        $($crate::offload::row!($how [$($name)+] $args $ret);)*

        /// The sites, in the order of [`Offload`].
        #[allow(clippy::indexing_slicing, reason = "what is not there is found when this is compiled")]
        pub(crate) static SITES: [Site; [$($(stringify!($name),)+)*].len()] = [
            $($(Site {
                id: OFFLOAD_BASE + Offload::$name as u16,
                class: Class::$class,
                name: c!(stringify!($name)),
                node: Some(c"VERS1.0"),
                major: None,
                own_stream: OFFLOAD[Offload::$name as usize].own_stream,
                puts_work: OFFLOAD[Offload::$name as usize].work.is_some(),
                hook: Hook($name as *const ()),
                home: &HOME,
                real: AtomicPtr::new(std::ptr::null_mut()),
            },)+)*
        ];
    };
}

pub(crate) use {function, row, table};
