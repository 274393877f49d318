//! The simulated chain: blocks in a tree, a pool, and nodes behind a balancer that do not all see the same.

use alloy_primitives::{B256, U256, keccak256};
use harness::rng::Rng;
use sender_model::{
    BlockCheck, Draft, Fees, Head, Identified, Inclusion, Quote, ReceiptAnswer, SendResponse, Signed, View,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a transaction does, as far as the simulation cares.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Payload {
    /// What a request wants.
    Request(String),
    /// Nothing.
    Noop,
    /// What somebody else wants who has the key too.
    Foreign,
}

/// A signed transaction.
#[derive(Clone, Debug)]
pub(super) struct Tx {
    pub hash: B256,
    pub nonce: u64,
    pub fees: Fees,
    pub gas: u64,
    pub value: U256,
    pub payload: Payload,
    /// Whether it has one gas price.
    pub legacy: bool,
    /// Whether nodes refuse it for ever.
    pub unminable: bool,
    /// Whether it is reverted.
    pub reverts: bool,
}

impl Tx {
    fn cost(&self) -> U256 {
        self.fees.cost(self.gas, self.value)
    }
}

/// A block of the tree.
#[derive(Clone, Debug)]
struct Block {
    parent: usize,
    number: u64,
    hash: B256,
    txs: Vec<B256>,
    count: u64,
    balance: U256,
}

/// Blocks that a node reads to answer one question.
const SEARCH_BLOCKS: u64 = 200;
/// Less than this no transaction can do with.
const INTRINSIC_GAS: u64 = 21_000;

/// The chain, as one who sees everything sees it.
#[derive(Debug)]
pub(super) struct Chain {
    blocks: Vec<Block>,
    tip: usize,
    finalized: usize,
    stale_tips: Vec<usize>,
    pool: BTreeMap<u64, Tx>,
    /// Everything that was ever signed, by hash.
    pub signed: BTreeMap<B256, Tx>,
    /// What some node has taken.
    pub taken: BTreeSet<B256>,
    /// In which blocks of the tree a transaction is.
    places: BTreeMap<B256, Vec<usize>>,
    pub base_fee: u128,
    /// Whether it has no EIP-1559: the base fee is then what miners ask for, and blocks do not show it.
    pub legacy: bool,
    pub depth: u64,
    pub block_txs_max: u64,
}

impl Chain {
    pub(super) fn new(number: u64, count: u64, balance: U256, depth: u64, block_txs_max: u64) -> Self {
        let genesis = Block { parent: 0, number, hash: keccak256(b"genesis"), txs: vec![], count, balance };
        Self {
            blocks: vec![genesis],
            tip: 0,
            finalized: 0,
            stale_tips: vec![],
            pool: BTreeMap::new(),
            signed: BTreeMap::new(),
            taken: BTreeSet::new(),
            places: BTreeMap::new(),
            base_fee: 1_000,
            legacy: false,
            depth,
            block_txs_max,
        }
    }

    /// Signs, as a signer with the key does: the same draft gives the same bytes.
    pub(super) fn sign(&mut self, draft: &Draft, payload: Payload, unminable: bool, reverts: bool) -> Signed {
        let (legacy, value) = (draft.intent.legacy, draft.intent.value);
        let text = format!("{} {payload:?} {:?} {} {value} {legacy}", draft.nonce, draft.fees, draft.gas);
        let hash = keccak256(text.as_bytes());
        let tx = Tx {
            hash,
            nonce: draft.nonce,
            fees: draft.fees,
            gas: draft.gas,
            value,
            payload,
            legacy,
            unminable,
            reverts,
        };
        self.signed.insert(hash, tx);
        Signed { hash, bytes: hash.to_vec().into() }
    }

    /// Somebody else signs and sends with the same key.
    pub(super) fn foreign(&mut self, rng: &mut Rng) {
        let nonce = self.count() + rng.below(3);
        let fee = self.base_fee * 20 + u128::from(rng.below(1000));
        let fees = Fees { max_fee_per_gas: fee, max_priority_fee_per_gas: fee };
        let hash = keccak256(format!("foreign {nonce} {fee}").as_bytes());
        let value = U256::ZERO;
        let payload = Payload::Foreign;
        let (gas, legacy) = (21_000, self.legacy);
        let tx = Tx { hash, nonce, fees, gas, value, payload, legacy, unminable: false, reverts: false };
        self.signed.insert(hash, tx.clone());
        self.pool.insert(nonce, tx);
    }

    fn block(&self, at: usize) -> &Block {
        &self.blocks[at]
    }

    /// The true count on the best chain.
    pub(super) fn count(&self) -> u64 {
        self.block(self.tip).count
    }

    /// The true count that cannot fall any more.
    pub(super) fn final_count(&self) -> u64 {
        self.block(self.finalized).count
    }

    /// Sets the balance, as a gift or a loss in the next blocks would.
    pub(super) fn set_balance(&mut self, balance: U256) {
        let tip = self.tip;
        self.blocks[tip].balance = balance;
    }

    /// The block at a height on the way to `tip`.
    fn ancestor(&self, mut tip: usize, number: u64) -> Option<usize> {
        while self.block(tip).number > number && tip != self.block(tip).parent {
            tip = self.block(tip).parent;
        }
        (self.block(tip).number == number).then_some(tip)
    }

    fn leads_to(&self, block: usize, tip: usize) -> bool {
        self.ancestor(tip, self.block(block).number) == Some(block)
    }

    /// Where a transaction is on the way to `tip`.
    fn inclusion(&self, hash: B256, tip: usize) -> Option<usize> {
        self.places.get(&hash)?.iter().copied().find(|block| self.leads_to(*block, tip))
    }

    /// Whether a transaction is in a block that cannot go away.
    pub(super) fn is_final(&self, hash: B256) -> bool {
        self.inclusion(hash, self.finalized).is_some()
    }

    /// What used a nonce for good.
    pub(super) fn final_user(&self, nonce: u64) -> Option<&Tx> {
        self.user(nonce, self.finalized)
    }

    fn user(&self, nonce: u64, tip: usize) -> Option<&Tx> {
        self.user_at(nonce, tip).map(|(_, tx)| tx)
    }

    /// The transaction with a nonce on the way to `tip`, and its block.
    fn user_at(&self, nonce: u64, tip: usize) -> Option<(usize, &Tx)> {
        let mut at = tip;
        while self.block(at).count > nonce {
            let found = self.block(at).txs.iter().map(|hash| &self.signed[hash]).find(|tx| tx.nonce == nonce);
            if let Some(tx) = found {
                return Some((at, tx));
            }
            if at == self.block(at).parent {
                return None;
            }
            at = self.block(at).parent;
        }
        None
    }

    /// Payloads on the best chain, newest block first.
    pub(super) fn payloads(&self) -> Vec<&Payload> {
        let (mut at, mut found) = (self.tip, vec![]);
        loop {
            found.extend(self.block(at).txs.iter().map(|hash| &self.signed[hash].payload));
            if at == self.block(at).parent {
                return found;
            }
            at = self.block(at).parent;
        }
    }

    /// Whether a node has a request's transaction in a block.
    pub(super) fn has_payload(&self, node: usize, request: &str) -> bool {
        let is_its = |tx: &&Tx| matches!(&tx.payload, Payload::Request(name) if name == request);
        self.signed.values().filter(is_its).any(|tx| self.inclusion(tx.hash, node).is_some())
    }

    /// Seals a block on the best chain from what the pool has.
    pub(super) fn seal(&mut self, salt: u64) {
        let parent = self.block(self.tip).clone();
        let (mut count, mut balance, mut txs) = (parent.count, parent.balance, vec![]);
        while (txs.len() as u64) < self.block_txs_max {
            let Some(tx) = self.pool.get(&count) else { break };
            if tx.fees.max_fee_per_gas < self.base_fee || tx.cost() > balance {
                break;
            }
            let price = (self.base_fee + tx.fees.max_priority_fee_per_gas).min(tx.fees.max_fee_per_gas);
            let value = if tx.reverts { U256::ZERO } else { tx.value };
            balance -= U256::from(price) * U256::from(tx.gas) + value;
            txs.push(tx.hash);
            count += 1;
        }
        let number = parent.number + 1;
        let hash = keccak256(format!("{} {number} {salt} {txs:?}", parent.hash).as_bytes());
        let at = self.blocks.len();
        for tx in &txs {
            self.places.entry(*tx).or_default().push(at);
        }
        self.blocks.push(Block { parent: self.tip, number, hash, txs, count, balance });
        self.tip = at;
        self.pool = self.pool.split_off(&count);
    }

    /// Leaves the newest blocks; what was in them goes back to the pool, or is lost.
    pub(super) fn reorg(&mut self, rng: &mut Rng) {
        let room = self.block(self.tip).number - self.block(self.finalized).number;
        if room == 0 {
            return;
        }
        let depth = rng.within(1, room);
        self.stale_tips = vec![self.tip];
        for _ in 0..depth {
            let block = self.block(self.tip).clone();
            for hash in block.txs {
                let tx = self.signed[&hash].clone();
                if rng.chance(800) && !self.pool.contains_key(&tx.nonce) {
                    self.pool.insert(tx.nonce, tx);
                }
            }
            self.tip = block.parent;
        }
        if rng.chance(200) {
            self.foreign(rng);
        }
        let reverted = rng.chance(500);
        for _ in 0..=depth {
            // One branch in two goes on without our transactions for a while.
            let kept = if reverted { std::mem::take(&mut self.pool) } else { BTreeMap::new() };
            self.seal(rng.bits());
            self.pool.extend(kept);
        }
    }

    /// Moves finality on.
    pub(super) fn finalize(&mut self) {
        let number = self.block(self.tip).number.saturating_sub(self.depth);
        if number > self.block(self.finalized).number
            && let Some(block) = self.ancestor(self.tip, number)
        {
            self.finalized = block;
        }
    }

    /// Forgets a transaction.
    pub(super) fn evict(&mut self, rng: &mut Rng) {
        let nonces: Vec<u64> = self.pool.keys().copied().collect();
        if !nonces.is_empty() {
            let nonce = nonces[rng.below(nonces.len() as u64) as usize];
            self.pool.remove(&nonce);
        }
    }

    /// A node that is up to date, some blocks behind, or on a branch that was left.
    pub(super) fn node(&self, behind: u64, stale: bool) -> usize {
        if stale && let Some(tip) = self.stale_tips.last() {
            return *tip;
        }
        (0..behind).fold(self.tip, |at, _| self.block(at).parent)
    }

    /// The newest block that a node knows to be final.
    fn final_of(&self, node: usize) -> usize {
        let mut at = self.finalized;
        while !self.leads_to(at, node) {
            at = self.block(at).parent;
        }
        at
    }

    /// What the chain asks for, as nodes tell it.
    fn quote(&self) -> Quote {
        if self.legacy { Quote::gas_price(self.base_fee + 10) } else { Quote::dynamic(self.base_fee, 10) }
    }

    pub(super) fn view(&self, node: usize) -> View {
        let (latest, finalized) = (self.block(node), self.block(self.final_of(node)));
        View {
            latest: Head { number: latest.number, hash: latest.hash },
            latest_count: latest.count,
            finalized_number: finalized.number,
            finalized_count: Some(finalized.count),
            balance: latest.balance,
            quote: self.quote(),
        }
    }

    pub(super) fn receipt(&self, node: usize, hash: B256) -> ReceiptAnswer {
        let Some(block) = self.inclusion(hash, node).map(|at| self.block(at)) else {
            return ReceiptAnswer::NotFound;
        };
        let success = !self.signed[&hash].reverts;
        let block = Head { number: block.number, hash: block.hash };
        ReceiptAnswer::Found(Inclusion { block, success, receipt: None })
    }

    pub(super) fn check(&self, node: usize, number: u64) -> BlockCheck {
        let hash = self.ancestor(node, number).map(|at| self.block(at).hash);
        BlockCheck { number, hash, finalized_number: self.block(self.final_of(node)).number }
    }

    /// Which transaction has used a nonce, looked for in so many blocks as a node reads for one question.
    pub(super) fn identify(&self, node: usize, nonce: u64, from: u64) -> Identified {
        let end = self.block(node).number.min(from.saturating_add(SEARCH_BLOCKS));
        let found = self.user_at(nonce, node).map(|(at, tx)| (self.block(at), tx.hash));
        match found.filter(|(block, _)| (from..=end).contains(&block.number)) {
            Some((block, hash)) => {
                Identified::Found { hash, block: Head { number: block.number, hash: block.hash } }
            }
            None => Identified::NotBelow(end + 1),
        }
    }

    /// The height of the best chain.
    pub(super) fn head_number(&self) -> u64 {
        self.block(self.tip).number
    }

    /// A node's answer to a send, in go-ethereum's words.
    pub(super) fn send(&mut self, node: usize, hash: B256) -> SendResponse {
        let refuse = |message: &str| SendResponse::Error {
            http_status: Some(200),
            code: Some(-32000),
            message: message.to_owned(),
        };
        let Some(tx) = self.signed.get(&hash).cloned() else { return refuse("rlp: expected input list") };
        let block = self.block(node);
        if self.legacy && !tx.legacy {
            return refuse("transaction type not supported");
        }
        if tx.gas < INTRINSIC_GAS {
            return refuse("intrinsic gas too low");
        }
        if tx.unminable {
            return refuse("exceeds block gas limit");
        }
        if block.count > tx.nonce {
            return refuse("nonce too low: next nonce is higher");
        }
        if tx.cost() > block.balance {
            return refuse("insufficient funds for gas * price + value: balance is lower");
        }
        match self.pool.get(&tx.nonce) {
            Some(known) if known.hash == hash => return refuse("already known"),
            Some(known) if !tx.fees.may_replace(&known.fees) => {
                return refuse("replacement transaction underpriced");
            }
            _ => {}
        }
        if tx.nonce >= self.count() {
            self.pool.insert(tx.nonce, tx);
        }
        self.taken.insert(hash);
        SendResponse::Hash(hash)
    }
}
