//! Random programs: whatever was sealed, validators accept; and a bundle with one byte changed is refused, or says the
//! same.

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use harness::blocks::{BENEFICIARY, Call, MemoryChain, Wallet, context, contracts};
use proptest::{collection::vec, prelude::*, sample::Index};
use service::{
    accumulate::{Outcome, ServiceState},
    exports,
};
use types::Transaction;

const WALLETS: u64 = 4;
const CONTRACTS: [&[u8]; 8] = [
    contracts::COUNT,
    contracts::REVERT,
    contracts::SPIN,
    contracts::DESTROY,
    contracts::LOG,
    contracts::STORE,
    contracts::LOOK,
    contracts::DELEGATE,
];

fn contract(index: usize) -> Address {
    Address::with_last_byte(0xd0 + index as u8)
}

fn chain(random_code: &[u8]) -> MemoryChain {
    let ether = U256::from(10).pow(U256::from(18));
    let mut accounts =
        (0..WALLETS).map(|i| (Wallet::new(i).address(), ether, Bytes::new())).collect::<Vec<_>>();
    for (index, code) in CONTRACTS.iter().enumerate() {
        accounts.push((contract(index), U256::from(index), Bytes::copy_from_slice(code)));
    }
    accounts.push((contract(CONTRACTS.len()), ether, Bytes::from_static(contracts::SEE)));
    accounts.push((contract(CONTRACTS.len() + 1), ether, Bytes::copy_from_slice(random_code)));
    MemoryChain::new(&accounts)
}

/// A transaction before it has a nonce.
#[derive(Clone, Debug)]
struct Plan {
    sender: u64,
    to: Option<Address>,
    input: Bytes,
    value: u64,
    gas_limit: u64,
    kind: u8,
    other: u64,
    nonce_off: bool,
}

fn target() -> impl Strategy<Value = Address> {
    prop_oneof![
        4 => (0..CONTRACTS.len() + 2).prop_map(contract),
        2 => (0..WALLETS + 2).prop_map(|i| Wallet::new(i).address()),
        2 => (0..WALLETS, 0..6_u64).prop_map(|(i, nonce)| Wallet::new(i).address().create(nonce)),
        1 => (0..0x12_u8).prop_map(Address::with_last_byte),
        1 => Just(service::execution::HISTORY.address),
        1 => Just(BENEFICIARY),
        1 => any::<u8>().prop_map(Address::repeat_byte),
    ]
}

fn input() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        (0..40_u64).prop_map(|n| U256::from(n).to_be_bytes::<32>().to_vec().into()),
        target().prop_map(|to| to.into_word().to_vec().into()),
        (target(), target()).prop_map(|(a, b)| [a.into_word(), b.into_word()].concat().into()),
        vec(any::<u8>(), 0..200).prop_map(Bytes::from),
    ]
}

fn constructor() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        (0..CONTRACTS.len()).prop_map(|i| contracts::deploy(CONTRACTS[i])),
        Just(contracts::destroyed_at_once()),
        vec(any::<u8>(), 0..600).prop_map(|code| contracts::deploy(&code)),
        vec(any::<u8>(), 0..100).prop_map(Bytes::from),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let call = prop_oneof![
        4 => (target(), input()).prop_map(|(to, input)| (Some(to), input)),
        1 => constructor().prop_map(|code| (None, code)),
    ];
    let gas = prop_oneof![Just(21_000_u64), 21_000..120_000_u64, Just(900_000), Just(30_000_000)];
    (0..WALLETS + 1, call, 0..3_u64, gas, 0..4_u8, any::<u64>(), prop::bool::weighted(0.1)).prop_map(
        |(sender, (to, input), value, gas_limit, kind, other, nonce_off)| Plan {
            sender,
            to,
            input,
            value,
            gas_limit,
            kind,
            other,
            nonce_off,
        },
    )
}

