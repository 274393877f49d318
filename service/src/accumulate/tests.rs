//! Orders of arrival, repetition, bounds, storage.

use super::*;
use jam::{WorkDigest, WorkError, WorkResult, report::RefineLoad};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Block `number` of fork `fork`; fork 0 is the chain.
fn hash(fork: u8, number: u64) -> B256 {
    let mut hash = B256::repeat_byte(fork);
    hash[24..].copy_from_slice(&number.to_be_bytes());
    hash
}

/// Blocks of a run.
const RUN: u64 = 3;

/// Run `index` of a fork, counted from one: `RUN` blocks, on the run before it.
fn run(fork: u8, index: u64) -> Claim {
    let last = BlockId::new(index * RUN, hash(fork, index * RUN));
    Claim::of_run(hash(fork, (index - 1) * RUN), (index - 1) * RUN + 1, last)
}

/// Run `index` of the chain.
fn claim(index: u64) -> Claim {
    run(0, index)
}

fn waits(state: &ServiceState, claim: &Claim) -> bool {
    state.is_waiting(claim.first, &claim.last.hash)
}

fn genesis() -> ServiceState {
    ServiceState::new(BlockId::new(0, hash(0, 0)))
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<BlockId> {
    numbers.into_iter().map(|index| claim(index).last).collect()
}

/// All orders of `0..n`.
fn orders(n: u64) -> Vec<Vec<u64>> {
    (0..n).fold(vec![vec![]], |orders, next| {
        let grow = |order: Vec<u64>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        };
        orders.into_iter().flat_map(grow).collect()
    })
}

#[test]
fn every_order_of_arrival_ends_in_the_same_head() {
    for order in orders(7) {
        let mut state = genesis();
        let mut applied = vec![];
        for number in order {
            match state.apply(&claim(number + 1)) {
                Outcome::Applied(blocks) => applied.extend(blocks),
                Outcome::Waits => assert!(waits(&state, &claim(number + 1))),
                Outcome::Ignored(why) => panic!("{why}"),
            }
        }
        assert_eq!((state, applied), (ServiceState::new(claim(7).last), ids(1..=7)));
    }
}

#[test]
fn what_cannot_be_applied_changes_nothing_and_says_why() {
    let mut state = genesis();
    assert_eq!(state.apply(&claim(1)), Outcome::Applied(ids([1])));
    assert_eq!(state.apply(&claim(3)), Outcome::Waits);
    let before = state.clone();
    let foreign = |first, parent| Claim::of_run(parent, first, BlockId::new(first, hash(9, first)));
    let within = Claim { first: 2, parent: hash(0, 1), ..claim(2) };
    for (claim, why) in [
        (claim(1), Ignored::Duplicate),
        (claim(3), Ignored::Duplicate),
        (foreign(1, hash(0, 0)), Ignored::NotAbove),
        (foreign(0, hash(7, 7)), Ignored::NotAbove),
        (foreign(4, hash(9, 3)), Ignored::OtherParent),
        (foreign(5, hash(0, 3)), Ignored::WrongNumber),
        (foreign(u64::MAX, hash(0, 3)), Ignored::WrongNumber),
        (within, Ignored::NotAbove),
    ] {
        assert_eq!(state.apply(&claim), Outcome::Ignored(why));
        assert_eq!(state, before);
    }
}

#[test]
fn the_last_number_has_no_next() {
    let mut state = ServiceState::new(BlockId::new(u64::MAX, hash(0, 0)));
    let claim = Claim::of_run(hash(0, 0), 0, BlockId::new(0, hash(0, 1)));
    assert_eq!(state.apply(&claim), Outcome::Ignored(Ignored::WrongNumber));
}

#[test]
fn waiting_is_bounded_and_the_first_to_come_goes_first() {
    let mut state = genesis();
    for number in 2..=WAITING_MAX as u64 + 3 {
        assert_eq!(state.apply(&claim(number)), Outcome::Waits);
        assert!(state.waiting().count() <= WAITING_MAX);
    }
    // Runs 2 and 3 came first and are gone; when they come again the rest follows.
    let waiting = state.waiting().map(|(_, last)| last).collect::<Vec<_>>();
    assert_eq!(waiting, ids(4..=WAITING_MAX as u64 + 3));
    assert_eq!(state.apply(&claim(1)), Outcome::Applied(ids([1])));
    assert_eq!(state.apply(&claim(2)), Outcome::Applied(ids([2])));
    assert_eq!(state.apply(&claim(3)), Outcome::Applied(ids(3..=WAITING_MAX as u64 + 3)));
    assert_eq!(state.waiting().count(), 0);
}

#[test]
fn a_run_that_waits_for_a_dead_parent_goes_with_it() {
    let mut state = genesis();
    // Run 3 stands on another run 2 than the one that comes.
    let orphan = run(9, 3);
    assert_eq!(state.apply(&orphan), Outcome::Waits);
    state.apply(&claim(1));
    assert!(waits(&state, &orphan));
    state.apply(&claim(2));
    assert!(!waits(&state, &orphan));
    assert_eq!(state.apply(&orphan), Outcome::Ignored(Ignored::OtherParent));
}

