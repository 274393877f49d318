//! CPU time, of this process and of others.

use rustix::time::{ClockId, clock_gettime};
use std::{fs, io, time::Duration};

/// The CPU time that this process has used so far.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// The CPU time that a process has used so far, all its threads together.
pub fn cpu_time_of(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanos += text.split(' ').next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}
