//! What `eth_sendRawTransaction` is given: a transaction that is exactly these bytes, or a reason.

use alloy_consensus::Transaction as _;
use alloy_eips::Encodable2718;
use alloy_primitives::{Address, Bytes, U256, keccak256};
use harness::blocks::{Call, Wallet, contracts};
use txpool::{Account, Code, Config, Head, Pool, recover};
use types::{Time, Transaction};

const HEAD: Head = Head { base_fee_wei: 1_000_000_000, gas_limit: 120_000_000 };

pub(super) fn run(bytes: &[u8]) {
    let config = Config::dev();
    let bytes = Bytes::copy_from_slice(bytes);
    match recover(bytes.clone(), &config.rules(HEAD)) {
        Ok(tx) => {
            assert_eq!(tx.signed().inner().encoded_2718(), bytes, "another encoding of a transaction");
            assert_eq!((tx.encoded(), tx.hash()), (&bytes, keccak256(&bytes)));
            insert(config, &tx);
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

/// It enters a pool, or there is a reason; and it enters once.
fn insert(config: Config, tx: &Transaction) {
    let mut pool = Pool::new(config, HEAD);
    let account = Account { nonce: tx.nonce(), balance: U256::MAX >> 1, code: Code::None };
    match pool.insert(tx.clone(), account, Time::ZERO) {
        Ok(_) => {
            assert_eq!(pool.insert(tx.clone(), account, Time::ZERO), Err(txpool::Error::AlreadyKnown));
            assert_eq!(pool.best().next().map(|best| best.tx.hash()), Some(tx.hash()));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let (wallet, to) = (Wallet::new(0), Address::repeat_byte(9));
    let authorization = Wallet::new(1).delegates(to, 0);
    let transactions = [
        ("legacy", wallet.legacy(Call::transfer(to, 0, 1))),
        ("access-list", wallet.eip2930(Call::to(to, 1))),
        ("dynamic", wallet.eip1559(Call { input: contracts::erc20_transfer(to, 5), ..Call::to(to, 2) })),
        ("create", wallet.eip1559(Call::create(contracts::deploy(contracts::LOG), 3))),
        ("set-code", wallet.eip7702(Call::to(to, 4), vec![authorization])),
    ];
    transactions.map(|(name, tx)| (name.to_owned(), tx.encoded().to_vec())).into()
}
