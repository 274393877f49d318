//! Submission: a bundle goes to the guarantors of its core, until one takes it or time is up.

use crate::{
    Kind,
    endpoint::Endpoint,
    error::{Refusal, StreamError},
    frame::Message,
    message::{BundleSubmission, PackageSubmission, SegmentRoots},
};
use jam::{
    Bundle, Ed25519Key, PackageHash, PackageLimit, Params,
    codec::Bytes,
    params::PACKAGE_BYTES_MAX,
    shuffle::core_assignment,
    spec::{Bootnode, StateKey},
    state::{Entropy, StateError, StateIndex, Validators, state_part},
};
use std::{
    collections::{BTreeMap, VecDeque},
    net::{Ipv6Addr, SocketAddr},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// What to do after a submission failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Retry {
    /// Send the same bytes again, in this window or in another.
    Resend,
    /// Send the same block in another package, on a fresh anchor.
    Rebuild,
    /// It will not be taken, whatever is tried.
    Never,
}

/// Why nobody took a submission.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubmitError {
    /// No guarantor of the core is connected, or none is known.
    #[error("no guarantor of the core is connected ({known} known)")]
    NoGuarantor {
        /// Guarantors that are known.
        known: usize,
    },
    /// The window closed. Somebody may have it nevertheless.
    #[error("no guarantor took it before the window closed ({tried} tried)")]
    Closed {
        /// Guarantors that were tried.
        tried: usize,
    },
    /// Connections failed. Somebody may have it nevertheless.
    #[error("no guarantor took it ({tried} tried): {last}")]
    Failed {
        /// Guarantors that were tried.
        tried: usize,
        /// What happened with the last one.
        last: StreamError,
    },
    /// All that could be asked want a fresh anchor.
    #[error("the guarantors want a fresh anchor ({tried} asked)")]
    Stale {
        /// Guarantors that were asked.
        tried: usize,
    },
    /// All that could be asked found it wrong.
    #[error("the guarantors found it wrong ({tried} asked)")]
    Refused {
        /// Guarantors that were asked.
        tried: usize,
    },
    /// It breaks the chain's limits.
    #[error(transparent)]
    Limit(#[from] PackageLimit),
    /// There is no such core.
    #[error("there is no core {0}")]
    NoSuchCore(u16),
}

impl SubmitError {
    /// What to do now.
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NoGuarantor { .. } | Self::Closed { .. } | Self::Failed { .. } => Retry::Resend,
            Self::Stale { .. } | Self::Refused { .. } => Retry::Rebuild,
            Self::Limit(_) | Self::NoSuchCore(_) => Retry::Never,
        }
    }
}

/// A bundle ready to be sent, as often as needed. The blobs are shared, not copied.
#[derive(Clone, Debug)]
pub struct Submission {
    package: PackageHash,
    core: u16,
    kind: Kind,
    messages: Vec<Message>,
}

impl Submission {
    /// Makes a bundle ready: by CE 133 if it imports nothing, otherwise by CE 146. `segment_roots` are the roots of trees
    /// that the package names by package.
    pub fn new(
        core: u16,
        bundle: &Bundle,
        segment_roots: &SegmentRoots,
        params: &Params,
    ) -> Result<Self, SubmitError> {
        if core >= params.cores {
            return Err(SubmitError::NoSuchCore(core));
        }
        bundle.package.check(params)?;
        let (kind, messages) = if bundle.imports.is_empty() {
            (Kind::Package, PackageSubmission::messages(core, &bundle.package, &bundle.extrinsics))
        } else {
            (Kind::Bundle, BundleSubmission::messages(core, segment_roots, bundle))
        };
        let place = usize::from(kind == Kind::Bundle);
        let found = messages[place].iter().map(|piece| piece.len() as u64).sum();
        let max = PACKAGE_BYTES_MAX as u64 + if kind == Kind::Package { 2 } else { 0 };
        if found > max {
            return Err(PackageLimit::TooMuch { what: "bytes in the package", found, max }.into());
        }
        Ok(Self { package: bundle.package.hash(), core, kind, messages })
    }

