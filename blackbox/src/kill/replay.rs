//! The chain executed a second time, by nothing but revm and a map.
//!
//! Neither the node's execution nor its state is used: only the tree that roots are made of, which has its own judge.

use alloy_consensus::{Header, Transaction as _, TxEnvelope, Typed2718, transaction::SignerRecoverable};
use alloy_eips::eip2935::{HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256, map::AddressMap};
use revm::{
    Context, Database, DatabaseCommit, ExecuteEvm, MainBuilder, MainContext, SystemCallEvm,
    context::{BlockEnv, CfgEnv, TxEnv},
    primitives::hardfork::SpecId,
    state::{Account, AccountInfo, Bytecode},
};
use state::{Blake2b, Tree, Writes, account_writes};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
};

/// An account as a map keeps it.
#[derive(Clone, Debug, Default)]
struct Kept {
    nonce: u64,
    balance: U256,
    code: Bytes,
    slots: BTreeMap<U256, U256>,
}

/// The whole state.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    accounts: BTreeMap<Address, Kept>,
    codes: HashMap<B256, Bytes>,
}

impl Database for Accounts {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.accounts.get(&address).map(|kept| {
            let code_hash = if kept.code.is_empty() { KECCAK256_EMPTY } else { keccak256(&kept.code) };
            AccountInfo {
                balance: kept.balance,
                nonce: kept.nonce,
                code_hash,
                code: None,
                ..Default::default()
            }
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        Ok(self.codes.get(&hash).map(|code| Bytecode::new_raw(code.clone())).unwrap_or_default())
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Infallible> {
        let kept = self.accounts.get(&address);
        Ok(kept.and_then(|kept| kept.slots.get(&slot)).copied().unwrap_or_default())
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        let slot = U256::from(number % HISTORY_SERVE_WINDOW as u64);
        self.storage(HISTORY_STORAGE_ADDRESS, slot).map(B256::from)
    }
}

impl DatabaseCommit for Accounts {
    fn commit(&mut self, changes: AddressMap<Account>) {
        for (address, account) in changes {
            if !account.is_touched() || (account.info.is_empty() && !self.accounts.contains_key(&address)) {
                continue;
            }
            let kept = self.accounts.entry(address).or_default();
            (kept.nonce, kept.balance) = (account.info.nonce, account.info.balance);
            if let Some(code) = account.info.code.filter(|code| !code.is_empty()) {
                kept.code = code.original_bytes();
                self.codes.insert(account.info.code_hash, kept.code.clone());
            }
            let changed = account.storage.into_iter().filter(|(_, slot)| slot.is_changed());
            kept.slots.extend(changed.map(|(slot, value)| (slot, value.present_value())));
        }
    }
}

/// What a transaction came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// The transaction.
    pub(super) hash: B256,
    /// Who signed it.
    pub(super) sender: Address,
    /// Whether it did what it should.
    pub(super) success: bool,
    /// The gas that it used.
    pub(super) gas_used: u64,
    /// What it paid for each gas to the beneficiary.
    pub(super) tip_wei: u128,
}

/// A chain that is executed block by block.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    state: Accounts,
    chain_id: u64,
}

impl Replay {
    /// Before the first block: these balances, and the contract with the hashes of earlier blocks.
    pub(super) fn new(chain_id: u64, balances: impl IntoIterator<Item = (Address, U256)>) -> Self {
        let accounts = balances.into_iter().map(|(address, balance)| {
            let kept = Kept { balance, ..Kept::default() };
            (address, kept)
        });
        let mut state = Accounts { accounts: accounts.collect(), codes: HashMap::new() };
        let code = HISTORY_STORAGE_CODE.clone();
        state.codes.insert(keccak256(&code), code.clone());
        state.accounts.insert(HISTORY_STORAGE_ADDRESS, Kept { nonce: 1, code, ..Kept::default() });
        Self { state, chain_id }
    }

