//! Tests handles, addresses and kernels that are added and removed.

use super::*;

#[test]
fn handles_interleave_and_addresses_are_reused() {
    let (a, b) = (0x7000_1000, 0x7000_2000);
    let first = add_module(a, Code::nothing(), "t", Origin::Other).unwrap();
    let second = add_module(b, Code::nothing(), "t", Origin::Other).unwrap();
    add_function(0x8000, b"_Z1av", Some(first));
    add_function(0x8010, b"_Z1bv", Some(second));
    add_function(0x8020, b"_Z1cv", Some(first));
    // Registered twice: the newest counts, and the older one returns later.
    add_function(0x8000, b"_Z1av", Some(second));
    assert!(find(0x8000).unwrap().same_module(Some(second)));
    remove_module(b, module(b));
    assert!(find(0x8000).unwrap().same_module(Some(first)));
    assert!(find(0x8010).is_none());
    assert_eq!(find(0x8020).unwrap().name, "_Z1cv");
    // The library is unloaded, and another is mapped in its place.
    let gone = module(a);
    remove_module(a, gone);
    assert!(find(0x8000).is_none() && module(a).is_none());
    assert_eq!(first.code().layout("_Z1av").unwrap_err(), "its module is unloaded");
    let third = add_module(a, Code::nothing(), "t", Origin::Other).unwrap();
    add_function(0x8000, b"_Z5otherv", Some(third));
    // A late unload does not remove the new module.
    remove_module(a, gone);
    assert!(std::ptr::eq(module(a).unwrap(), third));
    assert_eq!(find(0x8000).unwrap().name, "_Z5otherv");
}

/// A handle that comes back may stand for another kernel, of the same module or of the same name.
#[test]
fn an_alias_of_another_kernel_takes_its_place() {
    let handles = [0x7100_1000, 0x7100_2000];
    let [first, second] =
        handles.map(|at| add_module(at, Code::nothing(), "t", Origin::Other).unwrap());
    add_function(0xb000, b"_Z1av", Some(first));
    add_function(0xb010, b"_Z1bv", Some(first));
    add_function(0xb020, b"_Z1av", Some(second));
    let number = || find(0xb030).unwrap().number;
    for of in [0xb000, 0xb010, 0xb020] {
        let kernel = find(of).unwrap();
        alias_function(0xb030, kernel);
        assert_eq!(number(), kernel.number, "{of:#x}");
    }
}

#[test]
fn unknown_addresses_are_bounded() {
    let one = find_or_unknown(0x9001);
    assert!(std::ptr::eq(one, find_or_unknown(0x9001)));
    for i in 0..10_000usize {
        find_or_unknown(0x10_0000 + i * 2);
    }
    assert_eq!(find_or_unknown(0x77_7777_7777).number, 0);
}

/// Code in memory with a kernel `same` that takes a value of these bits.
fn code(bits: u32) -> Code {
    let text = format!(
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry same(.param .u{bits} a) {{ ret; }}\n"
    );
    let text = std::ffi::CString::new(text).unwrap();
    // SAFETY: a NUL-terminated PTX text, which is read at once.
    unsafe { Code::from_pointer(text.as_ptr() as usize) }
}

