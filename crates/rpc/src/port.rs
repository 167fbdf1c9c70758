//! A port: one conversation with the lanes of a warp, packet by packet.
//!
//! Owns: whose turn it is, waiting for the device, messages of any size. Must not know: the messages. All shared
//! memory is read and written by atomics, because the device may change it at any time.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::error::Stop;
use crate::layout::{Shape, WORDS};

/// What a lane sends at once.
pub type Packet = [u64; WORDS];

/// The default limit of bytes that one conversation moves each way.
pub const MOST_BYTES: u64 = 256 << 20;

/// How long the host sleeps while it waits for the device within a conversation.
const TURN: Duration = Duration::from_micros(50);

/// The shared memory, as the host sees it.
pub struct Line {
    base: *mut u8,
    shape: Shape,
    ended: AtomicBool,
    most: u64,
    meanwhile: Option<Meanwhile>,
}

/// Called instead of sleeping while the host waits for the device.
type Meanwhile = Box<dyn Fn(&Line) + Send + Sync>;

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("shape", &self.shape).field("ended", &self.ended).finish()
    }
}

// SAFETY: all access to the memory is by atomics.
unsafe impl Send for Line {}
// SAFETY: all access to the memory is by atomics.
unsafe impl Sync for Line {}

impl Line {
    /// Over the memory at `base`.
    ///
    /// # Safety
    /// `base` is aligned to 8 and has [`Shape::size`] bytes, which live as long as this and are
    /// only accessed by the device, and by the host through atomics.
    pub unsafe fn new(base: *mut u8, shape: Shape) -> Self {
        Line { base, shape, ended: AtomicBool::new(false), most: MOST_BYTES, meanwhile: None }
    }

    /// The same, where this thread is the device, too: `meanwhile` is called whenever the host waits for it.
    pub fn meanwhile(self, meanwhile: impl Fn(&Line) + Send + Sync + 'static) -> Self {
        Line { meanwhile: Some(Box::new(meanwhile)), ..self }
    }

    /// Whether the device runs while this thread does.
    pub(crate) fn is_shared(&self) -> bool {
        self.meanwhile.is_none()
    }

    /// The same, with another bound than [`MOST_BYTES`].
    pub fn at_most(self, most: u64) -> Self {
        Line { most, ..self }
    }

    /// Lets the device do something.
    pub(crate) fn pause(&self, sleep: Duration) {
        match &self.meanwhile {
            Some(meanwhile) => meanwhile(self),
            None => std::thread::sleep(sleep),
        }
    }

    /// The shape of it.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// No kernel runs any more: the host no longer waits.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// A kernel is about to run, after [`Line::end`].
    pub fn begin(&self) {
        self.ended.store(false, Ordering::Release);
    }

    /// Whether no kernel runs.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at + 4 <= self.shape.size() && at.is_multiple_of(4));
        // SAFETY: inside and aligned, by the shape's offsets; the caller of `new` promised the
        // rest.
        unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at + 8 <= self.shape.size() && at.is_multiple_of(8));
        // SAFETY: `at` is within the bytes that the caller of `new` promised, aligned to 8, and
        // they live as long as this.
        unsafe { AtomicU64::from_ptr(self.base.add(at).cast()) }
    }

    fn inbox(&self, port: u32) -> u32 {
        self.word(self.shape.secondary() + 4 * port as usize).load(Ordering::Relaxed)
    }

    fn outbox(&self, port: u32) -> &AtomicU32 {
        self.word(self.shape.primary() + 4 * port as usize)
    }

    /// The first port from `start` on, wrapping around, at which the device waits for the host.
    pub(crate) fn asked(&self, start: u32) -> Option<u32> {
        let ports = self.shape.ports();
        let start = if start < ports { start } else { 0 };
        (start..ports).chain(0..start).find(|&port| self.is_ours(port))
    }

    fn is_ours(&self, port: u32) -> bool {
        (self.inbox(port) ^ self.outbox(port).load(Ordering::Relaxed)) & 1 != 0
    }

    /// Takes a port that [`Line::asked`] named.
    pub(crate) fn open(&self, index: u32) -> Port<'_> {
        fence(Ordering::Acquire);
        let header = self.shape.header(index);
        let all = u64::MAX >> (64 - self.shape.lanes());
        Port {
            line: self,
            index,
            mask: self.long(header).load(Ordering::Relaxed) & all,
            opcode: self.word(header + 8).load(Ordering::Relaxed),
            received: false,
        }
    }
}

/// A conversation. The device began it, and has sent its first packet.
#[derive(Debug)]
pub struct Port<'a> {
    line: &'a Line,
    index: u32,
    mask: u64,
    opcode: u32,
    /// The last operation was a receive: the host still owns the packets.
    received: bool,
}

