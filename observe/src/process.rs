//! What the process itself uses, as the system says.

use std::{fs, time::Duration};

/// What the process uses. What the system does not tell is zero.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Process {
    pub(super) resident_bytes: u64,
    pub(super) cpu: Duration,
    pub(super) open_fds: u64,
}

impl Process {
    pub(super) fn now() -> Self {
        // The second field is the resident set, in pages.
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Self {
            resident_bytes: pages * rustix::param::page_size() as u64,
            cpu: Duration::new(cpu.tv_sec.unsigned_abs(), cpu.tv_nsec.unsigned_abs() as u32),
            open_fds: fs::read_dir("/proc/self/fd").map_or(0, |fds| fds.count() as u64),
        }
    }
}
