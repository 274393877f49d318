//! A block stops growing before it is too large, and what can never fit does not stop it.

use alloy_primitives::{Address, Bytes, U256};
use bundler::{Limit, Limits, Refused};
use harness::blocks::{Call, MemoryChain, Wallet, contracts};
use types::{Reason, Transaction};

const STORE: Address = Address::repeat_byte(0xc1);
const LOG: Address = Address::repeat_byte(0xc2);

fn ether(n: u64) -> U256 {
    U256::from(n) * U256::from(10).pow(U256::from(18))
}

fn chain(limits: impl FnOnce(Limits) -> Limits) -> MemoryChain {
    let mut accounts =
        (0..40).map(|i| (Wallet::new(i).address(), ether(100), Bytes::new())).collect::<Vec<_>>();
    accounts.push((STORE, U256::ZERO, Bytes::from_static(contracts::STORE)));
    accounts.push((LOG, U256::ZERO, Bytes::from_static(contracts::LOG)));
    let mut chain = MemoryChain::new(&accounts);
    chain.bundler.limits = limits(chain.bundler.limits);
    chain
}

/// Transfers, each from another wallet to a new account, so that the witness grows.
fn transfers() -> Vec<Transaction> {
    let to = |i: u64| Address::left_padding_from(&(i + (1 << 40)).to_be_bytes());
    (0..40).map(|i| Wallet::new(i).eip1559(Call::transfer(to(i), 0, 1))).collect()
}

/// Pushes until the block is full; gives how many it took and what was in the way.
fn fill(chain: &mut MemoryChain, transactions: &[Transaction]) -> (usize, Limit) {
    let mut open = chain.open();
    for tx in transactions {
        match open.push(tx) {
            Ok(_) => {}
            Err(Refused::Full(limit)) => {
                let taken = open.transactions().len();
                let sealed = open.seal(&chain.secret).unwrap();
                let (refined, packaged) = chain.package(&sealed);
                assert!(
                    packaged.bundle.package.input_bytes() <= chain.bundler.limits.bundle_bytes_max as u64
                );
                assert!(refined.export_segments() <= chain.bundler.limits.export_segments_max);
                chain.refine(&packaged.bytes()).unwrap();
                return (taken, limit);
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the block never became full");
}

#[test]
fn a_block_is_full_when_its_gas_is_spent() {
    let mut chain = chain(|limits| Limits { gas_max: 21_000 * 7 + 20_999, ..limits });
    let (taken, limit) = fill(&mut chain, &transfers());
    assert_eq!((taken, limit), (7, Limit::Gas { needed: 21_000 * 8, max: 21_000 * 7 + 20_999 }));
}

#[test]
fn a_block_is_full_when_it_has_enough_transactions() {
    let mut chain = chain(|limits| Limits { transactions_max: 5, ..limits });
    assert_eq!(fill(&mut chain, &transfers()), (5, Limit::Transactions { max: 5 }));
}

#[test]
fn a_block_is_full_when_its_bundle_is_and_the_limit_is_used_up() {
    let max = 8_000;
    let mut chain = chain(|limits| Limits { bundle_bytes_max: max, ..limits });
    let transactions = transfers();
    let (taken, limit) = fill(&mut chain, &transactions);
    let Limit::BundleBytes { needed, .. } = limit else { panic!("{limit}") };
    assert!(needed > max && (10..30).contains(&taken), "{taken} {limit}");

    // The bound of the witness did not make the block smaller than it could be: one more would be too much.
    chain.bundler.limits.bundle_bytes_max = usize::MAX;
    let sealed = chain.build(&transactions[..taken + 1]);
    assert_eq!(sealed.block().transactions().len(), taken + 1);
    let (_, packaged) = chain.package(&sealed);
    let bytes = packaged.bundle.package.input_bytes() as usize;
    assert!(bytes + 64 > max, "{bytes} bytes would have fitted into {max}");
}

#[test]
fn a_block_is_full_when_its_exports_are() {
    let mut chain = chain(|limits| Limits { export_segments_max: 3, ..limits });
    let log = |i: u64| {
        let input = Bytes::from(vec![7; 2_000]);
        Wallet::new(i).eip1559(Call { input, ..Call::to(LOG, 0) })
    };
    let (taken, limit) = fill(&mut chain, &(0..40).map(log).collect::<Vec<_>>());
    assert_eq!((taken, limit), (2, Limit::ExportSegments { needed: 4, max: 3 }));
}

#[test]
fn what_can_never_fit_is_dropped_with_a_reason_and_does_not_stop_the_block() {
    let mut chain = chain(|limits| Limits {
        gas_max: 900_000,
        bundle_bytes_max: 8_000,
        export_segments_max: 2,
        ..limits
    });
    let [a, b, c, d, good] = [0, 1, 2, 3, 4].map(Wallet::new);
    let words = |n: u64| Bytes::from(U256::from(n).to_be_bytes::<32>());
    let call = |to, input, gas_limit| Call { input, gas_limit, ..Call::to(to, 0) };
    let mut open = chain.open();
    for (tx, why) in [
        (a.eip1559(Call::to(STORE, 0)), "gas needed, a block has 900000"),
        (b.eip1559(call(STORE, vec![0; 9_000].into(), 900_000)), "bytes needed, a bundle has 8000"),
        (c.eip1559(call(LOG, vec![0; 5_000].into(), 900_000)), "segments needed, a block exports at most 2"),
    ] {
        let Err(Refused::Never(Reason::DoesNotFit { why: found })) = open.push(&tx) else { panic!("{why}") };
        assert!(found.ends_with(why), "{found}");
    }
    // There is room for a transfer, and not for a call that writes to forty places.
    let transfer = good.eip1559(Call::transfer(Address::repeat_byte(9), 0, 1));
    let size =
        chain.package(&chain.clone().build(std::slice::from_ref(&transfer))).1.bundle.package.input_bytes();
    chain.bundler.limits.bundle_bytes_max = size as usize + 100;
    let mut small = chain.open();
    let heavy = d.eip1559(call(STORE, words(40), 900_000));
    let refused = small.push(&heavy).map(drop).unwrap_err();
    assert!(matches!(refused, Refused::Never(Reason::DoesNotFit { .. })), "{refused}");
    for mut open in [open, small] {
        open.push(&transfer).unwrap();
        let sealed = open.seal(&chain.secret).unwrap();
        assert_eq!(sealed.block().transactions().len(), 1);
        chain.refine(&chain.package(&sealed).1.bytes()).unwrap();
    }
}

#[test]
fn blob_transactions_do_not_exist_here() {
    use alloy_consensus::{SignableTransaction, TxEip4844, TxEnvelope, transaction::Recovered};
    let tx = TxEip4844 { chain_id: 732846, gas_limit: 21_000, ..TxEip4844::default() };
    let signed = tx.into_signed(alloy_primitives::Signature::test_signature());
    let tx = Transaction::new(Recovered::new_unchecked(TxEnvelope::from(signed), Wallet::new(0).address()));
    let mut chain = chain(|limits| limits);
    let refused = chain.open().push(&tx).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "never: invalid: transaction type 3 is not supported");
}