impl Port<'_> {
    /// What the device asks for.
    pub fn opcode(&self) -> u32 {
        self.opcode
    }

    /// Which lanes ask: bit by bit.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// The numbers of the lanes that ask.
    pub fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..64).filter(move |lane| mask >> lane & 1 != 0)
    }

    /// The most bytes that are received or sent in this conversation.
    pub(crate) fn most(&self) -> u64 {
        self.line.most
    }

    /// Waits until it is the host's turn. The device polls too: neither side can wake the other.
    fn wait(&self) -> Result<(), Stop> {
        let mut turns = 0u32;
        while !self.line.is_ours(self.index) {
            // Once more, since the kernel may have sent its last packet just before it ended.
            if self.line.has_ended() && !self.line.is_ours(self.index) {
                return Err(Stop::Gone);
            }
            turns = turns.saturating_add(1);
            match turns {
                0..64 if self.line.is_shared() => std::hint::spin_loop(),
                64..512 if self.line.is_shared() => std::thread::yield_now(),
                _ => self.line.pause(TURN),
            }
        }
        fence(Ordering::Acquire);
        Ok(())
    }

    fn hand_over(&mut self) {
        let outbox = self.line.outbox(self.index);
        let now = outbox.load(Ordering::Relaxed);
        fence(Ordering::Release);
        outbox.store(now & 1 ^ 1, Ordering::Release);
    }

    /// Writes a packet for each lane that asks, and passes the turn to the device.
    ///
    /// # Errors
    /// [`Stop::Gone`].
    pub fn send(&mut self, mut fill: impl FnMut(u32) -> Packet) -> Result<(), Stop> {
        self.wait()?;
        for lane in self.lanes() {
            let at = self.line.shape.packet(self.index, lane);
            for (word, value) in fill(lane).into_iter().enumerate() {
                self.line.long(at + 8 * word).store(value, Ordering::Relaxed);
            }
        }
        self.hand_over();
        self.received = false;
        Ok(())
    }

    /// Reads the next packet of each lane that asks.
    ///
    /// # Errors
    /// [`Stop::Gone`]; those of `take`.
    pub fn recv(
        &mut self,
        mut take: impl FnMut(u32, Packet) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.received {
            self.hand_over();
        }
        self.wait()?;
        self.received = true;
        for lane in self.lanes() {
            let at = self.line.shape.packet(self.index, lane);
            let word = |word: usize| self.line.long(at + 8 * word).load(Ordering::Relaxed);
            take(lane, std::array::from_fn(word))?;
        }
        Ok(())
    }

    /// The next packet of each lane, in an array by lane; zeros for lanes that do not ask.
    ///
    /// # Errors
    /// [`Stop::Gone`].
    pub fn packets(&mut self) -> Result<[Packet; 64], Stop> {
        let mut all = [[0; WORDS]; 64];
        self.recv(|lane, packet| {
            all[lane as usize] = packet;
            Ok(())
        })?;
        Ok(all)
    }

    /// A message of each lane, of any size. Memory is allocated as bytes arrive, not as they are
    /// announced.
    ///
    /// # Errors
    /// [`Stop::Gone`]; a fault where too many bytes are announced.
    pub fn messages(&mut self) -> Result<Vec<Vec<u8>>, Stop> {
        let mut sizes = [0u64; 64];
        let mut all = vec![Vec::new(); 64];
        let (mut sum, bound) = (0u64, self.most());
        self.recv(|lane, packet| {
            let size = packet[0];
            sum = sum.saturating_add(size);
            if sum > bound {
                return Err(Stop::fault(format!(
                    "lane {lane} announces a message of {size} bytes, expected at most {bound} in all"
                )));
            }
            sizes[lane as usize] = size;
            extend(&mut all[lane as usize], &packet[1..], size);
            Ok(())
        })?;
        let most = sizes.into_iter().max().unwrap_or(0);
        let mut got = (WORDS as u64 - 1) * 8;
        while got < most {
            self.recv(|lane, packet| {
                extend(&mut all[lane as usize], &packet, sizes[lane as usize]);
                Ok(())
            })?;
            got += WORDS as u64 * 8;
        }
        Ok(all)
    }

    /// Sends a message to each lane, by lane.
    ///
    /// # Errors
    /// [`Stop::Gone`].
    pub fn send_messages(&mut self, all: &[Vec<u8>]) -> Result<(), Stop> {
        let message = |lane: u32| all.get(lane as usize).map_or(&[][..], Vec::as_slice);
        self.send(|lane| {
            let mut packet = [message(lane).len() as u64; WORDS];
            fill(&mut packet[1..], message(lane), 0);
            packet
        })?;
        let most = self.lanes().map(|lane| message(lane).len()).max().unwrap_or(0);
        let mut sent = (WORDS - 1) * 8;
        while sent < most {
            self.send(|lane| {
                let mut packet = [0; WORDS];
                fill(&mut packet, message(lane), sent);
                packet
            })?;
            sent += WORDS * 8;
        }
        Ok(())
    }

    /// Ends the conversation: acknowledges what was received last.
    pub(crate) fn close(mut self) {
        if self.received {
            self.hand_over();
        }
    }
}

/// Appends words' bytes up to `size` in all.
fn extend(to: &mut Vec<u8>, words: &[u64], size: u64) {
    for word in words {
        let left = (size as usize).saturating_sub(to.len()).min(8);
        to.extend_from_slice(&word.to_le_bytes()[..left]);
    }
}

/// Fills words with bytes from `at` on.
fn fill(words: &mut [u64], from: &[u8], at: usize) {
    let bytes = from.get(at..).unwrap_or(&[]);
    for (index, word) in words.iter_mut().enumerate() {
        let part = bytes.get(8 * index..).unwrap_or(&[]);
        let mut whole = [0; 8];
        let size = part.len().min(8);
        whole[..size].copy_from_slice(&part[..size]);
        *word = u64::from_le_bytes(whole);
    }
}
