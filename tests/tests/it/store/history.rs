//! States of the past: the values after any block, whatever happened since, against a model that keeps every state whole.

use super::script::{at, genesis, identity, options, transfer};
use alloy_consensus::{EMPTY_ROOT_HASH, Header};
use bundler::Draft;
use driver::{Blocks as _, EvmBlocks, EvmBuilder, Folded as _};
use harness::blocks;
use jam::{Ed25519Secret, Params};
use proptest::prelude::*;
use queue::Record;
use state::{Blake2b, Key, Tree, Value, Values, Writes};
use std::{collections::BTreeMap, sync::Arc};
use store::{Base, Batch, CodeTable, Options, Store, StoreError, Unfinished};
use types::{BlockId, SealedBlock};

type Whole = BTreeMap<Key, Value>;

/// Keys that blocks write: few, so that they are written again and again.
fn key(index: u8) -> Key {
    let mut bytes = [index; 32];
    bytes[0] = index.wrapping_mul(67);
    Key::new(bytes)
}

/// What is done.
#[derive(Clone, Debug)]
enum Deed {
    /// Seals a block that writes these.
    Seal(Vec<(u8, u8)>),
    /// Makes unfinished blocks final.
    Finalize(usize),
    /// Releases the newest blocks.
    Release(usize),
    /// Opens the file again.
    Restart,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let writes = prop::collection::vec((0..12_u8, 0..4_u8), 0..5);
    let deed = prop_oneof![
        10 => writes.prop_map(Deed::Seal),
        2 => (1..6_usize).prop_map(Deed::Finalize),
        2 => (1..20_usize).prop_map(Deed::Release),
        1 => Just(Deed::Restart),
    ];
    prop::collection::vec(deed, 1..60)
}

/// Every state there is, and the store that should have them.
struct World {
    store: Store,
    path: std::path::PathBuf,
    options: Options,
    /// The state after each block.
    states: Vec<Whole>,
    headers: Vec<Header>,
    finalized: usize,
    /// Makes the blocks of a number differ.
    counter: u64,
    oldest: u64,
    _directory: tempfile::TempDir,
}

impl World {
    fn new(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pectin.redb");
        let store = Store::open(&path, options.clone(), &genesis()).unwrap();
        let genesis = genesis();
        Self {
            store,
            path,
            options,
            states: vec![genesis.writes.into_iter().collect()],
            headers: vec![genesis.header],
            finalized: 0,
            counter: 0,
            oldest: 0,
            _directory: directory,
        }
    }

    fn newest(&self) -> usize {
        self.headers.len() - 1
    }

    fn act(&mut self, deed: &Deed) {
        match deed {
            Deed::Seal(written) => {
                let written = written.iter().map(|(index, value)| (key(*index), Value::repeat_byte(*value)));
                self.seal(written.collect());
            }
            Deed::Finalize(count) => {
                let through = (self.finalized + count).min(self.newest());
                if through > self.finalized {
                    let id = BlockId::new(through as u64, self.headers[through].hash_slow());
                    self.queue(Record::Finalized { through: id });
                    self.finalized = through;
                }
            }
            Deed::Release(count) => {
                let from = (self.newest() + 1).saturating_sub(*count).max(self.finalized + 1);
                self.queue(Record::Released { from: from as u64 });
                self.headers.truncate(from);
                self.states.truncate(from);
            }
            Deed::Restart => {
                let spare = Store::in_memory(options(), &genesis()).unwrap();
                drop(std::mem::replace(&mut self.store, spare));
                self.store = Store::open(&self.path, self.options.clone(), &genesis()).unwrap();
            }
        }
    }

    fn queue(&self, record: Record) {
        let mut batch = Batch::new();
        batch.queue(record);
        self.store.commit(&batch).unwrap();
    }

