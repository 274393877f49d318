//! Every refusal, with the transaction that causes it, in the words that clients match on.

use super::world::{Draft, GWEI, HEAD, draft, rich, sender, tx};
use crate::{
    Account, Advice, Code, Config, Error, Head, Pool, Returned, Rules, StateChange, Verdict, recover,
    recover_all,
};
use alloy_consensus::{
    SignableTransaction, Signed, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy,
    crypto::{SECP256K1N_HALF, secp256k1},
    transaction::Recovered,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::{AccessList, AccessListItem},
    eip7702::Authorization,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use types::{Time, Transaction};

const KEY: B256 = B256::repeat_byte(0x42);
const NOW: Time = Time::ZERO;

fn config() -> Config {
    // The longest initcode must fit.
    Config::dev()
}

fn rules() -> Rules {
    config().rules(HEAD)
}

fn sign<T: SignableTransaction<Signature>>(tx: T) -> Signed<T> {
    let signature = secp256k1::sign_message(KEY, tx.signature_hash()).unwrap();
    tx.into_signed(signature)
}

fn raw(tx: impl Into<TxEnvelope>) -> Bytes {
    tx.into().encoded_2718().into()
}

fn legacy() -> TxLegacy {
    TxLegacy {
        chain_id: Some(732846),
        gas_price: 2 * GWEI,
        gas_limit: 21_000,
        to: TxKind::Call(Address::repeat_byte(7)),
        ..TxLegacy::default()
    }
}

fn dynamic() -> TxEip1559 {
    TxEip1559 {
        chain_id: 732846,
        gas_limit: 21_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: TxKind::Call(Address::repeat_byte(7)),
        ..TxEip1559::default()
    }
}

fn set_code() -> TxEip7702 {
    let authorization =
        Authorization { chain_id: U256::from(732846), address: Address::repeat_byte(8), nonce: 0 };
    let signature = secp256k1::sign_message(B256::repeat_byte(0x43), authorization.signature_hash()).unwrap();
    TxEip7702 {
        chain_id: 732846,
        gas_limit: 100_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: Address::repeat_byte(7),
        authorization_list: vec![authorization.into_signed(signature)],
        ..TxEip7702::default()
    }
}

/// Recovers and inserts into a pool that holds nothing, from an account that has a thousand ether.
fn refused(bytes: Bytes) -> Error {
    let outcome = recover(bytes, &rules())
        .and_then(|tx| Pool::new(config(), HEAD).insert(tx, rich(0), NOW).map(|_| ()));
    outcome.expect_err("it is refused")
}

/// Inserts one after the other, all but the last of which are fine.
fn last_refused(pool: &mut Pool, drafts: impl IntoIterator<Item = Draft>) -> Error {
    let mut outcome = Ok(());
    for draft in drafts {
        assert_eq!(outcome, Ok(()));
        outcome = pool.insert(draft.make(), rich(0), NOW).map(|_| ());
    }
    outcome.expect_err("the last one is refused")
}

fn small(pending_max: usize, queued_max: usize) -> Pool {
    Pool::new(Config { pending_max, queued_max, ..Config::default() }, HEAD)
}

/// Compares the words, the code and the advice.
#[track_caller]
fn says(error: &Error, words: &str, advice: Advice) {
    assert_eq!((error.to_string().as_str(), error.code(), error.advice()), (words, -32000, advice));
}

#[test]
fn all_four_types_come_in() {
    let list = AccessList(vec![AccessListItem {
        address: Address::repeat_byte(7),
        storage_keys: vec![B256::ZERO, B256::repeat_byte(1)],
    }]);
    let access = TxEip2930 {
        chain_id: 732846,
        gas_price: 2 * GWEI,
        gas_limit: 21_000 + 2_400 + 2 * 1_900,
        to: TxKind::Call(Address::repeat_byte(7)),
        access_list: list,
        ..TxEip2930::default()
    };
    let all = [raw(sign(legacy())), raw(sign(access)), raw(sign(dynamic())), raw(sign(set_code()))];
    for (bytes, kind) in all.into_iter().zip([0, 1, 2, 4]) {
        let tx = recover(bytes.clone(), &rules()).unwrap();
        assert_eq!(tx.tx_type() as u8, kind);
        assert_eq!(tx.encoded(), &bytes);
        assert_eq!(tx.sender(), secp256k1_address(KEY));
        assert_eq!(tx.hash(), alloy_primitives::keccak256(&bytes));
        let authorities = if kind == 4 { vec![secp256k1_address(B256::repeat_byte(0x43))] } else { vec![] };
        assert_eq!(tx.authorities(), authorities);
        Pool::new(config(), HEAD).insert(tx, rich(0), NOW).unwrap();
    }
}

#[test]
fn many_at_once_are_what_each_is_by_itself() {
    let signature = Signature::new(U256::from(5), U256::from(1), false);
    let off_curve = raw(dynamic().into_signed(signature));
    let good = |nonce| raw(sign(TxEip1559 { nonce, ..dynamic() }));
    let mut all = (0..20).map(good).collect::<Vec<_>>();
    all.extend([
        off_curve,
        Bytes::new(),
        Bytes::from_static(&[2, 1]),
        raw(sign(set_code())),
        raw(sign(legacy())),
    ]);
    all.extend((20..25).map(good));
    for count in 0..all.len() {
        let each = all[..count].iter().map(|bytes| recover(bytes.clone(), &rules())).collect::<Vec<_>>();
        let together = recover_all(all[..count].iter().cloned(), &rules());
        for (each, together) in each.iter().zip(&together) {
            let shown = |tx: &Transaction| (tx.hash(), tx.sender(), tx.authorities().to_vec());
            assert_eq!(each.as_ref().map(shown), together.as_ref().map(shown));
        }
        assert_eq!(each.len(), together.len());
    }
}

fn secp256k1_address(key: B256) -> Address {
    let hash = B256::repeat_byte(9);
    secp256k1::recover_signer(&secp256k1::sign_message(key, hash).unwrap(), hash).unwrap()
}

#[test]
fn bytes_that_are_no_transaction() {
    let good = raw(sign(dynamic()));
    let with = |bytes: &[u8]| Bytes::copy_from_slice(&[&good[..], bytes].concat());
    says(&refused(Bytes::new()), "typed transaction too short", Advice::Never);
    says(&refused(Bytes::from_static(&[2])), "typed transaction too short", Advice::Never);
    says(&refused(with(&[0])), "rlp: input contains more than one value", Advice::Never);
    says(&refused(good.slice(..good.len() - 1)), "rlp: input too short", Advice::Never);
    let mut legacy_and_more = raw(sign(legacy())).to_vec();
    legacy_and_more.push(0x80);
    says(&refused(legacy_and_more.into()), "rlp: input contains more than one value", Advice::Never);
    let no_list = refused(Bytes::from_static(&[0x80, 1, 2]));
    says(&no_list, "rlp: expected input list for types.LegacyTx", Advice::Never);
}

#[test]
fn types_that_are_not_supported() {
    for kind in [0_u8, 3, 5, 0x7f] {
        let mut bytes = raw(sign(dynamic())).to_vec();
        bytes[0] = kind;
        says(&refused(bytes.into()), "transaction type not supported", Advice::Never);
    }
}

#[test]
fn set_code_transactions_create_no_contract_and_authorize_something() {
    // The recipient is the sixth field; taking its 20 bytes out leaves an empty one, and a list 20 bytes shorter.
    let bytes = raw(sign(set_code())).to_vec();
    let to = bytes.windows(21).position(|window| window == [&[0x94][..], &[7; 20]].concat()).unwrap();
    let mut bytes = [&bytes[..to], &[0x80], &bytes[to + 21..]].concat();
    assert_eq!(bytes[1], 0xf8, "one length byte");
    bytes[2] -= 20;
    says(
        &refused(bytes.into()),
        "rlp: input string too short for common.Address, decoding into (types.SetCodeTx).To",
        Advice::Never,
    );
    let none = TxEip7702 { authorization_list: vec![], ..set_code() };
    says(&refused(raw(sign(none))), "set code tx must have at least one authorization tuple", Advice::Never);
}

#[test]
fn signatures() {
    let unprotected = TxLegacy { chain_id: None, ..legacy() };
    let bytes = raw(sign(unprotected));
    let words = "only replay-protected (EIP-155) transactions allowed over RPC";
    says(&refused(bytes.clone()), words, Advice::Never);
    assert!(recover(bytes, &Rules { allow_unprotected: true, ..rules() }).is_ok());

    let words = "invalid sender: invalid chain id for signer: have 1 want 732846";
    says(&refused(raw(sign(TxEip1559 { chain_id: 1, ..dynamic() }))), words, Advice::Never);
    says(&refused(raw(sign(TxLegacy { chain_id: Some(1), ..legacy() }))), words, Advice::Never);

    let words = "invalid sender: invalid transaction v, r, s values";
    let good = *sign(dynamic()).signature();
    let order = SECP256K1N_HALF * U256::from(2) + U256::from(1);
    let high = Signature::new(good.r(), order - good.s(), !good.v());
    let none = Signature::new(U256::ZERO, good.s(), false);
    let nothing = Signature::new(good.r(), U256::ZERO, false);
    let beyond = Signature::new(order, good.s(), false);
    for bad in [high, none, nothing, beyond] {
        says(&refused(raw(dynamic().into_signed(bad))), words, Advice::Never);
    }
    let edge = Signature::new(good.r(), SECP256K1N_HALF, good.v());
    assert!(recover(raw(dynamic().into_signed(edge)), &rules()).is_ok(), "the middle itself is low");

    // No point of the curve has this x.
    let off_curve = Signature::new(U256::from(5), U256::from(1), false);
    says(&refused(raw(dynamic().into_signed(off_curve))), "invalid sender: recovery failed", Advice::Never);
}

#[test]
fn sizes_and_gas() {
    let long = TxEip1559 { input: vec![0; 128 * 1024].into(), ..dynamic() };
    let size = raw(sign(long.clone())).len();
    says(
        &refused(raw(sign(long))),
        &format!("oversized data: transaction size {size}, limit 131072"),
        Advice::Never,
    );

    let creation = |bytes: usize, gas_limit| TxEip1559 {
        to: TxKind::Create,
        input: vec![0; bytes].into(),
        gas_limit,
        ..dynamic()
    };
    let words = "max initcode size exceeded: code size 49153, limit 49152";
    says(&refused(raw(sign(creation(49_153, 10_000_000)))), words, Advice::Never);
    assert!(recover(raw(sign(creation(49_152, 10_000_000))), &rules()).is_ok());

    let greedy = TxEip1559 { gas_limit: 16_777_217, ..dynamic() };
    says(
        &refused(raw(sign(greedy))),
        "transaction gas limit too high (cap: 16777216, tx: 16777217)",
        Advice::Never,
    );
    let rules = Rules { block_gas_limit: 20_999, ..rules() };
    says(&recover(raw(sign(dynamic())), &rules).unwrap_err(), "exceeds block gas limit", Advice::RetryLater);

    let poor = TxEip1559 { gas_limit: 20_999, ..dynamic() };
    let words = "intrinsic gas too low: gas 20999, minimum needed 21000";
    says(&refused(raw(sign(poor))), words, Advice::Never);
    let words = "intrinsic gas too low: gas 21000, minimum needed 53130";
    says(&refused(raw(sign(creation(32, 21_000)))), words, Advice::Never);
    let data = TxEip1559 { input: vec![1; 100].into(), gas_limit: 22_600, ..dynamic() };
    let words = "insufficient gas for floor data gas cost: gas 22600, minimum needed 25000";
    says(&refused(raw(sign(data))), words, Advice::Never);
}

#[test]
fn prices() {
    let cheap = TxEip1559 { max_fee_per_gas: GWEI - 1, max_priority_fee_per_gas: 0, ..dynamic() };
    let words = "transaction gas price below minimum: gas fee cap 999999999, minimum needed 1000000000";
    says(&refused(raw(sign(cheap))), words, Advice::RaiseFee);
    let generous = TxEip1559 { max_priority_fee_per_gas: 2 * GWEI + 1, ..dynamic() };
    let words = "max priority fee per gas higher than max fee per gas";
    says(&refused(raw(sign(generous))), words, Advice::Never);
}

#[test]
fn nonces() {
    let mut pool = Pool::new(Config::default(), HEAD);
    let insert = |pool: &mut Pool, nonce, account| pool.insert(tx(0, nonce, 1), account, NOW).unwrap_err();
    says(&insert(&mut pool, u64::MAX, rich(0)), "nonce has max value", Advice::Never);
    says(&insert(&mut pool, 0, rich(1)), "nonce too low: next nonce 1, tx nonce 0", Advice::Never);
    says(&insert(&mut pool, 70, rich(5)), "nonce too high: tx nonce 70, gapped nonce 5", Advice::RetryLater);
    assert!(pool.insert(tx(0, 69, 1), rich(5), NOW).is_ok(), "a gap of 64 is allowed");
    assert!(pool.insert(tx(0, 5, 1), rich(5), NOW).is_ok());
    assert!(pool.insert(tx(0, 70, 1), rich(5), NOW).is_ok(), "the gap counts from the next nonce");
    says(&insert(&mut pool, 70, rich(5)), "already known", Advice::Never);
}

#[test]
fn nonces_of_bundled_ones() {
    let mut pool = Pool::new(Config::default(), HEAD);
    pool.insert(tx(0, 0, 1), rich(0), NOW).unwrap();
    assert!(pool.mark_open(&tx(0, 0, 1).hash()));
    let again = |pool: &mut Pool, tip| pool.insert(tx(0, 0, tip), rich(0), NOW).unwrap_err();
    says(&again(&mut pool, 1), "already known", Advice::Never);
    says(&again(&mut pool, 99), "nonce too low: next nonce 1, tx nonce 0", Advice::Never);
}

#[test]
fn funds() {
    let account = |wei: u64| Account { balance: U256::from(wei), ..Account::default() };
    let cost = 100_000 * 102 * GWEI as u64 + 1;
    let mut pool = Pool::new(Config::default(), HEAD);
    let insert = |pool: &mut Pool, draft: Draft, wei| pool.insert(draft.make(), account(wei), NOW);
    let words = "insufficient funds for gas * price + value: \
                 balance 10200000000000000, tx cost 10200000000000001, overshot 1";
    says(&insert(&mut pool, draft(0, 0, 2), cost - 1).unwrap_err(), words, Advice::RetryLater);
    insert(&mut pool, draft(0, 0, 2), cost).unwrap();
    let words = "insufficient funds for gas * price + value: \
                 balance 20400000000000001, queued cost 10200000000000001, tx cost 10200000000000001, overshot 1";
    says(&insert(&mut pool, draft(0, 1, 2), 2 * cost - 1).unwrap_err(), words, Advice::RetryLater);
    insert(&mut pool, draft(0, 1, 2), 2 * cost).unwrap();
    let words = "insufficient funds for gas * price + value: \
                 balance 20400000000000002, queued cost 20400000000000002, tx bumped 2000000000000000, \
                 overshot 2000000000000000";
    says(&insert(&mut pool, draft(0, 0, 22), 2 * cost).unwrap_err(), words, Advice::RetryLater);
    let huge = Draft { fee: u128::MAX, ..draft(0, 2, 1) };
    assert!(matches!(insert(&mut pool, huge, cost), Err(Error::Funds { .. })));
}

#[test]
fn senders_that_may_not() {
    let mut pool = Pool::new(Config::default(), HEAD);
    let coded = |code| Account { code, ..rich(0) };
    let words = "sender not an eoa: address 0x0101010101010101010101010101010101010101";
    says(&pool.insert(tx(0, 0, 1), coded(Code::Contract), NOW).unwrap_err(), words, Advice::Never);

    let mut insert = |draft: Draft, code| pool.insert(draft.make(), coded(code), NOW);
    says(
        &insert(draft(1, 1, 1), Code::Delegated).unwrap_err(),
        "gapped-nonce tx from delegated accounts",
        Advice::RetryLater,
    );
    insert(draft(1, 0, 1), Code::Delegated).unwrap();
    says(
        &insert(draft(1, 1, 1), Code::Delegated).unwrap_err(),
        "in-flight transaction limit reached for delegated accounts",
        Advice::RetryLater,
    );
    insert(draft(1, 0, 20), Code::Delegated).expect("a replacement is no second one");

    insert(draft(2, 0, 1), Code::None).unwrap();
    let authorized = |n, by: u8| Draft { authorities: vec![sender(by)], ..draft(n, 0, 1) };
    insert(authorized(3, 2), Code::None).expect("the authority has one, that is allowed");
    says(
        &insert(draft(2, 1, 1), Code::None).unwrap_err(),
        "in-flight transaction limit reached for delegated accounts",
        Advice::RetryLater,
    );
    insert(draft(4, 0, 1), Code::None).unwrap();
    insert(draft(4, 1, 1), Code::None).unwrap();
    let words = "authority already reserved";
    says(&insert(authorized(5, 4), Code::None).unwrap_err(), words, Advice::RetryLater);
}

#[test]
fn sender_limit() {
    let mut pool = Pool::new(Config::default(), HEAD);
    let error = last_refused(&mut pool, (0..17).map(|nonce| draft(0, nonce, 1)));
    says(&error, "account limit exceeded: pooled 16 txs", Advice::RetryLater);
    pool.set_limit(sender(0), 17);
    pool.insert(tx(0, 16, 1), rich(0), NOW).unwrap();
    let error = pool.insert(tx(0, 17, 1), rich(0), NOW).unwrap_err();
    says(&error, "account limit exceeded: pooled 17 txs", Advice::RetryLater);
}

#[test]
fn full_pool() {
    let underpriced = "transaction underpriced";
    let error = last_refused(&mut small(2, 0), [draft(0, 0, 5), draft(1, 0, 5), draft(2, 0, 5)]);
    says(&error, underpriced, Advice::RaiseFee);
    let error = last_refused(&mut small(2, 0), [draft(0, 0, 5), draft(1, 0, 7), draft(2, 0, 4)]);
    says(&error, underpriced, Advice::RaiseFee);
    let error = last_refused(&mut small(0, 1), [draft(0, 3, 5), draft(1, 3, 5)]);
    says(&error, underpriced, Advice::RaiseFee);
    // Its own earlier one would have to go: a higher fee would not help.
    says(
        &last_refused(&mut small(1, 0), [draft(0, 0, 5), draft(0, 1, 9)]),
        "txpool is full",
        Advice::RetryLater,
    );
    says(
        &last_refused(&mut small(1, 0), [draft(0, 0, 5), draft(1, 7, 9)]),
        "txpool is full",
        Advice::RetryLater,
    );

    let len = tx(0, 0, 5).encoded().len();
    let config = Config { pool_bytes_max: 2 * len, ..Config::default() };
    let error = last_refused(&mut Pool::new(config, HEAD), [draft(0, 0, 5), draft(1, 0, 5), draft(2, 3, 9)]);
    says(&error, "future transaction tries to replace pending", Advice::RetryLater);
}

#[test]
fn returned_ones_fill_no_pool() {
    let mut pool = small(1, 0);
    pool.insert(tx(0, 0, 1), rich(0), NOW).unwrap();
    assert!(pool.mark_open(&tx(0, 0, 1).hash()));
    pool.insert(tx(1, 0, 1), rich(0), NOW).unwrap();
    let accounts = [(sender(0), rich(0))];
    let returned = Returned { tx: tx(0, 0, 1), verdict: Verdict::Innocent };
    pool.reinsert([returned], &StateChange { head: HEAD, accounts: &accounts }, NOW);
    assert_eq!((pool.stats().pending, pool.stats().totals.evicted), (2, 0));
    pool.insert(tx(2, 0, 9), rich(0), NOW).expect("it displaces the one that was never in a block");
    assert!(pool.get(&tx(0, 0, 1).hash()).is_some() && pool.get(&tx(1, 0, 1).hash()).is_none());
}

#[test]
fn replacements_pay_a_tenth_more_on_both_fields() {
    // Old: a fee cap of 105 and a tip of 55 wei above the least; a tenth more, rounded down, is 115 and 60.
    let at = |fee, tip| Draft { fee, tip, ..draft(0, 0, 0) };
    let mut pool =
        Pool::new(Config { gas_price_min_wei: 0, ..Config::default() }, Head { base_fee_wei: 7, ..HEAD });
    let mut insert = |fee, tip| pool.insert(at(fee, tip).make(), rich(0), NOW);
    insert(105, 55).unwrap();
    for (fee, tip) in [(114, 60), (115, 59), (115, 55), (105, 60), (105, 56), (200, 55), (104, 54)] {
        let words = "replacement transaction underpriced";
        says(&insert(fee, tip).unwrap_err(), words, Advice::RaiseFee);
    }
    let inserted = insert(115, 60).unwrap();
    assert_eq!(inserted.replaced, Some(at(105, 55).make().hash()));

    // Below ten wei a tenth is nothing, but more it must be.
    let mut insert = |fee, tip| pool.insert(Draft { nonce: 1, ..at(fee, tip) }.make(), rich(0), NOW);
    insert(9, 0).unwrap();
    for (fee, tip) in [(9, 1), (10, 0)] {
        assert_eq!(insert(fee, tip).unwrap_err(), Error::ReplacementUnderpriced);
    }
    insert(10, 1).unwrap();
}

#[test]
fn the_first_wrong_thing_is_named() {
    // In go-ethereum's order: size, initcode, gas cap, tip, signature, nonce, gas, price, account.
    let creation = TxEip1559 {
        chain_id: 1,
        nonce: u64::MAX,
        to: TxKind::Create,
        input: vec![0; 49_153].into(),
        gas_limit: 16_777_217,
        max_priority_fee_per_gas: 3 * GWEI,
        ..dynamic()
    };
    assert!(matches!(refused(raw(sign(creation.clone()))), Error::InitCode { .. }));
    let shorter = TxEip1559 { input: Bytes::new(), ..creation };
    assert!(matches!(refused(raw(sign(shorter.clone()))), Error::GasCap { .. }));
    let modest = TxEip1559 { gas_limit: 1, max_fee_per_gas: 2, ..shorter };
    assert_eq!(refused(raw(sign(modest.clone()))), Error::TipAboveFeeCap);
    let sober = TxEip1559 { max_priority_fee_per_gas: 1, ..modest };
    assert!(matches!(refused(raw(sign(sober.clone()))), Error::ChainId { .. }));
    let ours = TxEip1559 { chain_id: 732846, ..sober };
    assert_eq!(refused(raw(sign(ours.clone()))), Error::NonceMax);
    let early = TxEip1559 { nonce: 70_000, ..ours };
    assert!(matches!(refused(raw(sign(early.clone()))), Error::IntrinsicGas { .. }));
    let able = TxEip1559 { gas_limit: 53_000, ..early };
    assert!(matches!(refused(raw(sign(able.clone()))), Error::PriceBelowMinimum { .. }));
    let paying = TxEip1559 { max_fee_per_gas: 2 * GWEI, ..able };
    assert!(matches!(refused(raw(sign(paying))), Error::NonceTooHigh { .. }));
}

#[test]
fn blob_transactions_stay_out_even_if_they_are_already_decoded() {
    let blob = alloy_consensus::TxEip4844 { chain_id: 732846, gas_limit: 21_000, ..Default::default() };
    let signed = TxEnvelope::from(blob.into_signed(Signature::test_signature()));
    let tx = Transaction::new(Recovered::new_unchecked(signed, sender(0)));
    let error = Pool::new(config(), HEAD).insert(tx, rich(0), NOW).unwrap_err();
    says(&error, "transaction type not supported", Advice::Never);
}