    /// The package.
    pub const fn package(&self) -> PackageHash {
        self.package
    }

    /// The core.
    pub const fn core(&self) -> u16 {
        self.core
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }
}

/// A guarantor took it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Which one.
    pub by: Ed25519Key,
    /// How many were tried.
    pub tried: usize,
}

/// Sends a submission to the guarantors that are connected, until one takes it or `deadline` passes. Each gets its part of
/// the time before the next one is tried too; one that fails is not waited for. When one takes it the others are told
/// that it is not needed any more; should two take it, that is harmless, since it is the same package.
pub async fn submit(
    endpoint: &Endpoint,
    guarantors: &[Ed25519Key],
    submission: &Submission,
    deadline: Instant,
) -> Result<Taken, SubmitError> {
    let mut waiting = guarantors.iter().filter_map(|key| endpoint.connection(key)).collect::<VecDeque<_>>();
    if waiting.is_empty() {
        return Err(SubmitError::NoGuarantor { known: guarantors.len() });
    }
    let part = deadline.saturating_duration_since(Instant::now()) / waiting.len() as u32;
    let (mut attempts, mut verdict) = (JoinSet::new(), Verdict::default());
    let mut next_start = Instant::now();
    loop {
        if Instant::now() >= deadline {
            return Err(SubmitError::Closed { tried: verdict.tried });
        }
        if (attempts.is_empty() || Instant::now() >= next_start)
            && let Some(connection) = waiting.pop_front()
        {
            verdict.tried += 1;
            next_start = Instant::now() + part;
            let submission = submission.clone();
            attempts.spawn(async move { (connection.peer(), connection.submit(&submission).await) });
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok((by, Ok(())))) => return Ok(Taken { by, tried: verdict.tried }),
                Some(Ok((_, Err(error)))) => verdict.note(error),
                Some(Err(_)) => {}
                None => return Err(verdict.error()),
            },
            () = sleep_until(next_start.min(deadline)), if !waiting.is_empty() => {}
            () = sleep_until(deadline) => {}
        }
    }
}

/// What guarantors have said so far.
#[derive(Default)]
struct Verdict {
    tried: usize,
    failure: Option<StreamError>,
    stale: bool,
}

impl Verdict {
    fn note(&mut self, error: StreamError) {
        match error {
            StreamError::Refused(Refusal::Stale) => self.stale = true,
            StreamError::Refused(Refusal::Invalid) => {}
            error => self.failure = Some(error),
        }
    }

    /// Whoever could not be asked might have taken the same bytes; only if all have judged is a judgement final.
    fn error(self) -> SubmitError {
        let Self { tried, failure, stale } = self;
        match failure {
            Some(last) => SubmitError::Failed { tried, last },
            None if stale => SubmitError::Stale { tried },
            None => SubmitError::Refused { tried },
        }
    }
}

/// The guarantors of a core at a slot, as a state says (its keys 6, 8 and 11), such as the one of a chain specification;
/// empty for a slot of another epoch than the state's.
pub fn guarantors_of_state(
    params: &Params,
    state: &BTreeMap<StateKey, Bytes>,
    core: u16,
    slot: u32,
) -> Result<Vec<Ed25519Key>, StateError> {
    let now = state_part::<u32>(state, StateIndex::Slot, params)?;
    if params.epoch_of(now) != params.epoch_of(slot) {
        return Ok(vec![]);
    }
    let entropy = state_part::<Entropy>(state, StateIndex::Entropy, params)?;
    let validators = state_part::<Validators>(state, StateIndex::Validators, params)?;
    let cores = core_assignment(params, entropy.assignment, slot);
    let assigned = validators.keys.iter().zip(cores).filter(|(_, assigned)| *assigned == core);
    Ok(assigned.map(|(keys, _)| keys.ed25519).collect())
}

