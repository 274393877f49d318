//! What makes blocks and packages: in most seeds something that only hashes, in some the real bundler with revm, whose
//! packages the simulated validators refine.

use super::network::{CODE_HASH, PARAMS, SERVICE};
use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEnvelope, crypto::secp256k1, transaction::Recovered,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use bundler::{Authorizer, Bundler, Draft, Mistake, Opening, Parent, Sealed};
use jam::{Ed25519Secret, PackageHash, RefineContext, hash::blake2b};
use service::{Config, accumulate::Claim, genesis::Genesis};
use state::MemoryValues;
use std::{collections::BTreeMap, sync::Arc};
use types::{BlockId, Time, Transaction};

/// A block as a builder makes it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The block.
    pub(super) block: BlockId,
    /// What the journal keeps of it, if it is a real one.
    pub(super) draft: Option<Draft>,
}

/// A version as a builder makes it.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The block in it.
    pub(super) block: BlockId,
    /// Its package.
    pub(super) package: PackageHash,
    /// The whole bundle, if it is a real one.
    pub(super) bundle: Option<Bytes>,
}

/// Makes blocks and packages.
#[derive(Debug)]
pub(super) enum Builder {
    /// Hashes what it is given.
    Hashing,
    /// Executes.
    Real(Box<Real>),
}

impl Builder {
    pub(super) fn new(real: bool, senders: u64, mistake: Option<Mistake>) -> Self {
        if real { Self::Real(Box::new(Real::new(senders, mistake))) } else { Self::Hashing }
    }

    /// The block that the chain begins with.
    pub(super) fn genesis(&self) -> BlockId {
        match self {
            Self::Hashing => BlockId::new(0, B256::ZERO),
            Self::Real(real) => real.genesis.id(),
        }
    }

    /// Seals a block.
    pub(super) fn seal(
        &mut self,
        parent: BlockId,
        transactions: &[Transaction],
        counter: u64,
        now: Time,
    ) -> Made {
        match self {
            Self::Hashing => {
                let hashes = transactions.iter().flat_map(|tx| tx.hash().0).collect::<Vec<u8>>();
                let hash = blake2b(&[parent.hash.as_slice(), &hashes, &counter.to_le_bytes()]);
                Made { block: BlockId::new(parent.number + 1, hash), draft: None }
            }
            Self::Real(real) => {
                let draft = real.seal(transactions, counter, now);
                Made { block: draft.id(), draft: Some(draft) }
            }
        }
    }

    /// Packages a block; a later version is built again from its draft.
    pub(super) fn package(&self, block: BlockId, context: &RefineContext, version: u32) -> Version {
        use jam::codec::Encode;
        match self {
            Self::Hashing => {
                let package = PackageHash(blake2b(&[block.hash.as_slice(), &context.encode()]));
                Version { block, package, bundle: None }
            }
            Self::Real(real) => real.package(block, context, version),
        }
    }

    /// Takes a block that the journal kept.
    pub(super) fn restore(&mut self, draft: Option<&Draft>) {
        if let (Self::Real(real), Some(draft)) = (self, draft) {
            let parent = real.newest();
            let sealed = real.bundler.replay(draft, &parent, real.genesis.codes.clone());
            real.blocks
                .insert(draft.id().number, sealed.expect("what was sealed once can be executed again"));
        }
    }

    /// Forgets blocks from a number on: they were released.
    pub(super) fn forget(&mut self, from: u64) {
        if let Self::Real(real) = self {
            real.blocks.split_off(&from);
        }
    }
}

/// The real bundler, with the states of all its blocks.
#[derive(Debug)]
pub(super) struct Real {
    bundler: Bundler,
    secret: Ed25519Secret,
    genesis: Genesis,
    blocks: BTreeMap<u64, Sealed<Arc<MemoryValues>>>,
    mistake: Option<Mistake>,
}

/// The configuration of the service, for builder and validators.
pub(super) fn service_config() -> Config {
    Config::new(SERVICE, CODE_HASH, Ed25519Secret::trivial(9).public())
}

