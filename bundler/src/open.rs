//! A block that still takes transactions.

use crate::{
    Bundler, Parent,
    limits::{Limit, Limits},
    meter::{Added, Meter},
    refused::Refused,
    seal::{SealError, Sealed},
    work::{Counter, FRACTION, Transacted, Work, cost_around, transacted},
};
use alloy_consensus::{Header, ReceiptEnvelope, Transaction as _};
use alloy_primitives::{Address, map::HashSet};
use alloy_rlp::Encodable;
use jam::Ed25519Secret;
use revm::{
    DatabaseCommit,
    state::{Account, Bytecode, EvmState},
};
use service::{
    blobs::LENGTH_BYTES,
    execution::{Attempt, Execution, Rejected, Rules},
    exports,
    header::{self, Choice, HeaderError},
};
use signatures::Hints;
use state::{
    Codes, Layer, Values,
    evm::{BlockState, Checkpoint},
};
use types::{Reason, Transaction};

/// The numbers in a header may take so many bytes more once it is complete.
const HEADER_GROWTH_BYTES: usize = 32;
/// The payload behind the parent header, and the length of the block's list of transactions.
const PAYLOAD_BYTES: usize = service::payload::TAIL_BYTES + LENGTH_BYTES;
/// What the hints for the signatures take: once, for each transaction, and for each sender.
const HINTS_BYTES: usize = Hints::bytes_for(0, 0);
const HINT_BYTES: usize = Hints::bytes_for(0, 1) - HINTS_BYTES;
const KEY_BYTES: usize = Hints::bytes_for(1, 0) - HINTS_BYTES;

/// A block that still takes transactions. It owns its state: any number can be open at once, on the same parent or on
/// different ones.
pub struct OpenBlock<V: Values + Clone, C: Codes> {
    parent: Parent<V>,
    header: Header,
    execution: Execution<Layer<V>, C, Counter>,
    transactions: Vec<Transaction>,
    consumed: Vec<(Address, u64)>,
    limits: Limits,
    size: Size,
}

/// How large the block is so far, in everything that is limited and not gas.
#[derive(Clone, Debug)]
struct Size {
    /// What is there without any transaction, except the witness.
    fixed_bytes: usize,
    header_bytes: usize,
    witness: Meter,
    written: Meter,
    code_bytes: usize,
    transaction_bytes: usize,
    /// Whose keys are in the hints.
    senders: HashSet<Address>,
    /// The items of the exported lists.
    exported_transactions: usize,
    exported_receipts: usize,
    /// What a validator does, but for the state's nodes.
    work: Work,
    signatures: usize,
    /// What executing the transactions costs, in sixteenths of gas.
    cost: u64,
}

/// What a transaction adds to the size.
struct Growth {
    cost: u64,
    witness: Added,
    written: Added,
    code_bytes: usize,
    transaction_bytes: usize,
    new_sender: Option<Address>,
    exported_transaction: usize,
    exported_receipt: usize,
}

/// Why no block can be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// The state is not the parent's.
    #[error("the state is not the one after block {0}")]
    OtherState(types::BlockId),
    /// No block can follow the parent like this.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The state cannot be read.
    #[error("the state cannot be read: {0}")]
    State(String),
}

impl<V: Values + Clone, C: Codes + Clone> OpenBlock<V, C> {
    pub(crate) fn new(
        bundler: &Bundler,
        parent: Parent<V>,
        codes: C,
        choice: &Choice,
    ) -> Result<Self, OpenError> {
        if parent.layer.root() != parent.header.state_root {
            return Err(OpenError::OtherState(parent.id()));
        }
        let header = header::next(&parent.header, parent.hash, choice, &bundler.config)?;
        let rules = Rules::of(&bundler.config);
        let execution = Execution::new(parent.layer.clone(), codes, &header, rules);
        let execution = execution.map_err(|error| OpenError::State(error.to_string()))?;
        let size = Size::new(&parent, &header, bundler, execution.state());
        let gas_max = bundler.limits.gas_max.min(bundler.refine_gas());
        let limits = Limits { gas_max, ..bundler.limits };
        let execution = execution.expecting(limits.transactions_max).watched_by(Counter::default());
        Ok(Self { parent, header, execution, transactions: Vec::new(), consumed: Vec::new(), limits, size })
    }

    /// Executes a transaction and takes it, or says what should become of it. Whoever is refused leaves no trace.
    pub fn push(&mut self, tx: &Transaction) -> Result<&ReceiptEnvelope, Refused> {
        self.room_for(tx).map_err(|limit| self.no_room(limit))?;
        self.execution.inspector_mut().clear();
        let attempt = match self.execution.attempt_watched(tx, tx.sender()) {
            Ok(attempt) => attempt,
            Err(Rejected::Gas { limit, .. }) => return Err(self.no_room(self.gas(limit))),
            Err(rejected) => return Err(rejected.into()),
        };
        if let Err(why) = self.execution.state().check(&attempt.changes) {
            self.execution.discard(&attempt);
            return Err(Refused::Never(Reason::Invalid { why: why.to_string() }));
        }
        let growth = self.size.grow(&mut self.execution, tx, &attempt);
        if let Some(limit) = self.exceeded(&attempt)? {
            self.size.shrink(growth);
            self.execution.discard(&attempt);
            return Err(self.no_room(limit));
        }
        self.size.work += self.execution.inspector().work();
        self.transactions.push(tx.clone());
        self.consumed = consumed(tx, &attempt.changes);
        Ok(self.execution.keep(attempt))
    }

