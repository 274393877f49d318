//! Whose turn it is among those whose calls wait, by what they have used lately.
//!
//! First come those whose address has used little, then those whose address has used less than others. Of one address
//! those come first whose connection is known for few and quick calls, then those that nothing is known of, and then the
//! others, whoever has used least first. So a flood of expensive calls delays those who flood, and hardly anybody else.

use super::Origin;
use std::{
    cmp::Ordering,
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    time::{Duration, Instant},
};

/// After so long half of what was used is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// Little use, in seconds: what a twentieth of one thread's time comes to in the long run.
const LITTLE: f64 = 0.7;
/// A quick call, in seconds.
const QUICK: f64 = 0.05;
/// How much the newest call says about those to come.
const NEWEST: f64 = 0.2;
/// So many are remembered; with more, those are forgotten first who have used hardly anything.
const REMEMBERED_MAX: usize = 4096;
/// Hardly anything, in seconds.
const HARDLY: f64 = 0.001;

/// What somebody has used, in seconds.
struct Used {
    seconds: f64,
    at: Instant,
    /// How long a call takes, if any has ended.
    each: Option<f64>,
    /// Calls that have not ended.
    running: usize,
}

impl Used {
    fn now(&self, now: Instant) -> f64 {
        let halves = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * (-halves).exp2()
    }
}

struct Users<K>(HashMap<K, Used>);

impl<K: Eq + Hash> Users<K> {
    fn get(&self, who: &K, now: Instant) -> f64 {
        self.0.get(who).map_or(0.0, |used| used.now(now))
    }

    fn add(&mut self, who: K, seconds: f64, now: Instant) -> &mut Used {
        if self.0.len() >= REMEMBERED_MAX && !self.0.contains_key(&who) {
            self.0.retain(|_, used| used.running > 0 || used.now(now) > HARDLY);
            if self.0.len() >= REMEMBERED_MAX {
                self.0.clear();
            }
        }
        let used = self.0.entry(who).or_insert(Used { seconds: 0.0, at: now, each: None, running: 0 });
        (used.seconds, used.at) = (used.now(now) + seconds, now);
        used
    }
}

/// What is known of a connection, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Known {
    Modest,
    Nothing,
    Eager,
}

/// Whoever has the least comes next.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rank {
    /// What the address has used, if that is not little.
    address: f64,
    connection: Known,
    /// What the connection has used, if that is not little.
    used: f64,
}

impl Rank {
    fn compare(&self, other: &Self) -> Ordering {
        let address = self.address.total_cmp(&other.address);
        address.then(self.connection.cmp(&other.connection)).then(self.used.total_cmp(&other.used))
    }
}

/// Who has used how much.
pub(super) struct Fair {
    addresses: Users<Option<IpAddr>>,
    connections: Users<Origin>,
}

impl Fair {
    pub(super) fn new() -> Self {
        Self { addresses: Users(HashMap::new()), connections: Users(HashMap::new()) }
    }

    /// A call begins.
    pub(super) fn begin(&mut self, who: Origin, now: Instant) {
        self.connections.add(who, 0.0, now).running += 1;
    }

    /// A call has ended that took so long.
    pub(super) fn end(&mut self, who: Origin, took: Duration, now: Instant) {
        let took = took.as_secs_f64();
        self.addresses.add(who.address, took, now);
        let used = self.connections.add(who, took, now);
        used.running = used.running.saturating_sub(1);
        used.each = Some(used.each.map_or(took, |each| each + NEWEST * (took - each)));
    }

    fn rank(&self, who: &Origin, now: Instant) -> Rank {
        let unless_little = |used: f64| if used < LITTLE { 0.0 } else { used };
        let address = unless_little(self.addresses.get(&who.address, now));
        let used = unless_little(self.connections.get(who, now));
        let connection = match self.connections.0.get(who) {
            None => Known::Nothing,
            Some(known) if known.running > 0 || used > 0.0 => Known::Eager,
            Some(Used { each: None, .. }) => Known::Nothing,
            Some(Used { each: Some(each), .. }) if *each < QUICK => Known::Modest,
            Some(_) => Known::Eager,
        };
        Rank { address, connection, used }
    }

    /// Whether nobody who floods shall be waited for: a connection that is known for little, or the first call of an
    /// address that has not called.
    pub(super) fn is_modest(&self, who: Origin, now: Instant) -> bool {
        let rank = self.rank(&who, now);
        rank.connection == Known::Modest || (rank.connection == Known::Nothing && rank.address == 0.0)
    }

