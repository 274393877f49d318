//! What the driver needs of whatever builds blocks and knows the state after them.
//!
//! The driver decides when a block is opened, filled, sealed, sent, released and final; a [`Blocks`] makes it so. A node
//! has [`EvmBlocks`](crate::EvmBlocks), which executes; the simulator also has blocks that only hash, since its subject
//! is what the driver decides.

use crate::Broken;
use alloy_primitives::Address;
use bundler::Refused;
use core::fmt::Debug;
use jam::{Hash, PackageHash, RefineContext};
use queue::Size;
use std::sync::Arc;
use txpool::{Account, Head};
use types::{BlockId, Run, Transaction};

/// The block that is being built.
pub trait OpenBlock {
    /// Executes a transaction into it.
    fn push(&mut self, tx: &Transaction) -> Result<(), Refused>;

    /// What was executed into it, in order.
    fn transactions(&self) -> &[Transaction];

    /// Accounts of which the last transaction may have used nonces without being theirs, each with the nonce that its next
    /// transaction must have.
    fn consumed(&self) -> &[(Address, u64)];
}

/// A version of a bundle, as it leaves the node.
pub trait Package: Clone + Debug {
    /// The blocks in it.
    fn run(&self) -> Run;

    /// What the chain will know it by.
    fn hash(&self) -> PackageHash;
}

/// Blocks that are to be packed into one bundle. To do so takes a while, needs nothing that changes meanwhile, and can be done on
/// any thread; [`Driver::packed`](crate::Driver::packed) takes what comes out.
pub trait PackJob: Debug {
    /// What comes out.
    type Done: Debug;

    /// Packs.
    fn pack(self) -> Self::Done;
}

/// What packing came to.
#[derive(Clone, Debug)]
pub struct PackOutcome {
    /// The first of the blocks that were to be packed.
    pub first: BlockId,
    /// The blocks that are packed, or why none can be. Nothing if they are not here any more.
    pub packed: Option<Result<Run, Broken>>,
    /// Longer runs that validators would refuse, and what they would say.
    pub refused: Vec<(Run, String)>,
}

/// A block that was sealed and added to the chain.
#[derive(Clone, Debug)]
pub struct Added<S> {
    /// The block.
    pub block: BlockId,
    /// Whose account changed.
    pub changed: Arc<[Address]>,
    /// What it takes of a package.
    pub size: Size,
    /// What the journal keeps.
    pub sealed: S,
}

/// Why a block was not sealed.
#[derive(Clone, Debug)]
pub enum NotSealed {
    /// Validators would refuse it. It goes nowhere.
    Refused {
        /// What it would have been.
        block: BlockId,
        /// What was in it.
        transactions: Vec<Transaction>,
        /// Why.
        why: String,
    },
    /// The driver cannot go on.
    Broken(Broken),
}

impl From<Broken> for NotSealed {
    fn from(why: Broken) -> Self {
        Self::Broken(why)
    }
}

/// An unfinished block that was taken away.
#[derive(Clone, Debug)]
pub struct Removed {
    /// What was in it.
    pub transactions: Vec<Transaction>,
    /// Whose account it had changed; not known of blocks from before a restart.
    pub changed: Option<Arc<[Address]>>,
}

/// The chain of blocks: the last final one, the unfinished ones on it, and the states after them.
pub trait Blocks: Debug {
    /// The block that is being built.
    type Open: OpenBlock;
    /// A sealed block as the journal keeps it.
    type Sealed: Debug;
    /// Blocks that are to be packed.
    type Job: PackJob;
    /// A version that leaves.
    type Package: Package;
    /// The values after the blocks that were folded.
    type Base;
    /// The blocks as readers see them.
    type View: Debug;
    /// The open block as readers see it.
    type Pending: Debug;

    /// The last final block.
    fn final_id(&self) -> BlockId;

    /// The newest block.
    fn newest_id(&self) -> BlockId;

    /// Unfinished blocks.
    fn unfinished_len(&self) -> usize;

    /// The block with this number, if it is in memory.
    fn id_of(&self, number: u64) -> Option<BlockId>;

    /// The transactions of an unfinished block.
    fn transactions(&self, number: u64) -> Option<&[Transaction]>;

    /// How many transactions each block in memory has, newest first.
    fn transaction_counts(&self) -> Vec<usize>;

    /// An account after the newest block, as the pool wants it.
    fn account(&self, address: Address) -> Result<Account, Broken>;

    /// The next block, as far as the pool has to know.
    fn head(&self) -> Head;

    /// The base fee never falls below this.
    fn base_fee_floor_wei(&self) -> u64;

    /// Transactions in a block at most.
    fn transactions_max(&self) -> usize;

    /// From now on blocks are opened, signed and packed for this code of the service, and what was packed for another one is not used.
    /// `false` if the code is not known here, or the key of its builder is not: then nothing may be opened or packed.
    fn set_code(&mut self, code_hash: Hash) -> bool;

    /// Opens a block on the newest one. `build` is another one for each block that is ever opened, so that no two sealed
    /// blocks share a hash.
    fn open(&self, now_secs: u64, build: u64) -> Result<Self::Open, Broken>;

    /// Seals the block, checks it as validators will, and adds it to the chain.
    fn seal(&mut self, open: Self::Open) -> Result<Added<Self::Sealed>, NotSealed>;

    /// Prepares packing of unfinished blocks: exactly these, or as many of them as a package holds.
    fn pack(&mut self, run: Run, is_fixed: bool) -> Result<Self::Job, Broken>;

    /// Takes what packing came to, and keeps it until it [rests](Blocks::rest).
    fn packed(&mut self, done: <Self::Job as PackJob>::Done) -> PackOutcome;

    /// Makes a version of a run that was packed. `None` if this context does not allow it yet: a block is dated too late.
    fn package(
        &mut self,
        run: Run,
        context: RefineContext,
        version: u32,
    ) -> Result<Option<Self::Package>, Broken>;

    /// Takes an unfinished block from before a restart. They come in order.
    fn restore(&mut self, block: Self::Sealed);

    /// A bundle is guaranteed: it is not going to be sent soon, and what only sending needs can be forgotten.
    fn rest(&mut self, run: Run);

    /// Takes a block and all that stand on it away, lowest first.
    fn release(&mut self, from: u64) -> Vec<Removed>;

    /// The lowest unfinished block is final.
    fn finalize(&mut self, block: BlockId) -> Result<(), Broken>;

    /// The durable values hold what blocks up to `height` wrote; states above read through to them.
    fn rebase(&mut self, height: u64, base: &Self::Base);

    /// What readers see of the blocks.
    fn view(&self) -> Self::View;

    /// What readers see of the open block.
    fn pending(&self, open: &Self::Open) -> Result<Self::Pending, Broken>;
}
