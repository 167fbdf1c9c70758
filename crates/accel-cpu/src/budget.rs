//! The memory size of the devices, and whether an allocation would exhaust the machine's memory.
//!
//! Owns the share of the machine's memory that devices get: half of it. Programs also have most device data on the
//! host, and memory is taken only when it is touched; without a limit, the system would kill a program that writes to
//! all of it, where a GPU refuses the allocation. Must not know: what is allocated where.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::arena::Arena;
use super::granules::GRANULE;
use super::machine::Machine;

/// The variable that sets a device's memory.
pub const VARIABLE: &str = "CUSHIM_CPU_MEMORY";
/// The program itself keeps one part in this many of the machine's memory; devices may use the rest.
const SPARED: u64 = 16;
/// The system is queried once for so many bytes of small allocations.
const ASKED_EACH: u64 = 16 << 20;

/// What devices may take.
pub struct Budget {
    machine: Machine,
    /// Bytes of each device.
    device: u64,
    /// The user has set a device's size: the machine is not queried.
    said: bool,
    /// Bytes that were allocated since the system was last queried.
    unasked: AtomicU64,
    told: AtomicBool,
}

impl Budget {
    /// The budget of so many devices of a machine, by the value of the variable.
    ///
    /// # Errors
    /// What is wrong with the variable; it then counts as unset.
    pub fn new(
        machine: Machine,
        devices: usize,
        asked: Option<&str>,
    ) -> (Budget, Result<(), String>) {
        let (asked, wrong) = match bytes(asked) {
            Ok(asked) => (asked, Ok(())),
            Err(why) => (None, Err(why)),
        };
        let share = machine.all() / 2 / devices.max(1) as u64;
        let device = asked.unwrap_or(share / GRANULE * GRANULE);
        let (unasked, told) = (AtomicU64::new(ASKED_EACH), AtomicBool::new(false));
        (Budget { machine, device, said: asked.is_some(), unasked, told }, wrong)
    }

    /// Bytes of each device.
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Bytes that the machine has left for allocations: `most` where it has at least as many. Allocated memory that was
    /// not touched yet does not count as free.
    pub fn left(&self, arena: &Arena, most: u64) -> u64 {
        if self.said {
            return most;
        }
        let available = self.machine.available().saturating_sub(self.machine.all() / SPARED);
        // How much of the allocations was touched is looked up only if it matters.
        if available.saturating_sub(arena.taken()) >= most {
            return most;
        }
        available.saturating_sub(arena.untouched()).min(most)
    }

    /// Whether the machine has so much left.
    pub fn permits(&self, arena: &Arena, bytes: u64) -> bool {
        if bytes < ASKED_EACH && self.unasked.fetch_add(bytes, Relaxed) + bytes < ASKED_EACH {
            return true;
        }
        self.unasked.store(0, Relaxed);
        self.left(arena, bytes) >= bytes
    }

    /// The message about the first refused allocation that the machine could have served.
    pub fn refused(&self, bytes: u64, free: u64) -> Option<String> {
        if bytes > self.machine.all() || self.told.swap(true, Relaxed) {
            return None;
        }
        let (asked, free, all) = (bytes.div_ceil(1 << 20), free >> 20, self.device >> 20);
        Some(format!(
            "out of memory: {asked} MiB are asked for, {free} MiB are free, and the device has {all} MiB; \
             {VARIABLE}=BYTES sets how much it has"
        ))
    }
}

