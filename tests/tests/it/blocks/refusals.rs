//! A bundle that is not exactly right is refused, and says why.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::Sealed;
use harness::blocks::{Call, MemoryChain, Values, Wallet, contracts};
use jam::{Bundle, Ed25519Secret, WorkError, codec::Encode, hash::blake2b};
use service::{
    Config, blobs,
    payload::Payload,
    refine::{CODES, Output, RefineError, TRANSACTIONS, WITNESS, refine_bundle},
    signature,
};
use state::{AccountKeys, Blake2b, CodeSet};

const COUNTER: Address = Address::repeat_byte(0xc1);

struct Case {
    chain: MemoryChain,
    sealed: Sealed<Values>,
    bundle: Bundle,
}

impl Case {
    fn new() -> Self {
        let alice = Wallet::new(0);
        let ether = U256::from(10).pow(U256::from(18));
        let mut chain = MemoryChain::new(&[
            (alice.address(), ether, Bytes::new()),
            (COUNTER, U256::ZERO, Bytes::from_static(contracts::COUNT)),
        ]);
        let sealed = chain.build(&[
            alice.eip1559(Call::to(COUNTER, 0)),
            alice.eip1559(Call::transfer(Address::repeat_byte(9), 1, 1)),
        ]);
        let bundle = chain.package(&sealed).1.bundle;
        Self { chain, sealed, bundle }
    }

    fn refine(&self, bundle: &Bundle) -> Result<Output, RefineError> {
        // As a validator gets it.
        let decoded = Bundle::decode(&bundle.encode().into(), &self.chain.bundler.params).unwrap();
        assert_eq!(&decoded, bundle);
        refine_bundle(&decoded, &self.chain.bundler.config, &self.chain.bundler.params)
    }

    /// The error of a bundle that was changed.
    fn changed(&self, change: impl FnOnce(&mut Bundle)) -> RefineError {
        let mut bundle = self.bundle.clone();
        change(&mut bundle);
        self.refine(&bundle).map(|output| output.claim).unwrap_err()
    }

    /// The error of a bundle with another extrinsic, which the package names correctly.
    fn with(&self, index: usize, blob: impl Into<Bytes>) -> RefineError {
        self.changed(|bundle| {
            let blob = blob.into();
            let spec = &mut bundle.package.items[0].extrinsics[index];
            (spec.hash, spec.len) = (blake2b(&[&blob]), blob.len() as u32);
            bundle.extrinsics[index] = blob;
        })
    }

    /// The error of a bundle with another header, which the builder signed.
    fn signed(&self, change: impl FnOnce(&mut Header)) -> RefineError {
        self.changed(|bundle| {
            let mut payload = self.sealed.draft.payload();
            change(&mut payload.header);
            payload.signature = signature::sign(&self.chain.secret, payload.header.hash_slow());
            bundle.package.items[0].payload = payload.encode();
        })
    }
}

#[test]
fn the_package_must_be_one_item_of_our_service() {
    let case = Case::new();
    assert!(case.refine(&case.bundle).is_ok());
    let item = |change: fn(&mut jam::WorkItem)| case.changed(|bundle| change(&mut bundle.package.items[0]));
    assert_eq!(item(|item| item.service = 8), RefineError::Service(8));
    assert_eq!(item(|item| item.code_hash = B256::ZERO), RefineError::Code);
    assert_eq!(item(|item| item.code_hash = B256::ZERO).work_error(), WorkError::BadCode);
    let exports = item(|item| item.export_count += 1);
    assert_eq!(exports, RefineError::Exports { declared: 2, found: 1 });
    assert_eq!(exports.work_error(), WorkError::BadExports);
    let gas = item(|item| item.refine_gas = 30_000);
    assert_eq!(gas, RefineError::OutOfGas { index: 0, declared: 30_000 });
    assert_eq!(gas.work_error(), WorkError::OutOfGas);
    assert!(matches!(item(|item| item.refine_gas = u64::MAX), RefineError::Package(_)));

    let fewer = case.changed(|bundle| {
        bundle.package.items[0].extrinsics.pop();
        bundle.extrinsics.pop();
    });
    assert_eq!(fewer, RefineError::Inputs { extrinsics: 2, imports: 0 });
    let twice = case.changed(|bundle| {
        let item = bundle.package.items[0].clone();
        bundle.package.items.push(item);
        bundle.extrinsics.extend_from_within(..);
    });
    assert_eq!(twice, RefineError::Items(2));
    let other_blob = case.changed(|bundle| {
        let last = bundle.extrinsics[TRANSACTIONS].len() - 1;
        let mut blob = bundle.extrinsics[TRANSACTIONS].to_vec();
        blob[last] ^= 1;
        bundle.extrinsics[TRANSACTIONS] = blob.into();
    });
    assert_eq!(other_blob, RefineError::Bundle(jam::BundleError::Extrinsic(TRANSACTIONS)));
}

