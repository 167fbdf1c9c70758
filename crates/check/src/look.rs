//! Observes a kernel while it runs.
//!
//! Owns the state of a launch and of a block, and the findings in kernels. Must not know how kernels run.

use std::ops::Deref;
use std::sync::Arc;

use cushim_ptx::exec::watch::resolve;
use cushim_ptx::exec::{Access, BlockWatch, Cause, Fault, Marks, Touch, Watch, lanes};
use cushim_ptx::ir::{Base, Inst, Src};
use cushim_ptx::types::Space;

use super::bits::Bits;
use super::bounds::Bounds;
use super::checker::{Checker, Verdict};
use super::finding::{At, Finding, Near, Trails};
use super::launched::Launched;
use super::options::Tool;
use super::race::block as threads;
use super::variable::Variable;

/// An observed launch.
pub struct CheckedLaunch {
    /// What is known of memory.
    pub checker: Arc<Checker>,
    /// What was launched.
    pub of: Arc<Launched>,
    /// What its arguments point into, if that is checked.
    pub bounds: Bounds,
    /// Whether its findings are reported.
    pub reported: bool,
}

impl Deref for CheckedLaunch {
    type Target = Launched;

    fn deref(&self) -> &Launched {
        &self.of
    }
}

/// Looks on at a launch.
pub struct Looks(pub Arc<CheckedLaunch>);

impl Watch for Looks {
    fn marks(&self) -> Marks {
        Marks { base: self.0.checker.bits.base() }
    }

    fn bounds(&self) -> &[[u64; 2]] {
        self.0.bounds.all()
    }

    fn blocks(&self) -> Box<dyn BlockWatch> {
        let launch = self.0.clone();
        let wanted = launch.checker.has(Tool::Race) || launch.checker.has(Tool::Sync);
        let threads = (wanted && launch.reported).then(|| threads::Block::new(&launch));
        Box::new(Looking { launch, block: [0; 3], written: Written::default(), threads })
    }
}

impl CheckedLaunch {
    /// The launch failed: reports a finding, if its kind is checked. Returns whether only the launch ends, and the
    /// program gets no error. `protection`: what the memory says of a mapped address that does not allow the access.
    pub fn failed(&self, fault: &Fault, protection: Option<&str>) -> bool {
        let tool = self.tell_failed(fault, protection);
        let options = &self.checker.options;
        let goes_on = tool == Some(Tool::Memory)
            && options.tools.has(Tool::Memory)
            && options.only_launch
            && self.reported;
        if !goes_on {
            self.checker.break_off();
        }
        goes_on
    }

    /// Tells why the launch failed: the tool that looks for it, if there is one.
    fn tell_failed(&self, fault: &Fault, protection: Option<&str>) -> Option<Tool> {
        let (tool, kind) = match *fault.cause {
            Cause::Address { .. } if protection.is_some() => (Tool::Memory, "write to read-only"),
            Cause::Address { .. } => (Tool::Memory, "out of bounds"),
            Cause::Misaligned { .. } => (Tool::Memory, "misaligned"),
            Cause::Handle { .. } => (Tool::Memory, "no texture or surface"),
            Cause::Surface { .. } => (Tool::Memory, "surface out of bounds"),
            Cause::Stack { .. } => (Tool::Memory, "stack overflow"),
            Cause::FunctionPointer { .. } => (Tool::Memory, "no function"),
            Cause::Deadlock => (Tool::Sync, "deadlock"),
            _ => return None,
        };
        let near = match *fault.cause {
            _ if protection.is_some() => {
                protection.map(|text| Near { text: text.to_owned(), ..Near::default() })
            }
            Cause::Address { address, bytes, space } => {
                let access = (address, bytes.into());
                match space {
                    "global" => self.checker.near(address, bytes.into()),
                    "shared" => self.near(fault, Space::Shared, access),
                    "local" => self.near(fault, Space::Local, access),
                    _ => None,
                }
            }
            _ => None,
        };
        let freed = near.as_ref().is_some_and(|near| near.text.ends_with("which was freed"));
        let kind = if freed && kind == "out of bounds" { "use after free" } else { kind };
        let message = fault.what(near.as_ref().map(|near| near.text.as_str()));
        let near = near.unwrap_or_default();
        self.tell(tool, kind, message, fault, (near.variable, near.trails));
        Some(tool)
    }

