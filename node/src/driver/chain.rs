//! The EVM chain as the driver holds it: the last final block, the unfinished blocks on it, and the states that can be
//! asked about.

use super::Broken;
use alloy_consensus::{Header, ReceiptEnvelope};
use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::{Draft, Parent, Refined, Sealed};
use state::{AccountKeys, BasicData, Blake2b, CodeSet, Codes, Layer, Values};
use std::{collections::BTreeMap, sync::Arc};
use store::{Base, CodeTable, Unfinished};
use txpool::{Account, Code};
use types::{BlockId, ReceiptedBlock};

/// The state after a block.
pub type EvmLayer = Layer<Base>;

/// A sealed block that is not final.
#[derive(Clone, Debug)]
pub struct Built {
    /// What the journal keeps of it.
    pub draft: Draft,
    /// One per transaction.
    pub receipts: Arc<[ReceiptEnvelope]>,
    /// Whose account changed; not known after a restart.
    pub accounts: Option<Arc<[Address]>>,
    /// The codes that accounts have since it.
    pub created: CodeSet,
    /// What all its packages have in common; made again when it is needed and not here.
    pub refined: Option<Refined>,
}

impl Built {
    /// The block with its receipts.
    pub fn receipted(&self) -> ReceiptedBlock {
        ReceiptedBlock { block: self.draft.block.clone(), receipts: Arc::clone(&self.receipts) }
    }
}

/// Codes: those of unfinished blocks in memory, all others in the store.
#[derive(Clone, Debug)]
pub struct EvmCodes {
    recent: Arc<CodeSet>,
    all: CodeTable,
}

impl Codes for EvmCodes {
    type Error = <CodeTable as Codes>::Error;

