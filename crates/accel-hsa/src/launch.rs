//! Submits a packet of the trait to the device.
//!
//! Owns what the device can do by itself: launches, markers in a queue, copies between memory that the GPU can
//! access, each after signals of the device. The host does everything else. Must not know: who waits, on which
//! thread.

use std::sync::Arc;

use cushim_accel::{Dispatch, Failure, Packet, Work};

use crate::code::{Beside, HsaCode};
use crate::ffi::{Dim3, SUCCESS, Sig, Status};
use crate::flight::{Flight, Needs, What};
use crate::memory::Row;
use crate::rectangle::Rectangle;
use crate::ring::{Refused, Ring};
use crate::runtime::{Core, Device};
use crate::signals::Native;

/// The result of a launch.
pub enum Launched {
    /// The device has it.
    Flying(Arc<Flight>),
    /// It failed.
    Over(Failure),
    /// The device has no room now.
    Later,
    /// The host must do it, or wait for it.
    Host,
}

impl From<Refused> for Launched {
    fn from(refused: Refused) -> Launched {
        match refused {
            Refused::Full => Launched::Later,
            Refused::Failed(failure) => Launched::Over(failure),
        }
    }
}

/// The end of a stream's work on the device: its signal, and whether it is in the stream's ring.
pub type Last = Option<(Arc<Native>, bool)>;

/// Where a stream's work goes.
pub struct Place<'a> {
    /// Everything.
    pub core: &'a Core,
    /// The stream's GPU.
    pub device: &'a Device,
    /// The stream's ring.
    pub ring: &'a Ring,
}

