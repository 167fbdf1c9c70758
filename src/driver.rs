//! The CUDA driver face: libcuda's functions, exported under their own names and without a version, as in libcuda.

macro_rules! function {
    ($how:tt $name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            #[allow(clippy::indexing_slicing)]
            let site: &'static Site = &SITES[const { Driver::$name as usize }];
            hook_body!(driver, site, $how, ($($arg: $type),*) -> $ret)
        }
    };
}

macro_rules! row {
    ($how:tt [$($name:ident)+] $args:tt $ret:ty) => {
        $($crate::driver::function!($how $name $args $ret);)+
    };
}

macro_rules! table {
    ($($class:ident $how:tt [$($name:ident)+] $args:tt -> $ret:ty;)*) => {
        $($crate::driver::row!($how [$($name)+] $args $ret);)*

        /// The sites, in the order of [`Driver`].
        #[allow(clippy::indexing_slicing, reason = "what is not there is found when this is compiled")]
        pub(crate) static SITES: [Site; [$($(stringify!($name),)+)*].len()] = [
            $($(Site {
                id: DRIVER_BASE + Driver::$name as u16,
                class: Class::$class,
                name: c!(stringify!($name)),
                node: None,
                major: None,
                own_stream: DRIVER[Driver::$name as usize].own_stream,
                puts_work: DRIVER[Driver::$name as usize].work.is_some(),
                hook: Hook($name as *const ()),
                home: &HOME,
                real: AtomicPtr::new(std::ptr::null_mut()),
            },)+)*
        ];
    };
}

pub(crate) use {function, row, table};
