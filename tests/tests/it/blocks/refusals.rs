//! A bundle that is not exactly right is refused, and says why.

use alloy_consensus::{Header, TxEnvelope};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::Sealed;
use harness::blocks::{Call, MemoryChain, Values, Wallet, contracts};
use jam::{Bundle, Ed25519Secret, WorkError, codec::Encode, hash::blake2b};
use service::{
    Config, blobs,
    payload::{Payload, decode_headers, encode_headers},
    refine::{
        CODES, HEADERS, HINTS, Output, RefineError, TRANSACTIONS, WITNESS, refine_bundle, signature_of,
    },
    signature,
};
use signatures::{Hints, Refused};
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
            (Wallet::new(1).address(), ether, Bytes::new()),
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
        // The program gives the same answer, in the same words.
        harness::program::compare(&decoded, &self.chain.bundler.config, &self.chain.bundler.params);
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
            set(bundle, index, blob.into());
        })
    }

    /// The error of a bundle with another header, which the builder signed.
    fn signed(&self, change: impl FnOnce(&mut Header)) -> RefineError {
        self.with_headers(|headers| change(&mut headers[0]))
    }

    /// The error of a bundle with other headers, of which the builder signed the last.
    fn with_headers(&self, change: impl FnOnce(&mut Vec<Header>)) -> RefineError {
        self.changed(|bundle| {
            let mut payload = payload_of(bundle);
            let mut headers = decode_headers(&bundle.extrinsics[HEADERS], payload.blocks).unwrap();
            change(&mut headers);
            payload.blocks = headers.len() as u32;
            payload.last = headers.last().map_or(payload.last, Header::hash_slow);
            payload.signature = signature::sign(&self.chain.secret, payload.last);
            bundle.package.items[0].payload = payload.encode();
            set(bundle, HEADERS, encode_headers(headers.iter()));
        })
    }
}

fn payload_of(bundle: &Bundle) -> Payload {
    Payload::decode(&bundle.package.items[0].payload).unwrap()
}

/// Puts another extrinsic into a bundle, which the package names correctly.
fn set(bundle: &mut Bundle, index: usize, blob: Bytes) {
    let spec = &mut bundle.package.items[0].extrinsics[index];
    (spec.hash, spec.len) = (blake2b(&[&blob]), blob.len() as u32);
    bundle.extrinsics[index] = blob;
}

/// A run of three blocks, of which the second reads what the first wrote.
struct RunCase {
    case: Case,
    parent: bundler::Parent<Values>,
}

impl RunCase {
    fn new() -> Self {
        let Case { mut chain, .. } = Case::new();
        let (alice, parent) = (Wallet::new(0), chain.parent.clone());
        let create = Call { gas_limit: 200_000, ..Call::create(contracts::deploy(contracts::LOG), 1) };
        let created = alice.address().create(1);
        let blocks = [
            vec![alice.eip1559(Call::to(COUNTER, 0)), alice.eip1559(create)],
            vec![alice.eip1559(Call { gas_limit: 100_000, ..Call::to(created, 2) })],
            vec![alice.eip1559(Call::to(COUNTER, 3))],
        ];
        let mut sealed = vec![];
        for transactions in blocks {
            let block = chain.build(&transactions);
            assert_eq!(block.receipts.len(), transactions.len());
            chain.advance(&block);
            sealed.push(block);
        }
        let pieces = sealed.iter().map(|sealed| sealed.piece.clone()).collect::<Vec<_>>();
        let refined = chain.bundler.pack_exactly(&parent, &pieces).unwrap();
        let bundle = chain.bundler.package(&refined, harness::blocks::context(1)).bundle;
        Self { case: Case { chain, sealed: sealed.remove(0), bundle }, parent }
    }
}

