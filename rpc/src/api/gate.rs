//! Work that takes its time: on threads of its own, a few at once, some that wait, the rest refused.
//!
//! The threads have a low priority: however much there is to execute, whoever only wants to look something up is served
//! first. Work that nobody waits for any more, or that has waited for longer than it may take, is not begun.

use super::Json;
use crate::{Error, Limits, error};
use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// The priority of the threads, as `nice` counts it: a third of the time that others get who want it too.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

type Answer = Result<Json, Error>;

struct Job {
    work: Box<dyn FnOnce() -> Answer + Send>,
    since: Instant,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    is_closed: bool,
}

struct Queue {
    jobs: Mutex<Jobs>,
    more: Condvar,
    waiting_max: usize,
    wait_max: Duration,
}

/// The threads, and what waits for them.
pub(super) struct Gate(Arc<Queue>);

fn busy() -> Error {
    Error::new(error::LIMIT, "too many calls at once, try again later")
}

impl Gate {
    pub(super) fn new(limits: &Limits) -> Self {
        let queue = Arc::new(Queue {
            jobs: Mutex::default(),
            more: Condvar::new(),
            waiting_max: limits.calls_waiting_max.max(1),
            wait_max: limits.call_timeout,
        });
        for index in 0..limits.calls_running_max.max(1) {
            let queue = queue.clone();
            let thread = std::thread::Builder::new().name(format!("pectin-call-{index}"));
            if let Err(why) = thread.spawn(move || queue.work()) {
                tracing::error!(%why, "a thread for calls cannot be started");
            }
        }
        Self(queue)
    }

    /// Runs `work` on one of the threads once it is its turn.
    pub(super) async fn run(&self, work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
        let (answer, answered) = oneshot::channel();
        {
            let mut jobs = self.0.jobs.lock();
            if jobs.waiting.len() >= self.0.waiting_max {
                return Err(busy());
            }
            jobs.waiting.push_back(Job { work: Box::new(work), since: Instant::now(), answer });
        }
        self.0.more.notify_one();
        answered.await.map_err(Error::internal)?
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.jobs.lock().is_closed = true;
        self.0.more.notify_all();
    }
}

impl Queue {
    fn work(&self) {
        // On Linux a thread has a priority of its own; to lower it is always allowed.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, NICENESS);
        while let Some(job) = self.next() {
            if job.answer.is_closed() {
                continue;
            }
            let answer = match job.since.elapsed() > self.wait_max {
                true => Err(busy()),
                false => catch_unwind(AssertUnwindSafe(job.work))
                    .unwrap_or_else(|_| Err(Error::internal("the work panicked"))),
            };
            // Whoever asked may have gone meanwhile.
            let _ = job.answer.send(answer);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            if jobs.is_closed {
                return None;
            }
            self.more.wait(&mut jobs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::Future, pin::Pin, sync::mpsc, task::Poll};

    fn gate(waiting: usize) -> Gate {
        let limits = Limits { calls_running_max: 1, calls_waiting_max: waiting, ..Limits::default() };
        Gate::new(&limits)
    }

    /// Begins a future that cannot be done at once.
    async fn begins(mut future: Pin<&mut impl Future>) -> bool {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    fn null() -> Answer {
        super::super::reply(&(), 100)
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_the_thread_goes_on() {
        let gate = gate(4);
        assert_eq!(gate.run(|| panic!("on purpose")).await.unwrap_err().code, error::INTERNAL);
        assert_eq!(gate.run(null).await.unwrap().get(), "null");
    }

    #[tokio::test]
    async fn what_comes_beyond_is_refused_and_what_nobody_waits_for_is_not_begun() {
        let gate = gate(1);
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let first = gate.run(move || {
            begin.send(()).unwrap();
            ended.recv().unwrap();
            null()
        });
        let mut first = std::pin::pin!(first);
        assert!(begins(first.as_mut()).await);
        begun.recv().unwrap();
        {
            let mut forgotten = std::pin::pin!(gate.run(|| panic!("nobody waits for this")));
            assert!(begins(forgotten.as_mut()).await);
            assert_eq!(gate.run(null).await.unwrap_err().code, error::LIMIT);
        }
        end.send(()).unwrap();
        assert!(first.await.is_ok());
        assert!(gate.run(null).await.is_ok());
    }
}