/// Where validators say that they can be reached: an IPv6 address and a port at the beginning of their metadata.
/// Whoever says nothing is left out.
pub fn addresses(validators: &Validators) -> Vec<Bootnode> {
    let place = |keys: &jam::state::ValidatorKeys| {
        let (ip, port) = keys.metadata[..18].split_at(16);
        let ip = Ipv6Addr::from(<[u8; 16]>::try_from(ip).ok()?);
        let port = u16::from_le_bytes(port.try_into().ok()?);
        let addr = SocketAddr::new(ip.to_canonical(), port);
        (port != 0 && !ip.is_unspecified()).then_some(Bootnode { key: keys.ed25519, addr })
    };
    validators.keys.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::{
        Ed25519Secret,
        codec::Encode,
        follow::{Follower, Limits},
        sample::Author,
        state::ValidatorKeys,
    };

    const PARAMS: Params = Params::TINY;

    fn validators() -> Validators {
        let keys = |index: u32| {
            let mut metadata = alloy_primitives::FixedBytes::<128>::ZERO;
            if index == 1 {
                metadata[..16].copy_from_slice(&std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
            } else {
                metadata[15] = 1;
            }
            metadata[16..18].copy_from_slice(&(index as u16 * 1000).to_le_bytes());
            ValidatorKeys {
                bandersnatch: Default::default(),
                ed25519: Ed25519Secret::trivial(index).public(),
                bls: Default::default(),
                metadata,
            }
        };
        Validators { keys: (0..6).map(keys).collect() }
    }

    #[test]
    fn validators_are_found_where_they_say() {
        let found = addresses(&validators());
        let places = found.iter().map(|node| node.addr.to_string()).collect::<Vec<_>>();
        // Validator 0 names no port.
        assert_eq!(places[..3], ["127.0.0.1:1000", "[::1]:2000", "[::1]:3000"]);
        assert_eq!((found.len(), found[0].key), (5, Ed25519Secret::trivial(1).public()));
    }

    #[test]
    fn state_and_followed_chain_name_the_same_guarantors() {
        let follower = Follower::new(PARAMS, Author::new(PARAMS).start(), Limits::default());
        let assignment = follower.view().epoch().entropy;
        let entropy = Entropy { assignment, ..zero_entropy() };
        let state = [
            (StateIndex::Slot.key(), Bytes::from(0_u32.encode())),
            (StateIndex::Entropy.key(), entropy.encode().into()),
            (StateIndex::Validators.key(), validators().encode().into()),
        ];
        let state = BTreeMap::from(state);
        for slot in 0..PARAMS.epoch_slots {
            let [first, second] = [0, 1].map(|core| follower.view().guarantors(core, slot));
            assert_eq!(guarantors_of_state(&PARAMS, &state, 0, slot), Ok(first.clone()));
            assert_eq!(guarantors_of_state(&PARAMS, &state, 1, slot), Ok(second.clone()));
            assert!(first.len() == 3 && second.len() == 3 && first.iter().all(|key| !second.contains(key)));
        }
        // The next epoch's are known to who follows; what comes after that nobody knows.
        assert_eq!(guarantors_of_state(&PARAMS, &state, 0, PARAMS.epoch_slots), Ok(vec![]));
        assert_eq!(follower.view().guarantors(0, PARAMS.epoch_slots).len(), 3);
        assert!(follower.view().guarantors(0, 2 * PARAMS.epoch_slots).is_empty());
        let missing = Err(StateError::Missing(StateIndex::Slot));
        assert_eq!(guarantors_of_state(&PARAMS, &BTreeMap::new(), 0, 0), missing);
    }

    fn zero_entropy() -> Entropy {
        let zero = jam::Hash::ZERO;
        Entropy { now: zero, epoch: zero, assignment: zero, previous_assignment: zero }
    }
}
