//! [`Blocks`] that execute: the bundler, the last final blocks, the unfinished blocks on them, and the states that can be
//! asked about.

mod account;
mod builder;
mod packing;
mod past;
mod view;

pub use builder::EvmBuilder;
pub use packing::{EvmPacked, EvmPacking, Program};
pub use past::Folded;
pub use view::{EvmView, OpenView, ShownBlock};

use crate::{
    Added, Blocks, Broken, NotSealed, OpenBlock, PackOutcome, Package, Removed, journal::Unfinished,
};
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{Address, B256, Bytes};
use bundler::{Bundler, Checked, Draft, Opening, Packaged, Parent, Refused, Sealed};
use core::fmt::Debug;
use jam::{Ed25519Secret, Hash, PackageHash, RefineContext};
use packing::Packed;
use past::PastTrees;
use queue::Size;
use service::Config;
use state::{CodeSet, Codes, Layer, Tree};
use std::{collections::BTreeMap, sync::Arc};
use txpool::{Account, Head};
use types::{BlockId, Chunked, ReceiptedBlock, RefineGases, Run, Sizes, Transaction};

/// So many blocks are remembered with their sizes.
const SIZES_KEPT: usize = 128;

/// Final blocks, and all states, from before a restart.
#[derive(Clone, Debug)]
pub struct EvmHistory<V> {
    /// The last final block.
    pub final_header: Header,
    /// Final blocks, of which those with a state are shown to readers.
    pub finals: Vec<ReceiptedBlock>,
    /// The states after the last final blocks and after each unfinished one.
    pub states: Vec<Layer<V>>,
}

/// A sealed block that is not final.
#[derive(Clone, Debug)]
pub struct Built {
    /// What the journal keeps of it.
    pub draft: Draft,
    /// One per transaction; none once the state after it is not in memory, since then readers find it where it is durable.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// Whose account changed; not known after a restart.
    pub accounts: Option<Arc<[Address]>>,
    /// The codes that accounts have since it, as long as they are not read from where they are durable.
    pub created: CodeSet,
}

impl Built {
    /// The block with its receipts.
    pub fn receipted(&self) -> ReceiptedBlock {
        ReceiptedBlock { block: self.draft.block.clone(), receipts: Arc::clone(&self.receipts) }
    }
}

/// Codes: those of unfinished blocks in memory, all others in `all`.
#[derive(Clone, Debug)]
pub struct EvmCodes<C> {
    recent: Arc<CodeSet>,
    all: C,
}

impl<C: Codes> Codes for EvmCodes<C> {
    type Error = C::Error;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Self::Error> {
        let Ok(recent) = self.recent.code(hash);
        recent.map_or_else(|| self.all.code(hash), |code| Ok(Some(code)))
    }
}

/// See the [module](self). `V` has the values after the folded blocks, `C` all durable codes.
#[derive(Debug)]
pub struct EvmBlocks<V, C> {
    builder: EvmBuilder,
    /// The last final block.
    final_header: Header,
    final_id: BlockId,
    /// Final blocks whose state is still here.
    finals: BTreeMap<u64, ReceiptedBlock>,
    unfinished: BTreeMap<u64, Built>,
    /// The state after each block from the folded one to the newest.
    states: BTreeMap<u64, Layer<V>>,
    /// Trees after unfinished blocks below that.
    past: PastTrees,
    /// Runs that are packed, and what packing them takes.
    packed: Packed,
    refine_gas: RefineGases,
    codes: EvmCodes<C>,
    /// The blocks with a state, as readers see them.
    shown: Chunked<Arc<ShownBlock<V>>>,
    sizes: Arc<BTreeMap<u64, Sizes>>,
    /// Counts how often the states got another base.
    rebased: u64,
    /// A known mistake to make.
    #[cfg(feature = "bugs")]
    mistake: Option<bundler::Mistake>,
}