#[test]
fn a_run_is_a_chain_from_its_parent_to_the_signed_block() {
    let RunCase { case, .. } = RunCase::new();
    assert!(case.refine(&case.bundle).is_ok());
    let swapped = case.with_headers(|headers| headers.swap(0, 1));
    assert_eq!(swapped, RefineError::Parent(2));
    assert_eq!(case.with_headers(|headers| drop(headers.remove(1))), RefineError::Parent(3));
    assert_eq!(case.with_headers(|headers| headers.clear()), RefineError::Empty);
    let fewer = case.with_headers(|headers| drop(headers.pop()));
    assert_eq!(fewer, RefineError::TransactionLists { found: 3, blocks: 2 });
    // Only the last block is signed, and the signature of another one is none.
    let of_first = case.changed(|bundle| {
        let mut payload = payload_of(bundle);
        payload.signature = case.sealed.draft.signature;
        bundle.package.items[0].payload = payload.encode();
    });
    assert_eq!(of_first, RefineError::Signature);
    let ends_earlier = case.changed(|bundle| {
        let mut payload = payload_of(bundle);
        (payload.last, payload.signature) = (case.sealed.block().id().hash, case.sealed.draft.signature);
        bundle.package.items[0].payload = payload.encode();
    });
    assert_eq!(ends_earlier, RefineError::Last);
    let middle = case.with_headers(|headers| {
        headers[1].gas_used += 1;
        headers[2].parent_hash = headers[1].hash_slow();
    });
    assert_eq!(middle, RefineError::Header { block: 2, field: "gas used" });
    assert!(matches!(case.with(HEADERS, vec![1]), RefineError::Headers(_)));
}

#[test]
fn the_witness_of_a_run_is_of_the_state_before_it_and_of_all_its_blocks() {
    let RunCase { case, parent } = RunCase::new();
    // What only the last block, or only the first, touches does not suffice.
    let touched = |index: usize| {
        let mut chain =
            MemoryChain::at(parent.clone(), (*case.chain.codes).clone(), case.chain.bundler.config);
        let lists = blobs::split(&case.bundle.extrinsics[TRANSACTIONS]).unwrap();
        let list = blobs::split(&lists[index]).unwrap();
        let transactions = list.iter().map(|bytes| {
            let tx = alloy_eips::Decodable2718::decode_2718_exact(bytes).unwrap();
            let tx: alloy_consensus::TxEnvelope = tx;
            types::Transaction::new(
                alloy_consensus::transaction::SignerRecoverable::try_into_recovered(tx).unwrap(),
            )
        });
        chain.build(&transactions.collect::<Vec<_>>())
    };
    let first = touched(0);
    let alone = case.chain.bundler.pack_exactly(&parent, &[first.piece]).unwrap();
    let refused = case.with(WITNESS, alone.extrinsics()[WITNESS].clone());
    assert!(refused.to_string().contains("the witness does not cover"), "{refused}");
    // The code that the first block created travels with none.
    let codes = CodeSet::decode(&case.bundle.extrinsics[CODES]).unwrap();
    let more = codes.iter().map(|(_, code)| code.clone()).chain([Bytes::from_static(contracts::LOG)]);
    let more = case.with(CODES, more.collect::<CodeSet>().encode());
    assert_eq!(more, RefineError::CodesExcess { given: codes.len() + 1, needed: codes.len() });
}

