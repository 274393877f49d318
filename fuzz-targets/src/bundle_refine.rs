//! A bundle, as a validator refines it: a claim about exactly the blocks that it holds, or a reason.
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
use alloy_rlp::Decodable;
use harness::blocks::{self, Call, MemoryChain, Wallet, contracts};
use jam::{Bundle, Ed25519Secret, Params, codec::Encode, hash::blake2b, package::ExtrinsicSpec};
use service::{
    accumulate::Claim,
    blobs,
    exports::import,
    header::{Choice, list_root, next},
    payload::{Payload, decode_headers, encode_headers},
    refine::{HEADERS, HINTS, Known, Output, refine, refine_bundle, refine_known, signature_of},
    signature,
};
use signatures::Hints;
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
/// Blocks that a run may have here.
const RUN_MAX: usize = 8;

/// A bundle of the test chain, whose package the others borrow.
static TEMPLATE: LazyLock<Bundle> = LazyLock::new(|| bundle_of(&mut chain(), vec![vec![]]));

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
            let lists = known(&bundle, senders);
            let headers = lists.iter().map(|transactions| {
                let encoded = transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
                Header { transactions_root: list_root(&encoded), ..Header::default() }
            });
            let headers = headers.collect::<Vec<_>>();
            let known = lists.iter().zip(&headers);
            let known = known.map(|(transactions, header)| Known { transactions, receipts: &[], header });
            let hints = bundle.extrinsics[HINTS].clone();
            refine_known(&bundle, &blocks::config(), &Params::TINY, &known.collect::<Vec<_>>(), &hints)
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

/// A good bundle claims the blocks that it holds.
fn check(bundle: &Bundle, claim: &Claim) {
    let payload = Payload::decode(&bundle.package.items[0].payload).expect("it was refined");
    let headers = decode_headers(&bundle.extrinsics[HEADERS], payload.blocks).expect("it was refined");
    let (first, last) = (&headers[0], &headers[headers.len() - 1]);
    assert_eq!(claim.first, first.number);
    assert_eq!((claim.last.number, claim.last.hash), (last.number, last.hash_slow()));
    assert_eq!(claim.parent, payload.parent.hash_slow());
    assert_eq!(claim.pre_root, payload.parent.state_root);
    assert_eq!(claim.post_root, last.state_root);
    let hashes = headers.iter().map(Header::hash_slow).collect::<Vec<_>>();
    assert_eq!(claim.blocks_root, Claim::root_of(&hashes));
    assert!(claim.gas_used <= bundle.package.items[0].refine_gas);
}

/// It does so again after travelling, and whoever knows the block says the same.
fn check_again(bundle: &Bundle, output: &Output) {
    let again = refine(&bundle.encode().into(), &blocks::config(), &Params::TINY);
    assert_eq!(again.as_ref(), Ok(output));
    let blocks = import(&output.exports).expect("a good bundle exports its blocks");
    let recovered = blocks.into_iter().map(|(block, receipts)| {
        let transactions = block.body.transactions.into_iter().map(|tx| {
            let sender = tx.recover_signer().expect("it was executed");
            Transaction::new(Recovered::new_unchecked(tx, sender))
        });
        (transactions.collect::<Vec<_>>(), receipts, block.header)
    });
    let recovered = recovered.collect::<Vec<_>>();
    let known = recovered.iter();
    let known = known.map(|(transactions, receipts, header)| Known { transactions, receipts, header });
    let known = known.collect::<Vec<_>>();
    for hints in [&bundle.extrinsics[HINTS], &Bytes::new()] {
        let known = refine_known(bundle, &blocks::config(), &Params::TINY, &known, hints);
        assert_eq!(known.as_ref(), Ok(&output.claim));
    }
}

/// Parent header, headers, witness, codes, transactions, the numbers of the item, what of the hints is wrong, and who sends.
fn assemble(flags: u8, bytes: &[u8]) -> Option<(Bundle, &[u8])> {
    let mut parts = Sections(bytes);
    let mut parent = alloy_rlp::decode_exact::<Header>(parts.take_or_empty()).ok()?;
    let mut headers = vec![];
    let given = &mut parts.take_or_empty();
    while !given.is_empty() && headers.len() < RUN_MAX {
        headers.push(Header::decode(given).ok()?);
    }
    let witness = mended_witness(parts.take_or_empty());
    if let Ok(witness) = Witness::decode(&witness) {
        parent.state_root = witness.root();
    }
    let last = mend(&parent, &mut headers, flags)?;
    let [witness, codes, transactions] =
        [&witness[..], parts.take_or_empty(), parts.take_or_empty()].map(Bytes::copy_from_slice);
    let numbers = parts.take_or_empty();
    let hints = spoiled(hints(&transactions), parts.take_or_empty());
    let blobs = [witness, codes, transactions, encode_headers(headers.iter()), hints.into()];
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let mut bundle = TEMPLATE.clone();
    let item = &mut bundle.package.items[0];
    item.refine_gas = GAS_MAX >> (number(0) & 31);
    item.export_count = number(1).into();
    let signature = signature::sign(&Ed25519Secret::trivial(99), last);
    item.payload = Payload { parent, blocks: headers.len() as u32, last, signature }.encode();
    item.extrinsics = blobs.iter().map(spec).collect();
    bundle.extrinsics = blobs.into();
    Some((bundle, parts.take_or_empty()))
}

