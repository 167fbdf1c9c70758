//! The device's side of LLVM's GPU RPC: one that follows the protocol, for tests of the host's replies, and one that
//! follows a fuzzer's bytes.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cushim_rpc::files::Streams;
use cushim_rpc::port::Packet;
use cushim_rpc::{Allow, End, Host, Line, Port, Server, Shape, Stop};

/// Memory that host and device share.
#[derive(Debug)]
pub struct Shared {
    words: Box<[u64]>,
    shape: Shape,
}

impl Shared {
    /// Memory of this shape, zeroed.
    pub fn new(shape: Shape) -> Self {
        Shared { words: vec![0; shape.size() / 8].into(), shape }
    }

    fn base(&self) -> *mut u8 {
        self.words.as_ptr().cast_mut().cast()
    }

    /// The host's view of it.
    ///
    /// # Safety
    /// The view does not outlive this memory, and only a [`Device`] touches the memory.
    pub unsafe fn line(&self) -> Line {
        // SAFETY: the memory has this many bytes, as the caller promises.
        unsafe { Line::new(self.base(), self.shape) }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at + 4 <= self.shape.size());
        // SAFETY: inside the memory, aligned, and accessed by atomics only.
        unsafe { AtomicU32::from_ptr(self.base().add(at).cast()) }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        assert!(at + 8 <= self.shape.size());
        // SAFETY: inside the memory, aligned, and accessed by atomics only.
        unsafe { AtomicU64::from_ptr(self.base().add(at).cast()) }
    }

    /// The client's words: the one that the device reads, and the one that it writes.
    fn boxes(&self, port: u32) -> (&AtomicU32, &AtomicU32) {
        let ports = self.shape.ports() as usize;
        (self.word(4 * port as usize), self.word(4 * (ports + port as usize)))
    }

    fn header(&self, port: u32, mask: u64, opcode: u32) {
        let at = (8 + 16 * port as usize) + 8 * self.shape.ports() as usize - 8;
        self.long(at).store(mask, Ordering::Relaxed);
        self.word(at + 8).store(opcode, Ordering::Relaxed);
    }

    fn packet(&self, port: u32, lane: u32, word: usize) -> &AtomicU64 {
        let (ports, lanes) = (self.shape.ports() as usize, self.shape.lanes() as usize);
        self.long(24 * ports + 64 * (port as usize * lanes + lane as usize) + 8 * word)
    }
}

/// A warp that follows the protocol; it panics if the host does not reply within a minute.
pub struct Device<'a> {
    shared: &'a Shared,
    port: u32,
    mask: u64,
    received: bool,
}

impl<'a> Device<'a> {
    /// Begins a request at `port`, which must be free, with the lanes of `mask`.
    pub fn open(shared: &'a Shared, port: u32, mask: u64, opcode: u32) -> Self {
        let device = Device { shared, port, mask, received: false };
        device.wait();
        shared.header(port, mask, opcode);
        device
    }

    fn wait(&self) {
        let (inbox, outbox) = self.shared.boxes(self.port);
        let begun = Instant::now();
        while inbox.load(Ordering::Acquire) != outbox.load(Ordering::Relaxed) {
            assert!(begun.elapsed() < Duration::from_secs(60), "no answer at port {}", self.port);
            std::thread::yield_now();
        }
    }

    fn give(&self) {
        let (_, outbox) = self.shared.boxes(self.port);
        outbox.store(outbox.load(Ordering::Relaxed) ^ 1, Ordering::Release);
    }

    fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..64).filter(move |lane| mask >> lane & 1 != 0)
    }

    /// Sends a packet from each lane.
    pub fn send(&mut self, packet: impl Fn(u32) -> Packet) {
        self.wait();
        for lane in self.lanes() {
            for (word, value) in packet(lane).into_iter().enumerate() {
                self.shared.packet(self.port, lane, word).store(value, Ordering::Relaxed);
            }
        }
        self.give();
        self.received = false;
    }

    /// The host's packet for each lane, by lane.
    pub fn recv(&mut self) -> Vec<Packet> {
        if self.received {
            self.give();
        }
        self.wait();
        self.received = true;
        let word = |lane, word| self.shared.packet(self.port, lane, word).load(Ordering::Relaxed);
        let all = (0..self.shared.shape.lanes()).map(|lane| std::array::from_fn(|w| word(lane, w)));
        all.collect()
    }

    /// Sends a message from each lane.
    pub fn send_bytes(&mut self, message: impl Fn(u32) -> Vec<u8>) {
        let all: Vec<Vec<u8>> = (0..64).map(&message).collect();
        let most = self.lanes().map(|lane| all[lane as usize].len()).max().unwrap_or(0);
        let word = |bytes: &[u8], at: usize| {
            let mut word = [0; 8];
            let part = bytes.get(at..bytes.len().min(at + 8)).unwrap_or(&[]);
            word[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(word)
        };
        self.send(|lane| {
            let bytes = &all[lane as usize];
            std::array::from_fn(
                |w| if w == 0 { bytes.len() as u64 } else { word(bytes, 8 * (w - 1)) },
            )
        });
        for at in (56..most).step_by(64) {
            self.send(|lane| std::array::from_fn(|w| word(&all[lane as usize], at + 8 * w)));
        }
    }

    /// The host's message for each lane, by lane.
    pub fn recv_bytes(&mut self) -> Vec<Vec<u8>> {
        let first = self.recv();
        let mut all: Vec<Vec<u8>> = first
            .iter()
            .map(|packet| packet[1..].iter().flat_map(|w| w.to_le_bytes()).collect())
            .collect();
        let sizes: Vec<usize> = first.iter().map(|packet| packet[0] as usize).collect();
        let most = self.lanes().map(|lane| sizes[lane as usize]).max().unwrap_or(0);
        for _ in (56..most).step_by(64) {
            for (bytes, packet) in all.iter_mut().zip(self.recv()) {
                bytes.extend(packet.iter().flat_map(|w| w.to_le_bytes()));
            }
        }
        for (lane, (bytes, size)) in all.iter_mut().zip(sizes).enumerate() {
            bytes.truncate(if self.mask >> lane & 1 != 0 { size } else { 0 });
        }
        all
    }
}

/// A host without a device: addresses are numbers.
#[derive(Debug, Default)]
pub struct Plain {
    given: Vec<u64>,
    /// The requests that it got, in order.
    pub log: Vec<String>,
}

/// The address of [`Plain`]'s only function, which returns the sum of its arguments' bytes.
pub const FUNCTION: u64 = 0xf00d;
/// The opcode that [`Plain`] serves: the reply is twice the first word.
pub const TWICE: u32 = 0x7500_0001;

impl Host for Plain {
    fn allocate(&mut self, bytes: u64) -> u64 {
        self.log.push(format!("allocate {bytes}"));
        if bytes > 1 << 40 {
            return 0;
        }
        let at = 0x1_0000 * (self.given.len() as u64 + 1);
        self.given.push(at);
        at
    }

    fn free(&mut self, address: u64) -> bool {
        self.log.push(format!("free {address:#x}"));
        let found = self.given.iter_mut().find(|at| **at == address);
        // Its memory is never freed, so that no address is used twice.
        found.map(|at| *at = u64::MAX).is_some()
    }

    fn call(&mut self, function: u64, arguments: &mut [u8]) -> Option<u64> {
        (function == FUNCTION).then(|| arguments.iter().map(|byte| u64::from(*byte)).sum())
    }

    fn user(&mut self, port: &mut Port<'_>) -> Option<Result<(), Stop>> {
        (port.opcode() == TWICE).then(|| {
            let packets = port.packets()?;
            port.send(|lane| [packets[lane as usize][0].wrapping_mul(2); 8])
        })
    }
}

/// Streams in memory: an input with these bytes, and separate output and error.
///
/// # Panics
/// If the system has no room for temporary files.
pub fn streams(input: &[u8]) -> (Streams, [*mut libc::FILE; 3]) {
    // SAFETY: temporary files, which are written and rewound.
    unsafe {
        let files = [libc::tmpfile(), libc::tmpfile(), libc::tmpfile()];
        assert!(files.iter().all(|file| !file.is_null()));
        libc::fwrite(input.as_ptr().cast(), 1, input.len(), files[0]);
        libc::rewind(files[0]);
        (Streams::over(files), files)
    }
}

/// The text that was written to a stream of [`streams`]; closes the stream.
///
/// # Safety
/// It is one of these streams, and nothing uses it any more.
pub unsafe fn written(file: *mut libc::FILE) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: an open file, as the caller promises.
    unsafe {
        libc::rewind(file);
        while let Ok(byte) = u8::try_from(libc::fgetc(file)) {
            bytes.push(byte);
        }
        libc::fclose(file);
    }
    bytes
}

/// The maximum number of bytes that a request of a fuzzed device sends and receives.
const MOST: u64 = 64 << 10;
/// Standard streams for one run, so that no run reads what another left in them. The output is discarded.
fn nowhere() -> (Streams, [*mut libc::FILE; 3]) {
    // SAFETY: two C strings.
    let files =
        [c"r", c"w", c"w"].map(|mode| unsafe { libc::fopen(c"/dev/null".as_ptr(), mode.as_ptr()) });
    assert!(files.iter().all(|file| !file.is_null()));
    // SAFETY: they are closed after the server has ended.
    (unsafe { Streams::over(files) }, files)
}

