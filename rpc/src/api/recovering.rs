//! Signatures of many clients, recovered together.
//!
//! Several signatures at once cost little more than two (see the crate `ecrecover`), and a busy node has as many: those of a
//! batch, and those of clients who send one transaction each at the same time. Whoever comes first steps back behind what is
//! ready now, so that others whose requests have arrived are read, and takes all of them along. Whoever comes meanwhile
//! waits, and all who wait are served together, a few at a time, connection by connection. So the more there is to do, the
//! less each costs; nobody waits for somebody who has not come, and nobody for all that another has sent.
//!
//! A client that goes away leaves nobody waiting: whoever recovers is followed by a task if some are left. What it had sent
//! itself and was not answered is forgotten if its turn had not come.
//!
//! Where the machine recovers one at a time nothing is gained by waiting, and whoever comes recovers at once.

use crate::server::aside;
use alloy_primitives::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    future::poll_fn,
    sync::Arc,
    task::Poll,
};
use tokio::{runtime::Handle, sync::oneshot};
use types::Transaction;

/// So much is recovered before others have their turn: as many small transactions, which take as long as four do one by one, or
/// nine, as the machine is.
const TOGETHER: usize = 16;
/// With so much waiting it is worth while that one more recovers.
const FULL: usize = 8;
/// A transaction of so many bytes counts as one more: it may have as many signatures, of those who authorize something.
const BYTES_MORE: usize = 2048;

type Recovered = Vec<Result<Transaction, txpool::Error>>;

/// See the [module](self).
pub(super) struct Recovering {
    recover_all: Box<dyn Fn(Vec<Bytes>) -> Recovered + Send + Sync>,
    /// Whether many cost less than each by itself.
    together: bool,
    waiting: Mutex<Waiting>,
    workers_max: usize,
}

#[derive(Default)]
struct Waiting {
    /// By connection, in order.
    parts: BTreeMap<u64, VecDeque<Part>>,
    /// Whose turn is next.
    turns: VecDeque<u64>,
    /// What all parts weigh.
    weight: usize,
    /// How many recover now.
    workers: usize,
}

/// Transactions of one client that are recovered together.
struct Part {
    transactions: Vec<Bytes>,
    weight: usize,
    answer: oneshot::Sender<Recovered>,
}

impl Recovering {
    /// With a function that recovers some, one answer for each; `together` if it does so for less than one by one.
    pub(super) fn new(
        together: bool,
        recover_all: impl Fn(Vec<Bytes>) -> Recovered + Send + Sync + 'static,
    ) -> Arc<Self> {
        let workers_max = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            recover_all: Box::new(recover_all),
            together,
            waiting: Mutex::default(),
            workers_max,
        })
    }

    /// Decodes transactions of a connection and recovers who signed them; `None` if that has failed, which is nobody's
    /// fault but ours.
    pub(super) async fn recover(self: &Arc<Self>, connection: u64, all: Vec<Bytes>) -> Option<Recovered> {
        let few = all.iter().map(weight).sum::<usize>() <= TOGETHER;
        if few && !self.together {
            return Some((self.recover_all)(all));
        }
        if few && let Some(worker) = self.first() {
            behind_what_is_ready().await;
            return Some(worker.serve(all));
        }
        let runtime = Handle::try_current().ok()?;
        let mut recovered = Vec::with_capacity(all.len());
        for part in self.wait_for(connection, all, &runtime) {
            recovered.extend(part.await.ok()?);
        }
        Some(recovered)
    }

    /// The right to recover, where nobody else does.
    fn first(self: &Arc<Self>) -> Option<Worker> {
        let mut waiting = self.waiting.lock();
        let is_first = waiting.workers == 0;
        waiting.workers += usize::from(is_first);
        is_first.then(|| Worker { recovering: Arc::clone(self), is_at_work: true })
    }

    /// Starts a worker who is counted already.
    fn start(self: &Arc<Self>, runtime: &Handle) {
        runtime.spawn(Worker { recovering: Arc::clone(self), is_at_work: false }.run());
    }

    fn wait_for(
        self: &Arc<Self>,
        connection: u64,
        all: Vec<Bytes>,
        runtime: &Handle,
    ) -> Vec<oneshot::Receiver<Recovered>> {
        let mut answers = Vec::with_capacity(all.len().div_ceil(TOGETHER));
        let mut all = all.into_iter().peekable();
        let mut waiting = self.waiting.lock();
        while let Some(first) = all.next() {
            let mut sum = weight(&first);
            let mut transactions = vec![first];
            while let Some(next) = all.next_if(|next| sum + weight(next) <= TOGETHER) {
                sum += weight(&next);
                transactions.push(next);
            }
            let (answer, answered) = oneshot::channel();
            waiting.put(connection, Part { transactions, weight: sum, answer });
            answers.push(answered);
        }
        let wanted = waiting.weight.div_ceil(FULL).min(self.workers_max);
        let more = wanted.saturating_sub(waiting.workers);
        waiting.workers += more;
        // Not with the lock: what a runtime that is being shut down is given, it drops at once.
        drop(waiting);
        (0..more).for_each(|_| self.start(runtime));
        answers
    }
}