#[test]
fn a_block_is_not_dated_long_after_its_package() {
    let RunCase { case, .. } = RunCase::new();
    let late = |slot: u32, timestamp: u64| {
        let mut bundle = case.bundle.clone();
        bundle.package.context.lookup_anchor_slot = slot;
        let mut payload = payload_of(&bundle);
        let mut headers = decode_headers(&bundle.extrinsics[HEADERS], payload.blocks).unwrap();
        headers[2].timestamp = timestamp;
        payload.last = headers[2].hash_slow();
        payload.signature = signature::sign(&case.chain.secret, payload.last);
        bundle.package.items[0].payload = payload.encode();
        set(&mut bundle, HEADERS, encode_headers(headers.iter()));
        case.refine(&bundle).map(drop)
    };
    // Slot 10 begins a minute after the Common Era; a block may be an hour later.
    let latest = 1_735_732_800 + 60 + 3600;
    assert_eq!(late(10, latest + 1), Err(RefineError::Late { block: 3, found: latest + 1, latest }));
    assert_eq!([late(10, latest), late(11, latest + 1)], [Ok(()), Ok(())]);
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
    assert_eq!(gas, RefineError::OutOfGas { block: 1, index: 0, declared: 30_000 });
    assert_eq!(gas.work_error(), WorkError::OutOfGas);
    assert!(matches!(item(|item| item.refine_gas = u64::MAX), RefineError::Package(_)));

    let fewer = case.changed(|bundle| {
        bundle.package.items[0].extrinsics.pop();
        bundle.extrinsics.pop();
    });
    assert_eq!(fewer, RefineError::Inputs { extrinsics: 4, imports: 0 });
    let twice = case.changed(|bundle| {
        bundle.package.items[0].refine_gas /= 2;
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
            let mut payload = payload_of(bundle);
            change(&mut payload);
            bundle.package.items[0].payload = payload.encode();
        })
    };
    assert_eq!(payload(&|payload| payload.signature = Default::default()), RefineError::Signature);
    let stranger = Ed25519Secret::trivial(1);
    let foreign = payload(&|payload| payload.signature = signature::sign(&stranger, payload.last));
    assert_eq!(foreign, RefineError::Signature);
    assert_eq!(payload(&|payload| payload.last = B256::ZERO), RefineError::Signature);
    assert_eq!(payload(&|payload| payload.parent.gas_used += 1), RefineError::Parent(1));
    let other_builder = Config { builder: stranger.public(), ..case.chain.bundler.config };
    let refused = refine_bundle(&case.bundle, &other_builder, &case.chain.bundler.params);
    assert_eq!(refused.unwrap_err(), RefineError::Signature);
}

#[test]
fn every_field_of_the_header_must_follow() {
    let case = Case::new();
    let header = |name: &'static str, change: fn(&mut Header)| {
        let block = if name == "number" { 1 } else { case.sealed.block().id().number };
        assert_eq!(case.signed(change), RefineError::Header { block, field: name });
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
    assert_eq!(case.signed(|header| header.parent_hash = B256::ZERO), RefineError::Parent(1));
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
    assert!(refused.to_string().starts_with("block 1 cannot be executed: the code"), "{refused}");
    let one = codes.iter().map(|(_, code)| code.clone()).filter(|code| code[..] != *contracts::COUNT);
    let refused = case.with(CODES, one.collect::<CodeSet>().encode());
    assert!(refused.to_string().starts_with("transaction 0 of block 1: the code"), "{refused}");
    assert!(matches!(case.with(CODES, vec![9]), RefineError::Codes(_)));
}

#[test]
fn transactions_must_be_signed_whole_and_in_order() {
    let case = Case::new();
    let lists = blobs::split(&case.bundle.extrinsics[TRANSACTIONS]).unwrap();
    let transactions = blobs::split(&lists[0]).unwrap();
    let replaced = |transactions: &[Bytes]| {
        case.changed(|bundle| {
            set(bundle, TRANSACTIONS, blobs::join(&[blobs::join(transactions)]));
            set(bundle, HINTS, hints_for(transactions));
        })
    };
    let with = |transactions: &[Bytes]| replaced(transactions).to_string();
    assert!(matches!(case.with(TRANSACTIONS, vec![1]), RefineError::Transactions(_)));
    assert!(with(&[Bytes::new()]).starts_with("transaction 0 of block 1: "));
    let longer = Bytes::from([&transactions[0][..], &[0]].concat());
    assert!(with(&[longer, transactions[1].clone()]).starts_with("transaction 0 of block 1: "));
    let swapped = with(&[transactions[1].clone(), transactions[0].clone()]);
    assert!(swapped.starts_with("transaction 0 of block 1: nonce 1 too high"), "{swapped}");
    let twice = with(&[transactions[0].clone(), transactions[0].clone()]);
    assert!(twice.starts_with("transaction 1 of block 1: nonce 0 too low"), "{twice}");
    let fewer = replaced(&transactions[..1]);
    assert_eq!(fewer, RefineError::Header { block: 1, field: "gas used" });
}

