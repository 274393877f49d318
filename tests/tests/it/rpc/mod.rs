//! JSON-RPC over real sockets on this machine.

mod abuse;
mod calls;
mod compat;
mod limits;
mod protocol;
mod reads;
mod sending;
mod unread;
mod websocket;

use alloy_primitives::{Address, Bytes, U256, address};
use harness::{
    blocks::{Call, Wallet, contracts},
    rpc_world::World,
};
use rpc::Config;
use types::Transaction;

/// A contract that logs its calldata.
const LOGGER: Address = address!("00000000000000000000000000000000000c0001");
/// A contract that counts.
const COUNTER: Address = address!("00000000000000000000000000000000000c0002");
/// A contract that reverts.
const REVERTER: Address = address!("00000000000000000000000000000000000c0003");
/// A contract that never ends.
const SPINNER: Address = address!("00000000000000000000000000000000000c0004");

fn alice() -> Wallet {
    Wallet::new(1)
}

fn world() -> World {
    world_with(Config::default())
}

fn world_with(config: Config) -> World {
    let ether = U256::from(10_u64.pow(18));
    let code = |code: &[u8]| Bytes::copy_from_slice(code);
    let accounts = [
        (alice().address(), ether * U256::from(1000), Bytes::new()),
        (LOGGER, U256::ZERO, code(contracts::LOG)),
        (COUNTER, U256::ZERO, code(contracts::COUNT)),
        (REVERTER, U256::ZERO, code(contracts::REVERT)),
        (SPINNER, U256::ZERO, code(contracts::SPIN)),
    ];
    World::new(config, &accounts)
}

fn transfer(nonce: u64) -> Transaction {
    alice().eip1559(Call::transfer(Address::repeat_byte(0x22), nonce, 5))
}

fn logged(nonce: u64) -> Transaction {
    let input = Bytes::from_static(&[7; 40]);
    alice().eip1559(Call { input, gas_limit: 100_000, ..Call::to(LOGGER, nonce) })
}