    pub(super) fn tell(
        &self,
        tool: Tool,
        kind: &'static str,
        message: String,
        fault: &Fault,
        (variable, mut trails): (Option<Variable>, Trails),
    ) {
        if !self.reported {
            return;
        }
        if self.trail.is_some() {
            trails.insert(0, ("launched".to_owned(), self.trail.clone()));
        }
        let at = At {
            kernel: fault.kernel.clone(),
            block: fault.block,
            thread: fault.thread,
            spot: fault.spot.as_deref().cloned(),
        };
        self.checker.tell(&Finding { tool, kind, message, at: Some(at), variable, trails });
    }
}

/// Which bytes of a block's own memory were written: of its shared memory, and of each thread's local memory.
#[derive(Debug, Default)]
struct Written {
    /// Compiled code looks at these, too.
    shared: Option<Bits>,
    local: Vec<Vec<bool>>,
}

impl Written {
    /// A block begins.
    fn restart(&mut self, shared: u64) {
        if let Some(bits) = &self.shared {
            bits.clear(0, shared);
        }
        self.local.clear();
    }

    /// The first unwritten byte of an access; from now on it counts as written.
    fn note(&mut self, space: Space, thread: usize, at: u64, bytes: u64) -> Option<u64> {
        /// Local memory beyond this is not looked at.
        const LARGEST: usize = 1 << 20;
        if space == Space::Shared {
            let bits = self.shared.as_ref()?;
            let clear = bits.first_clear(at, bytes);
            bits.set(at, bytes);
            return clear;
        }
        let from = usize::try_from(at).ok()?;
        let end = from.checked_add(bytes as usize)?;
        if self.local.len() <= thread {
            self.local.resize(thread + 1, Vec::new());
        }
        let own = self.local.get_mut(thread)?;
        if own.len() < end && end <= LARGEST {
            own.resize(end, false);
        }
        let own = own.get_mut(from..end)?;
        let clear = own.iter().position(|written| !written).map(|n| at + n as u64);
        own.fill(true);
        clear
    }
}

/// Looks on at blocks, one after the other.
struct Looking {
    launch: Arc<CheckedLaunch>,
    block: [u32; 3],
    written: Written,
    /// The race checker, if it is enabled.
    threads: Option<threads::Block>,
}

impl Looking {
    fn unwritten(&self, touch: &Touch<'_>, lane: usize, space: Space, first: u64) {
        let launch = &*self.launch;
        let name = match space {
            Space::Shared => "shared",
            Space::Local => "local",
            _ => "global",
        };
        let (bytes, what) = (touch.bytes, touch.access);
        let s = if bytes == 1 { "" } else { "s" };
        let thread = launch.thread(touch.warp, lane);
        let (module, pos) = (&launch.module, Some(touch.inst.pos));
        let fault = Fault::new(module, launch.kernel, Cause::Trap, pos, self.block, thread);
        let near = match space {
            Space::Shared | Space::Local => launch.near(&fault, space, (first, 1)),
            _ => launch.checker.near(first, 1),
        };
        let text = near.as_ref().map(|near| format!(", {}", near.text)).unwrap_or_default();
        let message = format!(
            "{name} {what} of {bytes} byte{s} that nobody wrote: the byte at {first:#x}{text}"
        );
        let near = near.unwrap_or_default();
        let more = (near.variable, near.trails);
        launch.tell(Tool::Init, "read of unwritten memory", message, &fault, more);
    }

    /// A lane's access to device memory.
    fn global(&self, touch: &Touch<'_>, lane: usize, at: u64) -> Result<(), (usize, Cause)> {
        let checker = &self.launch.checker;
        let (writes, reads) = (touch.access != Access::Read, touch.access != Access::Write);
        match checker.judge(at, touch.bytes, writes, reads) {
            Verdict::Right => Ok(()),
            Verdict::Unwritten(first) => {
                self.unwritten(touch, lane, Space::Global, first);
                Ok(())
            }
            Verdict::Outside if checker.has(Tool::Memory) && self.launch.reported => {
                let bytes = u32::try_from(touch.bytes).unwrap_or(u32::MAX);
                // A GPU looks at this first.
                let misaligned = bytes.is_power_of_two() && !at.is_multiple_of(touch.bytes);
                Err((
                    lane,
                    match misaligned {
                        true => Cause::Misaligned { address: at, bytes },
                        false => Cause::Address { address: at, bytes, space: "global" },
                    },
                ))
            }
            Verdict::Outside => Ok(()),
        }
    }

