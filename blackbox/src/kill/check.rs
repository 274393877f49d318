//! What became of everything, once all has settled.

use super::{
    client::Rpc,
    fate::check_fates,
    final_chain::{FinalChain, Mined},
    ledger::Ledger,
    load::counter,
    replay::Replay,
    world::{FEES, FUNDS_WEI, World},
};
use alloy_primitives::{Address, U256};
use harness::devnet::{Applied, applied_runs};
use serde_json::json;
use service::accumulate::Claim;
use std::collections::BTreeMap;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Transactions that the node said it has.
    pub accepted: usize,
    /// Of those, how many are final,
    pub finalized: usize,
    /// ended for a reason that the node gives,
    pub terminal: usize,
    /// or are neither.
    pub lost: usize,
    /// Transactions that are final more than once.
    pub duplicated: usize,
    /// Whatever else is wrong, in sentences.
    pub problems: Vec<String>,
}

impl Findings {
    /// Whether nothing is wrong.
    pub const fn is_good(&self) -> bool {
        self.lost == 0 && self.duplicated == 0 && self.problems.is_empty()
    }

    pub(super) fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }
}

/// Looks at everything.
pub(super) fn check(world: &World, rpc: &mut Rpc, ledger: &Ledger) -> Result<Findings, String> {
    let chain = FinalChain::fetch(rpc)?;
    let mut found = Findings::default();
    check_links(&chain, world, &mut found);
    check_validators(&chain, world, &mut found);
    let replay = check_execution(&chain, world, rpc, &mut found)?;
    let transactions = chain.blocks.iter().flat_map(|block| &block.transactions);
    check_fates(transactions.map(|tx| *tx.tx_hash()), &ledger.entries(), rpc, &mut found)?;
    check_nonces(&chain, &replay, &mut found);
    Ok(found)
}

/// One parent chain, from the first block to the final head.
fn check_links(chain: &FinalChain, world: &World, found: &mut Findings) {
    let mut parent = world.setup.genesis.id();
    for block in &chain.blocks {
        let id = block.id();
        let follows = block.header.parent_hash == parent.hash && id.number == parent.number + 1;
        found.expect(follows, || format!("block {id} does not stand on {parent}"));
        parent = id;
    }
    found.expect(chain.finalized == parent, || {
        format!("the finalized head is {}, the last block {parent}", chain.finalized)
    });
}

/// The validators have applied these blocks, each once, and no others.
fn check_validators(chain: &FinalChain, world: &World, found: &mut Findings) {
    for (index, head) in world.service_heads().into_iter().enumerate() {
        found.expect(head == Some(chain.finalized), || {
            format!("validator {index} has the head {head:?}, the node {}", chain.finalized)
        });
    }
    let applied = world.devnet.with_tree(0, |tree| applied_runs(tree, &world.setup)).unwrap_or_default();
    let mut blocks = &chain.blocks[..];
    for run in applied {
        let Applied { claim, times } = run;
        let many = usize::try_from(run.blocks()).unwrap_or(usize::MAX).min(blocks.len());
        let (its, rest) = blocks.split_at(many);
        let hashes = its.iter().map(|block| block.id().hash).collect::<Vec<_>>();
        let is_same = its.first().map(|block| block.id().number) == Some(claim.first)
            && its.last().map(Mined::id) == Some(claim.last)
            && Claim::root_of(&hashes) == claim.blocks_root;
        found.expect(is_same, || {
            format!("validators applied blocks {} to {}, the node has others", claim.first, claim.last)
        });
        found.expect(times == 1, || format!("blocks up to {} were applied {times} times", claim.last));
        blocks = rest;
    }
    found.expect(blocks.is_empty(), || format!("validators did not apply {} final blocks", blocks.len()));
}