    fn code(&self, hash: &B256) -> Result<Option<Bytes>, Self::Error> {
        let Ok(recent) = self.recent.code(hash);
        recent.map_or_else(|| self.all.code(hash), |code| Ok(Some(code)))
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct EvmChain {
    /// The last final block.
    final_header: Header,
    final_id: BlockId,
    unfinished: BTreeMap<u64, Built>,
    /// The state after each block, from some below the final one to the newest.
    states: BTreeMap<u64, EvmLayer>,
    codes: EvmCodes,
}

impl EvmChain {
    /// A chain that ends with a final block. `states` ends with the one after it.
    pub(super) fn new(final_header: Header, states: BTreeMap<u64, EvmLayer>, all: CodeTable) -> Self {
        let final_id = BlockId::new(final_header.number, final_header.hash_slow());
        let codes = EvmCodes { recent: Arc::default(), all };
        Self { final_header, final_id, unfinished: BTreeMap::new(), states, codes }
    }

    /// The last final block.
    pub const fn final_id(&self) -> BlockId {
        self.final_id
    }

    /// The newest block.
    pub fn newest_id(&self) -> BlockId {
        self.unfinished.last_key_value().map_or(self.final_id, |(_, built)| built.draft.id())
    }

    /// The newest block's header.
    pub fn newest_header(&self) -> &Header {
        let newest = self.unfinished.last_key_value();
        newest.map_or(&self.final_header, |(_, built)| built.draft.block.header())
    }

    /// Unfinished blocks in order.
    pub fn unfinished(&self) -> impl DoubleEndedIterator<Item = &Built> + ExactSizeIterator {
        self.unfinished.values()
    }

    /// An unfinished block.
    pub fn get(&self, number: u64) -> Option<&Built> {
        self.unfinished.get(&number)
    }

    /// The states that can be asked about, by block number.
    pub const fn states(&self) -> &BTreeMap<u64, EvmLayer> {
        &self.states
    }

    /// All codes.
    pub const fn codes(&self) -> &EvmCodes {
        &self.codes
    }

    /// The state after the newest block.
    pub fn newest_state(&self) -> Result<&EvmLayer, Broken> {
        self.state(self.newest_id().number)
    }

    fn state(&self, number: u64) -> Result<&EvmLayer, Broken> {
        let missing = || Broken::State(format!("the state after block {number} is missing"));
        self.states.get(&number).ok_or_else(missing)
    }

    /// What the next block stands on.
    pub(super) fn newest_parent(&self) -> Result<Parent<Base>, Broken> {
        let layer = self.newest_state()?.clone();
        Ok(Parent { header: self.newest_header().clone(), hash: self.newest_id().hash, layer })
    }

    /// What an unfinished block stands on.
    pub(super) fn parent_of(&self, built: &Built) -> Result<Parent<Base>, Broken> {
        let header = built.draft.parent.clone();
        let layer = self.state(header.number)?.clone();
        Ok(Parent { hash: built.draft.block.header().parent_hash, header, layer })
    }

    /// Adds a block that was sealed on the newest one.
    pub(super) fn push(&mut self, sealed: Sealed<Base>, refined: Option<Refined>) {
        let number = sealed.block().id().number;
        if !sealed.created.is_empty() {
            Arc::make_mut(&mut self.codes.recent).extend(&sealed.created);
        }
        self.states.insert(number, sealed.layer);
        let Sealed { draft, receipts, accounts, created, .. } = sealed;
        self.unfinished.insert(number, Built { draft, receipts, accounts: Some(accounts), created, refined });
    }

    /// Adds a block from before a restart.
    pub(super) fn restore(&mut self, block: Unfinished) {
        let Unfinished { draft, receipts, created, .. } = block;
        let built = Built { draft, receipts, accounts: None, created, refined: None };
        self.unfinished.insert(built.draft.id().number, built);
    }

    /// Forgets what all packages of a block have in common: it is not going to be sent soon.
    pub(super) fn forget_refined(&mut self, number: u64) {
        if let Some(built) = self.unfinished.get_mut(&number) {
            built.refined = None;
        }
    }

    pub(super) fn keep_refined(&mut self, number: u64, refined: Refined) {
        if let Some(built) = self.unfinished.get_mut(&number) {
            built.refined = Some(refined);
        }
    }

    /// Takes a block and all that stand on it away, lowest first.
    pub(super) fn release(&mut self, from: u64) -> Vec<Built> {
        self.states.split_off(&from);
        self.unfinished.split_off(&from).into_values().collect()
    }

    /// Takes the lowest block away, which is final.
    pub(super) fn finalize(&mut self, block: BlockId, states_kept: u64) -> Option<Built> {
        let entry = self.unfinished.first_entry().filter(|entry| entry.get().draft.id() == block)?;
        let built = entry.remove();
        self.final_header = built.draft.block.header().clone();
        self.final_id = block;
        self.states = self.states.split_off(&block.number.saturating_sub(states_kept));
        Some(built)
    }

    /// The store's flat table holds more than before.
    pub(super) fn rebase(&mut self, base: &Base) {
        let height = base.height();
        self.states = self.states.split_off(&height);
        for layer in self.states.values_mut() {
            *layer = layer.folded(height).on(base.clone());
        }
        // Codes become durable when their block is sealed; those of final blocks are in the store.
        let mut recent = CodeSet::default();
        self.unfinished.values().for_each(|built| recent.extend(&built.created));
        self.codes.recent = Arc::new(recent);
    }

    /// An account after the newest block, as the pool wants it.
    pub fn account(&self, address: Address) -> Result<Account, Broken> {
        account(self.newest_state()?, &self.codes, address)
    }
}

/// An account in a state, as the pool wants it.
fn account(layer: &EvmLayer, codes: &EvmCodes, address: Address) -> Result<Account, Broken> {
    let broken = |why: &dyn std::fmt::Display| Broken::State(why.to_string());
    let keys = AccountKeys::<Blake2b>::new(address);
    let Some(value) = layer.value(&keys.basic_data()).map_err(|why| broken(&why))? else {
        return Ok(Account::default());
    };
    let basic = BasicData::decode(&value).map_err(|why| broken(&why))?;
    let code = match basic.code_size {
        0 => Code::None,
        23 => {
            let hash = layer.value(&keys.code_hash()).map_err(|why| broken(&why))?.unwrap_or_default();
            let code = codes.code(&hash).map_err(|why| broken(&why))?;
            let delegates = code.is_some_and(|code| code.starts_with(&[0xef, 0x01, 0x00]));
            if delegates { Code::Delegated } else { Code::Contract }
        }
        _ => Code::Contract,
    };
    Ok(Account { nonce: basic.nonce, balance: U256::from(basic.balance), code })
}
