//! What a node finds on its disk after a restart: rows that are refused as a whole, or give a queue in which everything
//! holds and that goes on.
//!
//! The first byte says what the rest is: the queue's records as they are kept; operations that make records which nearly
//! fit together; or rows for the tables of a store that had a small life before.

use super::sections::{Sections, joined};
use alloy_primitives::{Address, B256};
use arbitrary::{Result, Unstructured};
use harness::blocks::{self, Call, MemoryChain, Wallet};
use jam::{HeaderHash, PackageHash, Params};
use queue::{Config, QueuedBlock, Record, Size, Version, model::resume};
use service::genesis::Genesis;
use store::{Batch, Options, Row, Store, Unfinished};
use types::{BlockId, ReleasedBy, Time};

const RECORDS: u8 = 0;
const OPERATIONS: u8 = 1;
const ROWS: u8 = 2;
const RECORDS_MAX: usize = 64;

pub(super) fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match *kind {
        RECORDS => records(rest),
        OPERATIONS => operations(rest),
        ROWS => rows(rest),
        _ => {}
    }
}

fn config() -> Config {
    Config::new(&Params::TINY, 6000)
}

fn records(bytes: &[u8]) {
    restores(bytes);
}

/// Whether the rows are the journal of a queue.
fn restores(bytes: &[u8]) -> bool {
    let records = Sections(bytes).take(RECORDS_MAX).map(Record::from_bytes).collect::<Result<Vec<_>, _>>();
    records.is_ok_and(|records| resume(&config(), records).is_ok())
}

fn operations(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut made = Made { newest: queue::model::genesis(), records: vec![] };
    while !input.is_empty() && made.records.len() < RECORDS_MAX && made.next(&mut input).is_ok() {}
    let read =
        |record: &Record| Record::from_bytes(&record.to_bytes()).expect("what was written can be read");
    let records = made.records.iter().map(read).collect::<Vec<_>>();
    assert_eq!(records, made.records);
    let _ = resume(&config(), records);
}

/// Records that nearly fit together: numbers are small, and blocks mostly stand on each other.
struct Made {
    newest: BlockId,
    records: Vec<Record>,
}

impl Made {
    fn next(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let block = |input: &mut Unstructured<'_>| input.int_in_range(0..=6_u64);
        let record = match input.int_in_range(0..=19_u8)? {
            0..=3 => self.enqueued(input)?,
            4..=7 => Record::Submitted { block: block(input)?, version: version(input)? },
            8 => Record::Taken { block: block(input)?, version: input.int_in_range(0..=3)? },
            9 | 10 => Record::Requeued {
                block: block(input)?,
                counted: input.arbitrary()?,
                again: input.arbitrary()?,
            },
            11 => {
                let by = if input.arbitrary()? { ReleasedBy::Chain } else { ReleasedBy::Operator };
                Record::Abandoned { from: block(input)?, by }
            }
            12 => Record::Retried,
            13 => Record::Revived,
            16..=18 => Record::Formed { first: block(input)?, last: block(input)? },
            19 => Record::Dissolved { first: block(input)?, second: block(input)?, last: block(input)? },
            14 => Record::Released { from: self.lower_to(block(input)?) },
            _ => Record::Finalized { through: self.newest },
        };
        self.records.push(record);
        Ok(())
    }

    fn enqueued(&mut self, input: &mut Unstructured<'_>) -> Result<Record> {
        let parent = if input.ratio(15, 16)? { self.newest } else { BlockId::new(3, B256::ZERO) };
        let number = parent.number.saturating_add(1);
        self.newest = BlockId::new(number, B256::with_last_byte(self.records.len() as u8));
        let block = QueuedBlock {
            id: self.newest,
            transactions: input.int_in_range(0..=2)?,
            is_alone: input.ratio(1, 8)?,
            size: Size::default(),
            sealed_at: Time::ZERO,
        };
        Ok(Record::Enqueued { block, parent })
    }

    /// What is built next stands below a released block.
    fn lower_to(&mut self, from: u64) -> u64 {
        let blocks = self.records.iter().rev().filter_map(|record| match record {
            Record::Enqueued { block, .. } if block.id.number < from => Some(block.id),
            _ => None,
        });
        self.newest = blocks.into_iter().next().unwrap_or_else(queue::model::genesis);
        from
    }
}

fn version(input: &mut Unstructured<'_>) -> Result<Version> {
    let package = input.int_in_range(0..=7)?;
    let odd = input.ratio(1, 16)?;
    Ok(Version {
        number: input.int_in_range(1..=3)?,
        package: PackageHash(B256::with_last_byte(package)),
        context: blocks::context(package),
        code_hash: B256::ZERO,
        anchor_height: if odd { u64::MAX - u64::from(package) } else { u64::from(package) },
        core: input.int_in_range(0..=2)?,
        sent_at: Time::from_millis(if odd { u64::MAX } else { input.int_in_range(0..=60_000)? }),
        sends: input.int_in_range(1..=3)?,
        taken: odd,
        counted: input.ratio(1, 4)?,
    })
}

/// A store with a final and an unfinished block, and a transaction that waits.
struct Life {
    genesis: Genesis,
    steps: Vec<Batch>,
}