    fn seal(&mut self, writes: Writes) {
        let parent = self.headers[self.newest()].clone();
        let mut state = self.states[self.newest()].clone();
        state.extend(writes.iter().map(|(key, value)| (*key, *value)));
        self.counter += 1;
        let header = Header {
            parent_hash: parent.hash_slow(),
            number: parent.number + 1,
            timestamp: self.counter,
            state_root: Tree::<Blake2b>::default().update(&state.clone().into_iter().collect()).root(),
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            ..Header::default()
        };
        let block = SealedBlock::new(header.clone(), vec![]);
        let draft = Draft { parent, block, signature: jam::Signature::default() };
        let (writes, created) = (Arc::new(writes), Default::default());
        let mut batch = Batch::new();
        batch.sealed(self.counter, Unfinished { draft, receipts: [].into(), writes, created });
        self.store.commit(&batch).unwrap();
        self.headers.push(header);
        self.states.push(state);
    }

    /// Every key at every height is what the model says, or its state was pruned.
    fn compare(&mut self) {
        let stat = self.store.stat().unwrap();
        assert!(stat.oldest >= self.oldest, "what was pruned does not come back");
        self.oldest = stat.oldest;
        let kept = self.options.history_blocks.unwrap_or(u64::MAX);
        let newest = self.newest() as u64;
        if self.options.history_blocks.is_none() {
            assert_eq!(stat.oldest, 0);
        } else {
            let horizon = newest.saturating_sub(kept).min(self.finalized as u64).min(stat.folded);
            assert!(stat.oldest >= horizon, "{} {horizon}", stat.oldest);
        }
        let layers = self.store.states(|_| {}).unwrap();
        for (height, state) in (0..).zip(&self.states) {
            let compare = |values: &dyn Values<Error = StoreError>| {
                let keys = state.keys().copied().chain((0..12).map(key));
                for key in keys {
                    assert_eq!(values.value(&key).unwrap(), state.get(&key).copied(), "{key} at {height}");
                }
            };
            match self.store.values_at(height) {
                Ok(Some(values)) => compare(&values),
                Ok(None) => {
                    let layer =
                        layers.iter().find(|layer| layer.height() == height).expect("it is not folded");
                    assert_eq!(layer.root(), self.headers[height as usize].state_root);
                    compare(layer);
                }
                Err(why) => {
                    assert!(height < stat.oldest, "block {height}: {why}");
                    assert!(why.to_string().contains("--history keeps more"), "{why}");
                }
            }
        }
    }
}

