//! A token to transfer: `transfer` and `balanceOf` of ERC-20, written by hand. Everybody owns 2^128 of it from the start,
//! so that nobody has to hand it out: what is stored is the difference from that.

use super::{Chain, fund, raw};
use crate::cli::{Failure, client::Client};
use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256, b256};
use runtime::wallet::Wallet;
use serde_json::json;

const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];
/// keccak-256 of `Transfer(address,address,uint256)`.
const TRANSFER_TOPIC: alloy_primitives::B256 =
    b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// Gas that a transfer may use: two slots that were empty, and a log.
pub(super) const TRANSFER_GAS: u64 = 100_000;

/// The code. Jumps are filled in at the end.
fn code() -> Vec<u8> {
    let mut code = vec![0x5f, 0x35, 0x60, 0xe0, 0x1c]; // the selector
    code.extend([0x80, 0x63]);
    code.extend(BALANCE_OF);
    code.extend([0x14, 0x60, 0, 0x57]); // balanceOf?
    let to_balance = code.len() - 2;
    code.push(0x63);
    code.extend(TRANSFER);
    code.extend([0x14, 0x15, 0x60, 0, 0x57]); // not transfer either: revert
    let to_revert = code.len() - 2;
    code.extend([0x33, 0x5f, 0x52, 0x60, 0x40, 0x5f, 0x20]); // the sender's slot
    code.extend([0x80, 0x54, 0x60, 1, 0x60, 0x80, 0x1b, 0x01]); // its balance
    code.extend([0x60, 0x24, 0x35, 0x81, 0x81, 0x11, 0x60, 0, 0x57]); // the amount; too much: revert
    let too_much = code.len() - 2;
    code.extend([0x80, 0x91, 0x03, 0x60, 1, 0x60, 0x80, 0x1b, 0x90, 0x03]); // what is left, as a difference
    code.extend([0x90, 0x91, 0x55]);
    code.extend([0x60, 4, 0x35, 0x5f, 0x52, 0x60, 0x40, 0x5f, 0x20]); // the receiver's slot
    code.extend([0x80, 0x54, 0x82, 0x01, 0x90, 0x55]); // which has more
    code.extend([0x5f, 0x52, 0x60, 4, 0x35, 0x33, 0x7f]);
    code.extend(TRANSFER_TOPIC);
    code.extend([0x60, 0x20, 0x5f, 0xa3]); // the log
    code.extend([0x60, 1, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]); // true
    let balance = here(&mut code);
    code.extend([0x60, 4, 0x35, 0x5f, 0x52, 0x60, 0x40, 0x5f, 0x20, 0x54]);
    code.extend([0x60, 1, 0x60, 0x80, 0x1b, 0x01, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    let revert = here(&mut code);
    code.extend([0x5f, 0x5f, 0xfd]);
    (code[to_balance], code[to_revert], code[too_much]) = (balance, revert, revert);
    code
}

/// A place to jump to.
fn here(code: &mut Vec<u8>) -> u8 {
    let at = u8::try_from(code.len()).expect("the code is shorter than 256 bytes");
    code.push(0x5b);
    at
}

/// What makes the contract.
fn constructor() -> Bytes {
    let code = code();
    let length = u8::try_from(code.len()).expect("the code is shorter than 256 bytes");
    let mut out = vec![0x60, length, 0x80, 0x60, 9, 0x5f, 0x39, 0x5f, 0xf3];
    out.extend(code);
    out.into()
}

/// The calldata of a transfer.
pub(super) fn transfer(to: Address, amount: u64) -> Bytes {
    let mut input = TRANSFER.to_vec();
    input.extend(to.into_word());
    input.extend(U256::from(amount).to_be_bytes::<32>());
    input.into()
}

/// Puts the contract on the chain, and makes sure that it is there. `waiting` is called again and again.
pub(super) fn deploy(
    client: &Client,
    chain: &Chain,
    funder: &Wallet,
    waiting: impl FnMut(),
) -> Result<Address, Failure> {
    let nonce = fund::nonce(client, funder.address(), "pending")?;
    let tx = TxEip1559 {
        nonce,
        to: TxKind::Create,
        input: constructor(),
        gas_limit: 500_000,
        ..fund::offer(chain)
    };
    client.call("eth_sendRawTransaction", raw(&funder.sign(tx)))?;
    fund::wait_for_nonce(client, funder.address(), nonce + 1, waiting)?;
    let token = funder.address().create(nonce);
    match client.call("eth_getCode", json!([token, "latest"]))?.as_str() {
        Some(found) if found.len() > 2 => Ok(token),
        _ => Err(Failure::runtime("the token could not be put on the chain")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use revm::{
        Context, ExecuteCommitEvm, MainBuilder, MainContext,
        context::TxEnv,
        database::InMemoryDB,
        state::{AccountInfo, Bytecode},
    };

    const TOKEN: Address = Address::repeat_byte(7);

    fn run(database: &mut InMemoryDB, from: Address, input: Bytes) -> (bool, U256) {
        let mut evm = Context::mainnet()
            .modify_cfg_chained(|cfg| cfg.disable_nonce_check = true)
            .with_db(database)
            .build_mainnet();
        let tx = TxEnv::builder().caller(from).to(TOKEN).data(input).gas_limit(1_000_000).build().unwrap();
        let result = evm.transact_commit(tx).unwrap();
        (
            result.is_success(),
            result.output().map_or(U256::ZERO, |output| U256::try_from_be_slice(output).unwrap_or_default()),
        )
    }

    fn balance(database: &mut InMemoryDB, of: Address) -> U256 {
        let input = [&BALANCE_OF[..], of.into_word().as_slice()].concat();
        run(database, of, input.into()).1
    }

    #[test]
    fn the_token_moves_what_it_says_and_no_more_than_there_is() {
        let mut database = InMemoryDB::default();
        let info = AccountInfo::default().with_code(Bytecode::new_raw(code().into()));
        database.insert_account_info(TOKEN, info);
        let (a, b, all) = (Address::repeat_byte(1), Address::repeat_byte(2), U256::ONE << 128_usize);
        assert_eq!(run(&mut database, a, transfer(b, 5)), (true, U256::ONE));
        assert_eq!(
            (balance(&mut database, a), balance(&mut database, b)),
            (all - U256::from(5), all + U256::from(5))
        );
        let mut too_much = transfer(b, 0).to_vec();
        too_much[36..].copy_from_slice(&all.to_be_bytes::<32>());
        assert!(!run(&mut database, a, too_much.into()).0);
        assert!(!run(&mut database, a, Bytes::from_static(&[1, 2, 3, 4])).0);
        assert_eq!(balance(&mut database, a), all - U256::from(5));
    }
}
