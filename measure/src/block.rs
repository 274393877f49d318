//! What a block costs, to build and to refine, against what nobody can avoid.
//!
//! The state has a million accounts and a token that a tenth of them hold. A block has a thousand transfers, of ether or
//! of the token, from a thousand senders to random accounts; every turn has a block of its own. The floor of building is
//! revm on plain maps that hold the same accounts and balances, and the hashes: the keys of what is touched, every node of the
//! tree that changes, the leaves and nodes of two tries. The floor of refining has besides them the recovery of the
//! senders, the nodes that prove the state before, the extrinsics and the exports. All hashes one after the other.

use super::{
    Ratio, cost, median_of_pairs,
    state::{Unavoidable, random},
};
use alloy_consensus::transaction::SignerRecoverable;
use alloy_eips::Encodable2718;
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256, keccak256, map::HashMap};
use bundler::{Packaged, Parent, Refined, Sealed};
use harness::blocks::{self, BENEFICIARY, Call, MemoryChain, Values, Wallet, contracts};
use jam::{hash::blake2b, params::SEGMENT_BYTES};
use revm::{
    Context, DatabaseRef, ExecuteCommitEvm, MainBuilder, MainContext,
    context::{BlockEnv, CfgEnv, TxEnv},
    database::CacheDB,
    primitives::hardfork::SpecId,
    state::{AccountInfo, Bytecode},
};
use service::genesis::Genesis;
use state::{AccountKeys, BasicData, Blake2b, CodeSet, Hasher, Key, Layer, MemoryValues, Stem, Tree, Value};
use std::{
    convert::Infallible,
    sync::{Arc, LazyLock},
    time::Duration,
};
use types::Transaction;

pub(super) const RATIOS: &[Ratio] = &[
    Ratio { name: "build-transfers", target: 2.0, measure: || build(Kind::Ether) },
    Ratio { name: "build-erc20", target: 2.0, measure: || build(Kind::Token) },
    Ratio { name: "refine-transfers", target: 2.0, measure: || refine(Kind::Ether) },
    Ratio { name: "refine-erc20", target: 2.0, measure: || refine(Kind::Token) },
];

const ACCOUNTS: u64 = 1_000_000;
const HOLDERS_ONE_IN: u64 = 10;
const HOLDERS: u64 = ACCOUNTS / HOLDERS_ONE_IN;
const SENDERS: u64 = 1_000;
const PAIRS: usize = 11;
const TOKEN: Address = Address::repeat_byte(0x70);
/// More than anyone sends.
const BALANCE: u64 = 1_000_000_000_000_000_000;
/// Bytes of a full branch of a Merkle-Patricia trie.
const BRANCH_BYTES: usize = 532;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ether,
    Token,
}

pub(super) struct World {
    plain: Plain,
    pub(super) chain: MemoryChain,
    pub(super) wallets: Vec<Wallet>,
    stems: Vec<Stem>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| world(ACCOUNTS, SENDERS));

fn account(index: u64) -> Address {
    Address::left_padding_from(&(index + (1 << 32)).to_be_bytes())
}

