//! Forgetting: a record is kept for a day after its end, then all that belongs to it goes in one commit.

use super::{Authority, Commit, Config, Fence, Precondition, Request, Subject, Write, key};
use types::{Duration, Time};

/// The commit that forgets a request, if it ended long enough ago. It conflicts while somebody is still to be told
/// something about it.
pub fn forget(
    request: &Request,
    epoch: u64,
    config: &Config,
    now: Time,
) -> Result<Option<Commit>, serde_json::Error> {
    let Some(completed_at) = request.completed_at else { return Ok(None) };
    if now.since(completed_at) < Duration::from_millis(config.retention_ms) {
        return Ok(None);
    }
    let (row, subject) = (key::request(&request.id), Subject::Request(request.id.clone()));
    let mut preconditions = vec![Precondition::Is(row.clone(), serde_json::to_vec(request)?)];
    let mut writes = vec![Write::Delete(row), Write::Delete(key::done(completed_at, &request.id))];
    writes.extend(request.past.iter().map(|attempt| Write::Delete(key::hash(attempt.hash))));
    for sequence in 1..=request.events {
        writes.push(Write::Delete(key::event(&subject, sequence)));
        for endpoint in &config.endpoints {
            let delivery = key::delivery(request.account, &subject, sequence, endpoint);
            preconditions.push(Precondition::Absent(delivery));
            let dead = key::dead_letter(request.account, &subject, sequence, endpoint);
            writes.push(Write::Delete(dead));
        }
    }
    let authority = Authority::Holder(Fence::of(request.account, epoch));
    Ok(Some(Commit { authority, preconditions, writes }))
}
