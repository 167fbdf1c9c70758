//! The table of pointers in every order in which its steps can run, and with everything that the memory
//! model allows a lookup to see: the file of the crate itself, compiled with loom's atomics.

#[path = "../src/table.rs"]
mod table;

mod sync {
    pub use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
}

mod memory {
    /// Loom's atomics are not valid as zeroes: each is to be made.
    pub fn pages(_size: usize) -> Option<*mut u8> {
        None
    }
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use table::{PointerTable, Writer};

/// Two entries, so that the second key makes it grow.
type Table = PointerTable<Value, 1>;
/// Four: there is room for two keys.
type Roomy = PointerTable<Value, 2>;

/// What is written before it is put into the table; loom tells of a look at it that may come before that.
struct Value(UnsafeCell<usize>);

fn table<const BITS: u32>() -> Arc<PointerTable<Value, BITS>> {
    Arc::new(PointerTable::over(sync::AtomicPtr::new(std::ptr::null_mut())))
}

fn value(number: usize) -> &'static Value {
    let value: &'static Value = Box::leak(Box::new(Value(UnsafeCell::new(0))));
    // SAFETY: nobody else has it yet.
    value.0.with_mut(|place| unsafe { *place = number });
    value
}

/// Each model has one thread that changes the table at a time: what is set before the others start, and then theirs.
fn writer() -> Writer {
    // SAFETY: as said, of one table there are never two in use at once.
    unsafe { Writer::new() }
}

fn look<const BITS: u32>(table: &PointerTable<Value, BITS>, key: usize) -> Option<usize> {
    // SAFETY: written once, before it was put into the table.
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
        // What was seen once stays: growing loses nothing.
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
        // In the order in which they were set, never back.
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