impl<V: Folded + Clone + Debug, C: Codes + Clone + Debug> EvmBlocks<V, C> {
    /// A chain that ends with a final block. Unfinished blocks are [restored](Blocks::restore); the history has their states
    /// already.
    pub fn new(builder: EvmBuilder, history: EvmHistory<V>, codes: C) -> Self {
        let EvmHistory { final_header, finals, states } = history;
        let final_id = BlockId::new(final_header.number, final_header.hash_slow());
        let states = states.into_iter().map(|layer| (layer.height(), layer)).collect::<BTreeMap<_, _>>();
        let finals = finals.into_iter().map(|block| (block.block.id().number, block));
        let finals = finals.filter(|(number, _)| states.contains_key(number) || *number == final_id.number);
        let finals = finals.collect();
        let mut blocks = Self {
            builder,
            final_header,
            final_id,
            finals,
            unfinished: BTreeMap::new(),
            states,
            past: PastTrees::default(),
            packed: Packed::default(),
            refine_gas: RefineGases::default(),
            codes: EvmCodes { recent: Arc::default(), all: codes },
            shown: Chunked::default(),
            sizes: Arc::default(),
            rebased: 0,
            #[cfg(feature = "bugs")]
            mistake: None,
        };
        blocks.show_all();
        blocks
    }

    /// Takes trees after blocks below those with a state, by height: the one after the last final block, or one below it, and
    /// any after it.
    #[must_use]
    pub fn with_past(mut self, trees: impl IntoIterator<Item = (u64, Tree)>) -> Self {
        trees.into_iter().for_each(|(height, tree)| self.past.insert(height, tree));
        self
    }

    /// Puts a known mistake back.
    #[cfg(feature = "bugs")]
    pub const fn with_mistake(mut self, mistake: Option<bundler::Mistake>) -> Self {
        self.mistake = mistake;
        self
    }

    /// Final blocks are here as long as their state is, and the last one always.
    fn forget_finals(&mut self) {
        let oldest = self.states.first_key_value().map_or(0, |(number, _)| *number);
        self.finals = self.finals.split_off(&oldest.min(self.final_id.number));
    }

    /// A block whose state had left memory is shown again: with its receipts.
    fn show_again(&mut self, layer: &Layer<V>) {
        let number = layer.height();
        let Ok(Some(receipts)) = layer.base().receipts_of(number) else { return };
        if let Some(built) = self.unfinished.get_mut(&number) {
            built.receipts = receipts;
        } else if let Some(last) = self.finals.get_mut(&number) {
            last.receipts = receipts;
        }
    }

    /// Adds a configuration under a code that the service may get, and a key that signs blocks then.
    pub fn add_code(&mut self, config: Config, secret: Option<Ed25519Secret>) {
        self.builder.configs.insert(config.code_hash, config);
        self.builder.other_secrets.extend(secret);
    }

    /// The newest block's header.
    pub fn newest_header(&self) -> &Header {
        let newest = self.unfinished.last_key_value();
        newest.map_or(&self.final_header, |(_, built)| built.draft.block.header())
    }

    /// An unfinished block.
    pub fn get(&self, number: u64) -> Option<&Built> {
        self.unfinished.get(&number)
    }

    fn state(&self, number: u64) -> Result<&Layer<V>, Broken> {
        self.states.get(&number).ok_or_else(|| no_state(number))
    }

    /// The state after a block that is the last final one or above it: from memory, or made again from an older tree and
    /// what the blocks since then wrote.
    fn state_at(&self, number: u64) -> Result<Layer<V>, Broken> {
        if let Some(layer) = self.states.get(&number) {
            return Ok(layer.clone());
        }
        let unreadable = |why: V::Error| Broken::State(why.to_string());
        let (_, lowest) = self.states.first_key_value().ok_or_else(|| no_state(number))?;
        let base = lowest.base();
        let values = base.at(number).map_err(unreadable)?.ok_or_else(|| no_state(number))?;
        let (from, tree) = self.past.below(number).ok_or_else(|| no_state(number))?;
        let mut tree = tree.clone();
        for block in from + 1..=number {
            let writes = base.writes_of(block).map_err(unreadable)?.ok_or_else(|| no_state(number))?;
            tree = tree.update(&writes);
        }
        Ok(Layer::new(values, tree, number))
    }

    /// The state that a block stands on, for any block above the final one. It is remembered for a while, so that the states
    /// before later blocks are found from there.
    pub fn layer_before(&mut self, block: u64) -> Result<Layer<V>, Broken> {
        let number = block.checked_sub(1).ok_or_else(|| no_state(0))?;
        let layer = self.state_at(number)?;
        if !self.states.contains_key(&number) {
            self.past.insert(number, layer.tree().clone());
        }
        Ok(layer)
    }