    /// Executes a block.
    pub(super) fn execute(
        &mut self,
        header: &Header,
        transactions: &[TxEnvelope],
    ) -> Result<Vec<Outcome>, String> {
        let base_fee = header.base_fee_per_gas.unwrap_or_default();
        let block = BlockEnv {
            number: U256::from(header.number),
            beneficiary: header.beneficiary,
            timestamp: U256::from(header.timestamp),
            gas_limit: header.gas_limit,
            basefee: base_fee,
            prevrandao: Some(header.mix_hash),
            ..BlockEnv::default()
        };
        let cfg = CfgEnv::new_with_spec(SpecId::OSAKA).with_chain_id(self.chain_id);
        let state = core::mem::take(&mut self.state);
        let mut evm = Context::mainnet().with_db(state).with_block(block).with_cfg(cfg).build_mainnet();
        let parent = Bytes::from(header.parent_hash);
        let done = evm.system_call(HISTORY_STORAGE_ADDRESS, parent).map_err(|why| why.to_string())?;
        evm.ctx.journaled_state.database.commit(done.state);
        let mut outcomes = Vec::new();
        for tx in transactions {
            let sender = tx.recover_signer().map_err(|why| why.to_string())?;
            let done = evm.transact(environment(tx, sender));
            let done = done.map_err(|why| format!("{} cannot be executed: {why}", tx.tx_hash()))?;
            evm.ctx.journaled_state.database.commit(done.state);
            outcomes.push(Outcome {
                hash: *tx.tx_hash(),
                sender,
                success: done.result.is_success(),
                gas_used: done.result.tx_gas_used(),
                tip_wei: tx.effective_tip_per_gas(base_fee).unwrap_or_default(),
            });
        }
        self.state = evm.ctx.journaled_state.database;
        Ok(outcomes)
    }

    /// The root of the tree that holds the state, made from nothing.
    pub(super) fn root(&self) -> Result<B256, String> {
        let mut writes = Writes::new();
        for (address, kept) in &self.state.accounts {
            let slots = kept.slots.iter().map(|(slot, value)| (*slot, *value));
            let leaves = account_writes::<Blake2b>(*address, kept.nonce, kept.balance, &kept.code, slots);
            writes.extend(leaves.map_err(|why| format!("account {address}: {why}"))?);
        }
        Ok(Tree::<Blake2b>::default().update(&writes).root())
    }

    /// All accounts with balance and nonce.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (Address, U256, u64)> {
        self.state.accounts.iter().map(|(address, kept)| (*address, kept.balance, kept.nonce))
    }

    /// A slot of a contract.
    pub(super) fn slot(&self, address: Address, slot: U256) -> U256 {
        let kept = self.state.accounts.get(&address);
        kept.and_then(|kept| kept.slots.get(&slot)).copied().unwrap_or_default()
    }
}

fn environment(tx: &TxEnvelope, sender: Address) -> TxEnv {
    TxEnv {
        tx_type: tx.ty(),
        caller: sender,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        ..TxEnv::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::blocks::{BENEFICIARY, Call, MemoryChain, Wallet, contracts};
    use types::Transaction;

    /// The builder's roots are those of the replay, with contracts, transfers and a call that fails.
    #[test]
    fn the_builder_comes_to_the_same() {
        let wallet = Wallet::new(1);
        let funds = U256::from(10).pow(U256::from(20));
        let mut chain = MemoryChain::new(&[(wallet.address(), funds, Bytes::new())]);
        let dev =
            service::genesis::DEV_ACCOUNTS.map(|it| (it, U256::from(service::genesis::DEV_BALANCE_WEI)));
        let mut replay =
            Replay::new(service::config::CHAIN_ID, dev.into_iter().chain([(wallet.address(), funds)]));
        assert_eq!(replay.root().unwrap(), chain.parent.header.state_root);
        let counter = wallet.address().create(0);
        let blocks = [
            vec![Call::create(contracts::deploy(contracts::COUNT), 0), Call::transfer(BENEFICIARY, 1, 5)],
            vec![],
            vec![Call::to(counter, 2), Call { gas_limit: 22_000, ..Call::to(counter, 3) }],
        ];
        let mut successes = vec![];
        for calls in blocks {
            let transactions =
                calls.into_iter().map(|call| wallet.eip1559(call)).collect::<Vec<Transaction>>();
            let sealed = chain.build(&transactions);
            chain.advance(&sealed);
            let envelopes = transactions.iter().map(|tx| (**tx).clone()).collect::<Vec<_>>();
            let header = sealed.block().header();
            let outcomes = replay.execute(header, &envelopes).unwrap();
            assert_eq!(outcomes.iter().map(|outcome| outcome.gas_used).sum::<u64>(), header.gas_used);
            assert_eq!(replay.root().unwrap(), header.state_root);
            successes.extend(outcomes.iter().map(|outcome| outcome.success));
        }
        assert_eq!(successes, [true, true, true, false]);
        assert_eq!(replay.slot(counter, U256::ZERO), U256::from(1));
    }
}
