//! A whole life in steps: accepted, replaced, sealed, submitted, folded, released (what was folded is taken back), sealed
//! again, final.

use alloy_primitives::{Address, B256, U256};
use harness::blocks::{self, Call, MemoryChain, SERVICE, Wallet, contracts};
use jam::{HeaderHash, PackageHash, Params, follow::Start, sample::Author};
use queue::{QueuedBlock, Record, ServiceCode, Size, Version};
use service::{accumulate::ServiceState, genesis::Genesis};
use state::{Layer, Tree};
use std::sync::{Arc, LazyLock};
use store::{Batch, ChainIdentity, Options, Unfinished};
use txpool::{Lookup, Status};
use types::{BlockId, Reason, Release, ReleasedBy, Time, Transaction};

/// The token that logs.
pub(super) const TOKEN: Address = Address::repeat_byte(0x70);
/// Another one.
pub(super) const OTHER_TOKEN: Address = Address::repeat_byte(0x71);

/// The first block: two tokens, and wallets that have ether and tokens.
pub(super) fn genesis() -> Genesis {
    static GENESIS: LazyLock<Genesis> = LazyLock::new(make_genesis);
    GENESIS.clone()
}

fn make_genesis() -> Genesis {
    let mut genesis = Genesis::dev(&blocks::config());
    for token in [TOKEN, OTHER_TOKEN] {
        let slots = (0..8)
            .map(|index| (contracts::erc20_slot(Wallet::new(index).address()), U256::from(1_000_000_u64)));
        let leaves =
            state::account_writes::<state::Blake2b>(token, 1, U256::ZERO, &contracts::erc20(), slots)
                .unwrap();
        genesis.writes.extend(leaves);
    }
    genesis.codes.insert(contracts::erc20());
    for index in 0..8 {
        let wei = U256::from(10).pow(U256::from(20));
        genesis.writes.extend(blocks::leaves(Wallet::new(index).address(), wei, &[]));
    }
    genesis.header.state_root = Tree::<state::Blake2b>::default().update(&genesis.writes).root();
    genesis
}

pub(super) fn identity() -> ChainIdentity {
    ChainIdentity {
        genesis: genesis().id().hash,
        service: SERVICE,
        builder: blocks::config().builder,
        jam_genesis: HeaderHash(B256::repeat_byte(0x1a)),
    }
}

pub(super) fn options() -> Options {
    Options { window_blocks: 1, ended_max: 2, cache_bytes: 1 << 20, ..Options::new(identity(), Params::TINY) }
}

/// A chain on that first block.
pub(super) fn chain() -> MemoryChain {
    let genesis = genesis();
    let values = genesis.writes.iter().map(|(key, value)| (*key, *value)).collect();
    let layer = Layer::new(Arc::new(values), Tree::default().update(&genesis.writes), 0);
    MemoryChain::at(bundler::Parent::new(genesis.header, layer), genesis.codes, blocks::config())
}

pub(super) fn transfer(wallet: u64, nonce: u64) -> Transaction {
    Wallet::new(wallet).eip1559(Call::transfer(Address::repeat_byte(0x99), nonce, 7))
}

pub(super) fn token_transfer(wallet: u64, nonce: u64, token: Address, to: Address) -> Transaction {
    let call = Call { input: contracts::erc20_transfer(to, 5), gas_limit: 100_000, ..Call::to(token, nonce) };
    Wallet::new(wallet).eip1559(call)
}

pub(super) fn creation(wallet: u64, nonce: u64, code: &[u8]) -> Transaction {
    Wallet::new(wallet).eip1559(Call::create(contracts::deploy(code), nonce))
}

pub(super) fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// What a step does.
#[derive(Clone)]
pub(super) enum Deed {
    Accept(Transaction, Time),
    End(B256, Reason, Time),
    Release(B256, u32, Release),
    Return(Lookup),
    Seal(u64, Box<Unfinished>),
    Queue(Record),
    Checkpoint(u64),
}

/// The steps of a run.
pub(super) type Script = Vec<Vec<Deed>>;

/// The batch of a step, made anew.
pub(super) fn batch(step: &[Deed]) -> Batch {
    let mut batch = Batch::new();
    for deed in step.iter().cloned() {
        match deed {
            Deed::Accept(tx, at) => batch.accepted(&tx, at),
            Deed::End(hash, reason, at) => batch.ended(hash, reason, at),
            Deed::Release(hash, attempts, release) => batch.released(hash, Some(at(1)), attempts, release),
            Deed::Return(lookup) => batch.returned(lookup),
            Deed::Seal(build, block) => batch.sealed(build, *block),
            Deed::Queue(record) => batch.queue(record),
            Deed::Checkpoint(head) => {
                batch.checkpoint(&start(), &service_state(head), ServiceCode::new(B256::ZERO));
            }
        }
    }
    batch
}

/// Where following begins.
pub(super) fn start() -> Start {
    static START: LazyLock<Start> = LazyLock::new(|| {
        jam::sample::allow_simulated_keys();
        Author::simulated(Params::TINY).start()
    });
    START.clone()
}

pub(super) fn service_state(head: u64) -> ServiceState {
    ServiceState::new(BlockId::new(head, B256::with_last_byte(head as u8)))
}

