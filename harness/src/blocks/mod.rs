//! A small chain to build blocks on: wallets, contracts, and a builder with its state.

pub mod contracts;
mod wallet;

pub use wallet::{Call, Wallet};

use alloy_primitives::{Address, B256, Bytes, U256};
use bundler::{Authorizer, Bundler, OpenBlock, Opening, Packaged, Parent, Refined, Sealed, Token};
use jam::{Ed25519Secret, HeaderHash, Params, RefineContext};
use service::{Config, genesis::Genesis, refine::Output};
use state::{Blake2b, CodeSet, Layer, MemoryValues, Tree, Writes, account_writes};
use std::{slice, sync::Arc};
use types::Transaction;

/// The service's number on the test chain.
pub const SERVICE: u32 = 7;
/// Who gets the fees.
pub const BENEFICIARY: Address = Address::repeat_byte(0xfe);
/// The values of the test chain are in memory.
pub type Values = Arc<MemoryValues>;

/// A chain in memory, at its newest block, with what builds the next one.
#[derive(Clone)]
pub struct MemoryChain {
    /// What builds blocks.
    pub bundler: Bundler,
    /// The builder's key.
    pub secret: Ed25519Secret,
    /// The newest block.
    pub parent: Parent<Values>,
    /// All codes.
    pub codes: Arc<CodeSet>,
    /// Blocks opened so far.
    pub builds: u64,
}

/// The configuration of the test chain.
pub fn config() -> Config {
    Config::new(SERVICE, B256::repeat_byte(0xc0), Ed25519Secret::trivial(99).public())
}

/// The builder of a chain.
pub fn bundler(config: Config) -> Bundler {
    let authorizer = Authorizer {
        host: 0,
        code_hash: B256::repeat_byte(0xa0),
        config: Bytes::new(),
        token: Token::Fixed(Bytes::new()),
    };
    Bundler::new(config, Params::TINY, authorizer)
}

/// A refine context that differs from all others by its number.
pub fn context(number: u8) -> RefineContext {
    RefineContext {
        anchor: HeaderHash(B256::repeat_byte(number)),
        state_root: B256::ZERO,
        beefy_root: B256::ZERO,
        lookup_anchor: HeaderHash::ZERO,
        lookup_anchor_slot: number.into(),
        prerequisites: Default::default(),
    }
}

impl MemoryChain {
    /// The development chain, with these accounts besides: address, balance, code.
    pub fn new(accounts: &[(Address, U256, Bytes)]) -> Self {
        let Genesis { mut header, mut writes, mut codes } = Genesis::dev(&config());
        for (address, balance, code) in accounts {
            writes.extend(leaves(*address, *balance, code));
            if !code.is_empty() {
                codes.insert(code.clone());
            }
        }
        let tree = Tree::default().update(&writes);
        header.state_root = tree.root();
        let values = writes.into_iter().collect();
        Self::at(Parent::new(header, Layer::new(Arc::new(values), tree, 0)), codes, config())
    }

    /// A chain that goes on from a block.
    pub fn at(parent: Parent<Values>, codes: CodeSet, config: Config) -> Self {
        let secret = Ed25519Secret::trivial(99);
        Self { bundler: bundler(config), secret, parent, codes: Arc::new(codes), builds: 0 }
    }

    /// Opens the next block.
    pub fn open(&mut self) -> OpenBlock<Values, Arc<CodeSet>> {
        self.builds += 1;
        let now_secs = self.parent.header.timestamp + 1;
        let opening = Opening { now_secs, beneficiary: BENEFICIARY, build: self.builds };
        self.bundler
            .open(self.parent.clone(), self.codes.clone(), opening)
            .expect("the state is the parent's")
    }

    /// Builds a block of what can be executed.
    pub fn build(&mut self, transactions: &[Transaction]) -> Sealed<Values> {
        let mut open = self.open();
        for tx in transactions {
            let _ = open.push(tx);
        }
        open.seal(&self.secret).expect("values in memory can be read")
    }

    /// Makes a block the newest one.
    pub fn advance(&mut self, sealed: &Sealed<Values>) {
        self.parent = sealed.as_parent();
        Arc::make_mut(&mut self.codes).extend(&sealed.created);
    }

    /// Packages a block, after the builder's own check.
    pub fn package(&self, sealed: &Sealed<Values>) -> (Refined, Packaged) {
        let refined = self
            .bundler
            .pack_exactly(&self.parent, slice::from_ref(&sealed.piece))
            .expect("what was sealed is valid");
        let packaged = self.bundler.package(&refined, context(1));
        (refined, packaged)
    }

    /// What a validator says about a bundle.
    pub fn refine(&self, bundle: &Bytes) -> Result<Output, service::refine::RefineError> {
        service::refine::refine(bundle, &self.bundler.config, &self.bundler.params)
    }
}

/// The leaves of an account with a nonce of one if it has code.
pub fn leaves(address: Address, balance: U256, code: &[u8]) -> Writes {
    let nonce = u64::from(!code.is_empty());
    account_writes::<Blake2b>(address, nonce, balance, code, []).expect("it fits into the tree")
}