/// A chain with so many accounts and so many senders besides.
pub(super) fn world(accounts: u64, senders: u64) -> World {
    let wallets = (0..senders).map(Wallet::new).collect::<Vec<_>>();
    let basic = BasicData::new(0, 0, U256::from(BALANCE)).expect("an ether fits").encode();
    let senders = wallets.iter().map(Wallet::address);
    let mut leaves = Genesis::dev(&blocks::config()).writes.into_iter().collect::<Vec<_>>();
    for address in (0..accounts).map(account).chain(senders.clone()) {
        let keys = AccountKeys::<Blake2b>::new(address);
        leaves.extend([(keys.basic_data(), basic), (keys.code_hash(), KECCAK256_EMPTY)]);
    }
    leaves.extend(blocks::leaves(TOKEN, U256::ZERO, &contracts::erc20()));
    let token = AccountKeys::<Blake2b>::new(TOKEN);
    for holder in (0..accounts.div_ceil(HOLDERS_ONE_IN)).map(account).chain(senders) {
        leaves.push((token.slot(contracts::erc20_slot(holder)), Value::from(U256::from(BALANCE))));
    }
    leaves.sort_unstable();
    let mut stems = leaves.iter().map(|(key, _)| *key.stem()).collect::<Vec<_>>();
    stems.dedup();
    let tree = Tree::default().extend(leaves.iter().copied());
    let genesis = Genesis::dev(&blocks::config());
    let mut header = genesis.header;
    header.state_root = tree.root();
    let values: MemoryValues = leaves.into_iter().collect();
    let mut codes: CodeSet = genesis.codes;
    codes.insert(contracts::erc20());
    let parent = Parent::new(header, Layer::new(Arc::new(values), tree, 0));
    let plain = Plain::new(wallets.iter().map(Wallet::address));
    World { plain, chain: MemoryChain::at(parent, codes, blocks::config()), wallets, stems }
}

/// One block with everything that both sides need.
struct Case {
    transactions: Vec<Transaction>,
    sealed: Sealed<Values>,
    refined: Refined,
    packaged: Packaged,
    envs: Vec<TxEnv>,
    touched: Vec<Key>,
    hashes_before: Unavoidable,
    hashes_after: Unavoidable,
}

impl Case {
    fn new(kind: Kind, seed: u64) -> Self {
        let World { chain, wallets, stems, .. } = &*WORLD;
        let to = recipients(kind, ACCOUNTS, seed);
        let calls = to.zip(wallets).map(|(to, wallet)| (wallet, call(kind, to)));
        let calls = calls.collect::<Vec<_>>();
        let transactions =
            calls.iter().map(|(wallet, call)| wallet.eip1559(call.clone())).collect::<Vec<_>>();
        let envs = calls.iter().map(|(wallet, call)| env(wallet.address(), call)).collect();

        let mut chain = chain.clone();
        let mut open = chain.open();
        for tx in &transactions {
            open.push(tx).expect("everyone has enough");
        }
        let changes = open.state().changes().expect("values in memory");
        let sealed = open.seal(&chain.secret).expect("values in memory");
        let (refined, packaged) = chain.package(&sealed);
        let touched = changes.touched.into_iter().collect::<Vec<_>>();
        Self {
            hashes_before: Unavoidable::of_keys(stems, touched.iter()),
            hashes_after: Unavoidable::of_keys(stems, changes.writes.keys()),
            transactions,
            sealed,
            refined,
            packaged,
            envs,
            touched,
        }
    }

    /// revm on a map, with one instance for the block.
    fn revm(&self) -> Duration {
        let database = CacheDB::new(&WORLD.plain);
        let block = BlockEnv {
            number: U256::ONE,
            beneficiary: BENEFICIARY,
            basefee: 1_000_000_000,
            gas_limit: 120_000_000,
            ..BlockEnv::default()
        };
        let cfg = CfgEnv::new_with_spec(SpecId::OSAKA).with_chain_id(service::config::CHAIN_ID);
        let mut evm = Context::mainnet().with_db(database).with_block(block).with_cfg(cfg).build_mainnet();
        let envs = self.envs.clone();
        let (spent, gas) = cost(|| {
            envs.into_iter()
                .map(|tx| evm.transact_commit(tx).expect("it is valid").tx_gas_used())
                .sum::<u64>()
        });
        assert_eq!(gas, self.sealed.block().header().gas_used);
        spent
    }

    /// The keys of what is touched, one for each stem.
    fn key_hashes(&self) -> Duration {
        let stems = self.touched.chunk_by(|a, b| a.stem() == b.stem()).count();
        cost(|| (0..stems).for_each(|i| consume(Blake2b::hash(&[i as u8; 64])))).0
    }

