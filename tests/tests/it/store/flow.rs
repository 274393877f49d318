//! What a restart finds, step by step, and that the states are those of the blocks.

use super::script::{
    Deed, TOKEN, Writer, at, batch, creation, genesis, identity, life, options, service_state, start,
    token_transfer, transfer,
};
use alloy_primitives::{Address, B256, keccak256};
use jam::{Params, SlotClock};
use queue::{Queue, Record};
use state::{Codes, Values};
use std::collections::BTreeMap;
use store::{Options, Store};
use txpool::Status;
use types::{BlockId, Reason, SealedBlock, Transaction};

/// The same journal in memory: every record, and where each transaction is.
#[derive(Default)]
struct Model {
    places: BTreeMap<B256, Status>,
    order: Vec<B256>,
    blocks: Vec<(BlockId, Vec<B256>)>,
    finals: Vec<B256>,
    records: Vec<Record>,
}

impl Model {
    fn apply(&mut self, deed: &Deed) {
        match deed {
            Deed::Accept(tx, _) => {
                self.places.insert(tx.hash(), Status::Pending);
                self.order.push(tx.hash());
            }
            Deed::End(hash, ..) => drop(self.places.remove(hash)),
            Deed::Return(lookup) => drop(self.places.insert(lookup.tx.hash(), Status::Pending)),
            Deed::Seal(_, block) => {
                let hashes = block.draft.block.transactions().iter().map(Transaction::hash);
                self.blocks.push((block.draft.id(), hashes.collect()));
                let (id, hashes) = self.blocks.last().unwrap();
                for hash in hashes {
                    self.places.insert(*hash, Status::Bundled(*id));
                }
            }
            Deed::Queue(record) => self.record(record),
            Deed::Checkpoint(_) | Deed::Release(..) => {}
        }
    }

    fn record(&mut self, record: &Record) {
        self.records.push(record.clone());
        match record {
            Record::Released { from } => self.blocks.retain(|(id, _)| id.number < *from),
            Record::Finalized { through } => {
                let (done, rest) = self.blocks.drain(..).partition(|(id, _)| id.number <= through.number);
                self.blocks = rest;
                let done: Vec<(BlockId, Vec<B256>)> = done;
                for hash in done.into_iter().flat_map(|(_, hashes)| hashes) {
                    self.places.remove(&hash);
                    self.finals.push(hash);
                }
            }
            _ => {}
        }
    }

    fn compare(&self, store: &Store) {
        let recovered = store.load().unwrap();
        let found = recovered.transactions.iter().map(|lookup| (lookup.tx.hash(), lookup.status));
        let expected = self.order.iter().filter_map(|hash| Some((*hash, *self.places.get(hash)?)));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        let blocks = recovered.blocks.iter().map(|block| block.draft.id());
        assert_eq!(blocks.collect::<Vec<_>>(), self.blocks.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        let reader = store.reader().unwrap();
        for hash in &self.finals {
            let (tx, number, index) = reader.transaction(hash).unwrap().unwrap();
            assert_eq!(tx.hash(), *hash);
            let block = reader.receipted(number).unwrap().unwrap();
            assert_eq!(block.block.transactions()[index as usize], tx);
            assert_eq!(reader.number(&block.block.id().hash).unwrap(), Some(number));
        }
        self.compare_queue(&recovered);
    }

    fn compare_queue(&self, recovered: &store::Recovered) {
        let config = || queue::Config::new(&Params::TINY, 6000);
        let clock = || SlotClock::common_era(&Params::TINY);
        let all = Queue::replay(config(), clock(), genesis().id(), self.records.iter().cloned()).unwrap();
        let kept =
            Queue::replay(config(), clock(), recovered.finalized, recovered.records.iter().cloned()).unwrap();
        assert_eq!(kept.journal_state(), all.journal_state());
        assert!(recovered.records.len() <= 12, "{} records", recovered.records.len());
    }
}

#[test]
fn a_restart_after_any_step_finds_what_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let mut model = Model::default();
    let mut drafts = BTreeMap::new();
    for step in life() {
        let store = Store::open(&path, options(), &genesis()).unwrap();
        store.commit(&batch(&step)).unwrap();
        step.iter().for_each(|deed| model.apply(deed));
        for deed in &step {
            if let Deed::Seal(_, block) = deed {
                drafts.insert(block.draft.id(), block.clone());
            }
        }
        drop(store);
        let store = Store::open(&path, options(), &genesis()).unwrap();
        model.compare(&store);
        for block in store.load().unwrap().blocks {
            let sealed = &drafts[&block.draft.id()];
            assert_eq!(block.draft, sealed.draft);
            // Readers find the rest in the store.
            let (number, folded) = (block.draft.id().number, store.base().height());
            let receipts = if number < folded { &[] } else { &*sealed.receipts };
            assert_eq!(&*block.receipts, receipts);
            assert!(block.writes == sealed.writes || number <= folded && block.writes.is_empty());
        }
    }
    store::verify(&path).unwrap();
}