/// A run that was dissolved ends with the same block as its second half, and is another run all the same.
#[test]
fn halves_of_a_run_are_runs_of_their_own() {
    let (whole, middle) = (claim(2), BlockId::new(RUN + 1, hash(0, RUN + 1)));
    let first_half = Claim { last: middle, ..whole };
    let second_half = Claim { parent: middle.hash, first: middle.number + 1, ..whole };
    let mut state = genesis();
    assert_eq!(state.apply(&second_half), Outcome::Waits);
    assert_eq!(state.apply(&whole), Outcome::Waits);
    assert_eq!(state.apply(&first_half), Outcome::Waits);
    assert_eq!(state.apply(&claim(1)), Outcome::Applied(ids([1, 2])));
    assert_eq!(state.waiting().count(), 0);

    let mut state = genesis();
    assert_eq!(state.apply(&second_half), Outcome::Waits);
    assert_eq!(state.apply(&claim(1)), Outcome::Applied(ids([1])));
    assert_eq!(state.apply(&first_half), Outcome::Applied(vec![middle, whole.last]));
    assert_eq!(state.apply(&whole), Outcome::Ignored(Ignored::Duplicate));
}

#[test]
fn only_a_good_digest_of_our_service_claims() {
    let code_hash = hash(1, 1);
    let digest = WorkDigest {
        service: 7,
        code_hash,
        payload_hash: B256::ZERO,
        accumulate_gas: 1,
        result: WorkResult::Output(claim(5).encode().to_vec().into()),
        load: RefineLoad { gas_used: 0, imports: 0, extrinsic_count: 3, extrinsic_bytes: 9, exports: 1 },
    };
    assert_eq!(claim_of(&digest, 7), Some(claim(5)));
    assert_eq!(claim_of(&digest, 8), None);
    let former = WorkDigest { code_hash: B256::ZERO, ..digest.clone() };
    assert_eq!(claim_of(&former, 7), Some(claim(5)), "reported before an upgrade");
    let failed = WorkDigest { result: WorkResult::Failed(WorkError::Panic), ..digest.clone() };
    assert_eq!(claim_of(&failed, 7), None);
    let longer = [&claim(5).encode()[..], &[0]].concat();
    let longer = WorkDigest { result: WorkResult::Output(longer.into()), ..digest };
    assert_eq!(claim_of(&longer, 7), None);
}

fn stored(state: &ServiceState) -> BTreeMap<jam::spec::StateKey, alloy_primitives::Bytes> {
    state.storage(7).into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

#[test]
fn storage_is_read_strictly() {
    let mut state = genesis();
    assert_eq!(stored(&state).len(), 1, "nothing waits, so there is no such entry");
    (3..6).for_each(|number| drop(state.apply(&claim(number))));
    let good = stored(&state);
    let read = |storage: &BTreeMap<_, alloy_primitives::Bytes>| {
        ServiceState::from_storage(7, |key| storage.get(key).map(|value| &value[..]))
    };
    assert_eq!(read(&good), Ok(state));
    assert_eq!(read(&BTreeMap::new()), Err(StorageError::NoHead));

    let with = |name, value: &[u8]| {
        let mut storage = good.clone();
        storage.insert(jam::state::storage_key(7, name), value.to_vec().into());
        read(&storage)
    };
    assert_eq!(with(HEAD, &[0; 39]), Err(StorageError::Head(39)));
    assert_eq!(with(WAITING, &[]), Err(StorageError::Waiting(0)));
    assert_eq!(with(WAITING, &[0; 79]), Err(StorageError::Waiting(79)));
    assert_eq!(with(WAITING, &[0; 80 * 65]), Err(StorageError::Waiting(80 * 65)));
    let entry =
        |claim: Claim| Waiting { parent: claim.parent, first: claim.first, last: claim.last }.encode();
    assert_eq!(with(WAITING, &entry(claim(1))), Err(StorageError::CannotWait(claim(1).last)));
    let twice = [entry(claim(4)), entry(claim(4))].concat();
    assert_eq!(with(WAITING, &twice), Err(StorageError::CannotWait(claim(4).last)));
}

proptest! {
    /// Runs of the chain and of forks that nobody may apply, in any order and with repetitions; then each run of
    /// the chain once more, as versions that are sent again until they are applied.
    #[test]
    fn the_chain_wins_over_any_arrival(arrivals in proptest::collection::vec((0..3_u8, 1..20_u64), 0..200)) {
        let mut state = genesis();
        let mut applied = vec![];
        let chain = (1..20).map(|number| (0, number));
        for (fork, number) in arrivals.into_iter().chain(chain) {
            if let Outcome::Applied(blocks) = state.apply(&run(fork, number)) {
                applied.extend(blocks);
            }
            prop_assert!(state.waiting().count() <= WAITING_MAX);
            prop_assert!(state.waiting().all(|(first, _)| first > state.head().number + 1));
            let storage = stored(&state);
            let read = ServiceState::from_storage(7, |key| storage.get(key).map(|value| &value[..]));
            prop_assert_eq!(read, Ok(state.clone()));
        }
        prop_assert_eq!(applied, ids(1..20));
        prop_assert_eq!(state.head(), claim(19).last);
    }

    #[test]
    fn a_claim_has_one_encoding(mut bytes in proptest::collection::vec(any::<u8>(), Claim::BYTES)) {
        bytes[0] = crate::answer::CLAIM;
        prop_assert_eq!(&Claim::decode(&bytes).unwrap().encode()[..], &bytes[..]);
        prop_assert_eq!(Claim::decode(&bytes[1..]), None);
        bytes[0] += 1;
        prop_assert_eq!(Claim::decode(&bytes), None);
    }
}