impl Place<'_> {
    /// Submits a packet to the device behind `last`, which becomes its end.
    pub fn launch(&self, packet: &Packet, last: &mut Last) -> Launched {
        let Some(waits) = natives(packet) else { return Launched::Host };
        let result = match &packet.work {
            Work::Barrier => self.in_ring(None, waits, last),
            Work::Dispatch(dispatch) => self.in_ring(Some(dispatch), waits, last),
            Work::Copy(copy) => match self.core.memory.row(copy) {
                Some(Ok(Row { bytes: 0, .. })) => self.in_ring(None, waits, last),
                Some(Ok(row)) => self.copy(&row, waits, last),
                Some(Err(failure)) => Err(failure.into()),
                None => match Rectangle::of(&self.core.memory, copy) {
                    Some(rectangle) => match self.rectangle(&rectangle, waits, last) {
                        Some(result) => result,
                        None => return Launched::Host,
                    },
                    None => return Launched::Host,
                },
            },
            Work::Fill(_) => return Launched::Host,
        };
        match result {
            Ok(flight) => {
                let ring = flight.what != What::Copy;
                *last = Some((flight.signal.clone(), ring));
                packet.done.set_own(flight.signal.clone());
                Launched::Flying(flight)
            }
            Err(refused) => refused.into(),
        }
    }

    fn in_ring(
        &self,
        dispatch: Option<&Dispatch>,
        mut waits: Vec<Arc<Native>>,
        last: &Last,
    ) -> Result<Arc<Flight>, Refused> {
        // Earlier packets of the same ring end before it in any case.
        waits.extend(last.iter().filter(|(_, ring)| !ring).map(|(signal, _)| signal.clone()));
        let signal = self.core.signals.take()?;
        let now = self.core.now();
        let Some(dispatch) = dispatch else {
            let signals = handles(&waits);
            let flight = Arc::new(Flight::new(signal, What::Barrier, now, waits));
            return self.ring.submit(&signals, None, &flight).map(|()| flight);
        };
        let unknown = || Failure::Launch("the module has no such kernel".into());
        let code = dispatch.code.as_any().downcast_ref::<HsaCode>().ok_or_else(unknown)?;
        let mut beside = Beside { queue: self.ring.address(), ..Beside::default() };
        let mut needs = Needs { _code: Some(dispatch.code.clone()), ..Needs::default() };
        if code.asks(dispatch.kernel) {
            let (client, asking) = self.ring.calls()?.begin()?;
            (beside.rpc, needs.asking) = (client, Some(asking));
        }
        // No other cooperative launch may come before this one is submitted, so that they run one
        // after the other.
        let mut cooperative = None;
        if dispatch.cooperative {
            let workspace = self.device.cooperative.workspace()?;
            beside.workspace = workspace.address;
            needs._workspace = Some(workspace);
            let before = cooperative.insert(self.device.cooperative.last());
            waits.extend(before.as_ref().cloned());
        }
        let signals = handles(&waits);
        let (arguments, mut shape) = code.prepare(dispatch, &beside)?;
        let segment = self.core.kernargs.put(&arguments)?;
        shape.kernarg = segment.address;
        let what = What::Kernel(code.name(dispatch.kernel).to_owned());
        let mut flight = Flight::new(signal, what, now, waits);
        needs.segment = Some(segment);
        flight.needs = needs;
        let flight = Arc::new(flight);
        self.ring.submit(&signals, Some(&shape), &flight)?;
        if let Some(mut last) = cooperative {
            *last = Some(flight.signal.clone());
        }
        Ok(flight)
    }

    fn copy(
        &self,
        row: &Row,
        waits: Vec<Arc<Native>>,
        last: &Last,
    ) -> Result<Arc<Flight>, Refused> {
        let api = &self.core.api;
        let [to_agent, from_agent] = row.agents;
        self.by_engine("hsa_amd_memory_async_copy", waits, last, |count, list, done| {
            // SAFETY: memory that the GPU may access, by the table; it is not freed before all work
            // has ended. A list of `count` signals, and one more.
            unsafe {
                (api.hsa_amd_memory_async_copy)(
                    std::ptr::with_exposed_provenance_mut(row.to as usize),
                    to_agent,
                    std::ptr::with_exposed_provenance(row.from as usize),
                    from_agent,
                    row.bytes,
                    count,
                    list,
                    done,
                )
            }
        })
    }

    /// `None` where the runtime refuses it: the GPU has no copy engine, or none for these pitches.
    fn rectangle(
        &self,
        what: &Rectangle,
        waits: Vec<Arc<Native>>,
        last: &Last,
    ) -> Option<Result<Arc<Flight>, Refused>> {
        let (api, begin) = (&self.core.api, Dim3::default());
        let [to, from] = &what.ends;
        let mut taken = true;
        let call = "hsa_amd_memory_async_copy_rect";
        let result = self.by_engine(call, waits, last, |count, list, done| {
            // SAFETY: as in `copy`, of all bytes between the first and the last; structures of this frame, which the
            // runtime has read when it returns.
            let status = unsafe {
                (api.hsa_amd_memory_async_copy_rect)(
                    to,
                    &raw const begin,
                    from,
                    &raw const begin,
                    &raw const what.range,
                    what.agent,
                    what.direction,
                    count,
                    list,
                    done,
                )
            };
            taken = status == SUCCESS;
            status
        });
        taken.then_some(result)
    }

    /// Passes a copy to the runtime, with the number and list of the signals before it, and its
    /// own.
    fn by_engine(
        &self,
        call: &str,
        mut waits: Vec<Arc<Native>>,
        last: &Last,
        copy: impl FnOnce(u32, *const Sig, Sig) -> Status,
    ) -> Result<Arc<Flight>, Refused> {
        waits.extend(last.iter().map(|(signal, _)| signal.clone()));
        let signals = handles(&waits);
        let signal = self.core.signals.take()?;
        let flight = Arc::new(Flight::new(signal, What::Copy, self.core.now(), waits));
        // The runtime refuses an empty list that is not null.
        let list = if signals.is_empty() { std::ptr::null() } else { signals.as_ptr() };
        self.device.copies.add(&flight, || {
            let status = copy(signals.len() as u32, list, flight.signal.sig);
            self.core.api.check(call, status).map_err(Refused::Failed)
        })?;
        Ok(flight)
    }
}

/// The device's signals that a packet waits for; `None` where it waits for the host.
fn natives(packet: &Packet) -> Option<Vec<Arc<Native>>> {
    let open = packet.waits.iter().filter(|wait| !wait.is_done());
    open.map(|wait| wait.own()?.downcast::<Native>().ok()).collect()
}

fn handles(signals: &[Arc<Native>]) -> Vec<Sig> {
    signals.iter().map(|signal| signal.sig).collect()
}