    /// A lane's access to memory of the block's own.
    fn own(&mut self, touch: &Touch<'_>, lane: usize, space: Space, at: u64) {
        // Other blocks of a cluster write each other's shared memory, which is not seen here.
        if !self.launch.checker.has(Tool::Init)
            || (space == Space::Shared && self.launch.cluster > 1)
        {
            return;
        }
        // Arguments of functions are in local memory that code names itself; passing them is not reported.
        let named = matches!(touch.inst.src.first(), Some(Src::Memory(Base::Symbol(_), _)));
        if space == Space::Local && named {
            return;
        }
        let thread = (touch.warp * 32) as usize + lane;
        // A reported byte is not reported again.
        let clear = self.written.note(space, thread, at, touch.bytes);
        if let Some(first) = clear.filter(|_| touch.access != Access::Write) {
            self.unwritten(touch, lane, space, first);
        }
    }

    /// Whether all device memory that lanes access is marked, if their addresses are close together.
    fn are_marked(&self, touch: &Touch<'_>, addresses: &[u64; 32], lanes: u32) -> bool {
        const CLOSE: u64 = 1 << 12;
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, at) in addresses.iter().enumerate() {
            if lanes >> lane & 1 != 0 {
                (low, high) = (low.min(*at), high.max(*at));
            }
        }
        high - low < CLOSE && self.launch.checker.bits.are_set(low, high - low + touch.bytes)
    }
}

/// The lanes of an access by state space.
#[derive(Debug, Default)]
struct Lanes {
    shared: u32,
    local: u32,
    /// To device memory.
    global: u32,
}

impl Lanes {
    fn add(&mut self, space: Space, lanes: u32) {
        match space {
            Space::Shared => self.shared |= lanes,
            Space::Local => self.local |= lanes,
            Space::Param => {}
            _ => self.global |= lanes,
        }
    }
}

/// The addresses of a generic access in the spaces that its lanes go to.
fn resolved(touch: &Touch<'_>, by: &mut Lanes) -> [u64; 32] {
    let mut own = *touch.addresses;
    for (lane, at) in own.iter_mut().enumerate() {
        let (space, address) = resolve(touch.space, *at);
        if touch.lanes >> lane & 1 != 0 {
            by.add(space, 1 << lane);
            *at = address;
        }
    }
    own
}

impl BlockWatch for Looking {
    fn marks(&mut self, shared: u64) -> Option<Marks> {
        if !self.launch.checker.has(Tool::Init) || shared == 0 {
            return None;
        }
        self.written.shared = Bits::new(0, shared.next_multiple_of(8));
        self.written.shared.as_ref().map(|bits| Marks { base: bits.base() })
    }

    fn begin(&mut self, block: [u32; 3], shared: u64) {
        self.block = block;
        if self.launch.checker.has(Tool::Init) {
            self.written.restart(shared);
        }
        if let Some(threads) = &mut self.threads {
            threads.begin(block, shared);
        }
    }

    fn touch(&mut self, touch: &Touch<'_>) -> Result<(), (usize, Cause)> {
        let (mut by, mut own) = (Lanes::default(), None);
        let addresses = match touch.space {
            Space::Generic => &*own.insert(resolved(touch, &mut by)),
            space => {
                by.add(space, touch.lanes);
                touch.addresses
            }
        };
        if let Some(threads) = &mut self.threads {
            threads.touch(touch, addresses, by.shared, by.global);
        }
        if !self.launch.checker.looks_at_bytes() {
            return Ok(());
        }
        if by.global != 0 {
            self.launch.look_at_bounds(touch, addresses, by.global, self.block);
        }
        let global = by.global != 0 && !self.are_marked(touch, addresses, by.global);
        let device = if global { by.global } else { 0 };
        for lane in lanes(by.shared | by.local | device) {
            let Some(at) = addresses.get(lane).copied() else { continue };
            match 1u32 << lane {
                one if by.shared & one != 0 => self.own(touch, lane, Space::Shared, at),
                one if by.local & one != 0 => self.own(touch, lane, Space::Local, at),
                _ => self.global(touch, lane, at)?,
            }
        }
        Ok(())
    }

    fn arrive(&mut self, warp: u32, lanes: u32, inst: &Inst, barrier: u32, count: Option<u32>) {
        if let Some(threads) = &mut self.threads {
            threads.arrive(warp, lanes, inst, barrier, count);
        }
    }

    fn order(&mut self, warp: u32, lanes: u32, inst: &Inst, members: Option<&[u32; 32]>) {
        if let Some(threads) = &mut self.threads {
            threads.order(warp, lanes, inst, members);
        }
    }

    fn end(&mut self) {
        if let Some(threads) = &mut self.threads {
            threads.end();
        }
    }
}