#[test]
fn ends_counters_and_the_checkpoint_survive() {
    let store = Store::in_memory(options(), &genesis()).unwrap();
    let script = life();
    for step in &script[..12] {
        store.commit(&batch(step)).unwrap();
    }
    let recovered = store.load().unwrap();
    let checkpoint = recovered.checkpoint.unwrap();
    assert_eq!((checkpoint.start, checkpoint.service), (start(), service_state(1)));
    assert_eq!(recovered.build, 3, "the released blocks count");
    let back = recovered.transactions.iter().find(|lookup| lookup.tx.hash() == transfer(3, 1).hash());
    let back = back.unwrap();
    assert_eq!((back.attempts, back.returned, back.added_at), (1, true, at(77)));
    // Two ends are remembered; the oldest of three is not.
    let reader = store.reader().unwrap();
    let reason = |wallet| reader.ended(&transfer(wallet, 0).hash()).unwrap().map(|ended| ended.reason);
    assert_eq!(reason(4), None);
    assert_eq!(reason(5), Some(Reason::Replaced { by: transfer(6, 0).hash() }));
    assert_eq!(reason(6), Some(Reason::Poisonous { attempts: 3 }));
}

#[test]
fn authorities_are_not_lost() {
    let store = Store::in_memory(options(), &genesis()).unwrap();
    let plain = transfer(0, 0);
    let authorities = vec![Address::repeat_byte(5), Address::repeat_byte(6)];
    let tx =
        Transaction::with_authorities(plain.signed().clone(), plain.encoded().clone(), authorities.clone());
    let mut writer = Writer::new();
    store.commit(&batch(&[Deed::Accept(tx, at(9))])).unwrap();
    store.commit(&batch(&writer.seal(&[plain]))).unwrap();
    let recovered = store.load().unwrap();
    assert_eq!(recovered.transactions[0].tx.authorities(), authorities);
    assert_eq!(recovered.transactions[0].added_at, at(9));
    assert_eq!(recovered.blocks[0].draft.block.transactions()[0].authorities(), authorities);
}

/// The driver's way: each block is built on the layers over the store, which are put on the next base at each fold.
#[test]
fn layers_on_the_store_have_the_states_of_the_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let store = Store::open(&path, options(), &genesis()).unwrap();
    let mut layers = store.states(|_| {}).unwrap();
    assert_eq!(layers.len(), 1);
    let mut writer = Writer::new();
    let mut folds = 0;
    for number in 1..=9_u64 {
        let txs = [
            transfer(0, number - 1),
            token_transfer(1, number - 1, TOKEN, Address::repeat_byte(number as u8)),
            creation(2, number - 1, &[0x60, number as u8, 0x00]),
        ];
        store.commit(&batch(&writer.accept(&txs))).unwrap();
        let deeds = writer.seal(&txs);
        let Deed::Seal(_, block) = &deeds[1] else { panic!("the second deed seals") };
        layers.push(layers.last().unwrap().child(&block.writes));
        if let Some(base) = store.commit(&batch(&deeds)).unwrap().base {
            folds += 1;
            assert_eq!(base.height(), number - 1, "one behind the newest one");
            layers.retain(|layer| layer.height() >= base.height());
            let moved = layers.iter().map(|layer| layer.folded(base.height()).on(base.clone()));
            layers = moved.collect();
        }
        if number >= 5 {
            let committed = store.commit(&batch(&[writer.finalize(number as usize - 4)])).unwrap();
            assert_eq!(committed.finalized, writer.ids[number as usize - 4]);
            assert!(committed.base.is_none(), "finality moves nothing");
        }
        assert_eq!(layers.last().unwrap().root(), writer.chain.parent.layer.root());
        let deployed = keccak256([0x60, number as u8, 0x00]);
        assert!(store.codes().code(&deployed).unwrap().is_some());
    }
    assert_eq!(folds, 4, "two at a time");
    let keys = genesis().writes.into_keys().collect::<Vec<_>>();
    let again = Store::states(&store, |_| {}).unwrap();
    assert_eq!(again.len(), layers.len());
    for (layer, again) in layers.iter().zip(&again) {
        assert_eq!((layer.root(), layer.height()), (again.root(), again.height()));
        for key in &keys {
            assert_eq!(layer.value(key).unwrap(), again.value(key).unwrap());
        }
    }
    let newest = &writer.chain.parent.layer;
    for key in &keys {
        assert_eq!(layers.last().unwrap().value(key).unwrap(), newest.value(key).unwrap());
    }
}

