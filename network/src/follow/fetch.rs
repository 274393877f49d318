//! Asking peers, one after the other, until one has it.

use super::{Feed, StateWanted};
use crate::{
    connection::Connection,
    error::StreamError,
    message::{Direction, StateRequest},
};
use jam::{Block, Ed25519Key, Hash, HeaderHash, codec::Bytes, spec::StateKey};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::sleep};

/// What came of asking.
pub(super) enum Fetched {
    /// Blocks, oldest first, for the one that was asked for.
    Blocks { hash: HeaderHash, blocks: Vec<Block>, from: Ed25519Key },
    /// Nobody has it.
    Nothing { hash: HeaderHash },
    /// Blocks above one, oldest first; whether there may be more.
    Above { blocks: Vec<Block>, from: Ed25519Key, more: bool },
    /// A state, or `None` if too few gave it.
    State { header: HeaderHash, state: Option<(Answer, Vec<Ed25519Key>)> },
}

/// A proved part of a state.
pub(super) type Answer = (Hash, BTreeMap<StateKey, Bytes>);

/// How often the same block is asked for, the pause before that doubles up to this.
const PAUSE_MAX: Duration = Duration::from_secs(6);

/// The pause before a block is asked for another time.
pub(super) fn pause(attempts: u32) -> Duration {
    match attempts {
        0 => Duration::ZERO,
        _ => Duration::from_millis(100 << attempts.min(6)).min(PAUSE_MAX),
    }
}

/// The connections, beginning with a preferred one and then another one at each attempt.
fn in_turn(feed: &Feed, first: Option<Ed25519Key>, attempts: u32) -> Vec<Connection> {
    let mut connections = feed.connections().values().cloned().collect::<Vec<_>>();
    if !connections.is_empty() {
        let turn = attempts as usize % connections.len();
        connections.rotate_left(turn);
    }
    connections.sort_by_key(|connection| Some(connection.peer()) != first);
    connections
}

/// A block and up to `max − 1` of its ancestors, from whoever has it.
pub(super) async fn block(
    feed: Arc<Feed>,
    hash: HeaderHash,
    first: Option<Ed25519Key>,
    max: u32,
    attempts: u32,
) -> Fetched {
    sleep(pause(attempts)).await;
    for connection in in_turn(&feed, first, attempts) {
        match connection.blocks(hash, Direction::Descending, max).await {
            Ok(mut blocks) if !blocks.is_empty() => {
                blocks.reverse();
                return Fetched::Blocks { hash, blocks, from: connection.peer() };
            }
            Ok(_) | Err(_) => {}
        }
    }
    Fetched::Nothing { hash }
}

/// Blocks above the first of `starts` that the peer knows.
pub(super) async fn above(connection: Connection, starts: Vec<HeaderHash>, max: u32) -> Fetched {
    let from = connection.peer();
    for start in starts {
        // Some nodes say nothing instead of refusing what they do not know.
        let blocks = connection.blocks(start, Direction::Ascending, max).await;
        if let Some(blocks) = blocks.ok().filter(|blocks| !blocks.is_empty()) {
            let more = blocks.len() as u64 >= u64::from(max);
            return Fetched::Above { blocks, from, more };
        }
    }
    Fetched::Above { blocks: vec![], from, more: false }
}

/// A state that one peer proves to have the root that is known, or that enough peers agree on.
pub(super) async fn state(feed: Arc<Feed>, wanted: StateWanted) -> Fetched {
    let header = wanted.header;
    let needed = if wanted.root.is_some() { 1 } else { wanted.agreement.max(1) };
    let mut answers: Vec<(Answer, Vec<Ed25519Key>)> = vec![];
    for connection in in_turn(&feed, None, 0) {
        let Ok(answer) = ask_state(&connection, &wanted).await else { continue };
        if wanted.root.is_some_and(|root| root != answer.0) {
            connection.misbehaved("a state that is not the one after the block");
            continue;
        }
        let place = answers.iter().position(|(known, _)| *known == answer).unwrap_or(answers.len());
        if place == answers.len() {
            answers.push((answer, vec![]));
        }
        answers[place].1.push(connection.peer());
        if answers[place].1.len() >= needed {
            return Fetched::State { header, state: Some(answers.swap_remove(place)) };
        }
    }
    Fetched::State { header, state: None }
}

/// All keys from one peer, each with its proof of the same root.
async fn ask_state(connection: &Connection, wanted: &StateWanted) -> Result<Answer, StreamError> {
    let mut requests = JoinSet::new();
    for key in &wanted.keys {
        let (connection, request) = (connection.clone(), StateRequest::key(wanted.header, *key));
        requests.spawn(async move { connection.state(request).await.map(|range| (request.start, range)) });
    }
    let (mut root, mut entries) = (None, BTreeMap::new());
    while let Some(answer) = requests.join_next().await {
        let lost = |_| StreamError::Lost(quinn::ConnectionError::LocallyClosed);
        let (key, range) = answer.map_err(lost)??;
        let proved = match range.root(key, key) {
            Ok(proved) if root.is_none_or(|root| root == proved) => proved,
            result => {
                let error = result.err().unwrap_or(StreamError::Wrong("parts of different states"));
                connection.blame(Some(crate::Kind::State), &error);
                return Err(error);
            }
        };
        root = Some(proved);
        entries.extend(range.entries);
    }
    root.map(|root| (root, entries)).ok_or(StreamError::Wrong("no key was asked for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_somewhere() {
        assert_eq!(pause(0), Duration::ZERO);
        assert!((1..100).all(|attempts| pause(attempts) <= pause(attempts + 1)));
        assert_eq!(pause(u32::MAX), PAUSE_MAX);
    }
}