impl Plan {
    fn sign(&self, nonces: &[u64]) -> Transaction {
        let wallet = Wallet::new(self.sender);
        let address = contract(self.other as usize % CONTRACTS.len());
        let access_list = AccessList(vec![AccessListItem { address, storage_keys: vec![B256::ZERO; 2] }]);
        let nonce = nonces[self.sender as usize] + u64::from(self.nonce_off);
        let call = Call {
            to: self.to.map_or(TxKind::Create, TxKind::Call),
            input: self.input.clone(),
            value: U256::from(self.value),
            gas_limit: self.gas_limit,
            access_list,
            ..Call::to(Address::ZERO, nonce)
        };
        let authority = self.other % (WALLETS + 1);
        let next = nonces[authority as usize] + u64::from(authority == self.sender);
        let authorizations = vec![
            Wallet::new(authority).delegates(address, next),
            Wallet::new(self.other % WALLETS).delegates(Address::ZERO, self.other % 3),
        ];
        match self.kind {
            0 => wallet.legacy(call),
            1 => wallet.eip2930(call),
            2 => wallet.eip1559(call),
            _ => wallet.eip7702(call, authorizations),
        }
    }
}

/// What the block at an index stands on.
fn middle(
    parent: &bundler::Parent<harness::blocks::Values>,
    sealed: &[bundler::Sealed<harness::blocks::Values>],
    index: usize,
) -> bundler::Parent<harness::blocks::Values> {
    index.checked_sub(1).map_or_else(|| parent.clone(), |before| sealed[before].as_parent())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn validators_accept_what_was_sealed_and_nothing_else(
        random_code in vec(any::<u8>(), 1..300),
        blocks in vec(vec(plan(), 0..14), 1..4),
        flips in vec((any::<Index>(), 1..=255_u8), 6),
    ) {
        let mut chain = chain(&random_code);
        let mut service = ServiceState::new(chain.parent.id());
        for plans in &blocks {
            let mut open = chain.open();
            for plan in plans {
                let nonces = (0..=WALLETS).map(|i| nonce(&open.state(), i)).collect::<Vec<_>>();
                let _ = open.push(&plan.sign(&nonces));
            }
            let (bound, bound_gas) = (open.bundle_bytes(), open.refine_gas());
            let sealed = open.seal(&chain.secret).unwrap();
            let (refined, packaged) = chain.package(&sealed);
            prop_assert!(packaged.bundle.package.input_bytes() <= bound as u64);

            let bytes = packaged.bytes();
            let output = chain.refine(&bytes).unwrap();
            let gas = harness::program::compare(&packaged.bundle, &chain.bundler.config, &chain.bundler.params);
            prop_assert!(gas.is_some_and(|gas| gas <= refined.work().gas()), "{gas:?} {:?}", refined.work());
            prop_assert!(refined.work().gas() <= bound_gas, "{} {bound_gas}", refined.work().gas());
            prop_assert_eq!(&output.claim, refined.claim());
            prop_assert_eq!(output.claim.post_root, sealed.layer.root());
            prop_assert_eq!(output.exports.len(), refined.export_segments());
            let (block, receipts) = exports::import(&output.exports).unwrap().remove(0);
            prop_assert_eq!(block.header.hash_slow(), sealed.block().id().hash);
            prop_assert_eq!(receipts, sealed.receipts.to_vec());

            for (at, flip) in &flips {
                let mut changed = bytes.to_vec();
                changed[at.index(bytes.len())] ^= flip;
                if let Ok(other) = chain.refine(&changed.into()) {
                    prop_assert_eq!(&other, &output);
                }
            }
            let drafts = std::slice::from_ref(&sealed.draft);
            let again = chain.bundler.rebuild(drafts, &chain.parent, chain.codes.clone(), context(2));
            prop_assert_eq!(again.unwrap().run, types::Run::of(sealed.block().id()));
            prop_assert_eq!(service.apply(&output.claim), Outcome::Applied(vec![sealed.block().id()]));
            chain.advance(&sealed);
        }
    }

    /// Any blocks as one run: validators come to the same states, receipts and claims as the builder, block by block, from one
    /// witness; a run that is built again from its drafts is the same bytes; and every smaller run of them is good too.
    #[test]
    fn validators_agree_on_runs(
        blocks in vec(vec(plan(), 0..6), 1..6),
        flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut chain = chain(&[0]);
        let (parent, codes) = (chain.parent.clone(), chain.codes.clone());
        let mut sealed = vec![];
        for plans in &blocks {
            let mut open = chain.open();
            for plan in plans {
                let nonces = (0..=WALLETS).map(|i| nonce(&open.state(), i)).collect::<Vec<_>>();
                let _ = open.push(&plan.sign(&nonces));
            }
            let block = open.seal(&chain.secret).unwrap();
            chain.advance(&block);
            sealed.push(block);
        }
        let pieces = sealed.iter().map(|sealed| sealed.piece.clone()).collect::<Vec<_>>();
        let packed = chain.bundler.pack(&parent, &pieces).unwrap();
        prop_assert!(!packed.is_full);
        let packaged = chain.bundler.package(&packed.refined, context(1));
        let bytes = packaged.bytes();
        let gas = harness::program::compare(&packaged.bundle, &chain.bundler.config, &chain.bundler.params);
        prop_assert!(gas.is_some_and(|gas| gas <= packed.refined.work().gas()));
        let output = chain.refine(&bytes).unwrap();
        prop_assert_eq!(&output.claim, packed.refined.claim());
        let (first, last) = (&sealed[0], &sealed[sealed.len() - 1]);
        prop_assert_eq!(output.claim.parent, parent.hash);
        prop_assert_eq!((output.claim.first, output.claim.last), (first.block().id().number, last.block().id()));
        prop_assert_eq!((output.claim.pre_root, output.claim.post_root), (parent.layer.root(), last.layer.root()));
        let exported = exports::import(&output.exports).unwrap();
        prop_assert_eq!(exported.len(), sealed.len());
        for ((block, receipts), sealed) in exported.into_iter().zip(&sealed) {
            prop_assert_eq!(block.header.hash_slow(), sealed.block().id().hash);
            prop_assert_eq!(receipts, sealed.receipts.to_vec());
        }
        for (at, flip) in &flips {
            let mut changed = bytes.to_vec();
            changed[at.index(bytes.len())] ^= flip;
            if let Ok(other) = chain.refine(&changed.into()) {
                prop_assert_eq!(&other, &output);
            }
        }
        let drafts = sealed.iter().map(|sealed| sealed.draft.clone()).collect::<Vec<_>>();
        let again = chain.bundler.rebuild(&drafts, &parent, codes, context(1)).unwrap();
        prop_assert_eq!(again.bytes(), bytes);
        // Dissolved: the same blocks as two runs.
        let cut = cut.index(sealed.len());
        let mut service = ServiceState::new(parent.id());
        for (parent, pieces) in [(&parent, &pieces[..cut]), (&middle(&parent, &sealed, cut), &pieces[cut..])] {
            if !pieces.is_empty() {
                let refined = chain.bundler.pack_exactly(parent, pieces).unwrap();
                let output = chain.refine(&chain.bundler.package(&refined, context(2)).bytes()).unwrap();
                let applied = Outcome::Applied(vec![pieces[pieces.len() - 1].id()]);
                prop_assert_eq!(service.apply(&output.claim), applied);
            }
        }
        prop_assert_eq!(service.head(), last.block().id());
    }

    #[test]
    fn no_bytes_make_refine_panic(bytes in vec(any::<u8>(), 0..2_000)) {
        prop_assert!(chain(&[0]).refine(&bytes.into()).is_err());
    }
}