    /// Which of those who wait comes next, by its index: of equals the first.
    pub(super) fn next(&self, waiting: impl Iterator<Item = (usize, Origin)>, now: Instant) -> Option<usize> {
        let ranks = waiting.map(|(index, who)| (self.rank(&who, now), index));
        ranks.min_by(|(one, _), (other, _)| one.compare(other)).map(|(_, index)| index)
    }
}

/// Which of those who wait gives way to a newcomer when there is no room: the last one of whoever has most waiting, if the
/// newcomer has fewer.
pub(super) fn gives_way(waiting: &[Origin], newcomer: Origin) -> Option<usize> {
    let (mut addresses, mut connections) = (HashMap::new(), HashMap::new());
    for who in waiting {
        *addresses.entry(who.address).or_insert(0_usize) += 1;
        *connections.entry(*who).or_insert(0_usize) += 1;
    }
    let of = |who: &Origin| {
        let address = addresses.get(&who.address).copied().unwrap_or(0);
        (address, connections.get(who).copied().unwrap_or(0))
    };
    let (index, most) = waiting.iter().enumerate().max_by_key(|(_, who)| of(who))?;
    let (newcomer_has, most_has) = (of(&newcomer), of(most));
    let fewer = match most.address == newcomer.address {
        true => newcomer_has.1 + 1 < most_has.1,
        false => newcomer_has.0 + 1 < most_has.0,
    };
    fewer.then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(address: u8, connection: u64) -> Origin {
        Origin { address: Some(IpAddr::from([10, 0, 0, address])), connection }
    }

    fn call(fair: &mut Fair, who: Origin, took: Duration, now: Instant) {
        fair.begin(who, now);
        fair.end(who, took, now);
    }

    #[test]
    fn whoever_has_used_little_comes_next() {
        let (now, mut fair) = (Instant::now(), Fair::new());
        let (greedy, less, modest, new, other) =
            (origin(1, 1), origin(1, 2), origin(1, 3), origin(1, 4), origin(2, 5));
        call(&mut fair, greedy, Duration::from_secs(5), now);
        call(&mut fair, less, Duration::from_secs(2), now);
        (0..50).for_each(|_| call(&mut fair, modest, Duration::from_millis(1), now));
        let next = |fair: &Fair, waiting: &[Origin]| fair.next(waiting.iter().copied().enumerate(), now);
        assert_eq!(next(&fair, &[greedy, less, new, modest, other]), Some(4), "another address");
        assert_eq!(next(&fair, &[greedy, less, new, modest]), Some(3), "who is known for little");
        assert_eq!(next(&fair, &[greedy, less, new]), Some(2), "who is not known");
        assert_eq!(next(&fair, &[greedy, less]), Some(1), "who has used less");
        assert_eq!(next(&fair, &[new, origin(1, 6)]), Some(0), "the first of equals");
        assert_eq!(next(&fair, &[]), None);
    }

    #[test]
    fn nobody_is_modest_who_floods() {
        let (now, mut fair) = (Instant::now(), Fair::new());
        let (greedy, modest, new) = (origin(1, 1), origin(1, 2), origin(1, 3));
        assert!(fair.is_modest(new, now), "nobody has called yet");
        call(&mut fair, greedy, Duration::from_secs(5), now);
        call(&mut fair, modest, Duration::from_millis(1), now);
        assert!(fair.is_modest(modest, now) && !fair.is_modest(greedy, now));
        assert!(!fair.is_modest(new, now), "a flood may come on new connections");
        assert!(fair.is_modest(origin(2, 4), now), "but not from other addresses");
        fair.begin(modest, now);
        assert!(!fair.is_modest(modest, now), "while it runs");
        fair.end(modest, Duration::from_millis(1), now);
        assert!(fair.is_modest(modest, now));
        assert!(fair.is_modest(origin(1, 5), now + 10 * HALF_LIFE), "a flood is forgotten with time");
    }

    #[test]
    fn so_many_are_remembered_and_no_more() {
        let (now, mut fair) = (Instant::now(), Fair::new());
        for connection in 0..3 * REMEMBERED_MAX as u64 {
            fair.begin(origin(1, connection), now);
            assert!(fair.connections.0.len() <= REMEMBERED_MAX);
        }
    }

    #[test]
    fn whoever_has_most_waiting_gives_way() {
        let (one, other, third) = (origin(1, 1), origin(1, 2), origin(2, 3));
        let waiting = [one, other, one, one];
        assert_eq!(gives_way(&waiting, third), Some(3), "the last one of the greediest");
        assert_eq!(gives_way(&waiting, other), Some(3), "also on the same address");
        assert_eq!(gives_way(&waiting, one), None, "nobody for the greediest itself");
        assert_eq!(gives_way(&[one, other], origin(1, 9)), None, "each has one");
    }
}