#[test]
fn the_same_code_again_has_the_same_records() {
    let load = |handle: usize, bits| {
        let module = add_module(handle, code(bits), "load", Origin::Library).unwrap();
        add_function(handle + 1, b"same", Some(module));
        let kernel = find(handle + 1).unwrap();
        assert_eq!(module.handle(), handle);
        assert_eq!(kernel.known_layout().unwrap().size as u32, bits / 8);
        (module, kernel)
    };
    let is = |a: (&'static Module, &'static Kernel), b: (&'static Module, &'static Kernel)| {
        assert_eq!(std::ptr::eq(a.0, b.0), std::ptr::eq(a.1, b.1));
        std::ptr::eq(a.0, b.0)
    };
    let first = load(0x6000_1000, 32);
    // Both are loaded, so there are two.
    let second = load(0x6000_2000, 32);
    assert!(!is(first, second));
    remove_module(0x6000_1000, Some(first.0));
    assert!(find(0x6000_1001).is_none() && !first.0.is_alive());
    // Another one at the same place, then the same one at another.
    let other = load(0x6000_1000, 64);
    assert!(!is(other, first) && !is(other, second));
    let again = load(0x6000_3000, 32);
    assert!(is(again, first) && again.0.is_alive());
    assert_eq!(again.1.number, first.1.number);
    // An unload that comes twice gives it back once.
    remove_module(0x6000_3000, Some(again.0));
    remove_module(0x6000_3000, Some(again.0));
    remove_module(0x6000_2000, Some(second.0));
    let (a, b) = (load(0x6000_4000, 32), load(0x6000_5000, 32));
    assert!(!is(a, b) && (is(a, first) || is(b, first)) && (is(a, second) || is(b, second)));
    // Another function loads it: its record would say something else.
    remove_module(0x6000_4000, Some(a.0));
    let of_driver = add_module(0x6000_4000, code(32), "another", Origin::Module).unwrap();
    assert!(!std::ptr::eq(of_driver, a.0));
}

#[test]
fn kernels_return_in_any_order_and_with_their_aliases() {
    let load = |handle: usize, names: &[&[u8]]| {
        let module = add_module(handle, code(16), "load", Origin::Library).unwrap();
        for (i, name) in names.iter().enumerate() {
            add_function(handle + 1 + i, name, Some(module));
        }
        alias_function(handle + 0x100, find(handle + 1).unwrap());
        let kernel = |at: usize| std::ptr::from_ref(find(at).unwrap()).addr();
        let mut all: Vec<usize> = (0..names.len()).map(|i| kernel(handle + 1 + i)).collect();
        all.push(kernel(handle + 0x100));
        all.sort_unstable();
        (module, all)
    };
    let (module, records) = load(0x6100_0000, &[b"a", b"b", b"c"]);
    assert_eq!(module.functions(), 4);
    remove_module(0x6100_0000, Some(module));
    // `a` has two records: one is its alias's. Now `b` has the alias, and needs a second one.
    let (module, others) = load(0x6100_1000, &[b"c", b"a", b"b"]);
    assert_eq!(module.functions(), 4);
    assert_eq!(others.iter().filter(|at| records.contains(at)).count(), 3);
    assert_eq!(find(0x6100_1002).unwrap().name, "a");
    remove_module(0x6100_1000, Some(module));
    let (module, again) = load(0x6100_2000, &[b"c", b"b", b"a"]);
    assert_eq!(again, others);
    // What is not registered this time is not launched either.
    remove_module(0x6100_2000, Some(module));
    let (_, one) = load(0x6100_3000, &[b"c"]);
    assert!(one.iter().all(|at| others.contains(at)));
    assert!((0..4).all(|i| find(0x6100_2001 + i).is_none()));
}

/// A kernel that was registered over another, which comes back elsewhere meanwhile.
#[test]
fn an_address_does_not_return_to_a_kernel_that_has_moved() {
    let first = add_module(0x6200_0000, code(8), "load", Origin::Library).unwrap();
    add_function(0x6201_0000, b"same", Some(first));
    let over = add_module(0x6200_1000, Code::nothing(), "load", Origin::Library).unwrap();
    add_function(0x6201_0000, b"over", Some(over));
    remove_module(0x6200_0000, Some(first));
    let again = add_module(0x6200_2000, code(8), "load", Origin::Library).unwrap();
    assert!(std::ptr::eq(again, first));
    // Not registered yet, then at another address.
    add_function(0x6201_0010, b"over", Some(over));
    remove_module(0x6200_1000, Some(over));
    assert!(find(0x6201_0000).is_none());
    add_function(0x6201_0020, b"same", Some(again));
    assert_eq!(find(0x6201_0020).unwrap().name, "same");
    assert!(find(0x6201_0000).is_none());
}
