//! The thread that owns the driver.
//!
//! A step costs about the same for one transaction as for twenty, and so does the commit that follows it. Clients that
//! were answered together come again together; so, when the last step had several submissions, the thread waits a moment
//! for as many. While others wait for the disk it waits a moment too: what it would do now had to wait for the same
//! disk, and those who are answered meanwhile come again in time for the same step. A lone submission never waits.

use super::{
    Driver, Job,
    shown::{Shown, Step},
};
use alloy_primitives::Address;
use clock::Reading;
use driver::{Broken, CodeStatus, EvmPacked, PackJob, Responder};
use jam::{Block, Ed25519Key, HeaderHash, PackageHash, codec::Bytes, spec::StateKey, state::RecentBlocks};
use queue::Sent;
use rpc::{Order, OrderError};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender},
    },
    thread,
    time::Duration,
};
use store::Base;
use tokio::sync::oneshot;
use tracing::Span;
use txpool::SenderContent;
use types::{Event, Time, Transaction};

/// So many commands are handled before the driver takes a step.
const COMMANDS_MAX: usize = 1024;

/// So long are submissions waited for at a time that are expected to come together,
const GATHER: Duration = Duration::from_micros(500);
/// and so often at most.
const GATHERINGS_MAX: usize = 6;

/// The driver looks around this often even if it has no reason to.
const REST_MAX: Duration = Duration::from_secs(1);

/// What the driver is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// Transactions whose signatures were recovered, and whom to answer.
    Submit {
        /// The transactions.
        transactions: Vec<Transaction>,
        /// Hears the results once they are durable.
        responder: Responder,
        /// The request that they came with, for what is logged about them.
        span: Span,
    },
    /// A block of the JAM chain.
    Block(Box<Block>),
    /// A validator calls a block final.
    Final(Ed25519Key, HeaderHash, u32),
    /// A proved part of a state.
    State {
        /// The block after which it is.
        header: HeaderHash,
        /// The recent history in it.
        recent: Box<RecentBlocks>,
        /// All of it.
        entries: BTreeMap<StateKey, Bytes>,
    },
    /// Nobody has this block.
    Unavailable(HeaderHash),
    /// A validator announced a block of a slot, at this reading of the machine's clocks.
    Announced(Ed25519Key, u32, Reading),
    /// A reader wants a snapshot of what was accepted so far, and is answered when it has been published.
    Show(Responder),
    /// What packing blocks came to.
    Packed(Box<EvmPacked>),
    /// How a submission ended. The bundle is known by its first block.
    Sent(u64, PackageHash, Sent),
    /// Something happened outside the driver that everybody is to hear of.
    Tell(Event),
    /// The store's flat table has moved on.
    Rebase(Base),
    /// The validators that are connected.
    Peers(BTreeSet<Ed25519Key>),
    /// What the pool holds.
    Content(Option<Address>, oneshot::Sender<Vec<SenderContent>>),
    /// The service's code, and where an order of its owner could go.
    Code(oneshot::Sender<CodeStatus>),
    /// The operator wants something.
    Order(Order, oneshot::Sender<Result<u64, OrderError>>),
    /// A sender may have so many transactions waiting.
    SenderLimit(Address, usize),
    /// Finish.
    Stop,
}

/// How many submissions wait for the disk; whoever answers them counts them down before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unanswered(Arc<AtomicUsize>);

impl Unanswered {
    fn add(&self, count: usize) {
        self.0.fetch_add(count, Relaxed);
    }

    /// So many are being answered.
    pub(crate) fn remove(&self, count: usize) {
        self.0.fetch_sub(count, Relaxed);
    }

    fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Where time comes from, and who hears what the driver has come to.
pub(crate) trait World {
    /// The time now.
    fn now(&self) -> Time;
    /// Whether time can be relied on for what cannot be undone, such as expiry.
    fn is_time_confirmed(&self) -> bool;
    /// A validator announced a block of a slot.
    fn announced(&mut self, driver: &Driver, validator: Ed25519Key, slot: u32, at: Reading);
    /// Blocks are to be packed, on another thread.
    fn pack(&mut self, job: Job);
    /// The driver has taken a step.
    fn stepped(&mut self, driver: &Driver);
}

/// Drives until it is told to stop, or cannot go on.
pub(crate) fn run(
    driver: &mut Driver,
    commands: &Receiver<Command>,
    outputs: &SyncSender<Step>,
    shown: &mut Shown,
    unanswered: &Unanswered,
    world: &mut impl World,
) -> Result<(), Broken> {
    let mut gathered = Gathered { unanswered: unanswered.clone(), ..Gathered::default() };
    loop {
        let due = driver.poll_timeout().map_or(REST_MAX, |due| due.since(world.now())).min(REST_MAX);
        let mut stop = false;
        match commands.recv_timeout(due) {
            Ok(first) => {
                gathered.from(first, commands);
                for command in gathered.commands.drain(..) {
                    stop |= handle(driver, command, world)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => stop = true,
        }
        driver.set_time_confirmed(world.is_time_confirmed());
        let mut output = driver.step(world.now())?;
        output.jobs.drain(..).for_each(|job| world.pack(job));
        unanswered.add(output.answers.len());
        if !output.is_empty() && outputs.send(shown.step(output)?).is_err() {
            stop = true;
        }
        world.stepped(driver);
        if stop {
            return Ok(());
        }
    }
}

/// The commands of the next step.
#[derive(Default)]
struct Gathered {
    commands: Vec<Command>,
    /// How many submissions the last step had.
    expected: usize,
    /// Those of earlier steps.
    unanswered: Unanswered,
}

impl Gathered {
    /// Takes what has come, and what can be expected to come at once: as many submissions as the last step had, or as
    /// wait for the disk now and will come back. It is waited for as long as some come, and not for long.
    ///
    /// It sleeps instead of waiting for each: whoever sends to a thread that waits has to wake it, which costs more than
    /// all the rest of handing a transaction over.
    fn from(&mut self, first: Command, commands: &Receiver<Command>) {
        self.commands.push(first);
        self.commands.extend(commands.try_iter().take(COMMANDS_MAX));
        let expected = self.expected.max(self.submissions() + self.unanswered.count());
        for _ in 0..GATHERINGS_MAX {
            let here = self.commands.len();
            if self.submissions() < here || here >= expected.min(COMMANDS_MAX) {
                break;
            }
            thread::sleep(GATHER);
            self.commands.extend(commands.try_iter().take(COMMANDS_MAX));
            if self.commands.len() == here && self.unanswered.count() == 0 {
                break;
            }
        }
        self.expected = self.submissions();
    }

    fn submissions(&self) -> usize {
        self.commands.iter().filter(|command| matches!(command, Command::Submit { .. })).count()
    }
}

/// Packs blocks as they are asked for, until the driver is gone.
pub(crate) fn pack(jobs: &Receiver<Job>, commands: &Sender<Command>) {
    for job in jobs {
        if commands.send(Command::Packed(Box::new(job.pack()))).is_err() {
            return;
        }
    }
}

/// Tells the driver; whether it is to stop.
fn handle(driver: &mut Driver, command: Command, world: &mut impl World) -> Result<bool, Broken> {
    let now = world.now();
    match command {
        Command::Submit { transactions, responder, span } => span.in_scope(|| {
            tracing::debug!(target: "rpc", transactions = transactions.len(), "handed to the driver");
            driver.submit(transactions, responder, now)
        })?,
        Command::Block(block) => driver.import(*block, now),
        Command::Final(validator, hash, slot) => driver.final_word(validator, hash, slot),
        Command::State { header, recent, entries } => driver.learn(header, &recent, &entries),
        Command::Unavailable(hash) => driver.unavailable(hash),
        Command::Announced(validator, slot, at) => world.announced(driver, validator, slot, at),
        Command::Show(answer) => driver.show_now(answer),
        Command::Packed(packed) => driver.packed(*packed, now)?,
        Command::Sent(bundle, package, sent) => driver.sent(bundle, package, sent, now),
        Command::Tell(event) => driver.tell(event),
        Command::Rebase(base) => driver.rebase(base.height(), &base),
        Command::Peers(peers) => driver.set_peers(peers),
        Command::Content(sender, answer) => {
            let content = match sender {
                Some(sender) => vec![driver.pool().content_of(&sender)],
                None => driver.pool().content(),
            };
            drop(answer.send(content));
        }
        Command::Code(answer) => drop(answer.send(driver.code_status())),
        Command::Order(order, answer) => drop(answer.send(carry_out(driver, order, now)?)),
        Command::SenderLimit(sender, txs_max) => driver.set_sender_limit(sender, txs_max),
        Command::Stop => return Ok(true),
    }
    Ok(false)
}

fn carry_out(driver: &mut Driver, order: Order, now: Time) -> Result<Result<u64, OrderError>, Broken> {
    Ok(match order {
        Order::Pause => {
            driver.pause();
            Ok(0)
        }
        Order::Resume => {
            driver.resume();
            Ok(0)
        }
        Order::Release { block } => match driver.give_up(block) {
            None => Err(OrderError(format!(
                "block {block} cannot be released: it is not here, already on the chain, or given up before"
            ))),
            Some(released) => Ok(released.count() as u64),
        },
        Order::Flush { sender } => Ok(driver.flush(&sender) as u64),
        Order::Seal => match driver.seal_now(now)? {
            true => Ok(1),
            false => Err(OrderError("no block can be sealed now: the queue has no room".to_owned())),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn submit(commands: &Sender<Command>, count: usize) {
        for _ in 0..count {
            let (transactions, responder) = (vec![], Responder::new(drop));
            commands.send(Command::Submit { transactions, responder, span: Span::none() }).unwrap();
        }
    }

    #[test]
    fn what_has_come_is_one_step_and_the_next_one_expects_as_much() {
        let (sender, commands) = channel();
        let mut gathered = Gathered::default();
        submit(&sender, 3);
        gathered.from(commands.recv().unwrap(), &commands);
        assert_eq!((gathered.commands.len(), gathered.expected), (3, 3));
        gathered.commands.clear();
        // Two come at once and the third a little later, from another thread; whether it is in time or not, it is lost
        // to nobody, and what is expected next is what came.
        submit(&sender, 2);
        let late = thread::spawn(move || submit(&sender, 1));
        gathered.from(commands.recv().unwrap(), &commands);
        late.join().unwrap();
        let left = commands.try_iter().count();
        assert_eq!(gathered.commands.len() + left, 3);
        assert_eq!(gathered.expected, gathered.commands.len());
    }

    #[test]
    fn a_step_has_a_limit_and_the_rest_is_left() {
        let (sender, commands) = channel();
        submit(&sender, COMMANDS_MAX + 5);
        let mut gathered = Gathered::default();
        gathered.from(commands.recv().unwrap(), &commands);
        assert_eq!((gathered.commands.len(), commands.try_iter().count()), (COMMANDS_MAX + 1, 4));
    }

    #[test]
    fn those_who_are_answered_meanwhile_are_in_time() {
        let (sender, commands) = channel();
        let unanswered = Unanswered::default();
        let mut gathered = Gathered { unanswered: unanswered.clone(), ..Gathered::default() };
        submit(&sender, 1);
        assert_eq!(unanswered.count(), 0, "a lone one does not wait");
        gathered.from(commands.recv().unwrap(), &commands);
        assert_eq!((gathered.commands.len(), gathered.expected), (1, 1));
        gathered.commands.clear();
        unanswered.add(1);
        submit(&sender, 1);
        let first = commands.recv().unwrap();
        // Whoever is answered while the other one is gathered; whether it comes in time or not, it is lost to nobody.
        let answered = thread::spawn(move || {
            unanswered.remove(1);
            submit(&sender, 1);
        });
        gathered.from(first, &commands);
        answered.join().unwrap();
        assert_eq!(gathered.commands.len() + commands.try_iter().count(), 2);
        assert_eq!(gathered.unanswered.count(), 0);
    }

    #[test]
    fn only_submissions_are_waited_for() {
        let (sender, commands) = channel();
        let mut gathered = Gathered { expected: 1000, ..Gathered::default() };
        sender.send(Command::Peers(BTreeSet::new())).unwrap();
        gathered.from(commands.recv().unwrap(), &commands);
        assert_eq!((gathered.commands.len(), gathered.expected), (1, 0));
    }
}