fn windowed(window_blocks: u64, history_blocks: Option<u64>) -> Options {
    Options { window_blocks, history_blocks, ..options() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sealed, folded, final, released, opened again: the value of every key after every block is what it was.
    #[test]
    fn every_key_is_what_it_was_at_every_height(
        deeds in deeds(), window in 1..5_u64, history in prop::option::of(0..12_u64),
    ) {
        let mut world = World::new(windowed(window, history));
        for deed in &deeds {
            world.act(deed);
            world.compare();
        }
        world.store.check(|_| {}).unwrap();
    }
}

/// A base that was taken before a release goes on with the values that it had: no read mixes two chains.
#[test]
fn a_base_from_before_a_release_keeps_its_values() {
    let mut world = World::new(windowed(1, None));
    for value in 1..=9 {
        world.act(&Deed::Seal(vec![(0, value), (value, value)]));
    }
    let (before, states) = (world.store.base(), world.states.clone());
    assert!(before.height() > 5, "unfinished blocks were folded");
    world.act(&Deed::Release(7));
    for value in 20..=29 {
        world.act(&Deed::Seal(vec![(0, value)]));
    }
    world.compare();
    for (height, state) in (0..=before.height()).zip(&states) {
        let values = before.at(height).unwrap().unwrap();
        for index in 0..12 {
            assert_eq!(values.value(&key(index)).unwrap(), state.get(&key(index)).copied());
        }
    }
    assert_ne!(before.block_hash(), world.store.base().block_hash());
}

/// The history of a file says how much a changed value costs.
#[test]
fn a_changed_value_costs_about_a_hundred_bytes() {
    let mut world = World::new(windowed(1, None));
    for block in 0..200_u8 {
        world.act(&Deed::Seal((0..12).map(|index| (index, block)).collect()));
    }
    let stat = world.store.stat().unwrap();
    let each = stat.history_bytes_per_value().unwrap();
    println!("{each} bytes for each changed value");
    assert!((72..=108).contains(&each), "{each}");
}

fn builder() -> EvmBuilder {
    EvmBuilder::new(blocks::bundler(blocks::config()), Ed25519Secret::trivial(99))
}

/// A driver's blocks over a store, as a node has them.
struct Chain {
    store: Store,
    blocks: EvmBlocks<Base, CodeTable>,
    headers: Vec<Header>,
    builds: u64,
}

impl Chain {
    fn new() -> Self {
        Self::with_history(None)
    }

    fn with_history(history_blocks: Option<u64>) -> Self {
        let options = Options { window_blocks: 4, history_blocks, ..Options::new(identity(), Params::TINY) };
        let store = Store::in_memory(options, &genesis()).unwrap();
        let blocks = store.blocks(builder(), |_| {}).unwrap();
        Self { store, blocks, headers: vec![genesis().header], builds: 0 }
    }

    /// Seals a block with a transfer and makes it durable; the driver hears of the fold if it is told.
    fn seal(&mut self, nonce: u64, told: bool) {
        self.builds += 1;
        let mut open = self.blocks.open(at(self.builds * 1000).as_secs(), self.builds).unwrap();
        driver::OpenBlock::push(&mut open, &transfer(0, nonce)).unwrap();
        let added = self.blocks.seal(open).unwrap();
        self.headers.push(added.sealed.draft.block.header().clone());
        let mut batch = Batch::new();
        batch.sealed(self.builds, added.sealed);
        let committed = self.store.commit(&batch).unwrap();
        if let Some(base) = committed.base.filter(|_| told) {
            self.blocks.rebase(base.height(), &base);
        }
    }

    fn finalize(&mut self, number: u64) {
        let id = BlockId::new(number, self.headers[number as usize].hash_slow());
        self.blocks.finalize(id).unwrap();
        let mut batch = Batch::new();
        batch.queue(Record::Finalized { through: id });
        self.store.commit(&batch).unwrap();
    }

    fn compare(&mut self) {
        let newest = self.headers.len() as u64 - 1;
        assert_eq!(self.blocks.newest_id(), BlockId::new(newest, self.headers[newest as usize].hash_slow()));
        let shown = self.blocks.view().blocks;
        assert_eq!(shown.last().map(|block| block.id()), Some(self.blocks.newest_id()));
        assert!(shown.len() < 10, "{} blocks are in memory", shown.len());
        for block in shown.iter() {
            let header = &self.headers[block.id().number as usize];
            assert_eq!((block.layer.root(), block.block.block.header()), (header.state_root, header));
            assert_eq!(block.block.receipts.len(), block.block.block.transactions().len());
        }
        for block in self.blocks.final_id().number + 1..=newest {
            let layer = self.blocks.layer_before(block).unwrap();
            assert_eq!(
                (layer.height(), layer.root()),
                (block - 1, self.headers[block as usize - 1].state_root)
            );
            let keys = genesis().writes.into_keys().take(3).collect();
            layer.witness(&keys).unwrap();
        }
        let account = self.blocks.account(blocks::Wallet::new(0).address()).unwrap();
        assert_eq!(account.nonce, newest);
    }
}

/// Forty unfinished blocks, of which memory has a handful: each can be packaged, all survive a restart, and a release goes
/// back behind what was folded.
#[test]
fn unfinished_blocks_that_left_memory_can_be_packaged_and_released() {
    let mut chain = Chain::new();
    for nonce in 0..40 {
        chain.seal(nonce, true);
    }
    chain.blocks.pin(7).unwrap();
    chain.compare();
    for block in chain.store.load().unwrap().blocks {
        let built = chain.blocks.get(block.draft.id().number).unwrap();
        let parent = chain.blocks.parent_of(built).unwrap();
        builder().bundler.replay(&built.draft, &parent, chain.store.codes()).unwrap();
    }
    chain.blocks = chain.store.blocks(builder(), |_| {}).unwrap();
    let unfinished = chain.store.load().unwrap().blocks;
    unfinished.into_iter().for_each(|block| chain.blocks.restore(block));
    chain.compare();
    // The store folds once more, and the driver hears of it only when it has released what was folded.
    chain.seal(40, false);
    chain.seal(41, false);
    let stale = chain.store.base();
    assert!(stale.height() > 30);
    let removed = chain.blocks.release(11);
    assert_eq!(removed.len(), 32);
    chain.headers.truncate(11);
    chain.blocks.rebase(stale.height(), &stale);
    chain.compare();
    let mut batch = Batch::new();
    batch.queue(Record::Released { from: 11 });
    let base = chain.store.commit(&batch).unwrap().base.expect("folded blocks were taken back");
    assert_eq!(base.height(), 10);
    chain.blocks.rebase(base.height(), &base);
    chain.compare();
    for nonce in 10..30 {
        chain.seal(nonce, true);
        chain.compare();
    }
    chain.store.check(|_| {}).unwrap();
}

/// Final blocks leave memory too, and the last one is there whatever is released.
#[test]
fn a_release_of_everything_goes_back_to_the_final_block() {
    let mut chain = Chain::new();
    for nonce in 0..20 {
        chain.seal(nonce, true);
    }
    (1..=6).for_each(|number| chain.finalize(number));
    chain.compare();
    chain.blocks.release(7);
    chain.headers.truncate(7);
    chain.compare();
    assert_eq!(chain.blocks.newest_id().number, 6);
    let shown = chain.blocks.view().blocks;
    assert_eq!((shown.len(), shown[0].block.receipts.len()), (1, 1));
}

/// Without a history the trees before unfinished blocks can be made nevertheless, also after a restart.
#[test]
fn unfinished_blocks_need_no_history() {
    let mut chain = Chain::with_history(Some(0));
    for nonce in 0..24 {
        chain.seal(nonce, true);
    }
    for number in 1..=18 {
        chain.finalize(number);
        chain.seal(23 + number, true);
        assert_eq!(chain.store.stat().unwrap().oldest, number);
        chain.compare();
    }
    chain.blocks = chain.store.blocks(builder(), |_| {}).unwrap();
    let unfinished = chain.store.load().unwrap().blocks;
    unfinished.into_iter().for_each(|block| chain.blocks.restore(block));
    chain.compare();
    chain.blocks.release(20);
    chain.headers.truncate(20);
    chain.compare();
}

/// Blocks that left memory are found by hash before they are final, and not any more once they are released.
#[test]
fn folded_blocks_are_found_by_hash() {
    let mut chain = Chain::new();
    for nonce in 0..12 {
        chain.seal(nonce, true);
    }
    let folded = chain.store.base().height();
    let hash = |number: usize| chain.headers[number].hash_slow();
    let places = |store: &Store, number: u64| {
        let reader = store.reader().unwrap();
        let tx = transfer(0, number - 1).hash();
        (reader.number(&hash(number as usize)).unwrap(), reader.place(&tx).unwrap())
    };
    for number in 1..=folded {
        assert_eq!(places(&chain.store, number), (Some(number), Some((number, 0))));
    }
    let mut batch = Batch::new();
    batch.queue(Record::Released { from: 3 });
    chain.store.commit(&batch).unwrap();
    assert_eq!(places(&chain.store, 2), (Some(2), Some((2, 0))));
    for number in 3..=folded {
        assert_eq!(places(&chain.store, number), (None, None));
    }
    chain.store.check(|_| {}).unwrap();
}