fn life() -> Life {
    let chain_of = |genesis: &Genesis| {
        let values = genesis.writes.iter().map(|(key, value)| (*key, *value)).collect();
        let tree = state::Tree::default().update(&genesis.writes);
        let layer = state::Layer::new(std::sync::Arc::new(values), tree, 0);
        MemoryChain::at(
            bundler::Parent::new(genesis.header.clone(), layer),
            genesis.codes.clone(),
            blocks::config(),
        )
    };
    let mut genesis = Genesis::dev(&blocks::config());
    let wei = alloy_primitives::U256::from(10).pow(alloy_primitives::U256::from(20));
    genesis.writes.extend(blocks::leaves(Wallet::new(0).address(), wei, &[]));
    genesis.header.state_root = state::Tree::<state::Blake2b>::default().update(&genesis.writes).root();
    let mut chain = chain_of(&genesis);
    let mut parent = genesis.id();
    let mut steps = vec![];
    for nonce in 0..2 {
        let tx = Wallet::new(0).eip1559(Call::transfer(Address::repeat_byte(9), nonce, 1));
        let mut batch = Batch::new();
        batch.accepted(&tx, Time::from_millis(nonce));
        let sealed = chain.build(std::slice::from_ref(&tx));
        chain.advance(&sealed);
        let block = sealed.block().id();
        let (size, sealed_at) = (Size::default(), Time::ZERO);
        let queued = QueuedBlock { id: block, transactions: 1, is_alone: false, size, sealed_at };
        batch.queue(Record::Enqueued { block: queued, parent });
        batch.sealed(chain.builds, Unfinished::from(&sealed));
        if nonce == 0 {
            batch.queue(Record::Formed { first: block.number, last: block.number });
            batch.queue(Record::Finalized { through: block });
        }
        parent = block;
        steps.push(batch);
    }
    Life { genesis, steps }
}

fn store(life: &Life) -> Store {
    let chain = store::ChainIdentity {
        genesis: life.genesis.id().hash,
        service: blocks::SERVICE,
        builder: blocks::config().builder,
        jam_genesis: HeaderHash(B256::repeat_byte(0x1a)),
    };
    let options = Options { cache_bytes: 1 << 20, ..Options::new(chain, Params::TINY) };
    let store = Store::in_memory(options, &life.genesis).expect("memory does not fail");
    life.steps.iter().for_each(|step| drop(store.commit(step).expect("the steps fit together")));
    store
}

fn rows(bytes: &[u8]) {
    recovers(bytes);
}

/// Whether a store recovers with these rows planted: each a key, and what stands there, nothing if the row goes.
fn recovers(bytes: &[u8]) -> bool {
    static LIFE: std::sync::LazyLock<Life> = std::sync::LazyLock::new(life);
    let store = store(&LIFE);
    let mut rows = Sections(bytes);
    while let Some(key) = rows.next() {
        let Some((row, goes)) = row(key) else { continue };
        let value = rows.take_or_empty();
        store.plant(row, (!goes).then_some(value)).expect("memory does not fail");
    }
    let recovered = store.load();
    let _ = store.check(|_| {});
    let Ok(recovered) = recovered else { return false };
    let clock = jam::SlotClock::common_era(&Params::TINY);
    let queue = queue::Queue::restore(config(), clock, recovered.finalized, recovered.records, Time::ZERO);
    queue.is_ok_and(|queue| {
        queue::model::check_indexes(&queue);
        true
    })
}

/// The table is the first byte, whether the row goes the second, the number or hash what follows.
fn row(key: &[u8]) -> Option<(Row<'static>, bool)> {
    let ([table, goes], rest) = key.split_first_chunk::<2>()?;
    let mut number = [0; 8];
    rest.iter().zip(&mut number).for_each(|(from, to)| *to = *from);
    let number = u64::from_le_bytes(number);
    let row = match table {
        0 => Row::Meta("position"),
        1 => Row::Meta("checkpoint"),
        2 => Row::Transaction(number),
        3 => Row::Record(number),
        4 => Row::Header(number),
        5 => Row::Body(number),
        6 => Row::Receipts(number),
        7 => Row::Writes(number),
        _ => return None,
    };
    Some((row, *goes == 1))
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut source = jam::sample::Source::new(&Params::TINY, 3);
    let mut walk = queue::model::Walk::new(config(), |end| source.below(end));
    walk.run(12);
    let journal = joined(walk.journal().iter().take(12).map(Record::to_bytes));
    let header = alloy_rlp::encode(&life().genesis.header);
    let version = Record::Taken { block: 2, version: 1 }.to_bytes();
    let key = |table: u8, goes: u8, number: u64| [&[table, goes][..], &number.to_le_bytes()].concat();
    let rows = joined([key(4, 0, 2), header, key(3, 0, 9), version, key(6, 1, 2), vec![]]);
    let abandoned = Record::Abandoned { from: 2, by: ReleasedBy::Chain }.to_bytes();
    let harmless = joined([key(3, 0, 9), abandoned, key(4, 1, 7), vec![]]);
    let noise = source.bytes(160);
    let seeds = [
        (RECORDS, "records", journal),
        (OPERATIONS, "operations", noise),
        (ROWS, "rows", rows),
        (ROWS, "harmless-rows", harmless),
    ];
    seeds.map(|(kind, name, bytes)| (name.to_owned(), [vec![kind], bytes].concat())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise what is close to a seed would never be a queue.
    #[test]
    fn seeds_come_as_far_as_they_should() {
        let seed = |name: &str| {
            let found = seeds().into_iter().find(|(found, _)| found == name);
            found.expect("there is such a seed").1[1..].to_vec()
        };
        assert!(restores(&seed("records")));
        assert!(recovers(&[]) && recovers(&seed("harmless-rows")));
        assert!(!recovers(&seed("rows")));
    }
}
