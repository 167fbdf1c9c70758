//! The runtime interface of a warp, between generated code and the scheduler.
//!
//! Owns the shared state and its offsets ([`INTERFACE`]), the helpers that code may call ([`Which`]) with their
//! arguments ([`Site`], the numbers in [`task`]), and an emitter's result ([`Output`]). Must not know any code
//! generator, what helpers do, or how blocks are run: emitters and the scheduler import this and not each other.

mod helper;
mod layout;
mod output;
mod site;
mod state;
pub(crate) mod task;
mod together;
mod uniform;

pub(crate) use helper::Which;
pub(crate) use layout::INTERFACE;
pub(crate) use output::{Origin, Output, Quality};
pub(crate) use site::{Addresses, LONGEST, Site, at_once, barrier_number};
pub(crate) use state::{
    Arrival, CLUSTER, DONE, Entry, FAULT, NOWHERE, Parked, Placed, Row, SIGNAL, SLOTS, Slot, WAITS,
    Warp, WarpLoop, YIELDS, collected, frame_head, goes_on, more_slots, stride,
};
pub(crate) use together::Together;
pub(crate) use uniform::Uniform;
