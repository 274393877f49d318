//! What the store costs: a value, a group commit, a search for logs.

#![allow(missing_docs, reason = "Criterion's macros make items without them")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use alloy_primitives::{Address, B256, U256};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use harness::blocks::{self, Call, Wallet, contracts};
use jam::{Ed25519Secret, HeaderHash, Params};
use queue::Record;
use service::{Config, genesis::Genesis};
use state::{Key, Values};
use std::hint::black_box;
use store::{Batch, ChainIdentity, LogFilter, LogLimits, Options, Store, Unfinished};
use types::{Time, Transaction};

const TOKEN: Address = Address::repeat_byte(0x70);
const RARE_TOKEN: Address = Address::repeat_byte(0x71);

fn options(genesis: &Genesis) -> Options {
    let chain = ChainIdentity {
        genesis: genesis.id().hash,
        service: blocks::SERVICE,
        builder: Ed25519Secret::trivial(99).public(),
        jam_genesis: HeaderHash(B256::ZERO),
    };
    Options::new(chain, Params::TINY)
}

fn config() -> Config {
    blocks::config()
}

/// A million values, read at random.
fn values(c: &mut Criterion) {
    let mut genesis = Genesis::dev(&config());
    for index in 0..1_000_000_u64 {
        let key = alloy_primitives::keccak256(index.to_le_bytes());
        genesis.writes.insert(Key::new(key.0), U256::from(index).into());
    }
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("pectin.redb"), options(&genesis), &genesis).unwrap();
    let keys = genesis.writes.keys().copied().collect::<Vec<_>>();
    let base = store.base();
    let mut at = 0_usize;
    c.bench_function("a value of a million, from the table", |b| {
        b.iter(|| {
            at = (at + 7_919_317) % keys.len();
            black_box(base.value(&keys[at]).unwrap())
        });
    });
    let memory = genesis.writes.iter().map(|(key, value)| (*key, *value));
    let memory = memory.collect::<state::MemoryValues>();
    c.bench_function("a value of a million, from memory", |b| {
        b.iter(|| {
            at = (at + 7_919_317) % keys.len();
            black_box(memory.value(&keys[at]).unwrap())
        });
    });
}

/// Accepted transactions, made durable together.
fn accepts(c: &mut Criterion) {
    let genesis = Genesis::dev(&config());
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("pectin.redb"), options(&genesis), &genesis).unwrap();
    let wallet = Wallet::new(0);
    let txs = (0..1000).map(|nonce| wallet.eip1559(Call::transfer(TOKEN, nonce, 1))).collect::<Vec<_>>();
    let mut group = c.benchmark_group("group commit");
    for size in [1, 100, 1000] {
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(format!("{size} accepted"), |b| {
            let batch = || {
                let mut batch = Batch::new();
                txs[..size].iter().for_each(|tx| batch.accepted(tx, Time::ZERO));
                batch
            };
            b.iter_batched(batch, |batch| store.commit(&batch).unwrap(), BatchSize::SmallInput);
        });
    }
}

/// Ten thousand blocks, each with logs; one token logs in every hundredth.
fn logs(c: &mut Criterion) {
    let code = contracts::erc20();
    let mut genesis = Genesis::dev(&config());
    for token in [TOKEN, RARE_TOKEN] {
        let slots = [(contracts::erc20_slot(Wallet::new(0).address()), U256::MAX >> 1)];
        let leaves = state::account_writes::<state::Blake2b>(token, 1, U256::ZERO, &code, slots).unwrap();
        genesis.writes.extend(leaves);
    }
    genesis.codes.insert(code);
    genesis.writes.extend(blocks::leaves(Wallet::new(0).address(), U256::MAX >> 140, &[]));
    genesis.header.state_root = state::Tree::<state::Blake2b>::default().update(&genesis.writes).root();
    let store = Store::in_memory(options(&genesis), &genesis).unwrap();
    let values = genesis.writes.iter().map(|(key, value)| (*key, *value)).collect();
    let tree = state::Tree::default().update(&genesis.writes);
    let layer = state::Layer::new(std::sync::Arc::new(values), tree, 0);
    let parent = bundler::Parent::new(genesis.header.clone(), layer);
    let mut chain = blocks::MemoryChain::at(parent, genesis.codes.clone(), config());
    for number in 0..10_000_u64 {
        let token = if number.is_multiple_of(100) { RARE_TOKEN } else { TOKEN };
        let call = |nonce| Call {
            input: contracts::erc20_transfer(Address::repeat_byte(1), 1),
            gas_limit: 100_000,
            ..Call::to(token, nonce)
        };
        let txs = [0, 1].map(|index| Wallet::new(0).eip1559(call(2 * number + index)));
        let sealed = chain.build(&txs);
        assert_eq!(sealed.receipts.iter().map(|receipt| receipt.logs().len()).sum::<usize>(), 2);
        chain.advance(&sealed);
        let mut batch = Batch::new();
        let through = sealed.block().id();
        txs.iter().for_each(|tx: &Transaction| batch.accepted(tx, Time::ZERO));
        batch.sealed(chain.builds, Unfinished::from(&sealed));
        batch.queue(Record::Finalized { through });
        store.commit(&batch).unwrap();
    }
    let filter = LogFilter { addresses: vec![RARE_TOKEN], topics: vec![] };
    let reader = store.reader().unwrap();
    c.bench_function("200 logs of an address in 10,000 blocks", |b| {
        b.iter(|| assert_eq!(reader.logs(0..=10_000, &filter, LogLimits::NONE).unwrap().len(), 200));
    });
    c.bench_function("the receipts of the 100 blocks with them", |b| {
        b.iter(|| {
            for number in (1..=10_000).step_by(100) {
                black_box(reader.logs(number..=number, &LogFilter::default(), LogLimits::NONE).unwrap());
            }
        });
    });
}

criterion_group!(benches, values, accepts, logs);
criterion_main!(benches);
