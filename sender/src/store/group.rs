//! Group commit: one thread writes, and all that came while it synced share the next sync.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::{Duration, Instant},
};

/// The longest that a group is waited for.
const LINGER_MAX: Duration = Duration::from_millis(2);

/// Gathers jobs into groups. After a sync those who waited come again almost at once, so the next group is waited for a
/// moment: until it is as large as the last one, or for a quarter of what a sync takes.
#[derive(Debug)]
pub(super) struct Groups<J> {
    jobs: Receiver<J>,
    size_max: usize,
    expected: usize,
    linger: Duration,
}

impl<J> Groups<J> {
    pub(super) fn new(jobs: Receiver<J>, size_max: usize) -> Self {
        Self { jobs, size_max: size_max.max(1), expected: 1, linger: Duration::ZERO }
    }

    /// The next group; nothing when nobody is left who could send one.
    pub(super) fn next(&mut self) -> Option<Vec<J>> {
        let mut group = vec![self.jobs.recv().ok()?];
        let until = Instant::now() + self.linger;
        while group.len() < self.size_max {
            let job = match self.jobs.try_recv() {
                Ok(job) => job,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) if group.len() >= self.expected => break,
                Err(TryRecvError::Empty) => {
                    match self.jobs.recv_timeout(until.saturating_duration_since(Instant::now())) {
                        Ok(job) => job,
                        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                    }
                }
            };
            group.push(job);
        }
        self.expected = group.len();
        Some(group)
    }

    /// Tells how long the last group took.
    pub(super) fn took(&mut self, time: Duration) {
        self.linger = (time / 4).min(LINGER_MAX);
    }
}