    /// A limit that can be seen before the transaction is executed.
    fn room_for(&self, tx: &Transaction) -> Result<(), Limit> {
        if self.transactions.len() >= self.limits.transactions_max {
            return Err(Limit::Transactions { max: self.limits.transactions_max });
        }
        if tx.gas_limit() > self.limits.gas_max.saturating_sub(self.gas_used()) {
            return Err(self.gas(tx.gas_limit()));
        }
        let needed = self.size.bundle_bytes() + LENGTH_BYTES + tx.encoded().len() + HINT_BYTES;
        if needed - self.size.witness.bytes() > self.limits.bundle_bytes_max {
            return Err(Limit::BundleBytes { needed, max: self.limits.bundle_bytes_max });
        }
        Ok(())
    }

    fn gas(&self, needed: u64) -> Limit {
        let max = self.limits.gas_max.min(self.header.gas_limit);
        Limit::Gas { needed: self.gas_used().saturating_add(needed), max }
    }

    /// The transaction waits for the next block, unless not even an empty one has room for it.
    fn no_room(&self, limit: Limit) -> Refused {
        if !self.transactions.is_empty() {
            return Refused::Full(limit);
        }
        let why = Reason::DoesNotFit { why: limit.to_string() };
        match limit {
            Limit::RefineGas { .. } => Refused::Unrefinable(why),
            _ => Refused::Never(why),
        }
    }

    /// A limit that the block exceeds with this transaction.
    fn exceeded(&mut self, attempt: &Attempt) -> Result<Option<Limit>, Refused> {
        let (needed, max) = (self.size.export_segments(), self.limits.export_segments_max);
        if needed > max {
            return Ok(Some(Limit::ExportSegments { needed, max }));
        }
        let max = self.limits.bundle_bytes_max;
        if self.size.bundle_bytes() > max {
            // The bound is too much; what the witness really takes decides.
            self.size.witness.rebase(self.witness_bytes(attempt)?);
        }
        let needed = self.size.bundle_bytes();
        if needed > max {
            return Ok(Some(Limit::BundleBytes { needed, max }));
        }
        let max = self.limits.refine_gas_max;
        if self.size.refine_gas() > max {
            // The bound is too much; how deep the tree is on the way to each stem decides.
            self.size.walk(&self.parent);
        }
        let needed = self.size.refine_gas();
        Ok((needed > max).then_some(Limit::RefineGas { needed, max }))
    }

    /// The length of the witness if the block ended with this transaction.
    fn witness_bytes(&self, attempt: &Attempt) -> Result<usize, Refused> {
        let mut state = self.execution.state().clone();
        state.commit(attempt.changes.clone());
        let changes = state.changes().map_err(|error| Refused::Broken(error.to_string()))?;
        let witness = self.parent.layer.witness_knowing(&changes.touched, &changes.read);
        Ok(witness.map_err(|error| Refused::Broken(error.to_string()))?.encode().len())
    }

    /// Ends the block: the builder signs its hash, and from here on it never changes.
    pub fn seal(self, secret: &Ed25519Secret) -> Result<Sealed<V>, SealError> {
        let executed = self.execution.finish().map_err(|error| SealError(error.to_string()))?;
        let work = self.size.work;
        Ok(Sealed::new(&self.parent, self.header, self.transactions, executed, work, |block| {
            service::signature::sign(secret, block)
        }))
    }

    /// The header as far as it is known.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The transactions so far.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// The receipts so far.
    pub fn receipts(&self) -> &[ReceiptEnvelope] {
        self.execution.receipts()
    }

    /// Accounts of which the last transaction may have taken nonces without being theirs: those whose authorizations it
    /// carries, and delegated ones whose code it called. Each with the nonce that its next transaction must have.
    pub fn consumed(&self) -> &[(Address, u64)] {
        &self.consumed
    }

    /// The gas that was used so far.
    pub const fn gas_used(&self) -> u64 {
        self.execution.gas_used()
    }

    /// A bound of the bytes that the bundle has so far.
    pub fn bundle_bytes(&self) -> usize {
        self.size.bundle_bytes()
    }

    /// A bound of the gas of JAM's virtual machine that refining the block takes so far.
    pub fn refine_gas(&self) -> u64 {
        self.size.refine_gas()
    }

    /// The state after the transactions so far, for whoever wants to look at it: a copy, since to read is to touch.
    pub fn state(&self) -> BlockState<Layer<V>, C> {
        self.execution.state().clone()
    }
}

