//! Blocks that are measured: what is in them is counted, and the program says what it takes.

use super::{
    GAS_MAX,
    bodies::{self, Body},
    gas_of,
};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::{FEATURES, Sealed};
use harness::{
    blocks::{self, Call, MemoryChain, Values, Wallet, contracts},
    rng::Rng,
};
use jam::Params;
use pvm::Machines;
use service::Config;
use types::Transaction;

/// No transaction may have more gas (EIP-7825).
pub(super) const TRANSACTION_GAS_MAX: u64 = 1 << 24;
const TOKEN: Address = Address::repeat_byte(0x70);
const CONTRACT: Address = Address::repeat_byte(0xc7);
const STORE: Address = Address::repeat_byte(0xc8);
const SPIN: Address = Address::repeat_byte(0xc9);

/// A run of blocks with what it took.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) counts: Vec<u64>,
    pub(super) estimate: u64,
    pub(super) gas: u64,
}

impl Sample {
    /// Packs blocks that stand on the chain, and runs the program.
    pub(super) fn of(
        name: String,
        machines: &Machines,
        chain: &MemoryChain,
        sealed: &[Sealed<Values>],
    ) -> Result<Self, String> {
        let pieces = sealed.iter().map(|sealed| sealed.piece.clone()).collect::<Vec<_>>();
        let refined = chain.bundler.pack_exactly(&chain.parent, &pieces).map_err(|why| why.to_string())?;
        let packaged = chain.bundler.package(&refined, blocks::context(1));
        let gas = gas_of(machines, chain, &packaged).map_err(|why| format!("{name}: {why}"))?;
        let counts = refined.work().counts().to_vec();
        debug_assert_eq!(counts.len(), FEATURES);
        Ok(Self { name, counts, estimate: refined.work().gas(), gas })
    }
}

/// A chain with wallets, other accounts, the contracts that bodies call, and one with this code.
pub(super) fn chain(wallets: u64, others: u64, code: Vec<u8>) -> MemoryChain {
    chain_with(wallets, others, code, vec![])
}

/// The same with more contracts.
fn chain_with(
    wallets: u64,
    others: u64,
    code: Vec<u8>,
    contracts: Vec<(Address, U256, Bytes)>,
) -> MemoryChain {
    let ether = U256::from(10).pow(U256::from(21));
    let mut accounts = vec![
        (TOKEN, ether, contracts::erc20()),
        (CONTRACT, ether, code.into()),
        (STORE, ether, Bytes::from_static(contracts::STORE)),
        (SPIN, ether, Bytes::from_static(contracts::SPIN)),
        (bodies::STOPS, ether, Bytes::from_static(&[0])),
        (bodies::RETURNS, ether, Bytes::from_static(bodies::RETURNS_CODE)),
        (bodies::DEEP, ether, Bytes::from_static(bodies::DEEP_CODE)),
    ];
    accounts.extend(contracts);
    accounts.extend((0..wallets).map(|index| (Wallet::new(index).address(), ether, Bytes::new())));
    accounts.extend((0..others).map(|index| (other(index), ether, Bytes::new())));
    let mut chain = MemoryChain::new(&accounts);
    let bundler = &mut chain.bundler;
    bundler.config = Config { gas_limit: GAS_MAX, ..bundler.config }.with_code_hash();
    bundler.params = Params { refine_gas_max: GAS_MAX, ..Params::FULL };
    bundler.limits = bundler::Limits::new(&bundler.config, &bundler.params);
    bundler.limits.transactions_max = usize::MAX;
    bundler.limits.refine_gas_max = u64::MAX;
    chain
}

pub(super) fn other(index: u64) -> Address {
    Address::left_padding_from(&(index + (1 << 40)).to_be_bytes())
}

/// A call of the contract with a body, for so many rounds.
pub(super) fn looping(wallet: u64, nonce: u64, rounds: u64, body: &Body) -> Transaction {
    let input = bodies::calldata(rounds, &body.memory);
    let gas_limit = 100_000 + 40 * input.len() as u64 + rounds.saturating_mul(body.evm + 200);
    let gas_limit = gas_limit.min(TRANSACTION_GAS_MAX);
    Wallet::new(wallet).eip1559(Call { input, gas_limit, ..Call::to(CONTRACT, nonce) })
}

/// A block of a body that takes about this much gas.
pub(super) fn of_body(machines: &Machines, name: String, body: &Body, gas: u64) -> Result<Sample, String> {
    let mut chain = chain(2, 50, bodies::looped(&[&body.code]));
    let rounds = (gas / body.weight).max(1).min((TRANSACTION_GAS_MAX - 200_000) / (body.evm + 200));
    let sealed = chain.build(&[looping(0, 0, rounds, body)]);
    if sealed.receipts.len() != 1 {
        return Err(format!("{name}: the block does not take its transaction"));
    }
    Sample::of(name, machines, &chain, &[sealed])
}