impl Real {
    fn new(senders: u64, mistake: Option<Mistake>) -> Self {
        let alloc = (0..senders)
            .map(|who| format!("\"{}\": {{ \"balance\": \"0xd3c21bcecceda1000000\" }}", sender(who, true)));
        let alloc = alloc.collect::<Vec<_>>().join(",");
        let json = format!(
            "{{ \"config\": {{ \"chainId\": 1337 }}, \"gasLimit\": \"0x7270e00\", \"difficulty\": \"0x0\", \
             \"alloc\": {{ {alloc} }} }}"
        );
        let genesis = Genesis::from_json(&json, &service_config()).expect("a plain genesis");
        let authorizer =
            Authorizer { host: 0, code_hash: B256::ZERO, config: Bytes::new(), token: Bytes::new() };
        Self {
            bundler: Bundler::new(service_config(), PARAMS, authorizer),
            secret: Ed25519Secret::trivial(9),
            genesis,
            blocks: BTreeMap::new(),
            mistake,
        }
    }

    fn newest(&self) -> Parent<Arc<MemoryValues>> {
        let genesis = || Parent::new(self.genesis.header.clone(), self.genesis.layer());
        self.blocks.last_key_value().map_or_else(genesis, |(_, sealed)| sealed.as_parent())
    }

    fn opening(build: u64, now: Time) -> Opening {
        Opening { now_secs: now.as_secs(), beneficiary: Address::repeat_byte(0xfe), build }
    }

    fn seal(&mut self, transactions: &[Transaction], counter: u64, now: Time) -> Draft {
        let codes = self.genesis.codes.clone();
        let open = self.bundler.open(self.newest(), codes, Self::opening(counter, now));
        let mut open = open.expect("the newest block can be built on");
        for tx in transactions {
            open.push(tx).expect("the pool hands out what can be executed");
        }
        let sealed = open.seal(&self.secret).expect("the state is in memory");
        let draft = sealed.draft.clone();
        self.blocks.insert(draft.id().number, sealed);
        draft
    }

    fn package(&self, block: BlockId, context: &RefineContext, version: u32) -> Version {
        let sealed = &self.blocks[&block.number];
        let before = self.blocks.get(&(block.number - 1)).map(Sealed::as_parent);
        let parent = before.unwrap_or_else(|| Parent::new(self.genesis.header.clone(), self.genesis.layer()));
        let codes = self.genesis.codes.clone();
        let packaged = match (version, self.mistake) {
            (1, _) => {
                let refined = self.bundler.refine(sealed).expect("validators accept what was sealed");
                self.bundler.package(&refined, context.clone())
            }
            (_, None) => {
                let rebuilt = self.bundler.rebuild(&sealed.draft, &parent, codes, context.clone());
                rebuilt.expect("a draft can be built again")
            }
            (_, Some(mistake)) => {
                let anew = (Self::opening(u64::from(version) << 32, Time::ZERO), &self.secret);
                let rebuilt =
                    self.bundler.rebuild_as(mistake, &sealed.draft, &parent, codes, context.clone(), anew);
                rebuilt.expect("a draft can be built anew")
            }
        };
        Version { block: packaged.block, package: packaged.hash, bundle: Some(packaged.bytes()) }
    }
}

/// What validators say about a bundle.
pub(super) fn refine(bundle: &Bytes) -> Result<Claim, String> {
    service::refine::refine(bundle, &service_config(), &PARAMS)
        .map(|output| output.claim)
        .map_err(|error| error.to_string())
}

/// The key of a user.
fn key(who: u64) -> B256 {
    B256::with_last_byte(who as u8 + 1)
}

/// The address of a user, with a key if signatures matter.
pub(super) fn sender(who: u64, signs: bool) -> Address {
    if !signs {
        return Address::with_last_byte(who as u8 + 1);
    }
    let tx = TxEip1559::default();
    let signature = secp256k1::sign_message(key(who), tx.signature_hash()).expect("a small number is a key");
    secp256k1::recover_signer(&signature, tx.signature_hash()).expect("just signed")
}

/// A transaction of a user, unique by its salt; signed if signatures matter.
pub(super) fn transaction(who: u64, signs: bool, nonce: u64, fee_gwei: u64, salt: u64) -> Transaction {
    let fee = u128::from(fee_gwei) * 1_000_000_000;
    let tx = TxEip1559 {
        chain_id: 1337,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(Address::repeat_byte(0xaa)),
        value: U256::from(salt % 100_000),
        ..TxEip1559::default()
    };
    let signature = match signs {
        true => secp256k1::sign_message(key(who), tx.signature_hash()).expect("a small number is a key"),
        false => Signature::new(U256::from(salt), U256::from(1), false),
    };
    let signed = TxEnvelope::from(tx.into_signed(signature));
    Transaction::new(Recovered::new_unchecked(signed, sender(who, signs)))
}
