//! A bundle, as a validator refines it: a claim about exactly the block that it holds, or a reason.
//!
//! The first byte says whether the rest is a bundle as it travels, or the parts of one. Parts are put together with the
//! right hashes, roots and signature, so that the execution of any transactions on any witness is reached.

use super::{
    sections::{Sections, joined},
    witness::with_root,
};
use alloy_consensus::{
    Header, TxEnvelope,
    transaction::{Recovered, SignerRecoverable},
};
use alloy_eips::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, U256};
use harness::blocks::{self, Call, MemoryChain, Wallet, contracts};
use jam::{Bundle, Ed25519Secret, Params, codec::Encode, hash::blake2b, package::ExtrinsicSpec};
use service::{
    accumulate::Claim,
    blobs,
    exports::import,
    header::{Choice, list_root, next},
    payload::Payload,
    refine::{Known, Output, refine, refine_bundle, refine_known},
    signature,
};
use state::{Blake2b, Witness};
use std::sync::LazyLock;
use types::Transaction;

/// The bundle as it travels.
const RAW: u8 = 1;
/// The header's fields that follow from its parent are made right.
const MEND_HEADER: u8 = 2;
/// Who sends is told, instead of recovered from the signatures.
const KNOWN_SENDERS: u8 = 4;

/// Gas that a bundle may declare here: execution takes its time.
const GAS_MAX: u64 = 2_000_000;
const WALLETS: u64 = 3;

/// A bundle of the test chain, whose package the others borrow.
static TEMPLATE: LazyLock<Bundle> = LazyLock::new(|| bundle_of(&mut chain(), vec![]));

pub(super) fn run(bytes: &[u8]) {
    is_good(bytes);
}

/// Whether it is a good bundle, which is checked then.
fn is_good(bytes: &[u8]) -> bool {
    let Some((flags, rest)) = bytes.split_first() else { return false };
    if flags & RAW != 0 {
        return refine(&Bytes::copy_from_slice(rest), &blocks::config(), &Params::TINY).is_ok();
    }
    let Some((bundle, senders)) = assemble(*flags, rest) else { return false };
    let outcome = match flags & KNOWN_SENDERS != 0 {
        true => {
            let transactions = &known(&bundle, senders)[..];
            let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
            let header = &Header { transactions_root: list_root(&encoded), ..Header::default() };
            let known = Known { transactions, receipts: &[], header };
            refine_known(&bundle, &blocks::config(), &Params::TINY, known)
        }
        false => refine_bundle(&bundle, &blocks::config(), &Params::TINY).map(|output| {
            check_again(&bundle, &output);
            output.claim
        }),
    };
    if let Ok(claim) = &outcome {
        check(&bundle, claim);
    }
    outcome.is_ok()
}

/// A good bundle claims the block that it holds.
fn check(bundle: &Bundle, claim: &Claim) {
    let payload = Payload::decode(&bundle.package.items[0].payload).expect("it was refined");
    assert_eq!(claim.block, payload.header.hash_slow());
    assert_eq!(claim.parent, payload.parent.hash_slow());
    assert_eq!(claim.pre_root, payload.parent.state_root);
    assert_eq!(claim.post_root, payload.header.state_root);
    assert!(claim.gas_used <= bundle.package.items[0].refine_gas);
}

/// It does so again after travelling, and whoever knows the block says the same.
fn check_again(bundle: &Bundle, output: &Output) {
    let again = refine(&bundle.encode().into(), &blocks::config(), &Params::TINY);
    assert_eq!(again.as_ref(), Ok(output));
    let (block, receipts) = import(&output.exports).expect("a good bundle exports a block");
    let recovered = block.body.transactions.into_iter().map(|tx| {
        let sender = tx.recover_signer().expect("it was executed");
        Transaction::new(Recovered::new_unchecked(tx, sender))
    });
    let transactions = &recovered.collect::<Vec<_>>()[..];
    let known = Known { transactions, receipts: &receipts, header: &block.header };
    let known = refine_known(bundle, &blocks::config(), &Params::TINY, known);
    assert_eq!(known.as_ref(), Ok(&output.claim));
}

/// Parent header, header, witness, codes, transactions, the numbers of the item, and who sends.
fn assemble(flags: u8, bytes: &[u8]) -> Option<(Bundle, &[u8])> {
    let mut parts = Sections(bytes);
    let mut parent = alloy_rlp::decode_exact::<Header>(parts.take_or_empty()).ok()?;
    let mut header = alloy_rlp::decode_exact::<Header>(parts.take_or_empty()).ok()?;
    let witness = mended_witness(parts.take_or_empty());
    if let Ok(witness) = Witness::decode(&witness) {
        parent.state_root = witness.root();
    }
    header.parent_hash = parent.hash_slow();
    if flags & MEND_HEADER != 0 {
        let mended = next(&parent, header.parent_hash, &Choice::of(&header), &blocks::config()).ok()?;
        header.number = mended.number;
        header.gas_limit = mended.gas_limit;
        header.base_fee_per_gas = mended.base_fee_per_gas;
    }
    let blobs = [&witness[..], parts.take_or_empty(), parts.take_or_empty()].map(Bytes::copy_from_slice);
    let numbers = parts.take_or_empty();
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let mut bundle = TEMPLATE.clone();
    let item = &mut bundle.package.items[0];
    item.refine_gas = GAS_MAX >> (number(0) & 31);
    item.export_count = number(1).into();
    let signature = signature::sign(&Ed25519Secret::trivial(99), header.hash_slow());
    item.payload = Payload { parent, header, signature }.encode();
    item.extrinsics = blobs.iter().map(spec).collect();
    bundle.extrinsics = blobs.into();
    Some((bundle, parts.take_or_empty()))
}