/// A base that is held while commits go on does not make the file grow: no snapshot lives longer than a commit.
#[test]
fn a_base_that_is_held_does_not_keep_old_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let store = Store::open(&path, Options::new(identity(), Params::TINY), &genesis()).unwrap();
    let base = store.base();
    let key = *genesis().writes.keys().next().unwrap();
    let tx = transfer(0, 0);
    let turn = |rounds: u32| {
        for _ in 0..rounds {
            store.commit(&batch(&[Deed::Accept(tx.clone(), at(1))])).unwrap();
            store.commit(&batch(&[Deed::End(tx.hash(), Reason::Flushed, at(1))])).unwrap();
            assert!(base.value(&key).unwrap().is_some());
        }
        store.stat().unwrap().file_bytes.unwrap()
    };
    let (early, late) = (turn(50), turn(300));
    assert!(late <= early, "{early} bytes became {late}");
}

#[test]
fn a_copy_has_everything_and_knows_when_it_is_old() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("pectin.redb"), directory.path().join("copy.redb"));
    let store = Store::open(&path, options(), &genesis()).unwrap();
    let script = life();
    script[..16].iter().for_each(|step| drop(store.commit(&batch(step)).unwrap()));
    store.backup(&copy).unwrap();
    assert!(store.backup(&copy).is_err(), "nothing is overwritten");
    let old = Store::open(&copy, options(), &genesis()).unwrap();
    assert_eq!(old.fingerprint().unwrap(), store.fingerprint().unwrap());
    old.check(|_| {}).unwrap();
    script[16..].iter().for_each(|step| drop(store.commit(&batch(step)).unwrap()));
    let (finalized, newest) = store.heads();
    store.check_applied(finalized).unwrap();
    store.check_applied(newest).unwrap();
    let (_, known) = old.heads();
    let refused = old.check_applied(finalized).unwrap_err().to_string();
    assert!(refused.ends_with(&format!(
        "is behind the chain: block {finalized} is applied, the newest one here is {known}; is it an old copy?"
    )));
    let other = BlockId::new(1, B256::repeat_byte(9));
    assert!(store.check_applied(other).unwrap_err().to_string().contains("does not fit the chain"));
    drop((store, old));
    let (before, after) = store::compact(&path).unwrap();
    assert!(after <= before);
    Store::open(&path, options(), &genesis()).unwrap().check(|_| {}).unwrap();
    let tables = Store::open(&path, options(), &genesis()).unwrap().stat().unwrap().tables;
    let entries = |name| tables.iter().find(|table| table.name == name).unwrap().entries;
    assert_eq!(entries("headers"), newest.number + 1);
    assert!(entries("log addresses") >= 2 && entries("values") > 0);
}

/// The counter that must stay at zero can count: of a store that is given a transaction in two blocks, it tells, and so it
/// does after a restart.
#[test]
fn a_transaction_that_becomes_final_twice_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pectin.redb");
    let store = Store::open(&path, options(), &genesis()).unwrap();
    let mut writer = Writer::new();
    let first = transfer(0, 0);
    let mut steps = [writer.seal(std::slice::from_ref(&first)), writer.seal(&[transfer(0, 1)])];
    let Deed::Seal(_, block) = &mut steps[1][1] else { panic!("a block is sealed") };
    block.draft.block = SealedBlock::new(block.draft.block.header().clone(), vec![first]);
    steps.iter().for_each(|step| drop(store.commit(&batch(step)).unwrap()));
    store.commit(&batch(&[writer.finalize(1)])).unwrap();
    assert_eq!(store.stats().repeated, 0);
    store.commit(&batch(&[writer.finalize(2)])).unwrap();
    assert_eq!(store.stats().repeated, 1);
    drop(store);
    assert_eq!(Store::open(&path, options(), &genesis()).unwrap().stats().repeated, 1);
}

#[test]
fn a_step_on_disk_waits_for_the_disk_and_the_file_has_a_length() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("pectin.redb"), options(), &genesis()).unwrap();
    let before = store.stats();
    assert!(before.bytes > 0);
    store.commit(&batch(&Writer::new().accept(&[transfer(0, 0)]))).unwrap();
    assert!(store.stats().syncs > before.syncs);
    store.commit(&store::Batch::new()).unwrap();
    assert_eq!(store.stats().repeated, 0);
}
