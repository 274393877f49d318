//! What makes the blocks of the simulated node: in most seeds something that only hashes, in some the node's own
//! [`EvmBlocks`], whose packages the simulated validators refine.

use super::{
    network::{CODE_HASH, PARAMS, SERVICE},
    owner::CODES,
    users,
};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::{Authorizer, Bundler, Limit, Mistake, NotNow, Packaged, Refused, Token};
use driver::{
    Added, Blocks, Broken, EvmBlocks, EvmBuilder, EvmHistory, NotSealed, OpenBlock, PackJob, PackOutcome,
    Package, Removed, journal::Unfinished,
};
use jam::{Ed25519Secret, Hash, PackageHash, RefineContext, codec::Encode, hash::blake2b};
use queue::Size;
use service::{Config, accumulate::Claim, genesis::Genesis};
use state::{CodeSet, MemoryValues};
use std::{collections::BTreeMap, sync::Arc};
use txpool::{Account, Head};
use types::{BlockId, ReceiptedBlock, Run, Transaction};

/// Transactions in a block.
pub(super) const BLOCK_TXS_MAX: usize = 8;
/// Blocks in a package.
const PACKAGE_BLOCKS_MAX: usize = 12;
/// What a block takes.
const BLOCK_BYTES: u64 = 1000;

/// What a sealed block is to the simulator.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    /// The block.
    pub(super) block: BlockId,
    /// Its parent.
    pub(super) parent: BlockId,
    /// Its transactions.
    pub(super) transactions: Vec<Transaction>,
}

/// One kind of blocks, with what the simulator has to know of them.
pub(super) trait Kind: Blocks<Sealed: Clone> {
    /// What all blocks of a run have in common.
    type Setup: Clone;

    /// Whether users sign, and validators refine.
    const IS_REAL: bool;

    /// Prepares a run.
    fn setup(senders: u64, mistake: Option<Mistake>) -> Self::Setup;

    /// The block that the chain begins with.
    fn genesis(setup: &Self::Setup) -> BlockId;

    /// The chain after these final blocks; it has to know the states of the unfinished ones already.
    fn after(setup: &Self::Setup, finals: &[Self::Sealed], unfinished: &[Self::Sealed]) -> Self;

    /// What a sealed block is.
    fn describe(sealed: &Self::Sealed) -> Sealed;

    /// What a version was built against.
    fn context(package: &Self::Package) -> RefineContext;

    /// The code of the service that a version names.
    fn code_hash(package: &Self::Package) -> Hash;

    /// The whole bundle, if validators refine it.
    fn bundle(package: &Self::Package) -> Option<Bytes>;
}

/// Blocks that are hashes of what is in them.
#[derive(Clone, Debug)]
pub(super) struct HashBlocks {
    final_id: BlockId,
    unfinished: BTreeMap<u64, Sealed>,
    /// Next nonces after the newest block.
    nonces: BTreeMap<Address, u64>,
    /// Runs that are packed, by their first block.
    packed: BTreeMap<u64, Run>,
    /// The code of the service that they are packed for.
    code_hash: Hash,
}

/// An open block that will be a hash.
#[derive(Clone, Debug)]
pub(super) struct HashOpen {
    build: u64,
    transactions: Vec<Transaction>,
    nonces: BTreeMap<Address, u64>,
}

/// A package that is a hash.
#[derive(Clone, Debug)]
pub(super) struct HashPackage {
    run: Run,
    hash: PackageHash,
    context: RefineContext,
    code_hash: Hash,
}

/// Blocks to be packed, or packed: as many as a package holds.
#[derive(Clone, Debug)]
pub(super) struct HashJob {
    blocks: Vec<BlockId>,
    is_fixed: bool,
    code_hash: Hash,
}

impl PackJob for HashJob {
    type Done = Self;

    fn pack(mut self) -> Self {
        let holds = if self.is_fixed { usize::MAX } else { PACKAGE_BLOCKS_MAX };
        self.blocks.truncate(holds);
        self
    }
}

