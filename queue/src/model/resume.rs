//! A journal from anywhere, and a queue that goes on with it.

use super::{
    check,
    world::{World, clock, genesis},
};
use crate::{Config, JournalError, Queue, Record, Sent};
use jam::hash::blake2b;
use types::Time;

/// No block that is sealed from now on may have the hash of one that the journal names.
fn salt(records: &[Record]) -> u64 {
    let bytes = records.iter().flat_map(Record::to_bytes).collect::<Vec<_>>();
    let hash = blake2b(&[b"salt", &bytes]);
    u64::from(hash[0]) << 32 | u64::from(hash[1]) << 40 | u64::from(hash[2]) << 48
}

/// Restores a queue from records, and if they are a journal, lets it live on a chain for a while; whatever it does is
/// checked. The chain knows nothing of what the journal says.
pub fn resume(config: &Config, records: Vec<Record>) -> Result<(), JournalError> {
    let queue = Queue::restore(config.clone(), clock(), genesis(), records.iter().cloned(), Time::ZERO)?;
    check::indexes(&queue);
    let mut world = World::running(config.clone());
    world.queue = queue;
    world.seals = salt(&records);
    world.kept.clone_from(&records);
    world.journal = records;
    world.compact();
    world.restart();
    world.blocks(1);
    for answer in [Some(Sent::Taken), None, Some(Sent::Refused)] {
        world.answer = answer;
        let _ = world.try_seal(1);
        world.send_in_window();
        world.blocks(1);
    }
    Ok(())
}