    /// The leaves and branches of the tries of transactions and receipts, and the logs in the bloom.
    fn trie_hashes(&self) -> Duration {
        let receipts = self.sealed.receipts.iter().map(Encodable2718::encoded_2718).collect::<Vec<_>>();
        let transactions = &self.transactions;
        let logs = self.sealed.receipts.iter().flat_map(|receipt| receipt.logs()).count();
        cost(|| {
            transactions.iter().for_each(|tx| consume(keccak256(tx.encoded())));
            receipts.iter().for_each(|receipt| consume(keccak256(receipt)));
            for _ in 0..2 * transactions.len().div_ceil(15) {
                consume(keccak256([7; BRANCH_BYTES]));
            }
            (0..4 * logs).for_each(|_| consume(keccak256([7; 32])));
        })
        .0
    }

    fn build_floor(&self) -> Duration {
        self.revm() + self.key_hashes() + self.trie_hashes() + self.hashes_after.cost()
    }

    fn refine_floor(&self) -> Duration {
        let recovery = cost(|| {
            self.transactions
                .iter()
                .for_each(|tx| assert!(tx.recover_signer().is_ok_and(|s| s == tx.sender())));
        });
        let blobs = cost(|| {
            self.packaged.bundle.extrinsics.iter().for_each(|blob| consume(blake2b(&[blob])));
            (0..self.refined.export_segments()).for_each(|i| consume(blake2b(&[&[i as u8; SEGMENT_BYTES]])));
        });
        self.build_floor() + self.hashes_before.cost() + recovery.0 + blobs.0
    }
}

/// Random accounts; of the token's holders, if it is sent.
pub(super) fn recipients(kind: Kind, accounts: u64, seed: u64) -> impl Iterator<Item = Address> {
    let holders = accounts.div_ceil(HOLDERS_ONE_IN);
    random(seed << 20).map(move |n| account(n % if kind == Kind::Token { holders } else { accounts }))
}

pub(super) fn call(kind: Kind, to: Address) -> Call {
    match kind {
        Kind::Ether => Call::transfer(to, 0, 1),
        Kind::Token => {
            Call { input: contracts::erc20_transfer(to, 1), gas_limit: 100_000, ..Call::to(TOKEN, 0) }
        }
    }
}

fn env(caller: Address, call: &Call) -> TxEnv {
    TxEnv {
        tx_type: 2,
        caller,
        gas_limit: call.gas_limit,
        gas_price: call.max_fee,
        gas_priority_fee: Some(call.tip),
        kind: call.to,
        value: call.value,
        data: call.input.clone(),
        nonce: call.nonce,
        chain_id: Some(call.chain_id),
        ..TxEnv::default()
    }
}

/// The state as plain maps.
struct Plain {
    accounts: HashMap<Address, AccountInfo>,
    balances: HashMap<U256, U256>,
    token: Bytecode,
}

impl Plain {
    fn new(senders: impl Iterator<Item = Address> + Clone) -> Self {
        let info = AccountInfo { balance: U256::from(BALANCE), ..AccountInfo::default() };
        let accounts =
            (0..ACCOUNTS).map(account).chain(senders.clone()).map(|address| (address, info.clone()));
        let holders = (0..HOLDERS).map(account).chain(senders);
        let balances = holders.map(|holder| (contracts::erc20_slot(holder), U256::from(BALANCE))).collect();
        let token = Bytecode::new_raw(contracts::erc20());
        let code_hash = token.hash_slow();
        let of_token =
            AccountInfo { nonce: 1, code_hash, code: Some(token.clone()), ..AccountInfo::default() };
        Self { accounts: accounts.chain([(TOKEN, of_token)]).collect(), balances, token }
    }
}