impl Package for HashPackage {
    fn run(&self) -> Run {
        self.run
    }

    fn hash(&self) -> PackageHash {
        self.hash
    }
}

impl OpenBlock for HashOpen {
    fn push(&mut self, tx: &Transaction) -> Result<(), Refused> {
        if self.transactions.len() == BLOCK_TXS_MAX {
            return Err(Refused::Full(Limit::Transactions { max: BLOCK_TXS_MAX }));
        }
        let next = self.nonces.entry(tx.sender()).or_default();
        if tx.nonce() > *next {
            return Err(Refused::NotNow(NotNow::NonceTooHigh { nonce: tx.nonce(), next: *next }));
        }
        assert_eq!(tx.nonce(), *next, "the pool hands out a nonce that was used");
        *next += 1;
        self.transactions.push(tx.clone());
        Ok(())
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    fn consumed(&self) -> &[(Address, u64)] {
        &[]
    }
}

impl HashBlocks {
    fn add(&mut self, sealed: Sealed) {
        for tx in &sealed.transactions {
            self.nonces.insert(tx.sender(), tx.nonce() + 1);
        }
        self.unfinished.insert(sealed.block.number, sealed);
    }
}

impl Blocks for HashBlocks {
    type Open = HashOpen;
    type Sealed = Sealed;
    type Job = HashJob;
    type Package = HashPackage;
    type Base = ();
    type View = ();
    type Pending = ();

    fn final_id(&self) -> BlockId {
        self.final_id
    }

    fn newest_id(&self) -> BlockId {
        self.unfinished.last_key_value().map_or(self.final_id, |(_, sealed)| sealed.block)
    }

    fn unfinished_len(&self) -> usize {
        self.unfinished.len()
    }

    fn id_of(&self, number: u64) -> Option<BlockId> {
        let unfinished = self.unfinished.get(&number).map(|sealed| sealed.block);
        unfinished.or_else(|| (self.final_id.number == number).then_some(self.final_id))
    }

    fn transactions(&self, number: u64) -> Option<&[Transaction]> {
        Some(&self.unfinished.get(&number)?.transactions)
    }

    fn transaction_counts(&self) -> Vec<usize> {
        self.unfinished.values().rev().map(|sealed| sealed.transactions.len()).collect()
    }

    fn account(&self, address: Address) -> Result<Account, Broken> {
        let nonce = self.nonces.get(&address).copied().unwrap_or(0);
        Ok(Account { nonce, balance: U256::from(10_u64).pow(U256::from(24)), code: txpool::Code::None })
    }

    fn head(&self) -> Head {
        Head { base_fee_wei: self.base_fee_floor_wei(), gas_limit: 120_000_000 }
    }

    fn base_fee_floor_wei(&self) -> u64 {
        1_000_000_000
    }

    fn transactions_max(&self) -> usize {
        BLOCK_TXS_MAX
    }

    fn set_code(&mut self, code_hash: Hash) -> bool {
        if core::mem::replace(&mut self.code_hash, code_hash) != code_hash {
            self.packed.clear();
        }
        true
    }

    fn open(&self, _now_secs: u64, build: u64) -> Result<HashOpen, Broken> {
        Ok(HashOpen { build, transactions: vec![], nonces: self.nonces.clone() })
    }

    fn seal(&mut self, open: HashOpen) -> Result<Added<Sealed>, NotSealed> {
        let parent = self.newest_id();
        let hashes = open.transactions.iter().flat_map(|tx| tx.hash().0).collect::<Vec<u8>>();
        let hash = blake2b(&[parent.hash.as_slice(), &hashes, &open.build.to_le_bytes()]);
        let block = BlockId::new(parent.number + 1, hash);
        let changed = open.transactions.iter().map(|tx| tx.sender()).collect();
        let sealed = Sealed { block, parent, transactions: open.transactions };
        self.add(sealed.clone());
        let size = Size { bytes: BLOCK_BYTES, ..Size::default() };
        Ok(Added { block, changed, size, sealed })
    }

