//! The JAM network around the driver: what peers say goes in, what is wanted of them goes out, and packages leave.

use super::driving::Command;
use bundler::Packaged;
use clock::SystemClock;
use driver::Outgoing;
use jam::{
    HeaderHash, Params,
    codec::{Bytes, Decode},
    spec::StateKey,
    state::{RecentBlocks, StateIndex},
};
use network::{ChainEvent, Endpoint, Follow, Handshake, Retry, SegmentRoots, StateWanted, SubmitError};
use queue::Sent;
use std::{collections::BTreeMap, sync::mpsc::Sender};
use tokio::{sync::mpsc::UnboundedReceiver, time::Instant};
use types::Event;

/// What the driver wants of the network.
#[derive(Debug)]
pub(crate) enum Wish {
    /// These blocks are missing.
    Blocks(Vec<HeaderHash>),
    /// This part of a state is not known.
    State(StateWanted),
    /// Peers shall hear this of us.
    Status(Handshake),
}

/// Passes on what peers say and what the driver wants, until the driver is gone.
pub(crate) async fn relay(
    mut follow: Follow,
    mut wishes: UnboundedReceiver<Wish>,
    commands: Sender<Command>,
    params: Params,
) {
    loop {
        let told = tokio::select! {
            event = follow.next() => {
                let Some(event) = event else { return };
                let peers = matches!(event, ChainEvent::Peer { .. }).then(|| follow.peers().into_iter().collect());
                command(event, &params).or(peers.map(Command::Peers)).is_none_or(|told| commands.send(told).is_ok())
            }
            wish = wishes.recv() => match wish {
                Some(Wish::Blocks(blocks)) => {
                    follow.want(blocks);
                    true
                }
                Some(Wish::State(wanted)) => {
                    // If there is no room the next best block asks again.
                    follow.want_state(wanted);
                    true
                }
                Some(Wish::Status(status)) => {
                    follow.set_status(status);
                    true
                }
                None => false,
            },
        };
        if !told {
            return;
        }
    }
}

/// What the driver is told of an event.
fn command(event: ChainEvent, params: &Params) -> Option<Command> {
    match event {
        ChainEvent::Block { block, .. } => Some(Command::Block(block)),
        ChainEvent::Final { validator, hash, slot } => Some(Command::Final(validator, hash, slot)),
        ChainEvent::Announced { validator, slot } => {
            Some(Command::Announced(validator, slot, SystemClock::reading()))
        }
        ChainEvent::Unavailable { hash } => Some(Command::Unavailable(hash)),
        ChainEvent::State { header, entries, .. } => state(header, entries, params),
        ChainEvent::StateUnavailable { .. } | ChainEvent::Peer { .. } => None,
    }
}

fn state(header: HeaderHash, entries: BTreeMap<StateKey, Bytes>, params: &Params) -> Option<Command> {
    let recent = entries.get(&StateIndex::RecentBlocks.key())?;
    match RecentBlocks::decode(recent, params) {
        Ok(recent) => Some(Command::State { header, recent: Box::new(recent), entries }),
        Err(why) => {
            tracing::warn!(%header, error = %why, "proved state does not decode");
            None
        }
    }
}

/// Sends a package, unless the window has closed, and says how that ended.
pub(crate) async fn send(
    endpoint: Endpoint,
    outgoing: Outgoing<Packaged>,
    params: Params,
    clock: SystemClock,
    commands: Sender<Command>,
) {
    let (run, package) = (outgoing.run(), outgoing.package());
    let left = outgoing.time_left(clock.now());
    let sent = if left.is_zero() {
        drop(commands.send(Command::Tell(Event::WindowMissed { run })));
        Sent::Failed
    } else {
        let deadline = Instant::now() + left;
        let submission = network::Submission::new(
            outgoing.core,
            &outgoing.packaged.bundle,
            &SegmentRoots::default(),
            &params,
        );
        let submitted = match &submission {
            Ok(submission) => network::submit(&endpoint, &outgoing.guarantors, submission, deadline).await,
            Err(why) => Err(why.clone()),
        };
        match submitted {
            Ok(taken) => {
                tracing::debug!(target: "queue", guarantor = %taken.by, "package taken");
                Sent::Taken
            }
            Err(why) => {
                let event = Event::NotSubmitted { run, version: outgoing.version, why: why.to_string() };
                drop(commands.send(Command::Tell(event)));
                failure(&why)
            }
        }
    };
    // The driver may be gone by now; after a restart it sends again.
    drop(commands.send(Command::Sent(run.first.number, package, sent)));
}

const fn failure(why: &SubmitError) -> Sent {
    match (why.retry(), why) {
        (Retry::Resend, _) => Sent::Failed,
        (_, SubmitError::Stale { .. }) => Sent::Stale,
        (Retry::Rebuild | Retry::Never, _) => Sent::Refused,
    }
}