#[test]
fn unsigned_and_foreign_blocks_never_refine() {
    let case = Case::new();
    let payload = |change: &dyn Fn(&mut Payload)| {
        case.changed(|bundle| {
            let mut payload = case.sealed.draft.payload();
            change(&mut payload);
            bundle.package.items[0].payload = payload.encode();
        })
    };
    assert_eq!(payload(&|payload| payload.signature = Default::default()), RefineError::Signature);
    let stranger = Ed25519Secret::trivial(1);
    let foreign =
        payload(&|payload| payload.signature = signature::sign(&stranger, payload.header.hash_slow()));
    assert_eq!(foreign, RefineError::Signature);
    assert_eq!(payload(&|payload| payload.header.gas_used += 1), RefineError::Signature);
    assert_eq!(payload(&|payload| payload.parent.gas_used += 1), RefineError::Parent);
    let other_builder = Config { builder: stranger.public(), ..case.chain.bundler.config };
    let refused = refine_bundle(&case.bundle, &other_builder, &case.chain.bundler.params);
    assert_eq!(refused.unwrap_err(), RefineError::Signature);
}

#[test]
fn every_field_of_the_header_must_follow() {
    let case = Case::new();
    let header = |name: &'static str, change: fn(&mut Header)| {
        assert_eq!(case.signed(change), RefineError::Header(name));
    };
    header("number", |header| header.number += 1);
    header("gas limit", |header| header.gas_limit += 1);
    header("base fee", |header| header.base_fee_per_gas = Some(7));
    header("mix hash", |header| header.mix_hash = B256::ZERO);
    header("gas used", |header| header.gas_used += 1);
    header("transactions root", |header| header.transactions_root = B256::ZERO);
    header("receipts root", |header| header.receipts_root = B256::ZERO);
    header("logs bloom", |header| header.logs_bloom.0[0] = 1);
    header("state root", |header| header.state_root = B256::ZERO);
    for change in [
        (|header| header.ommers_hash = B256::ZERO) as fn(&mut Header),
        |header| header.difficulty = U256::ONE,
        |header| header.nonce = 1_u64.into(),
        |header| header.withdrawals_root = Some(B256::ZERO),
        |header| header.blob_gas_used = Some(1),
        |header| header.excess_blob_gas = Some(1),
        |header| header.parent_beacon_block_root = Some(B256::repeat_byte(1)),
        |header| header.requests_hash = Some(B256::ZERO),
    ] {
        header("constant fields", change);
    }
    assert_eq!(case.signed(|header| header.parent_hash = B256::ZERO), RefineError::Parent);
    let long = case.signed(|header| header.extra_data = vec![0; 33].into());
    assert_eq!(long.to_string(), "33 bytes of extra data, at most 32 allowed");
}

#[test]
fn a_block_is_not_older_than_its_parent() {
    let mut case = Case::new();
    case.chain.advance(&case.sealed.clone());
    let sealed = case.chain.build(&[]);
    case.bundle = case.chain.package(&sealed).1.bundle;
    case.sealed = sealed;
    let early = case.signed(|header| header.timestamp = 0);
    assert_eq!(early.to_string(), "the timestamp 0 is before the parent's 1");
}