/// See [`OpenBlock::consumed`].
fn consumed(tx: &Transaction, changes: &EvmState) -> Vec<(Address, u64)> {
    let may_have_lost = |address: &Address, account: &Account| {
        let is_delegated = account.info.code.as_ref().is_some_and(Bytecode::is_eip7702);
        let lost = is_delegated || tx.authorities().contains(address);
        // The sender's own nonce goes with the transaction; one more goes with an authorization by the sender.
        lost && (*address != tx.sender() || account.info.nonce > tx.nonce() + 1)
    };
    let touched = changes.iter().filter(|(_, account)| account.is_touched());
    let lost = touched.filter(|(address, account)| may_have_lost(address, account));
    lost.map(|(address, account)| (*address, account.info.nonce)).collect()
}

impl Size {
    fn new<V: Values + Clone, C: Codes>(
        parent: &Parent<V>,
        header: &Header,
        bundler: &Bundler,
        state: &BlockState<Layer<V>, C>,
    ) -> Self {
        let header_bytes = header.length() + HEADER_GROWTH_BYTES;
        let mut witness = Meter::new(parent.layer.tree().deepest());
        let touched = state.touched_since(Checkpoint::START);
        witness.add(touched.keys);
        let mut written = Meter::new(parent.layer.tree().deepest() + 1);
        written.add(state.changed_keys());
        Self {
            fixed_bytes: parent.header.length()
                + header_bytes
                + PAYLOAD_BYTES
                + HINTS_BYTES
                + bundler.authorizer.bytes(),
            header_bytes,
            witness,
            written,
            work: Work::of_block(),
            signatures: 0,
            cost: 0,
            code_bytes: touched.codes.iter().map(|len| LENGTH_BYTES + len).sum(),
            transaction_bytes: 0,
            senders: HashSet::default(),
            exported_transactions: 0,
            exported_receipts: 0,
        }
    }

    fn bundle_bytes(&self) -> usize {
        let key_bytes = self.senders.len() * KEY_BYTES;
        self.fixed_bytes + self.witness.bytes() + self.code_bytes + self.transaction_bytes + key_bytes
    }

    fn export_segments(&self) -> usize {
        let bytes =
            exports::block_bytes(self.header_bytes, self.exported_transactions, self.exported_receipts);
        exports::segments(bytes)
    }

    /// A bound of the gas to refine it.
    fn refine_gas(&self) -> u64 {
        let (witness, written) = (self.witness.witnessed(), self.written.written());
        let around = cost_around(self.signatures, self.senders.len(), &witness, &written);
        around.saturating_add(self.cost).div_ceil(FRACTION)
    }

    /// Counts the nodes on the way to each stem as they are.
    fn walk<V: Values + Clone>(&mut self, parent: &Parent<V>) {
        let tree = parent.layer.tree();
        self.witness.walk(|stem| tree.depth_of(stem).0);
        self.written.walk(|stem| tree.depth_of(stem).1);
    }

    /// Grows by a transaction that was just attempted.
    fn grow<V: Values + Clone, C: Codes>(
        &mut self,
        execution: &mut Execution<Layer<V>, C, Counter>,
        tx: &Transaction,
        attempt: &Attempt,
    ) -> Growth {
        let touched = execution.state().touched_since(attempt.before);
        let (written, created_bytes) = execution.state().written_by(&attempt.changes);
        let work = execution.inspector_mut().work_mut();
        transacted(work, &Transacted { tx, attempt, touched: &touched, created_bytes });
        let keys = touched.keys.into_iter().chain(written.iter().copied());
        let growth = Growth {
            cost: work.cost(),
            witness: self.witness.add(keys),
            written: self.written.add(written),
            code_bytes: touched.codes.iter().map(|len| LENGTH_BYTES + len).sum(),
            transaction_bytes: LENGTH_BYTES + tx.encoded().len() + HINT_BYTES,
            new_sender: self.senders.insert(tx.sender()).then(|| tx.sender()),
            exported_transaction: exports::item_bytes(tx.encoded()),
            exported_receipt: exports::receipt_bytes(&attempt.receipt),
        };
        self.code_bytes += growth.code_bytes;
        self.transaction_bytes += growth.transaction_bytes;
        self.exported_transactions += growth.exported_transaction;
        self.exported_receipts += growth.exported_receipt;
        self.signatures += 1;
        self.cost = self.cost.saturating_add(growth.cost);
        growth
    }

    fn shrink(&mut self, growth: Growth) {
        self.signatures -= 1;
        self.cost -= growth.cost;
        self.witness.undo(growth.witness);
        self.written.undo(growth.written);
        self.code_bytes -= growth.code_bytes;
        self.transaction_bytes -= growth.transaction_bytes;
        if let Some(sender) = growth.new_sender {
            self.senders.remove(&sender);
        }
        self.exported_transactions -= growth.exported_transaction;
        self.exported_receipts -= growth.exported_receipt;
    }
}