    fn pack(&mut self, run: Run, is_fixed: bool) -> Result<HashJob, Broken> {
        let blocks = run.numbers().map(|number| self.unfinished.get(&number).map(|sealed| sealed.block));
        let missing = || Broken::State(format!("a block of {run} is not here"));
        let blocks = blocks.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        Ok(HashJob { blocks, is_fixed, code_hash: self.code_hash })
    }

    fn packed(&mut self, done: HashJob) -> PackOutcome {
        let (first, last) = (done.blocks[0], done.blocks[done.blocks.len() - 1]);
        let is_here = |block: BlockId| self.id_of(block.number) == Some(block);
        let run = (is_here(first) && is_here(last) && done.code_hash == self.code_hash)
            .then_some(Run { first, last });
        if let Some(run) = run {
            self.packed.insert(first.number, run);
        }
        PackOutcome { first, packed: run.map(Ok), refused: vec![] }
    }

    fn package(
        &mut self,
        run: Run,
        context: RefineContext,
        _version: u32,
    ) -> Result<Option<HashPackage>, Broken> {
        if self.packed.get(&run.first.number) != Some(&run) {
            return Err(Broken::State(format!("{run} is sent and not packed")));
        }
        let code_hash = self.code_hash;
        let blocks = [run.first.hash.as_slice(), run.last.hash.as_slice()].concat();
        let hash = blake2b(&[&blocks, code_hash.as_slice(), &context.encode()]);
        Ok(Some(HashPackage { run, hash: PackageHash(hash), context, code_hash }))
    }

    fn restore(&mut self, block: Sealed) {
        self.add(block);
    }

    fn rest(&mut self, run: Run) {
        self.packed.remove(&run.first.number);
    }

    fn release(&mut self, from: u64) -> Vec<Removed> {
        self.packed.retain(|_, run| run.last.number < from);
        let removed = self.unfinished.split_off(&from).into_values().collect::<Vec<_>>();
        for tx in removed.iter().rev().flat_map(|sealed| sealed.transactions.iter().rev()) {
            self.nonces.insert(tx.sender(), tx.nonce());
        }
        let removed = removed.into_iter();
        removed.map(|sealed| Removed { transactions: sealed.transactions, changed: None }).collect()
    }

    fn finalize(&mut self, block: BlockId) -> Result<(), Broken> {
        let lowest = self.unfinished.pop_first().map(|(_, sealed)| sealed.block);
        if lowest != Some(block) {
            return Err(Broken::State(format!("{block} became final, {lowest:?} is the lowest")));
        }
        self.final_id = block;
        Ok(())
    }

    fn rebase(&mut self, _height: u64, (): &()) {}

    fn view(&self) {}

    fn pending(&self, _open: &HashOpen) -> Result<(), Broken> {
        Ok(())
    }
}

impl Kind for HashBlocks {
    type Setup = ();

    const IS_REAL: bool = false;

    fn setup(_senders: u64, _mistake: Option<Mistake>) {}

    fn genesis((): &()) -> BlockId {
        BlockId::new(0, B256::ZERO)
    }

    fn after((): &(), finals: &[Sealed], _unfinished: &[Sealed]) -> Self {
        let final_id = finals.last().map_or(Self::genesis(&()), |sealed| sealed.block);
        let mut blocks = Self {
            final_id,
            unfinished: BTreeMap::new(),
            nonces: BTreeMap::new(),
            packed: BTreeMap::new(),
            code_hash: CODE_HASH,
        };
        finals.iter().for_each(|sealed| blocks.add(sealed.clone()));
        blocks.unfinished.clear();
        blocks
    }

    fn describe(sealed: &Sealed) -> Sealed {
        sealed.clone()
    }

    fn context(package: &HashPackage) -> RefineContext {
        package.context.clone()
    }