fn nonce(state: &impl revm::DatabaseRef<Error: core::fmt::Debug>, wallet: u64) -> u64 {
    state.basic_ref(Wallet::new(wallet).address()).unwrap().map_or(0, |account| account.nonce)
}

/// Every single byte of one small bundle, one bit at a time in turn.
#[test]
fn every_byte_counts() {
    let mut chain = chain(contracts::COUNT);
    let alice = Wallet::new(0);
    let sealed = chain.build(&[
        alice.eip1559(Call::to(contract(0), 0)),
        alice.eip7702(Call::to(contract(4), 1), vec![Wallet::new(1).delegates(contract(0), 0)]),
    ]);
    assert_eq!(sealed.block().transactions().len(), 2);
    let packaged = chain.package(&sealed).1;
    let bytes = packaged.bytes();
    let output = chain.refine(&bytes).unwrap();
    let mut same = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << (at % 8);
        match chain.refine(&changed.into()) {
            Ok(other) => {
                assert_eq!(other, output, "byte {at}");
                same += 1;
            }
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
    // What the service does not look at: the authorizer, the context, and gas of which there is more than enough.
    let free = 4 + 32 + 4 * 32 + 4 + 2 * 8;
    assert!(same <= free, "{same} of {} bytes can be changed", bytes.len());
}