/// What a transaction weighs.
fn weight(transaction: &Bytes) -> usize {
    1 + transaction.len() / BYTES_MORE
}

/// Lets go on what is ready to. Unlike tokio's own way it does not wait for the network to be looked at, and another
/// thread that has nothing to do may go on with it.
async fn behind_what_is_ready() {
    let mut is_back = false;
    poll_fn(|context| match std::mem::replace(&mut is_back, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl Waiting {
    fn put(&mut self, connection: u64, part: Part) {
        self.weight += part.weight;
        let parts = self.parts.entry(connection).or_default();
        if parts.is_empty() {
            self.turns.push_back(connection);
        }
        parts.push_back(part);
    }

    /// What is recovered next, one part of each connection after the other, as far as there is room; if nothing is to be
    /// taken along, the next part whatever it weighs. Nothing if nobody waits.
    fn take(&mut self, mut room: usize, mut is_first: bool) -> Vec<Part> {
        let mut taken = vec![];
        while let Some(connection) = self.turns.pop_front() {
            let Some(parts) = self.parts.get_mut(&connection) else { continue };
            let fits = |part: &mut Part| is_first || part.weight <= room || part.answer.is_closed();
            let part = parts.pop_front_if(fits);
            if parts.is_empty() {
                self.parts.remove(&connection);
            } else if part.is_some() {
                self.turns.push_back(connection);
            } else {
                self.turns.push_front(connection);
            }
            let Some(part) = part else { break };
            self.weight -= part.weight;
            // Nobody waits for the answers of a client that has gone.
            if !part.answer.is_closed() {
                room = room.saturating_sub(part.weight);
                is_first = false;
                taken.push(part);
            }
        }
        taken
    }
}

/// Somebody who recovers, and is counted until it is dropped. Then somebody else goes on, if there are some who wait.
struct Worker {
    recovering: Arc<Recovering>,
    /// Whether it has begun. Who is dropped before that was given to a runtime that does nothing any more.
    is_at_work: bool,
}

impl Worker {
    /// Serves those who wait until there are none.
    async fn run(mut self) {
        self.is_at_work = true;
        loop {
            self.serve(vec![]);
            if self.recovering.waiting.lock().turns.is_empty() {
                return;
            }
            behind_what_is_ready().await;
        }
    }

    /// Recovers these and, as far as there is room, those of others who wait.
    fn serve(&self, mut all: Vec<Bytes>) -> Recovered {
        let own = all.len();
        let room = TOGETHER.saturating_sub(all.iter().map(weight).sum());
        let parts = self.recovering.waiting.lock().take(room, all.is_empty());
        let mut waiters = Vec::with_capacity(parts.len());
        for Part { transactions, answer, .. } in parts {
            waiters.push((transactions.len(), answer));
            all.extend(transactions);
        }
        if all.is_empty() {
            return vec![];
        }
        let bytes = all.iter().map(|transaction| transaction.len()).sum();
        let mut recovered = aside(bytes, || (self.recovering.recover_all)(all));
        let mut others = recovered.split_off(own.min(recovered.len())).into_iter();
        for (len, answer) in waiters {
            // Whoever has gone needs no answer.
            drop(answer.send(others.by_ref().take(len).collect()));
        }
        recovered
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut waiting = self.recovering.waiting.lock();
        waiting.workers -= 1;
        if waiting.workers > 0 || waiting.turns.is_empty() {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) if self.is_at_work => {
                waiting.workers += 1;
                drop(waiting);
                self.recovering.start(&runtime);
            }
            // Nobody will ever serve them; they hear of it.
            _ => {
                let left = std::mem::take(&mut *waiting);
                drop(waiting);
                drop(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::{Future, poll_fn},
        pin::Pin,
        sync::mpsc::{Receiver, Sender, channel},
        task::Poll,
    };

    fn transactions(count: usize) -> Vec<Bytes> {
        vec![Bytes::from_static(&[1]); count]
    }

    /// Recovers nothing, but says how many were to be recovered, and goes on when it is told to. Whoever has nothing to
    /// do makes it fail.
    fn slow() -> (Arc<Recovering>, Receiver<usize>, Sender<()>) {
        let (tell, told) = channel();
        let (go_on, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let recovering = Recovering::new(true, move |all| {
            tell.send(all.len()).unwrap();
            wait.lock().recv().unwrap();
            assert!(all.iter().all(|bytes| !bytes.is_empty()), "it fails");
            all.iter().map(|_| Err(txpool::Error::TooShort)).collect()
        });
        (recovering, told, go_on)
    }

    /// The connection of somebody whose connection does not matter.
    const SOME: u64 = 7;

    type Answer<'a> = Pin<Box<dyn Future<Output = Option<usize>> + 'a>>;

    /// Somebody who waits already.
    async fn waiting(recovering: &Arc<Recovering>, all: Vec<Bytes>) -> Answer<'_> {
        let mut answer: Answer<'_> = Box::pin(async { Some(recovering.recover(SOME, all).await?.len()) });
        poll_fn(|context| {
            assert!(answer.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        answer
    }

    /// Somebody who recovers on another thread until it is told to go on.
    fn first(recovering: &Arc<Recovering>, all: Vec<Bytes>) -> tokio::task::JoinHandle<Option<usize>> {
        let recovering = Arc::clone(recovering);
        tokio::spawn(async move { Some(recovering.recover(SOME, all).await?.len()) })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_comes_meanwhile_is_served_together() {
        let (recovering, groups, go_on) = slow();
        let first = first(&recovering, transactions(1));
        assert_eq!(groups.recv(), Ok(1), "it is served at once");
        let mut answers = vec![];
        for count in [1, 2, 1, 3] {
            answers.push(waiting(&recovering, transactions(count)).await);
        }
        // One of them goes away; that is nothing to the others, and nothing is recovered for it.
        drop(answers.remove(1));
        (0..2).for_each(|_| go_on.send(()).unwrap());
        assert_eq!(first.await.unwrap(), Some(1));
        for (answer, count) in answers.into_iter().zip([1, 1, 3]) {
            assert_eq!(answer.await, Some(count));
        }
        assert_eq!(groups.recv(), Ok(5));
    }

    #[tokio::test]
    async fn who_has_arrived_is_taken_along_by_the_first() {
        let (recovering, groups, go_on) = slow();
        let mut answers = vec![];
        for count in [1, 2, 3] {
            answers.push(waiting(&recovering, transactions(count)).await);
        }
        go_on.send(()).unwrap();
        for (answer, count) in answers.into_iter().zip([1, 2, 3]) {
            assert_eq!(answer.await, Some(count));
        }
        assert_eq!(groups.try_iter().collect::<Vec<_>>(), [6]);
    }

    #[tokio::test]
    async fn who_goes_away_leaves_nobody_waiting() {
        let (recovering, groups, go_on) = slow();
        let first = waiting(&recovering, transactions(1)).await;
        let second = waiting(&recovering, transactions(2)).await;
        drop(first);
        go_on.send(()).unwrap();
        assert_eq!(second.await, Some(2));
        assert_eq!(groups.try_iter().collect::<Vec<_>>(), [2]);
        go_on.send(()).unwrap();
        assert_eq!(recovering.recover(SOME, transactions(3)).await.unwrap().len(), 3);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_are_served_a_few_at_a_time() {
        let (recovering, groups, go_on) = slow();
        (0..7).for_each(|_| go_on.send(()).unwrap());
        assert_eq!(recovering.recover(SOME, transactions(100)).await.unwrap().len(), 100);
        let mut sizes = groups.try_iter().collect::<Vec<_>>();
        sizes.sort_unstable();
        assert_eq!(sizes, [4, 16, 16, 16, 16, 16, 16]);
        assert_eq!(recovering.waiting.lock().weight, 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_failure_is_told_and_does_not_last() {
        let (recovering, groups, go_on) = slow();
        let failing = first(&recovering, vec![Bytes::new()]);
        assert_eq!(groups.recv(), Ok(1));
        let unlucky = waiting(&recovering, vec![Bytes::new()]).await;
        (0..2).for_each(|_| go_on.send(()).unwrap());
        assert!(failing.await.is_err());
        assert_eq!(unlucky.await, None);
        go_on.send(()).unwrap();
        assert_eq!(first(&recovering, transactions(2)).await.unwrap(), Some(2));
    }

    #[test]
    fn who_waits_when_the_runtime_ends_hears_of_it() {
        let (recovering, groups, go_on) = slow();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let inside = runtime.enter();
        let working = first(&recovering, transactions(1));
        drop(inside);
        assert_eq!(groups.recv(), Ok(1));
        let answer = runtime.block_on(waiting(&recovering, transactions(1)));
        let ended = std::thread::spawn(move || drop(runtime));
        go_on.send(()).unwrap();
        go_on.send(()).unwrap();
        ended.join().unwrap();
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Served before the end or not at all, but never left waiting.
        assert!(matches!(other.block_on(answer), None | Some(1)));
        drop(working);
        assert_eq!(recovering.waiting.lock().workers, 0);
    }

    fn part(weight: usize) -> (Part, oneshot::Receiver<Recovered>) {
        let (answer, answered) = oneshot::channel();
        (Part { transactions: transactions(weight), weight, answer }, answered)
    }

    #[test]
    fn connections_take_turns_and_nothing_is_left_behind() {
        let mut waiting = Waiting::default();
        let mut answers = vec![];
        // One that has sent much, one that has sent something too heavy, and one that has gone.
        for (connection, weight) in [(1, 6), (1, 6), (1, 6), (2, 40), (3, 6), (4, 6), (1, 1)] {
            let (part, answer) = part(weight);
            waiting.put(connection, part);
            if connection != 4 {
                answers.push(answer);
            }
        }
        let mut take = |room, is_first| {
            let taken = waiting.take(room, is_first);
            taken.into_iter().map(|part| part.weight).collect::<Vec<_>>()
        };
        assert_eq!(take(16, true), [6], "the next one is too heavy to be taken along");
        assert_eq!(take(15, false), [0; 0], "nor with somebody's own");
        assert_eq!(take(16, true), [40], "but it comes");
        assert_eq!(take(16, true), [6, 6], "the third's before the first's others");
        assert_eq!(take(16, true), [6, 1]);
        assert_eq!(take(16, true), [0; 0]);
        assert_eq!((waiting.weight, waiting.parts.len(), waiting.turns.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn where_nothing_is_gained_nobody_waits() {
        let recovering =
            Recovering::new(false, |all| all.iter().map(|_| Err(txpool::Error::TooShort)).collect());
        let worker = recovering.first();
        let mut answer = std::pin::pin!(recovering.recover(SOME, transactions(3)));
        poll_fn(|context| {
            assert!(answer.as_mut().poll(context).is_ready());
            Poll::Ready(())
        })
        .await;
        drop(worker);
    }

    #[test]
    fn outside_of_a_runtime_few_are_recovered_and_many_are_refused() {
        let recovering =
            Recovering::new(false, |all| all.iter().map(|_| Err(txpool::Error::TooShort)).collect());
        let block_on = futures_util::FutureExt::now_or_never;
        assert_eq!(
            block_on(recovering.recover(SOME, transactions(2))).flatten().map(|all| all.len()),
            Some(2)
        );
        assert!(block_on(recovering.recover(SOME, transactions(100))).flatten().is_none());
        assert_eq!(recovering.waiting.lock().workers, 0);
    }
}
