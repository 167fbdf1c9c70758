//! Tests contexts that the runtime makes current, and that the program removes or sets.

use std::sync::atomic::Ordering;

use super::*;
use crate::testing::{CURRENT, PRIMARY as FIRST, RETAINED, with_driver};

fn retained() -> usize {
    RETAINED.load(Ordering::Relaxed)
}

#[test]
fn the_primary_context_is_retained_once_and_made_current() {
    let _driver = with_driver(&[]);
    assert_eq!((ready(), ready()), (Ok(()), Ok(())));
    assert_eq!((CURRENT.get(), retained()), (FIRST, 1));
    // Another thread has its own current context and the same primary one.
    let other = std::thread::spawn(|| (ready(), CURRENT.get())).join();
    assert_eq!(other.ok(), Some((Ok(()), FIRST)));
    assert_eq!(retained(), 1);
}

#[test]
fn a_context_of_the_program_stays() {
    let _driver = with_driver(&[]);
    CURRENT.set(77);
    assert_eq!((ready(), CURRENT.get(), retained()), (Ok(()), 77, 0));
}

#[test]
fn a_lost_context_is_made_again_and_the_call_repeated() {
    let _driver = with_driver(&[]);
    assert_eq!(ready(), Ok(()));
    CURRENT.set(0);
    let needs_context = || if CURRENT.get() == 0 { 201 } else { 0 };
    assert_eq!((with(needs_context), CURRENT.get()), (0, FIRST));
    // Reset by the program through the driver API: the handle is the same, and is dead until retained.
    let before = retained();
    let reset = || if retained() == before { 709 } else { 0 };
    assert_eq!((with(reset), retained()), (0, before + 1));
    assert_eq!(error::last(), 0);
    // A context of the program that is gone is an error, once.
    CURRENT.set(77);
    assert_eq!(with(|| 201), 201);
    assert_eq!((error::take_last(), CURRENT.get()), (201, 77));
}

#[test]
fn devices_are_chosen_by_thread() {
    let _driver = with_driver(&[]);
    assert_eq!((current_device(), retained()), (Ok(0), 0));
    assert_eq!(set_device::<12>(1), Ok(()));
    assert_eq!((CURRENT.get(), current_device()), (FIRST + 1, Ok(1)));
    assert_eq!(set_device::<12>(2), Err(code::INVALID_DEVICE));
    assert_eq!(set_device::<12>(-1), Err(code::INVALID_DEVICE));
    assert_eq!(current_device(), Ok(1));
    // The context of CUDA 11 comes with the first call that needs it.
    assert_eq!(set_device::<11>(0), Ok(()));
    assert_eq!((CURRENT.get(), current_device()), (FIRST + 1, Ok(0)));
    assert_eq!((ready(), CURRENT.get()), (Ok(()), FIRST));
    // The program's own context decides while it is current.
    CURRENT.set(FIRST + 1);
    assert_eq!(current_device(), Ok(1));
    assert_eq!(std::thread::spawn(current_device).join().ok(), Some(Ok(0)));
}

#[test]
fn a_reset_device_is_used_anew() {
    let _driver = with_driver(&[]);
    assert_eq!((ready(), retained()), (Ok(()), 1));
    assert_eq!(reset(), Ok(()));
    assert_eq!((ready(), retained(), CURRENT.get()), (Ok(()), 2, FIRST));
}
