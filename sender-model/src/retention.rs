//! Forgetting: a record is kept for a while after its end, then all that belongs to it goes in one commit. What somebody
//! is still to be told stays, and so does what was given up, for a while of its own: a dead letter is worth nothing
//! without its event. The name stays used for a longer while: the commit that deletes the request writes [`UsedName`].

use super::{
    Authority, Commit, Config, Delivery, Event, Fence, Precondition, Request, Subject, UsedName, Write,
    commit::{Key, Value},
    key,
};
use types::{Duration, Time};

fn is_over(since: Time, keep_ms: u64, now: Time) -> bool {
    now.since(since) >= Duration::from_millis(keep_ms)
}

/// Nobody is to be told of this event any more, and nobody has given up telling it.
fn nobody_needs(event: (&Subject, u32), account: super::AccountId, config: &Config) -> Vec<Precondition> {
    let (subject, sequence) = event;
    let rows = config.endpoints.iter().flat_map(|endpoint| {
        [
            key::delivery(account, subject, sequence, endpoint),
            key::dead_letter(account, subject, sequence, endpoint),
        ]
    });
    rows.map(Precondition::Absent).collect()
}

/// The commit that forgets a request, if it ended long enough ago. It conflicts while somebody is still to be told
/// something about it, or a dead letter about it is kept.
pub fn forget(
    request: &Request,
    epoch: u64,
    config: &Config,
    now: Time,
) -> Result<Option<Commit>, serde_json::Error> {
    let Some(completed_at) = request.completed_at else { return Ok(None) };
    if !is_over(completed_at, config.retention_ms, now) {
        return Ok(None);
    }
    let (row, subject) = (key::request(&request.id), Subject::Request(request.id.clone()));
    let mut preconditions = vec![Precondition::Is(row.clone(), serde_json::to_vec(request)?)];
    let mut writes = vec![Write::Delete(row), Write::Delete(key::done(completed_at, &request.id))];
    writes.extend(request.past.iter().map(|attempt| Write::Delete(key::hash(attempt.hash))));
    for sequence in 1..=request.events {
        writes.push(Write::Delete(key::event(&subject, sequence)));
        preconditions.extend(nobody_needs((&subject, sequence), request.account, config));
    }
    writes.extend(name_rows(request, config, now)?);
    let authority = Authority::Holder(Fence::of(request.account, epoch));
    Ok(Some(Commit { authority, preconditions, writes }))
}

/// The rows that keep the name of a request from being used again; none if its time is over too.
fn name_rows(request: &Request, config: &Config, now: Time) -> Result<Vec<Write>, serde_json::Error> {
    #[cfg(feature = "bugs")]
    if config.makes(super::Mistake::NameGoesWithRequest) {
        return Ok(vec![]);
    }
    match UsedName::of(request).filter(|used| !is_over(used.completed_at, config.name_retention_ms, now)) {
        None => Ok(vec![]),
        Some(used) => Ok(vec![
            Write::Put(key::used_name(&used.id), serde_json::to_vec(&used)?),
            Write::Put(key::used(used.completed_at, &used.id), vec![]),
        ]),
    }
}

/// The commit after which a name may be used again, if its request ended long enough ago.
pub fn forget_name(
    used: &UsedName,
    epoch: u64,
    config: &Config,
    now: Time,
) -> Result<Option<Commit>, serde_json::Error> {
    if !is_over(used.completed_at, config.name_retention_ms, now) {
        return Ok(None);
    }
    let row = key::used_name(&used.id);
    Ok(Some(Commit {
        authority: Authority::Holder(Fence::of(used.account, epoch)),
        preconditions: vec![Precondition::Is(row.clone(), serde_json::to_vec(used)?)],
        writes: vec![Write::Delete(row), Write::Delete(key::used(used.completed_at, &used.id))],
    }))
}

/// The commit that forgets an event of an account, if it is old enough. It conflicts as [`forget`] does.
pub fn forget_event(event: &Event, epoch: u64, config: &Config, now: Time) -> Option<Commit> {
    if !matches!(event.subject, Subject::Account(_)) || !is_over(event.at, config.retention_ms, now) {
        return None;
    }
    Some(Commit {
        authority: Authority::Holder(Fence::of(event.account, epoch)),
        preconditions: nobody_needs((&event.subject, event.sequence), event.account, config),
        writes: vec![Write::Delete(key::event(&event.subject, event.sequence))],
    })
}

/// The commit that forgets a dead letter, if its time is over or there is nobody any more whom it could be told.
pub fn bury(
    dead: &Delivery,
    epoch: u64,
    config: &Config,
    now: Time,
) -> Result<Option<Commit>, serde_json::Error> {
    let is_addressed = config.endpoints.contains(&dead.endpoint);
    if is_addressed && !is_over(dead.next_at, config.dead_letter_ms, now) {
        return Ok(None);
    }
    let row = key::dead_letter(dead.account, &dead.subject, dead.sequence, &dead.endpoint);
    Ok(Some(Commit {
        authority: Authority::Holder(Fence::of(dead.account, epoch)),
        preconditions: vec![Precondition::Is(row.clone(), serde_json::to_vec(dead)?)],
        writes: vec![Write::Delete(row)],
    }))
}

/// The commit that forgets an entry in an index of what has ended which leads to no row that ended then. It belongs to
/// no account, so somebody else's fence has to do.
pub fn forget_index_entry(entry: Key, request: (Key, Option<Value>), fence: Fence) -> Commit {
    let unchanged = match request {
        (row, Some(value)) => Precondition::Is(row, value),
        (row, None) => Precondition::Absent(row),
    };
    let authority = Authority::Holder(fence);
    Commit { authority, preconditions: vec![unchanged], writes: vec![Write::Delete(entry)] }
}