/// Serves a device that follows `data`: which port requests what with which lanes, and the content of its packets.
/// In every case the host replies or reports the error; it neither waits for ever nor uses unbounded memory.
pub fn serve(data: &[u8]) {
    let [first, rest @ ..] = data else { return };
    let lanes = [1, 32, 64][*first as usize % 3];
    let Some(shape) = Shape::new(4, lanes) else { return };
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(shape)));
    // SAFETY: freed below, after the line.
    let line = unsafe { shared.line() }.at_most(MOST);
    let script = Mutex::new(rest.iter().copied().collect::<VecDeque<u8>>());
    let line = line.meanwhile(move |line| {
        let mut script = script.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !step(shared, &mut script) {
            line.end();
        }
    });
    let (streams, files) = nowhere();
    let mut server = Server::new(Plain::default(), streams, Allow::default());
    let end = server.serve(&line);
    drop(server);
    for file in files {
        // SAFETY: opened above; the server has ended.
        unsafe { libc::fclose(file) };
    }
    // A caller can act on every kind of end; the text of an error is present.
    if let End::Fault(fault) = end {
        assert!(!fault.0.is_empty());
    }
    drop(line);
    // SAFETY: leaked above; the line and its closure no longer exist.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(shared).cast_mut()) });
}

/// The device's next action; false if there is none.
fn step(shared: &Shared, script: &mut VecDeque<u8>) -> bool {
    let Some(what) = script.pop_front() else { return false };
    let port = u32::from(what) % shared.shape.ports();
    let mut number = |bytes: usize| {
        let mut value = 0u64;
        for byte in 0..bytes {
            value |= u64::from(script.pop_front().unwrap_or(0)) << (8 * byte);
        }
        value
    };
    match what >> 6 {
        // Begins a request: lanes and opcode, mostly a valid one.
        0 => {
            let mask = number(1) | number(1) << 30 | number(1) << 56;
            let opcode = match number(1) as u32 {
                known @ 0..32 => 0x6300_0000 + known,
                32..40 => TWICE,
                40..44 => 0x6f00_0000,
                other => other << 8,
            };
            shared.header(port, mask, opcode);
        }
        // Words of one lane's packet.
        1 => {
            let lane = number(1) as u32 % shared.shape.lanes();
            for word in 0..1 + usize::from(what >> 2 & 7) {
                let size = if what & 0x20 == 0 { 2 } else { 8 };
                shared.packet(port, lane, word).store(number(size), Ordering::Relaxed);
            }
        }
        // Text for all lanes, with its size first.
        2 => {
            let size = usize::from(what >> 2 & 15) * 4;
            let bytes: Vec<u64> = (0..size.div_ceil(8).min(7)).map(|_| number(8)).collect();
            for lane in 0..shared.shape.lanes() {
                shared.packet(port, lane, 0).store(size as u64, Ordering::Relaxed);
                for (word, value) in bytes.iter().enumerate() {
                    shared.packet(port, lane, word + 1).store(*value, Ordering::Relaxed);
                }
            }
        }
        _ => {}
    }
    // Hands the port over, if the device has it.
    if what & 0x10 == 0 {
        let (_, outbox) = shared.boxes(port);
        outbox.store(outbox.load(Ordering::Relaxed) ^ 1, Ordering::Release);
    }
    true
}

/// Parses a format, and prints it with the rest of `data` as arguments.
pub fn format(data: &[u8]) {
    use cushim_rpc::format::{self, Value};
    let split = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (text, rest) = data.split_at(split);
    let Ok(parts) = format::parse(text) else { return };
    for packed in [false, true] {
        let size = format::size(&parts, packed) as usize;
        let mut arguments = rest.to_vec();
        arguments.resize(size, 0);
        let Some(values) = format::values(&parts, &arguments, packed) else {
            panic!("{size} bytes are not what the format takes");
        };
        assert!(values.iter().all(|value| matches!(value, Value::Int(_) | Value::Long(_))));
        assert_eq!(
            format::values(&parts, &arguments[..size.saturating_sub(1)], packed).is_some(),
            size == 0
        );
        let strings: Vec<_> = values.iter().map(|_| Some(rest.to_vec())).collect();
        if let Ok(shown) = cushim_rpc::render(&parts, &values, &strings, MOST as usize) {
            assert!(shown.len() as u64 <= MOST);
        }
    }
}