impl DatabaseRef for Plain {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.accounts.get(&address).cloned())
    }

    fn code_by_hash_ref(&self, _: Value) -> Result<Bytecode, Infallible> {
        Ok(self.token.clone())
    }

    fn storage_ref(&self, _: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(self.balances.get(&slot).copied().unwrap_or_default())
    }

    fn block_hash_ref(&self, _: u64) -> Result<Value, Infallible> {
        Ok(Value::ZERO)
    }
}

fn cases(kind: Kind) -> Vec<Case> {
    let cases = (1..=PAIRS as u64 + 1).map(|seed| Case::new(kind, seed)).collect::<Vec<_>>();
    let case = &cases[0];
    let [witness, codes, transactions] = [0, 1, 2].map(|i| case.packaged.bundle.extrinsics[i].len());
    println!(
        "a block of {SENDERS} at {ACCOUNTS} accounts: witness {witness} bytes, codes {codes}, transactions \
         {transactions}, package {}, exports {} segments; {} keys touched, {} written",
        case.packaged.bytes().len() - witness - codes - transactions,
        case.refined.export_segments(),
        case.touched.len(),
        case.sealed.writes.len(),
    );
    cases
}

fn build(kind: Kind) -> f64 {
    let cases = cases(kind);
    let (mut turns, mut floors) = (cases.iter(), cases.iter());
    let (mut ours, mut theirs) = ([Duration::ZERO; 2], [Duration::ZERO; 2]);
    let mut chain = WORLD.chain.clone();
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let case = turns.next().expect("one for each turn");
            let mut open = chain.open();
            let (pushes, ()) = cost(|| {
                for tx in &case.transactions {
                    open.push(tx).expect("everyone has enough");
                }
            });
            let (seal, sealed) = cost(|| open.seal(&chain.secret).expect("values in memory"));
            assert_eq!(sealed.layer.root(), case.sealed.layer.root());
            ours = [ours[0] + pushes, ours[1] + seal];
            pushes + seal
        },
        || {
            let case = floors.next().expect("one for each turn");
            let floor = case.build_floor();
            theirs = [theirs[0] + floor, theirs[1] + case.revm()];
            floor
        },
    );
    let ([pushes, seal], [floor, revm]) = (ours.map(mean), theirs.map(mean));
    println!("push {pushes:.2} ms, seal {seal:.2} ms; floor {floor:.2} ms, of which revm {revm:.2} ms");
    ratio
}

fn refine(kind: Kind) -> f64 {
    let cases = cases(kind);
    let bytes = cases.iter().map(|case| case.packaged.bytes()).collect::<Vec<Bytes>>();
    let (mut turns, mut floors) = (bytes.iter().zip(&cases), cases.iter());
    let (mut ours, mut theirs) = ([Duration::ZERO; 2], Duration::ZERO);
    let chain = &WORLD.chain;
    let ratio = median_of_pairs(
        PAIRS,
        || {
            let (bytes, case) = turns.next().expect("one for each turn");
            let (full, output) = cost(|| {
                let output = chain.refine(bytes).expect("it was sealed");
                (output.exports_root(), output.claim)
            });
            assert_eq!(output.1.last, case.sealed.block().id());
            let (known, refined) = cost(|| chain.bundler.check(&chain.parent, &case.sealed));
            assert!(refined.is_ok());
            ours = [ours[0] + full, ours[1] + known];
            full
        },
        || {
            let floor = floors.next().expect("one for each turn").refine_floor();
            theirs += floor;
            floor
        },
    );
    let ([full, known], floor) = (ours.map(mean), mean(theirs));
    println!("refine {full:.2} ms, by the builder who knows the senders {known:.2} ms; floor {floor:.2} ms");
    ratio
}

/// Milliseconds of one turn.
fn mean(total: Duration) -> f64 {
    total.as_secs_f64() * 1e3 / (PAIRS + 1) as f64
}

/// Lets no hash be left out because nobody looks at it.
fn consume(hash: Value) {
    std::hint::black_box(hash);
}
