//! Work that takes its time: on threads of its own, a few at once, some that wait, the rest refused.
//!
//! The threads have a low priority: however much there is to execute, whoever only wants to look something up is served
//! first. Work that nobody waits for any more, or that has waited for longer than it may take, is not begun. Whose work
//! comes next is decided by what each has used lately; one thread works only for those who have used hardly anything, so
//! that they wait for nobody who floods.

use super::{
    Json, Origin,
    fair::{Fair, gives_way},
};
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
    origin: Origin,
    work: Box<dyn FnOnce() -> Answer + Send>,
    since: Instant,
    answer: oneshot::Sender<Answer>,
}

struct Jobs {
    waiting: VecDeque<Job>,
    fair: Fair,
    /// Threads that take any job and have none.
    free: usize,
    is_closed: bool,
}

impl Jobs {
    /// What nobody waits for any more is not begun.
    fn forget(&mut self) {
        self.waiting.retain(|job| !job.answer.is_closed());
    }

    /// The next job for a thread that takes any, or for the one that works only for those who have used hardly anything.
    /// As long as another thread would take it, that one stays free.
    fn take(&mut self, only_for_modest: bool) -> Option<Job> {
        self.forget();
        let Self { waiting, fair, free, .. } = self;
        if only_for_modest && *free > 0 {
            return None;
        }
        let now = Instant::now();
        let origins = waiting.iter().map(|job| job.origin).enumerate();
        let origins = origins.filter(|(_, origin)| !only_for_modest || fair.is_modest(*origin, now));
        let job = waiting.remove(fair.next(origins, now)?)?;
        fair.begin(job.origin, now);
        *free -= usize::from(!only_for_modest);
        Some(job)
    }
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
        let free = limits.calls_running_max.max(1);
        let queue = Arc::new(Queue {
            jobs: Mutex::new(Jobs { waiting: VecDeque::new(), fair: Fair::new(), free, is_closed: false }),
            more: Condvar::new(),
            waiting_max: limits.calls_waiting_max.max(1),
            wait_max: limits.call_timeout,
        });
        for index in 0..=free {
            let (working, only_for_modest) = (queue.clone(), index == 0);
            let thread = std::thread::Builder::new().name(format!("pectin-call-{index}"));
            if let Err(why) = thread.spawn(move || working.work(only_for_modest)) {
                tracing::error!(%why, "a thread for calls cannot be started");
                queue.jobs.lock().free -= usize::from(!only_for_modest);
            }
        }
        Self(queue)
    }

    /// Runs `work` on one of the threads once it is its turn.
    pub(super) async fn run(&self, origin: Origin, work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
        let (answer, answered) = oneshot::channel();
        {
            let mut jobs = self.0.jobs.lock();
            if jobs.waiting.len() >= self.0.waiting_max {
                jobs.forget();
            }
            if jobs.waiting.len() >= self.0.waiting_max {
                let waiting = jobs.waiting.iter().map(|job| job.origin).collect::<Vec<_>>();
                let refused = gives_way(&waiting, origin).and_then(|index| jobs.waiting.remove(index));
                let Some(refused) = refused else { return Err(busy()) };
                // Whoever asked may have gone meanwhile.
                let _ = refused.answer.send(Err(busy()));
            }
            jobs.waiting.push_back(Job { origin, work: Box::new(work), since: Instant::now(), answer });
        }
        // Not every thread takes every job.
        self.0.more.notify_all();
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
    /// Does what there is to do, or only what those want who have used hardly anything.
    fn work(&self, only_for_modest: bool) {
        // On Linux a thread has a priority of its own; to lower it is always allowed.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, NICENESS);
        while let Some(job) = self.next(only_for_modest) {
            let begun = Instant::now();
            let answer = match job.since.elapsed() > self.wait_max {
                true => Err(busy()),
                false => catch_unwind(AssertUnwindSafe(job.work))
                    .unwrap_or_else(|_| Err(Error::internal("the work panicked"))),
            };
            let now = Instant::now();
            {
                let mut jobs = self.jobs.lock();
                jobs.fair.end(job.origin, now.saturating_duration_since(begun), now);
                jobs.free += usize::from(!only_for_modest);
            }
            // Whoever asked may have gone meanwhile.
            let _ = job.answer.send(answer);
        }
    }

    fn next(&self, only_for_modest: bool) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.take(only_for_modest) {
                if !jobs.waiting.is_empty() {
                    self.more.notify_all();
                }
                return Some(job);
            }
            if jobs.is_closed && (jobs.waiting.is_empty() || only_for_modest) {
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
        assert_eq!(
            gate.run(Origin::default(), || panic!("on purpose")).await.unwrap_err().code,
            error::INTERNAL
        );
        assert_eq!(gate.run(Origin::default(), null).await.unwrap().get(), "null");
    }

    #[tokio::test]
    async fn what_comes_beyond_is_refused_and_what_nobody_waits_for_is_not_begun() {
        let gate = gate(1);
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let first = gate.run(Origin::default(), move || {
            begin.send(()).unwrap();
            ended.recv().unwrap();
            null()
        });
        let mut first = std::pin::pin!(first);
        assert!(begins(first.as_mut()).await);
        begun.recv().unwrap();
        {
            let mut forgotten =
                std::pin::pin!(gate.run(Origin::default(), || panic!("nobody waits for this")));
            assert!(begins(forgotten.as_mut()).await);
            assert_eq!(gate.run(Origin::default(), null).await.unwrap_err().code, error::LIMIT);
        }
        end.send(()).unwrap();
        assert!(first.await.is_ok());
        assert!(gate.run(Origin::default(), null).await.is_ok());
    }

    fn origin(connection: u64) -> Origin {
        Origin { address: None, connection }
    }

    #[tokio::test]
    async fn who_floods_is_waited_for_by_nobody_else() {
        let gate = gate(8);
        assert!(gate.run(origin(2), null).await.is_ok(), "somebody who is known for little");
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let ended = Arc::new(Mutex::new(ended));
        let block = || {
            let (begin, ended) = (begin.clone(), ended.clone());
            move || {
                let _ = begin.send(());
                let _ = ended.lock().recv();
                null()
            }
        };
        let mut first = Box::pin(gate.run(origin(1), block()));
        assert!(begins(first.as_mut()).await);
        begun.recv().unwrap();
        let mut flood = (0..8).map(|_| Box::pin(gate.run(origin(1), block()))).collect::<Vec<_>>();
        for call in &mut flood {
            assert!(begins(call.as_mut()).await, "there is room for all of them");
        }
        for _ in 0..20 {
            assert!(gate.run(origin(2), null).await.is_ok(), "it is served while the others wait");
        }
        assert_eq!(flood.pop().unwrap().await.unwrap_err().code, error::LIMIT, "one of them gave way");
        drop(end);
        assert!(first.await.is_ok());
        for call in flood {
            assert!(call.await.is_ok());
        }
    }
}