    /// Keeps the tree after a block until it is [unpinned](Self::unpin), or below the final block: the next package begins
    /// there.
    pub fn pin(&mut self, number: u64) -> Result<(), Broken> {
        if !self.states.contains_key(&number) {
            let tree = self.state_at(number)?.tree().clone();
            self.past.insert(number, tree);
        }
        self.past.pin(number);
        Ok(())
    }

    /// A tree need not be kept any more.
    pub fn unpin(&mut self, number: u64) {
        self.past.unpin(number);
    }

    fn newest_state(&self) -> Result<&Layer<V>, Broken> {
        self.state(self.newest_id().number)
    }

    fn newest_parent(&self) -> Result<Parent<V>, Broken> {
        let layer = self.newest_state()?.clone();
        Ok(Parent { header: self.newest_header().clone(), hash: self.newest_id().hash, layer })
    }

    /// What an unfinished block stands on.
    pub fn parent_of(&self, built: &Built) -> Result<Parent<V>, Broken> {
        let header = built.draft.parent.clone();
        let layer = self.state_at(header.number)?;
        Ok(Parent { hash: built.draft.block.header().parent_hash, header, layer })
    }

    fn unfinished_block(&self, block: BlockId) -> Result<&Built, Broken> {
        let built = self.unfinished.get(&block.number).filter(|built| built.draft.id() == block);
        built.ok_or_else(|| Broken::Rebuild { number: block.number, why: "it is not here".to_owned() })
    }

    fn add(&mut self, sealed: Sealed<V>, checked: &Checked) {
        let number = sealed.block().id().number;
        self.note_sizes(&sealed, checked);
        if !sealed.created.is_empty() {
            Arc::make_mut(&mut self.codes.recent).extend(&sealed.created);
        }
        self.states.insert(number, sealed.layer);
        let Sealed { draft, receipts, accounts, created, piece, .. } = sealed;
        self.packed.keep(piece);
        let built = Built { draft, receipts, accounts: Some(accounts), created };
        self.unfinished.insert(number, built);
        self.show(number);
    }

    /// Notes how large a block came out.
    fn note_sizes(&mut self, sealed: &Sealed<V>, checked: &Checked) {
        let block = sealed.block();
        let sizes = Sizes {
            witness_bytes: checked.extrinsic_bytes(service::refine::WITNESS),
            codes_bytes: checked.extrinsic_bytes(service::refine::CODES),
            transactions_bytes: checked.extrinsic_bytes(service::refine::TRANSACTIONS),
            bundle_bytes: checked.bundle_bytes(),
            export_segments: checked.export_segments(),
            gas: block.header().gas_used,
            refine_gas: checked.refine_gas(),
            transactions: block.transactions().len(),
        };
        let all = Arc::make_mut(&mut self.sizes);
        all.insert(block.id().number, sizes);
        while all.len() > SIZES_KEPT {
            all.pop_first();
        }
    }

    /// A version with other blocks, as a builder with this mistake makes it.
    #[cfg(feature = "bugs")]
    fn package_as(
        &mut self,
        mistake: bundler::Mistake,
        run: Run,
        context: RefineContext,
        version: u32,
    ) -> Result<Packaged, Broken> {
        let drafts = self.drafts(run);
        let parent = self.parent_of(self.unfinished_block(run.first)?)?;
        let opening = Opening {
            now_secs: 0,
            beneficiary: self.builder.beneficiary,
            build: u64::from(version) << 32 | run.first.number,
        };
        let anew = (opening, &self.builder.secret);
        let bundler = &self.builder.bundler;
        let rebuilt = bundler.rebuild_as(mistake, &drafts, &parent, self.codes.clone(), context, anew);
        rebuilt.map_err(|why| Broken::Rebuild { number: run.first.number, why: why.to_string() })
    }
}

fn no_state(number: u64) -> Broken {
    Broken::State(format!("the state after block {number} is missing"))
}

impl<V: state::Values + Clone, C: Codes + Clone> OpenBlock for bundler::OpenBlock<V, C> {
    fn push(&mut self, tx: &Transaction) -> Result<(), Refused> {
        Self::push(self, tx).map(|_| ())
    }