/// Makes the headers a chain, whose last hash it gives.
fn mend(parent: &Header, headers: &mut [Header], flags: u8) -> Option<B256> {
    let (mut parent, mut hash) = (parent.clone(), parent.hash_slow());
    for header in headers {
        header.parent_hash = hash;
        if flags & MEND_HEADER != 0 {
            let mended = next(&parent, hash, &Choice::of(header), &blocks::config()).ok()?;
            header.number = mended.number;
            header.gas_limit = mended.gas_limit;
            header.base_fee_per_gas = mended.base_fee_per_gas;
        }
        (parent, hash) = (header.clone(), header.hash_slow());
    }
    Some(hash)
}

fn spec(blob: &Bytes) -> ExtrinsicSpec {
    ExtrinsicSpec { hash: blake2b(&[blob]), len: blob.len() as u32 }
}

/// The hints for all transactions that have a signer.
fn hints(transactions: &Bytes) -> Vec<u8> {
    let lists = blobs::split(transactions).unwrap_or_default();
    let all = lists.iter().flat_map(|list| blobs::split(list).unwrap_or_default());
    let signed = all.filter_map(|bytes| TxEnvelope::decode_2718_exact(&bytes).ok());
    Hints::collect(signed.filter_map(|tx| signatures::hint_of(&signature_of(&tx)))).encode()
}

/// Bytes with some changed: three bytes of `changes` say where and how.
fn spoiled(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    let (changes, _) = changes.as_chunks::<3>();
    for [high, low, mask] in changes {
        if let Some(byte) = bytes.get_mut(usize::from(u16::from_be_bytes([*high, *low]))) {
            *byte ^= mask;
        }
    }
    bytes
}

/// The same witness with the root that it hashes to.
fn mended_witness(bytes: &[u8]) -> Vec<u8> {
    let wrong = Witness::decode(bytes).ok().and_then(|it| it.verify::<Blake2b>(it.root()).err());
    let mended = wrong.and_then(|wrong| with_root(bytes, wrong.computed));
    mended.map_or_else(|| bytes.to_vec(), |witness| witness.encode())
}

/// The transactions of each block as if one of the wallets had sent each.
fn known(bundle: &Bundle, senders: &[u8]) -> Vec<Vec<Transaction>> {
    let lists = blobs::split(&bundle.extrinsics[service::refine::TRANSACTIONS]).unwrap_or_default();
    let mut senders = senders.iter();
    let known = lists.into_iter().map(|list| {
        let transactions = blobs::split(&list).unwrap_or_default().into_iter().map_while(|bytes| {
            let tx = TxEnvelope::decode_2718_exact(&bytes).ok()?;
            let wallet = u64::from(senders.next().copied().unwrap_or_default()) % WALLETS;
            let signed = Recovered::new_unchecked(tx, Wallet::new(wallet).address());
            Some(Transaction::with_authorities(signed, bytes, vec![]))
        });
        transactions.collect()
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

/// The bundle of a run of blocks with these calls.
fn bundle_of(chain: &mut MemoryChain, run: Vec<Vec<(u64, Call)>>) -> Bundle {
    let (parent, mut pieces) = (chain.parent.clone(), vec![]);
    for calls in run {
        let sign = |(wallet, call)| Wallet::new(wallet).eip1559(call);
        let sealed = chain.build(&calls.into_iter().map(sign).collect::<Vec<_>>());
        chain.advance(&sealed);
        pieces.push(sealed.piece);
    }
    let refined = chain.bundler.pack_exactly(&parent, &pieces).expect("what was sealed is valid");
    chain.bundler.package(&refined, blocks::context(1)).bundle
}

/// The parts of a bundle, as [`assemble`] reads them.
fn parts(flags: u8, bundle: &Bundle, senders: &[u8]) -> Vec<u8> {
    let item = &bundle.package.items[0];
    let payload = Payload::decode(&item.payload).expect("the builder made it");
    let headers = [alloy_rlp::encode(&payload.parent), bundle.extrinsics[HEADERS].to_vec()];
    let numbers = vec![0, item.export_count as u8];
    let blobs = bundle.extrinsics[..HEADERS].iter().map(|blob| blob.to_vec());
    let pieces = headers.into_iter().chain(blobs).chain([numbers, vec![], senders.to_vec()]);
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
        ("empty", vec![vec![]]),
        ("transfer", vec![vec![(0, Call::transfer(Address::repeat_byte(9), 0, 1))]]),
        ("calls", vec![vec![(0, token.clone()), (0, listed.clone()), (1, to(0x72, 0)), (2, to(0x74, 0))]]),
        ("create", vec![vec![(1, create.clone()), (2, to(0x73, 0))]]),
        ("run", vec![vec![(0, token)], vec![], vec![(0, listed), (1, create)], vec![(1, to(0x71, 1))]]),
    ];
    let mut seeds = vec![];
    for (name, run) in blocks {
        let senders = run.iter().flatten().map(|(wallet, _)| *wallet as u8).collect::<Vec<_>>();
        let bundle = bundle_of(&mut chain(), run);
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