#[test]
fn the_witness_must_be_the_parents_and_cover_exactly_what_is_touched() {
    let case = Case::new();
    let layer = &case.chain.parent.layer;
    let witness = &case.bundle.extrinsics[WITNESS];
    assert!(matches!(case.with(WITNESS, &b""[..]), RefineError::Witness(_)));
    assert!(matches!(case.with(WITNESS, witness.slice(..witness.len() - 1)), RefineError::Witness(_)));
    let mut tampered = witness.to_vec();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    assert!(matches!(case.with(WITNESS, tampered), RefineError::PreState(_) | RefineError::Witness(_)));
    let of_child = case.sealed.layer.witness(&Default::default()).unwrap().encode();
    assert!(matches!(case.with(WITNESS, of_child), RefineError::PreState(_)));

    // One key more, and one key less.
    let touched = case.chain.clone().build(case.sealed.block().transactions());
    let touched = touched.writes.keys().copied().collect();
    let fewer = layer.witness(&touched).unwrap().encode();
    let refused = case.with(WITNESS, fewer);
    assert!(refused.to_string().contains("the witness does not cover the key"), "{refused}");
    let everything = AccountKeys::<Blake2b>::new(Wallet::new(0).address());
    let mut more = touched;
    for address in [Wallet::new(0).address(), COUNTER, Address::repeat_byte(9), harness::blocks::BENEFICIARY]
    {
        let keys = AccountKeys::<Blake2b>::new(address);
        more.extend([keys.basic_data(), keys.code_hash()]);
    }
    let history = AccountKeys::<Blake2b>::new(service::execution::HISTORY.address);
    more.extend([history.basic_data(), history.code_hash(), everything.slot(U256::from(60))]);
    let refused = case.with(WITNESS, layer.witness(&more).unwrap().encode());
    assert!(refused.to_string().contains("which nothing used"), "{refused}");
}

#[test]
fn the_codes_must_be_exactly_those_that_are_needed() {
    let case = Case::new();
    let codes = CodeSet::decode(&case.bundle.extrinsics[CODES]).unwrap();
    let with = |extra: &[u8]| {
        let more = codes.iter().map(|(_, code)| code.clone()).chain([Bytes::copy_from_slice(extra)]);
        case.with(CODES, more.collect::<CodeSet>().encode())
    };
    assert_eq!(with(&[1, 2, 3]), RefineError::CodesExcess { given: 3, needed: 2 });
    let one = codes.iter().map(|(_, code)| code.clone()).filter(|code| code[..] == *contracts::COUNT);
    let refused = case.with(CODES, one.collect::<CodeSet>().encode());
    assert!(refused.to_string().starts_with("the block cannot be executed: the code"), "{refused}");
    let one = codes.iter().map(|(_, code)| code.clone()).filter(|code| code[..] != *contracts::COUNT);
    let refused = case.with(CODES, one.collect::<CodeSet>().encode());
    assert!(refused.to_string().starts_with("transaction 0: the code"), "{refused}");
    assert!(matches!(case.with(CODES, vec![9]), RefineError::Codes(_)));
}

#[test]
fn transactions_must_be_signed_whole_and_in_order() {
    let case = Case::new();
    let transactions = blobs::split(&case.bundle.extrinsics[TRANSACTIONS]).unwrap();
    let with = |transactions: &[Bytes]| case.with(TRANSACTIONS, blobs::join(transactions)).to_string();
    assert!(matches!(case.with(TRANSACTIONS, vec![1]), RefineError::Transactions(_)));
    assert!(with(&[Bytes::new()]).starts_with("transaction 0: "));
    let longer = Bytes::from([&transactions[0][..], &[0]].concat());
    assert!(with(&[longer, transactions[1].clone()]).starts_with("transaction 0: "));
    let swapped = with(&[transactions[1].clone(), transactions[0].clone()]);
    assert!(swapped.starts_with("transaction 0: nonce 1 too high"), "{swapped}");
    let twice = with(&[transactions[0].clone(), transactions[0].clone()]);
    assert!(twice.starts_with("transaction 1: nonce 0 too low"), "{twice}");
    let fewer = case.with(TRANSACTIONS, blobs::join(&transactions[..1]));
    assert_eq!(fewer, RefineError::Header("gas used"));
}