    fn transactions(&self) -> &[Transaction] {
        Self::transactions(self)
    }

    fn consumed(&self) -> &[(Address, u64)] {
        Self::consumed(self)
    }
}

impl Package for Packaged {
    fn run(&self) -> Run {
        self.run
    }

    fn hash(&self) -> PackageHash {
        self.hash
    }
}

impl<V, C> Blocks for EvmBlocks<V, C>
where
    V: Folded + Clone + Debug,
    C: Codes + Clone + Debug,
{
    type Open = bundler::OpenBlock<V, EvmCodes<C>>;
    type Sealed = Unfinished;
    type Job = EvmPacking<V, C>;
    type Package = Packaged;
    type Base = V;
    type View = EvmView<V, C>;
    type Pending = OpenView<V, C>;

    fn final_id(&self) -> BlockId {
        self.final_id
    }

    fn newest_id(&self) -> BlockId {
        self.unfinished.last_key_value().map_or(self.final_id, |(_, built)| built.draft.id())
    }

    fn unfinished_len(&self) -> usize {
        self.unfinished.len()
    }

    fn id_of(&self, number: u64) -> Option<BlockId> {
        let unfinished = self.unfinished.get(&number).map(|built| built.draft.id());
        unfinished.or_else(|| Some(self.finals.get(&number)?.block.id()))
    }

    fn transactions(&self, number: u64) -> Option<&[Transaction]> {
        Some(self.unfinished.get(&number)?.draft.block.transactions())
    }

    fn transaction_counts(&self) -> Vec<usize> {
        let unfinished = self.unfinished.values().rev().map(|built| &built.draft.block);
        let blocks = unfinished.chain(self.finals.values().rev().map(|block| &block.block));
        blocks.map(|block| block.transactions().len()).collect()
    }

    fn account(&self, address: Address) -> Result<Account, Broken> {
        account::read(self.newest_state()?, &self.codes, address)
    }

    fn head(&self) -> Head {
        let Bundler { config, limits, .. } = &self.builder.bundler;
        let base_fee_wei = service::header::next_base_fee(
            self.newest_header(),
            config.gas_target,
            config.base_fee_floor_wei,
        );
        Head { base_fee_wei, gas_limit: config.gas_limit.min(limits.gas_max) }
    }

    fn base_fee_floor_wei(&self) -> u64 {
        self.builder.bundler.config.base_fee_floor_wei
    }

    fn transactions_max(&self) -> usize {
        self.builder.bundler.limits.transactions_max
    }

    fn set_code(&mut self, code_hash: Hash) -> bool {
        self.builder.set_code(code_hash)
    }

    fn open(&self, now_secs: u64, build: u64) -> Result<Self::Open, Broken> {
        let opening = Opening { now_secs, beneficiary: self.builder.beneficiary, build };
        let block = self.builder.bundler.open(self.newest_parent()?, self.codes.clone(), opening);
        block.map_err(|why| Broken::State(why.to_string()))
    }

    fn seal(&mut self, open: Self::Open) -> Result<Added<Unfinished>, NotSealed> {
        let is_empty = open.transactions().is_empty();
        let parent = self.newest_parent()?;
        let sealed = open.seal(&self.builder.secret).map_err(|why| Broken::State(why.to_string()))?;
        let checked = match self.builder.bundler.check(&parent, &sealed) {
            Ok(checked) => checked,
            Err(why) if is_empty => {
                return Err(Broken::State(format!("an empty block is refused: {why}")).into());
            }
            Err(why) => {
                let block = sealed.block();
                let transactions = block.transactions().to_vec();
                return Err(NotSealed::Refused { block: block.id(), transactions, why: why.to_string() });
            }
        };
        let added = Added {
            block: sealed.block().id(),
            changed: Arc::clone(&sealed.accounts),
            size: Size {
                bytes: checked.bundle_bytes() as u64,
                gas: sealed.block().header().gas_used,
                export_bytes: sealed.piece.export_bytes() as u64,
                refine_gas: checked.refine_gas(),
            },
            sealed: Unfinished::from(&sealed),
        };
        self.add(sealed, &checked);
        Ok(added)
    }

    fn pack(&mut self, run: Run, is_fixed: bool) -> Result<EvmPacking<V, C>, Broken> {
        self.packing(run, is_fixed)
    }

    fn packed(&mut self, done: EvmPacked) -> PackOutcome {
        self.take_packed(done)
    }

    #[cfg_attr(not(feature = "bugs"), allow(unused_variables, reason = "only known mistakes depend on it"))]
    fn package(
        &mut self,
        run: Run,
        context: RefineContext,
        version: u32,
    ) -> Result<Option<Packaged>, Broken> {
        #[cfg(feature = "bugs")]
        if let Some(mistake) = self.mistake.filter(|_| version > 1) {
            return self.package_as(mistake, run, context, version).map(Some);
        }
        self.package_run(run, context)
    }

    fn rest(&mut self, run: Run) {
        self.packed.rest(run);
    }

    fn restore(&mut self, block: Unfinished) {
        let Unfinished { draft, receipts, created, .. } = block;
        let built = Built { draft, receipts, accounts: None, created };
        let number = built.draft.id().number;
        self.unfinished.insert(number, built);
        self.show(number);
    }

    fn release(&mut self, from: u64) -> Vec<Removed> {
        // The state after the block below is the newest one now; if it cannot be read, the next step that needs it fails.
        let newest = from.checked_sub(1).and_then(|number| self.state_at(number).ok());
        self.states.split_off(&from);
        self.past.release(from);
        self.packed.release(from);
        if let Some(layer) = newest {
            self.show_again(&layer);
            self.states.insert(layer.height(), layer);
        }
        let removed = self.unfinished.split_off(&from).into_values();
        self.show_all();
        let removed = removed.map(|built| Removed {
            transactions: built.draft.block.transactions().to_vec(),
            changed: built.accounts,
        });
        removed.collect()
    }

    fn finalize(&mut self, block: BlockId) -> Result<(), Broken> {
        let entry = self.unfinished.first_entry().filter(|entry| entry.get().draft.id() == block);
        let missing = || Broken::State(format!("block {block} became final and is not here"));
        let built = entry.ok_or_else(missing)?.remove();
        // What was written before a final block may be forgotten, so the tree after it is made while it can be.
        if self.states.first_key_value().is_some_and(|(oldest, _)| *oldest > block.number) {
            let tree = self.state_at(block.number)?.tree().clone();
            self.past.insert(block.number, tree);
        }
        self.final_header = built.draft.block.header().clone();
        self.final_id = block;
        self.finals.insert(block.number, built.receipted());
        let oldest = block.number.saturating_sub(self.builder.states_kept);
        self.states = self.states.split_off(&oldest);
        self.forget_finals();
        self.packed.rest(Run::of(block));
        self.past.finalize(block.number);
        self.hide();
        Ok(())
    }

    fn rebase(&mut self, height: u64, base: &V) {
        // Blocks that were folded may have been released since. Then the release is on its way to the store, which will
        // take them back and say what it has then.
        let is_stale =
            base.block_hash().is_some_and(|hash| self.id_of(height) != Some(BlockId::new(height, hash)));
        if is_stale {
            return;
        }
        self.rebased += 1;
        let above = self.states.split_off(&height);
        for (below, layer) in core::mem::replace(&mut self.states, above) {
            if below >= self.final_id.number {
                self.past.insert(below, layer.tree().clone());
            }
            if let Some(built) = self.unfinished.get_mut(&below) {
                // It is durable, so all but what it was decided from can be read or made again.
                (built.receipts, built.created) = ([].into(), CodeSet::default());
            }
        }
        self.past.finalize(self.final_id.number);
        self.past.thin(height);
        self.forget_finals();
        for layer in self.states.values_mut() {
            *layer = layer.folded(height).on(base.clone());
        }
        self.show_all();
        // Codes become durable when their block is sealed; those of folded blocks are in the store.
        let mut recent = CodeSet::default();
        self.unfinished.range(height..).for_each(|(_, built)| recent.extend(&built.created));
        self.codes.recent = Arc::new(recent);
    }

    fn view(&self) -> EvmView<V, C> {
        self.view_now()
    }

    fn pending(&self, open: &Self::Open) -> Result<OpenView<V, C>, Broken> {
        self.shown_open(open)
    }
}