/// The hints for all of these transactions that are signed.
fn hints_for(transactions: &[Bytes]) -> Bytes {
    let signed = transactions.iter().filter_map(|bytes| TxEnvelope::decode_2718_exact(bytes).ok());
    let hints = signed.filter_map(|tx| signatures::hint_of(&signature_of(&tx)));
    Hints::collect(hints).encode().into()
}

/// A good bundle with transactions of two wallets.
fn two_signers() -> Case {
    let mut case = Case::new();
    let [alice, bob] = [0, 1].map(Wallet::new);
    let to = Address::repeat_byte(9);
    let sealed =
        case.chain.build(&[alice.eip1559(Call::transfer(to, 0, 1)), bob.eip1559(Call::transfer(to, 0, 2))]);
    assert_eq!(sealed.receipts.len(), 2);
    case.bundle = case.chain.package(&sealed).1.bundle;
    case
}

#[test]
fn hints_must_be_those_of_the_signatures() {
    let case = two_signers();
    assert!(case.refine(&case.bundle).is_ok());
    let good = Hints::decode(&case.bundle.extrinsics[HINTS]).unwrap();
    let changed = |change: &dyn Fn(&mut Hints)| {
        let mut hints = good.clone();
        change(&mut hints);
        case.with(HINTS, hints.encode())
    };
    assert_eq!(case.with(HINTS, vec![]), RefineError::Hints);
    assert_eq!(case.with(HINTS, vec![0; 5]), RefineError::Hints);
    assert_eq!(changed(&|hints| hints.signatures.truncate(1)), Refused::Count.into());
    assert_eq!(changed(&|hints| hints.signatures.swap(0, 1)), Refused::NoPoint { signature: 0 }.into());
    assert_eq!(changed(&|hints| hints.signatures[1].key = 2), Refused::NoSuchKey { signature: 1 }.into());
    assert_eq!(changed(&|hints| hints.signatures[1].key = 0), Refused::KeyUnused { key: 1 }.into());
    assert_eq!(changed(&|hints| hints.keys[1][63] ^= 1), Refused::KeyNoPoint { key: 1 }.into());
    // Keys of the curve, each of which signed something, but not this.
    assert_eq!(changed(&|hints| hints.keys.swap(0, 1)), Refused::Sum.into());
    let mirrored = |hints: &mut Hints| {
        let y = U256::from_be_slice(&hints.keys[0][32..]);
        let prime = U256::from_limbs([0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX]);
        hints.keys[0][32..].copy_from_slice(&(prime - y).to_be_bytes::<32>());
    };
    assert_eq!(changed(&mirrored), Refused::Sum.into());
}

#[test]
fn no_changed_bit_of_a_transaction_or_hint_is_accepted() {
    let Case { chain, bundle, .. } = two_signers();
    let refused = |index: usize, blob: Vec<u8>| {
        let mut bundle = bundle.clone();
        set(&mut bundle, index, blob.into());
        refine_bundle(&bundle, &chain.bundler.config, &chain.bundler.params).is_err()
    };
    for index in [TRANSACTIONS, HINTS] {
        let blob = &bundle.extrinsics[index];
        for bit in 0..8 * blob.len() {
            let mut changed = blob.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(refused(index, changed), "bit {bit} of extrinsic {index}");
        }
    }
    // Signatures of the same key with another hash, and the order of transactions.
    let lists = blobs::split(&bundle.extrinsics[TRANSACTIONS]).unwrap();
    let mut transactions = blobs::split(&lists[0]).unwrap();
    transactions.reverse();
    assert!(refused(TRANSACTIONS, blobs::join(&[blobs::join(&transactions)]).to_vec()));
}
