//! The machine's memory, total and available, for this process.
//!
//! Owns reading it: `/proc/meminfo`, and the limits of the process's control groups, of both versions. Must not know:
//! devices, what is allocated.

use std::path::{Path, PathBuf};

/// The files of the system; tests read others.
pub struct Machine {
    root: PathBuf,
}

/// The names of a control group's files, and of the line of `memory.stat` that counts cached files, which the system takes
/// back before it ends a process.
struct Names {
    below: &'static str,
    limit: &'static str,
    used: &'static str,
    cached: &'static str,
}

const SECOND: Names = Names {
    below: "sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    cached: "inactive_file",
};
const FIRST: Names = Names {
    below: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file",
};

/// A control group with a limit, in bytes.
struct Group {
    limit: u64,
    used: u64,
    cached: u64,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        Machine { root: PathBuf::from("/") }
    }

    /// Bytes of memory that the machine has, or that the process may have of it.
    pub fn all(&self) -> u64 {
        let all = self.said("MemTotal").unwrap_or_else(installed);
        self.groups().iter().map(|group| group.limit).fold(all, u64::min)
    }

    /// Bytes of it that can be taken without swapping.
    pub fn available(&self) -> u64 {
        let all = self.said("MemAvailable").unwrap_or_else(installed);
        let left = |group: &Group| group.limit.saturating_sub(group.used) + group.cached;
        self.groups().iter().map(left).fold(all, u64::min)
    }

    /// A line of `/proc/meminfo`.
    fn said(&self, name: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        // kB there are KiB.
        named(&text, name)?.checked_mul(1024)
    }

    /// The control groups of the process that have a limit, including their ancestors.
    fn groups(&self) -> Vec<Group> {
        let text = std::fs::read_to_string(self.root.join("proc/self/cgroup")).unwrap_or_default();
        let mut found = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(of), Some(path)) = (parts.next(), parts.next()) else { continue };
            let names = match of {
                "" => &SECOND,
                _ if of.split(',').any(|controller| controller == "memory") => &FIRST,
                _ => continue,
            };
            let base = self.root.join(names.below);
            // A container may see its own group as the outermost one: the folders that its path names are not there.
            let own = base.join(path.trim_start_matches('/'));
            found.extend(
                own.ancestors()
                    .take_while(|at| at.starts_with(&base))
                    .filter_map(|at| group(at, names)),
            );
        }
        found
    }
}

fn group(at: &Path, names: &Names) -> Option<Group> {
    let text = |name: &str| std::fs::read_to_string(at.join(name)).ok();
    // Without a limit it is "max", or more than any machine has.
    let limit = text(names.limit)?.trim().parse().ok()?;
    let used = text(names.used)?.trim().parse().ok()?;
    let cached = text("memory.stat").and_then(|text| named(&text, names.cached)).unwrap_or(0);
    Some(Group { limit, used, cached: cached.min(used) })
}

/// The number in the line that begins with a name.
fn named(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(|line| line.split_ascii_whitespace());
    lines.find_map(|mut words| {
        let own = words.next()?.trim_end_matches(':') == name;
        own.then(|| words.next()?.parse().ok()).flatten()
    })
}

/// Where the system says nothing.
fn installed() -> u64 {
    // SAFETY: no arguments but numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(0) as u64).saturating_mul(size.max(0) as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;

    /// A machine of 8 GiB with 6 GiB left, and files of control groups.
    pub fn machine(groups: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 6291456 kB\n";
        for (name, text) in [("proc/meminfo", meminfo)].iter().chain(groups) {
            let place = folder.path().join(name);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let root = folder.path().to_owned();
        (folder, Machine { root })
    }

    #[test]
    fn a_machine_without_limits_says_what_it_has() {
        let (_folder, machine) = machine(&[("proc/self/cgroup", "0::/\n")]);
        assert_eq!((machine.all(), machine.available()), (8 << 30, 6 << 30));
    }

    #[test]
    fn the_narrowest_group_counts_with_all_that_it_is_in() {
        let (_folder, machine) = machine(&[
            ("proc/self/cgroup", "0::/user.slice/app\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "3221225472\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "2147483648\n"),
            ("sys/fs/cgroup/user.slice/memory.stat", "anon 7\ninactive_file 1073741824\n"),
            ("sys/fs/cgroup/user.slice/app/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/app/memory.current", "2147483648\n"),
        ]);
        assert_eq!((machine.all(), machine.available()), (3 << 30, 2 << 30));
    }

    #[test]
    fn groups_of_the_first_version_count_in_a_container_that_does_not_see_its_path() {
        let (_folder, machine) = machine(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741825\n"),
        ]);
        assert_eq!((machine.all(), machine.available()), (1 << 30, 0));
    }

    #[test]
    fn this_machine_has_more_than_is_left_of_it() {
        let machine = Machine::this();
        assert!(machine.all() >= machine.available() && machine.available() > 0);
        assert!(installed() >= machine.all());
    }
}