/// A second execution comes to the same roots, gas, receipts, balances and storage.
fn check_execution(
    chain: &FinalChain,
    world: &World,
    rpc: &mut Rpc,
    found: &mut Findings,
) -> Result<Replay, String> {
    let funds = U256::from(FUNDS_WEI);
    let funded = super::judge::wallets().into_iter().map(|wallet| (wallet.address(), funds));
    let funded = funded.collect::<BTreeMap<_, _>>();
    let mut replay = Replay::new(world.setup.service.chain_id, funded.clone());
    let (mut burned, mut tips, mut counted) = (U256::ZERO, U256::ZERO, 0_u64);
    for block in &chain.blocks {
        let outcomes = replay.execute(&block.header, &block.transactions)?;
        let root = replay.root()?;
        let (number, header) = (block.header.number, &block.header);
        found.expect(root == header.state_root, || {
            format!("the state root of block {number} is {}, executed again {root}", header.state_root)
        });
        let gas = outcomes.iter().map(|outcome| outcome.gas_used).sum::<u64>();
        found.expect(gas == header.gas_used, || {
            format!("block {number} used {} gas, executed again {gas}", header.gas_used)
        });
        burned += U256::from(gas) * U256::from(header.base_fee_per_gas.unwrap_or_default());
        for (outcome, tx) in outcomes.iter().zip(&block.transactions) {
            use alloy_consensus::Transaction as _;
            tips += U256::from(outcome.gas_used) * U256::from(outcome.tip_wei);
            counted += u64::from(outcome.success && tx.to() == Some(counter()));
            let receipt = (outcome.success, outcome.gas_used);
            let told = chain.receipts.get(&outcome.hash);
            found.expect(told == Some(&receipt), || {
                format!("the receipt of {} says {told:?}, executed again {receipt:?}", outcome.hash)
            });
        }
    }
    let sum = replay.accounts().map(|(_, balance, _)| balance).sum::<U256>();
    let began = funds * U256::from(funded.len());
    found.expect(sum + burned == began, || format!("{sum} wei are left and {burned} burned of {began}"));
    check_balances(&replay, rpc, found)?;
    let fees = replay.accounts().find(|(address, ..)| *address == FEES).map_or(U256::ZERO, |(_, it, _)| it);
    found.expect(fees == tips, || format!("the fee recipient has {fees} wei, the tips come to {tips}"));
    let slot = replay.slot(counter(), U256::ZERO);
    found.expect(slot == U256::from(counted), || format!("{counted} calls were counted as {slot}"));
    Ok(replay)
}

/// What the node says of every account is what a second execution gives.
fn check_balances(replay: &Replay, rpc: &mut Rpc, found: &mut Findings) -> Result<(), String> {
    let accounts = replay.accounts().collect::<Vec<_>>();
    let calls = accounts.iter().flat_map(|(address, ..)| {
        let params = json!([address, "finalized"]);
        [("eth_getBalance", params.clone()), ("eth_getTransactionCount", params)]
    });
    let answers = rpc.batch(&calls.collect::<Vec<_>>()).ok_or("the node does not answer")?;
    for ((address, balance, nonce), told) in accounts.iter().zip(answers.as_chunks::<2>().0) {
        let expected = [format!("{balance:#x}"), format!("{nonce:#x}")];
        let is_same = told.iter().zip(&expected).all(|(told, is)| told.as_ref().is_ok_and(|told| told == is));
        found.expect(is_same, || format!("account {address} has {expected:?}, the node says {told:?}"));
    }
    Ok(())
}

/// The nonces of each account are 0, 1, 2 and so on.
fn check_nonces(chain: &FinalChain, replay: &Replay, found: &mut Findings) {
    use alloy_consensus::{Transaction as _, transaction::SignerRecoverable};
    let mut next = BTreeMap::<Address, u64>::new();
    for tx in chain.blocks.iter().flat_map(|block| &block.transactions) {
        let Ok(sender) = tx.recover_signer() else { continue };
        let expected = next.entry(sender).or_default();
        found.expect(*expected == tx.nonce(), || {
            format!("{} of {sender} has the nonce {}, not {expected}", tx.tx_hash(), tx.nonce())
        });
        *expected = tx.nonce() + 1;
    }
    for (address, _, nonce) in replay.accounts() {
        let sent = next.get(&address).copied();
        found.expect(sent.is_none_or(|sent| sent == nonce), || {
            format!("account {address} has the nonce {nonce} after {sent:?} transactions")
        });
    }
}