/// Builds blocks and remembers what the queue would say of them.
pub(super) struct Writer {
    pub(super) chain: MemoryChain,
    pub(super) ids: Vec<BlockId>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { chain: chain(), ids: vec![genesis().id()] }
    }

    pub(super) fn accept(&self, txs: &[Transaction]) -> Vec<Deed> {
        txs.iter().zip(1..).map(|(tx, ms)| Deed::Accept(tx.clone(), at(ms))).collect()
    }

    /// Seals a block on the newest one.
    pub(super) fn seal(&mut self, txs: &[Transaction]) -> Vec<Deed> {
        let sealed = self.chain.build(txs);
        assert_eq!(sealed.receipts.len(), txs.len(), "all of them can be executed");
        self.chain.advance(&sealed);
        let block = sealed.block().id();
        let parent = *self.ids.last().unwrap();
        self.ids.push(block);
        let queued = QueuedBlock {
            id: block,
            transactions: txs.len() as u32,
            is_alone: false,
            size: Size::default(),
            sealed_at: at(1_000 * block.number),
        };
        let record = Record::Enqueued { block: queued, parent };
        let formed = Record::Formed { first: block.number, last: block.number };
        vec![
            Deed::Queue(record),
            Deed::Seal(self.chain.builds, Box::new(Unfinished::from(&sealed))),
            Deed::Queue(formed),
        ]
    }

    pub(super) fn finalize(&self, number: usize) -> Deed {
        Deed::Queue(Record::Finalized { through: self.ids[number] })
    }
}

fn submitted(block: u64) -> Deed {
    let version = Version {
        number: 1,
        package: PackageHash(B256::with_last_byte(block as u8)),
        context: blocks::context(block as u8),
        code_hash: B256::ZERO,
        anchor_height: 9,
        core: 1,
        sent_at: at(5_000),
        sends: 1,
        taken: false,
        counted: false,
    };
    Deed::Queue(Record::Submitted { block, version })
}

/// A block was given up with a transaction in it.
pub(super) fn released(tx: &Transaction, attempts: u32, block: BlockId, by: ReleasedBy) -> Deed {
    let sealed_at = at(1_000 * block.number);
    let release = Release { block, sealed_at, released_at: sealed_at + types::Duration::from_secs(9), by };
    Deed::Release(tx.hash(), attempts, release)
}

pub(super) fn returned(tx: &Transaction, attempts: u32) -> Deed {
    let (status, added_at) = (Status::Pending, at(77));
    Deed::Return(Lookup { tx: tx.clone(), status, added_at, attempts, lone_failures: 0, returned: true })
}

/// The whole life.
pub(super) fn life() -> Script {
    let mut writer = Writer::new();
    let a = [
        transfer(0, 0),
        token_transfer(1, 0, TOKEN, Address::repeat_byte(1)),
        creation(2, 0, contracts::LOG),
    ];
    let b = [transfer(0, 1), token_transfer(1, 1, OTHER_TOKEN, Address::repeat_byte(2))];
    let c = [transfer(3, 0), transfer(3, 1)];
    let gone = [transfer(4, 0), transfer(5, 0), transfer(6, 0)];
    let mut script = vec![writer.accept(&a), writer.accept(&b), writer.accept(&[&c[..], &gone].concat())];
    script.push(vec![
        Deed::End(gone[0].hash(), Reason::Expired, at(50)),
        Deed::End(gone[1].hash(), Reason::Replaced { by: gone[2].hash() }, at(51)),
    ]);
    script.push(writer.seal(&a));
    script.push(vec![submitted(1)]);
    let before_release = writer.chain.clone();
    script.push(writer.seal(&b));
    script.push(writer.seal(&c));
    script.push(vec![Deed::Queue(Record::Taken { block: 1, version: 1 }), Deed::Checkpoint(0), submitted(2)]);
    script.push(vec![writer.finalize(1), Deed::Checkpoint(1)]);
    let abandoned = Record::Abandoned { from: 2, by: ReleasedBy::Chain };
    let requeued = Record::Requeued { block: 2, counted: true, again: false };
    script.push(vec![Deed::Queue(requeued), Deed::Queue(abandoned)]);
    let mut release = vec![Deed::Queue(Record::Released { from: 2 })];
    let (second, third) = (writer.ids[2], writer.ids[3]);
    release.extend(b.iter().map(|tx| released(tx, 1, second, ReleasedBy::Chain)));
    release.extend(c.iter().map(|tx| released(tx, 0, third, ReleasedBy::Chain)));
    release.extend(b.iter().chain(&c).map(|tx| returned(tx, 1)));
    release.push(Deed::End(gone[2].hash(), Reason::Poisonous { attempts: 3 }, at(99)));
    script.push(release);
    writer.chain = MemoryChain { builds: writer.chain.builds, ..before_release };
    writer.ids.truncate(2);
    script.push(writer.seal(&[&c[..], &b].concat()));
    for nonce in 2..7 {
        let tx = transfer(0, nonce);
        script.push(writer.accept(std::slice::from_ref(&tx)));
        script.push(writer.seal(&[tx]));
        script.push(vec![writer.finalize(writer.ids.len() - 2)]);
    }
    // Two at once, and something unfinished stays.
    script.push(writer.accept(&[transfer(7, 0), token_transfer(1, 2, TOKEN, Address::repeat_byte(3))]));
    script.push([writer.seal(&[]), writer.seal(&[transfer(7, 0)])].concat());
    script.push(vec![writer.finalize(writer.ids.len() - 2), Deed::Checkpoint(7)]);
    script
}
