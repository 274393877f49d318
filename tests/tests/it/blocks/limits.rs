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

/// What the program takes for a run of sealed blocks that stand on the chain's newest one.
fn refine_gas(chain: &MemoryChain, refined: &bundler::Refined) -> u64 {
    let bundle = chain.bundler.package(refined, harness::blocks::context(1)).bundle;
    let gas = harness::program::compare(&bundle, &chain.bundler.config, &chain.bundler.params);
    gas.expect("a JAM node would run it")
}

#[test]
fn a_block_is_full_when_its_refine_gas_is_and_the_program_takes_no_more() {
    let max = 12_000_000;
    let mut chain = chain(|limits| Limits { refine_gas_max: max, ..limits });
    let transactions = transfers();
    let (taken, limit) = fill(&mut chain, &transactions);
    let Limit::RefineGas { needed, .. } = limit else { panic!("{limit}") };
    assert!(needed > max && (5..35).contains(&taken), "{taken} {limit}");
    let sealed = chain.build(&transactions[..taken]);
    let gas = refine_gas(&chain, &chain.package(&sealed).0);
    assert!((max * 6 / 10..=max).contains(&gas), "{gas} of {max}");
}

#[test]
fn an_estimate_that_forgets_the_witness_is_found() {
    // Asks for the balance of as many accounts as its calldata says, most of which are not there.
    let asks = Address::repeat_byte(0xc4);
    let code =
        &[0x5f, 0x35, 0x5b, 0x80, 0x60, 80, 0x1b, 0x31, 0x50, 0x60, 1, 0x90, 0x03, 0x80, 0x60, 2, 0x57, 0x00];
    let other = |i: u64| (Address::left_padding_from(&(i + (1 << 40)).to_be_bytes()), ether(1), Bytes::new());
    let mut accounts = (0..2_000).map(other).collect::<Vec<_>>();
    accounts.push((Wallet::new(0).address(), ether(100), Bytes::new()));
    accounts.push((asks, U256::ZERO, Bytes::from_static(code)));
    let mut chain = MemoryChain::new(&accounts);
    let input = U256::from(500).to_be_bytes::<32>().to_vec().into();
    let sealed =
        chain.build(&[Wallet::new(0).eip1559(Call { input, gas_limit: 2_000_000, ..Call::to(asks, 0) })]);
    let right = chain.package(&sealed).0;
    let gas = refine_gas(&chain, &right);
    assert!(gas <= right.work().gas());
    chain.bundler.mistake = Some(bundler::Mistake::EstimateForgetsWitness);
    let wrong = chain.package(&sealed).0.work().gas();
    assert!(gas > wrong, "{gas} {wrong}");
}

#[test]
fn a_run_ends_where_its_refine_gas_does_and_the_program_takes_no_more() {
    let max = 15_000_000;
    let mut chain = chain(|limits| limits);
    let (start, mut pieces) = (chain.clone(), vec![]);
    for list in transfers().chunks(4) {
        let sealed = chain.build(list);
        chain.advance(&sealed);
        pieces.push(sealed.piece);
    }
    let mut bundler = start.bundler.clone();
    bundler.limits.refine_gas_max = max;
    let packed = bundler.pack(&start.parent, &pieces).unwrap();
    let gas = refine_gas(&start, &packed.refined);
    assert!(packed.is_full && gas <= packed.refined.work().gas() && packed.refined.work().gas() <= max);
    assert!(gas > max / 2, "{gas} of {max}");
    // What it has in common with no other run is what it is declared with: the gas of any package.
    let again = bundler.pack_exactly(&start.parent, &pieces).unwrap();
    assert!(again.work().gas() > max, "a run that was recorded is never another one");
}

#[test]
fn what_no_package_has_gas_for_ends_with_the_numbers() {
    let mut chain = chain(|limits| Limits { refine_gas_max: 20_000_000, ..limits });
    let keccak = Address::repeat_byte(0xc3);
    let mut accounts =
        (0..3).map(|i| (Wallet::new(i).address(), ether(100), Bytes::new())).collect::<Vec<_>>();
    // Hashes a word until its gas is spent.
    let code = &[0x5b, 0x60, 32, 0x5f, 0x20, 0x50, 0x5f, 0x56];
    accounts.push((keccak, U256::ZERO, Bytes::from_static(code)));
    chain = {
        let mut other = MemoryChain::new(&accounts);
        other.bundler.limits = chain.bundler.limits;
        other
    };
    let mut open = chain.open();
    let heavy = Wallet::new(0).eip1559(Call { gas_limit: 1_000_000, ..Call::to(keccak, 0) });
    let refused = open.push(&heavy).map(drop).unwrap_err();
    let Refused::Unrefinable(Reason::DoesNotFit { why }) = &refused else { panic!("{refused}") };
    assert!(why.ends_with("gas needed to refine it, a package has 20000000"), "{why}");
    // Behind another one it waits for a block of its own, and what comes after it is taken.
    open.push(&Wallet::new(1).eip1559(Call::transfer(keccak, 0, 0))).map(drop).unwrap();
    let refused = open.push(&heavy).map(drop).unwrap_err();
    assert!(matches!(refused, Refused::Full(Limit::RefineGas { .. })), "{refused}");
    open.push(&Wallet::new(2).eip1559(Call::transfer(Address::repeat_byte(9), 0, 1))).unwrap();
    let sealed = open.seal(&chain.secret).unwrap();
    assert_eq!(sealed.block().transactions().len(), 2);
    assert!(refine_gas(&chain, &chain.package(&sealed).0) < 20_000_000);
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
