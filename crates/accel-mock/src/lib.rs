//! An accelerator for tests, modelled on an HSA agent.
//!
//! Owns two devices whose memory the host cannot access, software queues, and code objects whose kernels are
//! functions of the tests, found by symbol name ([`code::define`]). With it, tests use the trait and check semantics
//! without a GPU and without PTX. Must not know: CUDA, PTX.

pub mod code;
mod memory;

use std::alloc::Layout;
use std::sync::Arc;
use std::time::Instant;

use cushim_accel::queue::{Executor, SoftwareQueue};
use cushim_accel::{
    Accelerator, Code, Copy, Device, Dispatch, Failure, Fill, Image, ImageKind, MemoryKind, Queue,
};
use memory::Memory;

/// Bytes of memory of each device.
pub const DEVICE_MEMORY: u64 = 1 << 30;

/// The accelerator.
pub struct Mock {
    devices: Vec<Device>,
    inner: Arc<Inner>,
}

struct Inner {
    memory: Memory,
    start: Instant,
}

/// Two devices of compute capability 9.0 that execute one block at a time.
pub fn new() -> Mock {
    let device = |number: u8| Device {
        name: format!("cushim mock {number}"),
        capability: (9, 0),
        memory: DEVICE_MEMORY,
        processors: 4,
        warp: 32,
        max_threads: 1024,
        shared: (48 << 10, 96 << 10),
        clock: 1_000_000,
        host_visible: false,
        uuid: [b'm', b'o', b'c', b'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number],
        attributes: Vec::new(),
        isas: &[],
    };
    let inner = Inner { memory: Memory::new(DEVICE_MEMORY), start: Instant::now() };
    Mock { devices: vec![device(0), device(1)], inner: Arc::new(inner) }
}

impl Accelerator for Mock {
    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn allocate(&self, device: usize, kind: MemoryKind, layout: Layout) -> Result<u64, Failure> {
        self.inner.memory.allocate(device, kind, layout)
    }

    fn free(&self, address: u64) {
        self.inner.memory.free(address);
    }

    fn is_own(&self, address: u64) -> bool {
        memory::is_device(address)
    }

    fn register_host(&self, address: u64, _bytes: usize) -> Result<u64, Failure> {
        Ok(address)
    }

    fn unregister_host(&self, _address: u64) {}

    fn load(&self, device: usize, image: &Image<'_>) -> Result<Arc<dyn Code>, Failure> {
        Ok(Arc::new(code::MockCode::load(&self.inner.memory, device, image)?))
    }

    fn accepts(&self, kind: ImageKind) -> bool {
        kind == ImageKind::Own
    }

    fn own_images(&self) -> Option<&'static [u8]> {
        Some(code::MAGIC)
    }

    fn queue(&self, _device: usize, _priority: i32) -> Result<Arc<dyn Queue>, Failure> {
        Ok(Arc::new(SoftwareQueue::new(self.inner.clone())))
    }

    fn copy_now(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure> {
        self.inner.memory.copy(&Copy::line(to, from, bytes))
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl Executor for Inner {
    fn dispatch(&self, dispatch: &Dispatch) -> Result<(), Failure> {
        code::run(&self.memory, dispatch)
    }

    fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        self.memory.copy(copy)
    }

    fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        self.memory.fill(fill)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::code::{MockLaunch, define};
    use super::*;
    use cushim_accel::{Packet, Signal, Work};

    const IMAGE: &[u8] =
        b"cushim mock\nkernel add params=8,4\nvariable count bytes=4 init=05000000\n";

    fn load(mock: &Mock) -> Arc<dyn Code> {
        let image = Image {
            kind: ImageKind::Own,
            parts: &[IMAGE],
            externals: &|_| None,
            managed: None,
            optimised: true,
        };
        mock.load(0, &image).unwrap()
    }

    #[test]
    fn device_memory_is_apart_and_bounded() {
        let mock = new();
        let at = mock
            .allocate(0, MemoryKind::Device, Layout::from_size_align(16, 256).unwrap())
            .unwrap();
        assert!(at.is_multiple_of(256));
        let (from, mut to) = ([7u8; 16], [0u8; 16]);
        mock.copy_now(at, from.as_ptr() as u64, 16).unwrap();
        mock.copy_now(to.as_mut_ptr() as u64, at, 16).unwrap();
        assert_eq!(to, from);
        assert!(mock.copy_now(to.as_mut_ptr() as u64, at + 1, 16).is_err());
        mock.free(at);
        assert_eq!(mock.copy_now(at, from.as_ptr() as u64, 1), Err(Failure::InvalidAddress(at)));
        let all = DEVICE_MEMORY as usize;
        assert_eq!(
            mock.allocate(0, MemoryKind::Device, Layout::from_size_align(all + 1, 1).unwrap()),
            Err(Failure::OutOfMemory)
        );
        let host =
            mock.allocate(0, MemoryKind::Host, Layout::from_size_align(64, 64).unwrap()).unwrap();
        // SAFETY: host memory of that size.
        unsafe { (host as *mut u8).write(1) };
        mock.free(host);
    }

    #[test]
    fn kernels_are_functions_by_name() {
        define("add", |launch: &MockLaunch<'_>| {
            let at = launch.u64(0)?;
            let old = launch.read::<4>(at)?;
            let threads = launch.grid().iter().chain(&launch.block()).product::<u32>();
            launch.write(at, &(u32::from_le_bytes(old) + threads * launch.u32(1)?).to_le_bytes())
        });
        let mock = new();
        let code = load(&mock);
        let variable = code.variables().first().unwrap().clone();
        assert_eq!((variable.name.as_str(), variable.bytes), ("count", 4));
        let run = |address: u64| {
            let mut arguments = address.to_le_bytes().to_vec();
            arguments.extend(2u32.to_le_bytes());
            let dispatch = Dispatch {
                tag: 0,
                code: code.clone(),
                kernel: 0,
                grid: [2, 1, 1],
                block: [3, 1, 1],
                cluster: None,
                dynamic_shared: 0,
                arguments: arguments.into(),
                cooperative: false,
                call: 0,
                trail: None,
                stream: None,
                graph: None,
            };
            let done = Signal::new();
            let work = Work::Dispatch(Box::new(dispatch));
            let queue = mock.queue(0, 0).unwrap();
            queue.submit(Packet { work, waits: Vec::new(), done: done.clone() });
            done.wait().failure
        };
        assert_eq!(run(variable.address), None);
        let mut value = [0u8; 4];
        mock.copy_now(value.as_mut_ptr() as u64, variable.address, 4).unwrap();
        assert_eq!(u32::from_le_bytes(value), 5 + 6 * 2);
        assert!(matches!(run(64), Some(Failure::IllegalAddress(_))));
    }
}