/// A block that calls so many contracts with codes of so many bytes, of which no two are the same, and of one opcode mostly.
pub(super) fn of_codes(machines: &Machines, [codes, bytes]: [u64; 2], opcode: u8) -> Result<Sample, String> {
    let address = |index: u64| Address::left_padding_from(&(index + (1 << 60)).to_be_bytes());
    let contract = |index: u64| {
        let mut code = vec![opcode; bytes as usize];
        // It stops at once.
        code[0] = 0;
        code[1..9].copy_from_slice(&index.to_be_bytes());
        (address(index), U256::ZERO, Bytes::from(code))
    };
    let mut chain = chain_with(codes, 20, vec![], (0..codes).map(contract).collect());
    let call = |index| Wallet::new(index).eip1559(Call { gas_limit: 60_000, ..Call::to(address(index), 0) });
    let sealed = chain.build(&(0..codes).map(call).collect::<Vec<_>>());
    Sample::of(format!("{codes} codes of {bytes} of {opcode:02x}"), machines, &chain, &[sealed])
}

/// How transactions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// To accounts that are there.
    Transfer,
    /// To new accounts.
    Fresh,
    /// From one sender.
    OneSender,
    /// A token.
    Token,
    Legacy,
    /// With so many bytes of data.
    Data(usize),
    AccessList,
    Delegating,
    /// Writes to forty slots.
    Store,
    /// Runs out of gas at once,
    Failing,
    /// and after some jumps.
    Spinning,
}

pub(super) const SHAPES: [Shape; 12] = [
    Shape::Transfer,
    Shape::Fresh,
    Shape::OneSender,
    Shape::Token,
    Shape::Legacy,
    Shape::Data(100),
    Shape::Data(5000),
    Shape::AccessList,
    Shape::Delegating,
    Shape::Store,
    Shape::Failing,
    Shape::Spinning,
];

/// The transaction with an index, in a block of this shape.
pub(super) fn shaped(rng: &mut Rng, shape: Shape, index: u64, nonce: u64, others: u64) -> Transaction {
    let to = other(rng.below(others.max(1)));
    let wallet = Wallet::new(index);
    let data = |rng: &mut Rng, len: usize| (0..len).map(|_| rng.bits() as u8).collect::<Bytes>();
    let call = |to, input: Bytes, gas_limit| Call { input, gas_limit, ..Call::to(to, nonce) };
    match shape {
        Shape::Transfer => wallet.eip1559(Call::transfer(to, nonce, 1)),
        Shape::Fresh => wallet.eip1559(Call::transfer(other(1 << 50 | rng.bits() >> 20), nonce, 1)),
        Shape::OneSender => Wallet::new(0).eip1559(Call::transfer(to, index, 1)),
        Shape::Token => wallet.eip1559(call(TOKEN, contracts::erc20_transfer(to, 0), 100_000)),
        Shape::Legacy => wallet.legacy(Call::transfer(to, nonce, 1)),
        Shape::Data(len) => wallet.eip1559(call(to, data(rng, len), 400_000)),
        Shape::AccessList => {
            let item = |index: u64| AccessListItem {
                address: other(index),
                storage_keys: (0..3_u64).map(|slot| B256::from(U256::from(slot))).collect(),
            };
            let access_list = AccessList((0..8).map(item).collect());
            wallet.eip2930(Call { access_list, ..call(to, Bytes::new(), 100_000) })
        }
        Shape::Delegating => {
            // One to seven, some of them for another nonce.
            let authorities = (0..1 + 3 * (index % 3))
                .map(|at| Wallet::new(1_000_000 + 8 * index + at).delegates(STORE, u64::from(at % 4 == 2)));
            wallet.eip7702(call(to, Bytes::new(), 400_000), authorities.collect())
        }
        Shape::Store => {
            let input = U256::from(40).to_be_bytes::<32>().to_vec().into();
            wallet.eip1559(call(STORE, input, 1_500_000))
        }
        Shape::Spinning => wallet.eip1559(call(SPIN, Bytes::new(), 21_000 + rng.below(200_000))),
        Shape::Failing => wallet.eip1559(call(STORE, data(rng, 32), 30_000)),
    }
}

/// Blocks of one shape, as one run.
pub(super) fn of_shape(
    machines: &Machines,
    shape: Shape,
    [transactions, others, blocks]: [u64; 3],
) -> Result<Sample, String> {
    let mut rng = Rng::new(transactions);
    let start = chain(transactions, others, vec![]);
    let (mut chain, mut sealed) = (start.clone(), vec![]);
    for block in 0..blocks {
        let list = (0..transactions).map(|index| {
            let nonce = if shape == Shape::OneSender { 0 } else { block };
            let index = if shape == Shape::OneSender { index + block * transactions } else { index };
            shaped(&mut rng, shape, index, nonce, others)
        });
        let built = chain.build(&list.collect::<Vec<_>>());
        chain.advance(&built);
        sealed.push(built);
    }
    let name = format!("{shape:?} {transactions} of {others} in {blocks}");
    Sample::of(name, machines, &start, &sealed)
}