    fn code_hash(package: &HashPackage) -> Hash {
        package.code_hash
    }

    fn bundle(_package: &HashPackage) -> Option<Bytes> {
        None
    }
}

/// What all real blocks of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct RealSetup {
    genesis: Genesis,
    builder: EvmBuilder,
    mistake: Option<Mistake>,
}

/// The node's own blocks, over values in memory.
pub(super) type RealBlocks = EvmBlocks<Arc<MemoryValues>, CodeSet>;

impl Kind for RealBlocks {
    type Setup = RealSetup;

    const IS_REAL: bool = true;

    fn setup(senders: u64, mistake: Option<Mistake>) -> RealSetup {
        let funded = (0..senders).map(|who| users::sender(who, true));
        let genesis = Genesis::funded(&service_config(), funded.collect::<Vec<_>>());
        let authorizer = Authorizer {
            host: 0,
            code_hash: B256::ZERO,
            config: Bytes::new(),
            token: Token::Fixed(Bytes::new()),
        };
        let mut bundler = Bundler::new(service_config(), PARAMS, authorizer);
        bundler.limits.transactions_max = BLOCK_TXS_MAX;
        bundler.mistake = mistake;
        // A few blocks fill a package.
        bundler.limits.run_gas_max = 40 * 21_000;
        let mut builder = EvmBuilder::new(bundler, builder_key(CODE_HASH));
        for code_hash in CODES {
            builder.configs.insert(code_hash, config_under(code_hash));
            builder.other_secrets.push(builder_key(code_hash));
        }
        builder.beneficiary = Address::repeat_byte(0xfe);
        RealSetup { genesis, builder, mistake }
    }

    fn genesis(setup: &RealSetup) -> BlockId {
        setup.genesis.id()
    }

    fn after(setup: &RealSetup, finals: &[Unfinished], unfinished: &[Unfinished]) -> Self {
        let mut states = vec![setup.genesis.layer()];
        for sealed in finals.iter().chain(unfinished) {
            states.push(states[states.len() - 1].child(&sealed.writes));
        }
        let last = finals.last().map(|sealed| sealed.draft.block.header());
        let final_header = last.unwrap_or(&setup.genesis.header).clone();
        let finals = finals.iter().map(|sealed| ReceiptedBlock {
            block: sealed.draft.block.clone(),
            receipts: Arc::clone(&sealed.receipts),
        });
        let history = EvmHistory { final_header, finals: finals.collect(), states };
        Self::new(setup.builder.clone(), history, setup.genesis.codes.clone()).with_mistake(setup.mistake)
    }

    fn describe(sealed: &Unfinished) -> Sealed {
        let block = &sealed.draft.block;
        let parent = block.parent_id().expect("no genesis is sealed");
        Sealed { block: block.id(), parent, transactions: block.transactions().to_vec() }
    }

    fn context(package: &Packaged) -> RefineContext {
        package.bundle.package.context.clone()
    }

    fn code_hash(package: &Packaged) -> Hash {
        package.bundle.package.items[0].code_hash
    }

    fn bundle(package: &Packaged) -> Option<Bytes> {
        Some(package.bytes())
    }
}

/// The configuration of the service at first, for builder and validators.
pub(super) fn service_config() -> Config {
    config_under(CODE_HASH)
}

/// The configuration that a code of the service has. Each has another builder's key.
fn config_under(code_hash: Hash) -> Config {
    Config::new(SERVICE, code_hash, builder_key(code_hash).public())
}

fn builder_key(code_hash: Hash) -> Ed25519Secret {
    Ed25519Secret::trivial(9 + u32::from(code_hash[0] - CODE_HASH[0]))
}

/// What validators say about a bundle that names this code.
pub(super) fn refine(bundle: &Bytes, code_hash: Hash) -> Result<Claim, String> {
    service::refine::refine(bundle, &config_under(code_hash), &PARAMS)
        .map(|output| output.claim)
        .map_err(|error| error.to_string())
}