/// Bytes as the variable names them: a number, in units of 1024 by `K`, `M`, `G` or `T`.
fn bytes(asked: Option<&str>) -> Result<Option<u64>, String> {
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(None) };
    let units = ['K', 'M', 'G', 'T'];
    let unit = text.chars().next_back().map(|last| last.to_ascii_uppercase());
    let power = units.iter().position(|known| Some(*known) == unit).map_or(0, |at| at as u32 + 1);
    let number = if power == 0 { Some(text) } else { text.get(..text.len() - 1) };
    let number = number.and_then(|number| number.parse::<u64>().ok());
    let found = number.and_then(|number| number.checked_mul(1 << (10 * power)));
    // Not more than there are reserved addresses.
    let found = found.filter(|found| (GRANULE..=1 << 40).contains(found));
    let why = "expected a number of bytes from 2M to 1T, K, M, G and T are units of 1024; using half of the machine's memory";
    found.map(Some).ok_or_else(|| format!("{VARIABLE}={text}: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::machine::tests::machine;
    use super::*;

    #[test]
    fn a_variable_says_how_much_memory_there_is() {
        let of = |text| bytes(Some(text));
        assert_eq!((bytes(None), of("")), (Ok(None), Ok(None)));
        assert_eq!((of("2097152"), of("2048k")), (Ok(Some(2 << 20)), Ok(Some(2 << 20))));
        assert_eq!(
            (of("3M"), of("5G"), of("1T")),
            (Ok(Some(3 << 20)), Ok(Some(5 << 30)), Ok(Some(1 << 40)))
        );
        for wrong in
            ["0", "1M", "2T", "G", "-4G", "1.5G", "4GB", "99999999999999999999", "16777216T"]
        {
            assert!(of(wrong).unwrap_err().starts_with(&format!("CUSHIM_CPU_MEMORY={wrong}: ")));
        }
    }

    #[test]
    fn devices_share_half_of_the_machine() {
        let of = |devices, asked| {
            let (_folder, machine) = machine(&[]);
            let (budget, said) = Budget::new(machine, devices, asked);
            (budget.device() >> 20, said.is_ok())
        };
        assert_eq!(of(1, None), (4096, true));
        assert_eq!(of(3, None), (1364, true), "whole granules");
        assert_eq!((of(3, Some("7G")), of(1, Some("7 G"))), ((7168, true), (4096, false)));
    }

    #[test]
    fn what_the_machine_has_not_left_is_refused() {
        let (_folder, machine) = machine(&[]);
        let budget = Budget::new(machine, 1, None).0;
        let arena = Arena::reserve();
        // 6 GiB are available, and half a GiB is spared.
        assert!(budget.permits(&arena, 11 << 29) && !budget.permits(&arena, (11 << 29) + 1));
        let at = arena.allocate(5 << 30, 1).unwrap();
        assert_eq!(budget.left(&arena, 1 << 40), 1 << 29, "nothing of it was touched");
        // SAFETY: just allocated.
        unsafe { std::ptr::write_bytes(at as *mut u8, 1, 64 << 20) };
        // In reality the touched memory is no longer available, but these test files are unchanged.
        assert_eq!(budget.left(&arena, 1 << 40), (1 << 29) + (64 << 20));
        assert!(!budget.permits(&arena, 1 << 30));
        // Small allocations count together: the system was just asked.
        assert!((0..31).all(|_| budget.permits(&arena, ASKED_EACH / 32)));
        arena.free(at);
        assert!(budget.permits(&arena, 1 << 30));
        let text = budget.refused(7 << 30, 5 << 30).unwrap();
        assert!(
            text.contains("7168 MiB are asked for, 5120 MiB are free, and the device has 4096 MiB")
        );
        assert_eq!(budget.refused(7 << 30, 5 << 30), None, "said once");
    }

    #[test]
    fn small_allocations_are_refused_together() {
        let group = |name| format!("sys/fs/cgroup/{name}");
        let (max, current) = (group("memory.max"), group("memory.current"));
        let files = [("proc/self/cgroup", "0::/"), (&*max, "16777216"), (&*current, "16777216")];
        let (_folder, machine) = machine(&files);
        let budget = Budget::new(machine, 1, None).0;
        let arena = Arena::reserve();
        assert!(!budget.permits(&arena, 1 << 20), "the first of all");
        let permitted = (0..32).filter(|_| budget.permits(&arena, 1 << 20)).count();
        assert_eq!(permitted, 30);
    }

    #[test]
    fn what_the_user_says_is_not_questioned() {
        let (_folder, machine) = machine(&[]);
        let budget = Budget::new(machine, 1, Some("64G")).0;
        assert!(budget.permits(&Arena::reserve(), 60 << 30));
    }
}
