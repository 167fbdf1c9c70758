//! Model check of the table of pointers: the crate's own source file, compiled with loom's atomics, in every
//! interleaving, and with every value that the memory model allows a lookup to see.

#[path = "../src/table.rs"]
mod table;

mod sync {
    pub use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
}

mod memory {
    /// Loom's atomics are not valid as zero bytes: without pages the table constructs each of them.
    pub fn pages(_size: usize) -> Option<*mut u8> {
        None
    }
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use table::{PointerTable, Writer};

/// A table of two entries, which grows at its second key.
type Table = PointerTable<Value, 1>;
/// A table of four entries, with room for two keys.
type Roomy = PointerTable<Value, 2>;

/// A value that is written before it enters the table; loom reports a read that could come earlier.
struct Value(UnsafeCell<usize>);

fn table<const BITS: u32>() -> Arc<PointerTable<Value, BITS>> {
    Arc::new(PointerTable::over(sync::AtomicPtr::new(std::ptr::null_mut())))
}

fn value(number: usize) -> &'static Value {
    let value: &'static Value = Box::leak(Box::new(Value(UnsafeCell::new(0))));
    // SAFETY: no other thread has the value yet.
    value.0.with_mut(|place| unsafe { *place = number });
    value
}

/// Each model has one thread at a time that changes the table: first the main thread, then one of the others.
fn writer() -> Writer {
    // SAFETY: one table never has two writers in use at once, as said above.
    unsafe { Writer::new() }
}

fn look<const BITS: u32>(table: &PointerTable<Value, BITS>, key: usize) -> Option<usize> {
    // SAFETY: the value was written once, before it entered the table.
    table.get(key).map(|value| value.0.with(|place| unsafe { *place }))
}

#[test]
fn a_lookup_sees_whole_values_while_the_table_grows() {
    loom::model(|| {
        let table: Arc<Table> = table();
        let other = table.clone();
        let thread = thread::spawn(move || {
            for key in 1..=3 {
                other.set(&mut writer(), key * 16, Some(value(key)));
            }
        });
        let first = look(&table, 16);
        assert!(matches!(first, None | Some(1)));
        // A key that was seen once stays visible while the table grows.
        if first.is_some() {
            assert_eq!(look(&table, 16), Some(1));
        }
        assert!(matches!(look(&table, 48), None | Some(3)));
        assert!(thread.join().is_ok());
        for key in 1..=3 {
            assert_eq!(look(&table, key * 16), Some(key));
        }
    });
}

#[test]
fn a_stub_that_goes_and_comes_again_is_never_the_wrong_one() {
    loom::model(|| {
        let table: Arc<Table> = table();
        table.set(&mut writer(), 16, Some(value(1)));
        let other = table.clone();
        let thread = thread::spawn(move || {
            other.set(&mut writer(), 16, None);
            other.set(&mut writer(), 32, Some(value(2)));
            other.set(&mut writer(), 16, Some(value(3)));
        });
        // The values appear in the order in which they were set, never backwards.
        let rank = |seen| match seen {
            Some(1) => 0,
            None => 1,
            Some(3) => 2,
            _ => usize::MAX,
        };
        let (first, second) = (rank(look(&table, 16)), rank(look(&table, 16)));
        assert!(first <= second && second <= 2);
        assert!(matches!(look(&table, 32), None | Some(2)));
        assert!(thread.join().is_ok());
        assert_eq!((look(&table, 16), look(&table, 32)), (Some(3), Some(2)));
    });
}

#[test]
fn two_lookups_and_a_registration() {
    loom::model(|| {
        let table: Arc<Table> = table();
        let threads = [16, 32].map(|key| {
            let table = table.clone();
            thread::spawn(move || assert!(matches!(look(&table, key), None | Some(7))))
        });
        table.set(&mut writer(), 16, Some(value(7)));
        table.set(&mut writer(), 32, Some(value(7)));
        for thread in threads {
            assert!(thread.join().is_ok());
        }
    });
}

#[test]
fn a_stub_is_registered_anew_in_its_place() {
    loom::model(|| {
        let table: Arc<Roomy> = table();
        table.set(&mut writer(), 16, Some(value(1)));
        let other = table.clone();
        let thread = thread::spawn(move || {
            other.set(&mut writer(), 16, Some(value(2)));
            other.set(&mut writer(), 32, Some(value(3)));
        });
        assert!(matches!(look(&table, 32), None | Some(3)));
        assert!(matches!(look(&table, 16), Some(1 | 2)));
        assert!(thread.join().is_ok());
        assert_eq!((look(&table, 16), look(&table, 32)), (Some(2), Some(3)));
    });
}
