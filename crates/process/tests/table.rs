//! The table of pointers with real threads. `table_model.rs` tries every interleaving of a few steps.

use cushim_process::table::{PointerTable, Writer};

#[test]
fn finds_what_was_set_through_many_growths() {
    static TABLE: PointerTable<usize> = PointerTable::new();
    // SAFETY: the only writer of this table.
    let writer = &mut unsafe { Writer::new() };
    assert!(TABLE.get(8).is_none());
    for key in 1..50_000usize {
        TABLE.set(writer, key * 16, Some(Box::leak(Box::new(key))));
    }
    for key in 1..50_000usize {
        assert_eq!(TABLE.get(key * 16), Some(&key));
        assert!(TABLE.get(key * 16 + 8).is_none());
    }
    TABLE.set(writer, 160, None);
    assert!(TABLE.get(160).is_none());
    TABLE.set(writer, 160, Some(&7));
    assert_eq!((TABLE.get(160), TABLE.get(0)), (Some(&7), None));
}

#[test]
fn readers_see_whole_values_while_it_grows() {
    static TABLE: PointerTable<usize> = PointerTable::new();
    // SAFETY: the only writer of this table.
    let writer = &mut unsafe { Writer::new() };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..200_000usize {
                    let key = round % 20_000 + 1;
                    if let Some(&value) = TABLE.get(key * 8) {
                        assert_eq!(value, key);
                    }
                }
            });
        }
        for key in 1..=20_000usize {
            TABLE.set(writer, key * 8, Some(Box::leak(Box::new(key))));
        }
    });
}