fn spec(blob: &Bytes) -> ExtrinsicSpec {
    ExtrinsicSpec { hash: blake2b(&[blob]), len: blob.len() as u32 }
}

/// The same witness with the root that it hashes to.
fn mended_witness(bytes: &[u8]) -> Vec<u8> {
    let wrong = Witness::decode(bytes).ok().and_then(|it| it.verify::<Blake2b>(it.root()).err());
    let mended = wrong.and_then(|wrong| with_root(bytes, wrong.computed));
    mended.map_or_else(|| bytes.to_vec(), |witness| witness.encode())
}

/// The transactions as if one of the wallets had sent each.
fn known(bundle: &Bundle, senders: &[u8]) -> Vec<Transaction> {
    let transactions = blobs::split(&bundle.extrinsics[service::refine::TRANSACTIONS]).unwrap_or_default();
    let known = transactions.into_iter().enumerate().map_while(|(index, bytes)| {
        let tx = TxEnvelope::decode_2718_exact(&bytes).ok()?;
        let wallet = u64::from(senders.get(index).copied().unwrap_or_default()) % WALLETS;
        let signed = Recovered::new_unchecked(tx, Wallet::new(wallet).address());
        Some(Transaction::with_authorities(signed, bytes, vec![]))
    });
    known.collect()
}

fn chain() -> MemoryChain {
    let code = |byte: u8, code: &[u8]| (Address::repeat_byte(byte), U256::ZERO, code.to_vec().into());
    let wallets =
        (0..WALLETS).map(|index| (Wallet::new(index).address(), U256::from(u128::MAX >> 8), Bytes::new()));
    let contracts = [
        code(0x70, &contracts::erc20()),
        code(0x71, contracts::COUNT),
        code(0x72, contracts::REVERT),
        code(0x73, contracts::SPIN),
        code(0x74, contracts::DESTROY),
    ];
    MemoryChain::new(&wallets.chain(contracts).collect::<Vec<_>>())
}

fn bundle_of(chain: &mut MemoryChain, calls: Vec<(u64, Call)>) -> Bundle {
    let sign = |(wallet, call)| Wallet::new(wallet).eip1559(call);
    let sealed = chain.build(&calls.into_iter().map(sign).collect::<Vec<_>>());
    chain.package(&sealed).1.bundle
}

/// The parts of a bundle, as [`assemble`] reads them.
fn parts(flags: u8, bundle: &Bundle, senders: &[u8]) -> Vec<u8> {
    let item = &bundle.package.items[0];
    let payload = Payload::decode(&item.payload).expect("the builder made it");
    let headers = [&payload.parent, &payload.header].map(alloy_rlp::encode);
    let numbers = vec![0, item.export_count as u8];
    let blobs = bundle.extrinsics.iter().map(|blob| blob.to_vec());
    let pieces = headers.into_iter().chain(blobs).chain([numbers, senders.to_vec()]);
    [vec![flags], joined(pieces)].concat()
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let to =
        |byte: u8, nonce: u64| Call { gas_limit: 100_000, ..Call::to(Address::repeat_byte(byte), nonce) };
    let token = Call { input: contracts::erc20_transfer(Address::ZERO, 5), ..to(0x70, 0) };
    let list = alloy_eips::eip2930::AccessListItem { address: Address::ZERO, storage_keys: vec![B256::ZERO] };
    let listed = Call { access_list: vec![list].into(), ..to(0x71, 1) };
    let create = Call { gas_limit: 200_000, ..Call::create(contracts::deploy(contracts::LOG), 0) };
    let blocks = [
        ("empty", vec![]),
        ("transfer", vec![(0, Call::transfer(Address::repeat_byte(9), 0, 1))]),
        ("calls", vec![(0, token), (0, listed), (1, to(0x72, 0)), (2, to(0x74, 0))]),
        ("create", vec![(1, create), (2, to(0x73, 0))]),
    ];
    let mut seeds = vec![];
    for (name, calls) in blocks {
        let senders = calls.iter().map(|(wallet, _)| *wallet as u8).collect::<Vec<_>>();
        let bundle = bundle_of(&mut chain(), calls);
        seeds.push((format!("{name}-raw"), [vec![RAW], bundle.encode()].concat()));
        seeds.push((format!("{name}-parts"), parts(0, &bundle, &[])));
        seeds.push((format!("{name}-known"), parts(KNOWN_SENDERS | MEND_HEADER, &bundle, &senders)));
    }
    seeds
}

#[cfg(test)]
mod tests {
    /// Otherwise what is close to a seed would never come to the execution.
    #[test]
    fn every_seed_is_a_good_bundle() {
        for (name, bytes) in super::seeds() {
            assert!(super::is_good(&bytes), "{name}");
        }
    }
}
