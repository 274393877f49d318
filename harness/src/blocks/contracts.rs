//! Contracts, written by hand.

use alloy_primitives::{Address, B256, Bytes, U256, b256, keccak256};

/// Adds one to slot 0.
pub const COUNT: &[u8] = &[0x5f, 0x54, 0x60, 1, 0x01, 0x5f, 0x55, 0x00];
/// Reverts.
pub const REVERT: &[u8] = &[0x5f, 0x5f, 0xfd];
/// Never ends.
pub const SPIN: &[u8] = &[0x5b, 0x5f, 0x56];
/// Destroys itself for the caller.
pub const DESTROY: &[u8] = &[0x33, 0xff];
/// Logs its calldata with one topic.
pub const LOG: &[u8] = &[0x36, 0x5f, 0x5f, 0x37, 0x60, 7, 0x36, 0x5f, 0xa1, 0x00];
/// Writes what it sees of the block to slots: number, time, base fee, beneficiary, randomness, chain, the hash of the
/// parent, the gas limit and the price of a blob.
pub const SEE: &[u8] = &[
    0x43, 0x5f, 0x55, 0x42, 0x60, 1, 0x55, 0x48, 0x60, 2, 0x55, 0x41, 0x60, 3, 0x55, 0x44, 0x60, 4, 0x55,
    0x46, 0x60, 5, 0x55, 0x60, 1, 0x43, 0x03, 0x40, 0x60, 6, 0x55, 0x45, 0x60, 7, 0x55, 0x4a, 0x60, 8, 0x55,
    0x00,
];
/// Writes to as many slots as its calldata says, 64 apart.
pub const STORE: &[u8] = &[
    0x5f, 0x35, 0x5b, 0x80, 0x15, 0x60, 22, 0x57, 0x80, 0x80, 0x60, 6, 0x1b, 0x55, 0x60, 1, 0x90, 0x03, 0x60,
    2, 0x56, 0x00, 0x5b, 0x00,
];
/// Asks for balance, code size, code hash and code of the address in its calldata, and calls it.
pub const LOOK: &[u8] = &[
    0x5f, 0x35, 0x80, 0x31, 0x50, 0x80, 0x3b, 0x50, 0x80, 0x3f, 0x50, 0x60, 32, 0x5f, 0x5f, 0x83, 0x3c, 0x5f,
    0x5f, 0x5f, 0x5f, 0x5f, 0x85, 0x5a, 0xf1, 0x5f, 0x55, 0x00,
];
/// Calls the address in its calldata with the rest of it, on its own storage.
pub const DELEGATE: &[u8] = &[
    0x60, 32, 0x36, 0x03, 0x60, 32, 0x5f, 0x37, 0x5f, 0x5f, 0x60, 32, 0x36, 0x03, 0x5f, 0x5f, 0x35, 0x5a,
    0xf4, 0x00,
];

/// keccak-256 of `Transfer(address,address,uint256)`.
pub const TRANSFER_TOPIC: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// A constructor that returns `code`.
pub fn deploy(code: &[u8]) -> Bytes {
    let length = u16::try_from(code.len()).expect("no code is that long").to_be_bytes();
    let mut out = vec![0x61, length[0], length[1], 0x80, 0x60, 11, 0x5f, 0x39, 0x5f, 0xf3, 0x00];
    out.extend_from_slice(code);
    out.into()
}

/// A constructor that writes to slots 1 and 300 and then destroys the contract that it makes.
pub fn destroyed_at_once() -> Bytes {
    Bytes::from_static(&[0x60, 5, 0x60, 1, 0x55, 0x60, 5, 0x61, 1, 44, 0x55, 0x33, 0xff])
}

/// A token: `transfer(address,uint256)` and nothing else, whatever the selector; balances in the mapping at slot 0.
pub fn erc20() -> Bytes {
    let mut code = vec![0x33, 0x5f, 0x52, 0x60, 64, 0x5f, 0x20]; // the sender's slot
    code.extend([0x80, 0x54, 0x60, 36, 0x35]); // its balance, the amount
    code.extend([0x81, 0x81, 0x11, 0x60, 0, 0x57]); // too much: revert
    let revert = code.len() - 2;
    code.extend([0x90, 0x81, 0x90, 0x03, 0x90, 0x91, 0x55]); // the sender has less
    code.extend([0x60, 4, 0x35, 0x5f, 0x52, 0x60, 64, 0x5f, 0x20]); // the receiver's slot
    code.extend([0x80, 0x54, 0x82, 0x01, 0x90, 0x55]); // which has more
    code.extend([0x5f, 0x52, 0x60, 4, 0x35, 0x33, 0x7f]);
    code.extend(TRANSFER_TOPIC);
    code.extend([0x60, 32, 0x5f, 0xa3]); // the log
    code.extend([0x60, 1, 0x5f, 0x52, 0x60, 32, 0x5f, 0xf3]); // true
    code[revert] = u8::try_from(code.len()).expect("a short contract");
    code.extend([0x5b, 0x5f, 0x5f, 0xfd]);
    code.into()
}

/// The slot of a holder's balance in [`erc20`].
pub fn erc20_slot(holder: Address) -> U256 {
    let mut key = [0; 64];
    key[12..32].copy_from_slice(holder.as_slice());
    keccak256(key).into()
}

/// The calldata of a token transfer.
pub fn erc20_transfer(to: Address, amount: u64) -> Bytes {
    let mut input = vec![0xa9, 0x05, 0x9c, 0xbb];
    input.extend(to.into_word());
    input.extend(U256::from(amount).to_be_bytes::<32>());
    input.into()
}
