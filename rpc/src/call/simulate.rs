//! `eth_simulateV1`: blocks that could follow, one after the other, with whatever state they are pretended to find.

use super::{
    BlockOverrides, Missing, Request, Simulated, StateDb, StateOverrides, deadline::Deadline, error,
    overrides, precompiles::Precompiled, simulated::Done, system, transfers::Transfers,
};
use crate::{Error, Pretended, State, evm_chain_spec::EvmChainSpec, hex::Hex};
use alloy_consensus::{
    EMPTY_OMMER_ROOT_HASH, Header,
    proofs::{calculate_withdrawals_root, ordered_trie_root_encoded},
};
use alloy_eips::{eip2718::Encodable2718, eip4895::Withdrawal, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{Address, B256, U256};
use revm::{
    Context, DatabaseCommit, DatabaseRef, InspectEvm, MainBuilder, MainContext,
    context::{
        BlockEnv, CfgEnv,
        result::{EVMError, InvalidTransaction},
    },
    database::CacheDB,
    primitives::hardfork::SpecId,
    state::AccountInfo,
};
use serde::Deserialize;
use std::{sync::Arc, time::Instant};
use types::{ReceiptedBlock, SealedBlock, Transaction};

/// Blocks in a simulation.
const BLOCKS_MAX: u64 = 256;
/// The time between blocks that do not say theirs.
const BLOCK_SECONDS: u64 = 12;

/// What to simulate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SimulationRequest {
    block_state_calls: Vec<SimulatedBlock>,
    trace_transfers: bool,
    validation: bool,
    pub(crate) return_full_transactions: bool,
}

/// One block of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SimulatedBlock {
    block_overrides: Option<BlockOverrides>,
    state_overrides: Option<StateOverrides>,
    calls: Option<Vec<Request>>,
}

/// A simulation.
pub(crate) struct Simulation<'a> {
    chain: &'a EvmChainSpec,
    base: Arc<dyn State>,
    db: CacheDB<StateDb>,
    parent: Header,
    parent_hash: B256,
    deadline: Instant,
    gas_left: u64,
    validation: bool,
    trace_transfers: bool,
}

fn wrong(code: i32, why: String) -> Error {
    Error::new(code, why)
}

/// A time that must be after another one.
fn after(time: u64, wanted: u64) -> Result<u64, Error> {
    if wanted > time {
        return Ok(wanted);
    }
    Err(wrong(-38021, format!("block timestamps must be in order: {wanted} <= {time}")))
}

impl<'a> Simulation<'a> {
    /// On a block with this state.
    pub(crate) fn new(
        chain: &'a EvmChainSpec,
        (parent, parent_hash): (Header, B256),
        base: Arc<dyn State>,
        deadline: Instant,
        gas_left: u64,
    ) -> Self {
        let mut db = CacheDB::new(StateDb(base.clone()));
        db.cache.block_hashes.insert(U256::from(parent.number), parent_hash);
        Self {
            chain,
            base,
            db,
            parent,
            parent_hash,
            deadline,
            gas_left,
            validation: false,
            trace_transfers: false,
        }
    }

    /// Simulates all blocks, those in between included.
    pub(crate) fn run(mut self, request: SimulationRequest) -> Result<Vec<Simulated>, Error> {
        if request.block_state_calls.is_empty() {
            return Err(Error::params("empty input"));
        }
        (self.validation, self.trace_transfers) = (request.validation, request.trace_transfers);
        let blocks = self.complete(request.block_state_calls)?;
        blocks.into_iter().map(|(number, time, block)| self.block(number, time, block)).collect()
    }

    /// Gives each block its number and time, and fills the gaps.
    fn complete(&self, blocks: Vec<SimulatedBlock>) -> Result<Vec<(u64, u64, SimulatedBlock)>, Error> {
        let (base, mut time) = (self.parent.number, self.parent.timestamp);
        let mut last = base;
        let mut complete = Vec::new();
        for block in blocks {
            let overrides = block.block_overrides.clone().unwrap_or_default();
            let next = U256::from(last).saturating_add(U256::from(1));
            let number = overrides.number.map_or(next, |Hex(number)| number);
            if number <= U256::from(last) {
                return Err(wrong(-38020, format!("block numbers must be in order: {number} <= {last}")));
            }
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            if number - base > BLOCKS_MAX {
                return Err(wrong(crate::error::CLIENT_LIMIT, "too many blocks".to_owned()));
            }
            for between in last + 1..number {
                time = after(time, time.saturating_add(BLOCK_SECONDS))?;
                complete.push((between, time, SimulatedBlock::default()));
            }
            let wanted = overrides.time.map_or(time.saturating_add(BLOCK_SECONDS), |Hex(wanted)| wanted);
            let wanted = after(time, wanted)?;
            (last, time) = (number, wanted);
            complete.push((number, time, block));
        }
        Ok(complete)
    }

    fn header(&self, number: u64, time: u64, overrides: &BlockOverrides) -> Header {
        let (parent, spec) = (&self.parent, self.chain.rules(number, time).spec);
        let base_fee = overrides.base_fee_per_gas.map(|Hex(fee)| fee);
        let base_fee = base_fee.unwrap_or_else(|| match self.validation {
            true => self.chain.next_base_fee(parent),
            false => 0,
        });
        let excess = self.chain.next_excess_blob_gas(parent);
        let difficulty = if spec.is_enabled_in(SpecId::MERGE) { U256::ZERO } else { parent.difficulty };
        let withdrawals = overrides.withdrawals.as_deref().unwrap_or_default();
        Header {
            parent_hash: self.parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: overrides.fee_recipient.map_or(parent.beneficiary, |hex| hex.0),
            difficulty: overrides.difficulty.map_or(difficulty, |hex| hex.0),
            number,
            gas_limit: overrides.gas_limit.map_or(parent.gas_limit, |hex| hex.0),
            timestamp: time,
            mix_hash: overrides.prev_randao.map_or(B256::ZERO, |hex| hex.0),
            base_fee_per_gas: spec.is_enabled_in(SpecId::LONDON).then_some(base_fee),
            withdrawals_root: spec
                .is_enabled_in(SpecId::SHANGHAI)
                .then(|| calculate_withdrawals_root(withdrawals)),
            blob_gas_used: spec.is_enabled_in(SpecId::CANCUN).then_some(0),
            excess_blob_gas: spec.is_enabled_in(SpecId::CANCUN).then_some(excess),
            parent_beacon_block_root: spec
                .is_enabled_in(SpecId::CANCUN)
                .then(|| overrides.beacon_root.map_or(B256::ZERO, |hex| hex.0)),
            requests_hash: spec.is_enabled_in(SpecId::PRAGUE).then_some(EMPTY_REQUESTS_HASH),
            ..Header::default()
        }
    }

    fn cfg(&self, number: u64, time: u64) -> CfgEnv {
        let mut cfg = self.chain.rules(number, time).cfg();
        cfg.disable_nonce_check = !self.validation;
        // That contracts can send is what simulations are asked for.
        cfg.disable_eip3607 = true;
        cfg.disable_block_gas_limit = true;
        cfg.tx_chain_id_check = false;
        cfg.tx_gas_limit_cap = Some(u64::MAX);
        cfg
    }

    fn block(&mut self, number: u64, time: u64, wanted: SimulatedBlock) -> Result<Simulated, Error> {
        if Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        let overrides = wanted.block_overrides.unwrap_or_default();
        let header = self.header(number, time, &overrides);
        let rules = self.chain.rules(number, time);
        let mut env = rules.block(&header);
        // The header has them already, except what it cannot say.
        BlockOverrides { blob_base_fee: overrides.blob_base_fee, ..BlockOverrides::default() }
            .apply(&mut env);
        let mut precompiled = Precompiled::new(rules.spec);
        overrides::apply(&wanted.state_overrides.unwrap_or_default(), &mut self.db, &mut precompiled)?;
        let surroundings = Surroundings { cfg: self.cfg(number, time), env, precompiled };
        system::before(&mut self.db, &surroundings.cfg, &surroundings.env, &header)?;
        let mut done = Done::default();
        for call in wanted.calls.unwrap_or_default() {
            self.call(&surroundings, &header, call, &mut done)?;
        }
        system::after(&mut self.db, &surroundings.cfg, &surroundings.env)?;
        if !header.difficulty.is_zero() {
            self.credit(header.beneficiary, block_reward(rules.spec))?;
        }
        let withdrawals = header.withdrawals_root.map(|_| overrides.withdrawals.unwrap_or_default());
        for withdrawal in withdrawals.iter().flatten() {
            self.credit(withdrawal.address, withdrawal.amount_wei())?;
        }
        self.seal(header, done, withdrawals)
    }

    fn credit(&mut self, address: Address, wei: U256) -> Result<(), Error> {
        let mut info = self.db.load_account(address).map_err(Error::internal)?.info().unwrap_or_default();
        info.balance = info.balance.saturating_add(wei);
        self.db.insert_account_info(address, info);
        Ok(())
    }

    fn call(
        &mut self,
        at: &Surroundings,
        header: &Header,
        mut request: Request,
        done: &mut Done,
    ) -> Result<(), Error> {
        request.check(self.chain.chain_id)?;
        let from = request.from.unwrap_or_default();
        let account = self.db.basic_ref(from).map_err(Error::internal)?.unwrap_or_default();
        let nonce = request.nonce.unwrap_or(account.nonce);
        let remaining = header.gas_limit.saturating_sub(done.gas_used);
        let gas = request.gas.unwrap_or(remaining);
        if gas > remaining {
            let why = format!("block gas limit reached: {} >= {}", done.gas_used, header.gas_limit);
            return Err(wrong(-38015, why));
        }
        let gas = gas.min(self.gas_left);
        if request.gas_price.is_none() {
            // Without a price it is a transaction of the usual type that pays nothing.
            request.max_fee = request.max_fee.or(Some(0));
            request.max_tip = request.max_tip.or(Some(0));
        }
        if !at.cfg.spec.is_enabled_in(SpecId::LONDON) {
            request.before_london();
        }
        let chain_id = self.chain.chain_id;
        let mut cfg = at.cfg.clone();
        cfg.disable_base_fee = !self.validation && request.fee_cap() == 0 && request.tip_cap() == 0;
        self.check(&account, &request, (nonce, gas), &at.env, cfg.disable_base_fee)?;
        let tx = request.unsigned(Missing { nonce, gas, chain_id });
        let environment = request.environment(gas, nonce, chain_id);
        let watch = Transfers::new(Deadline::new(self.deadline), self.trace_transfers);
        let context = Context::mainnet().with_db(&mut self.db);
        let context = context.with_block(at.env.clone()).with_cfg(cfg);
        let evm = context.build_mainnet_with_inspector(watch);
        let mut evm = evm.with_precompiles(at.precompiled.clone());
        let result = evm.inspect_tx(environment);
        let watch = evm.inspector;
        if watch.is_over() || Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        let executed = result.map_err(|failed| match failed {
            EVMError::Transaction(why) => {
                invalid(&why, from, gas, U256::from(request.fee_cap()), at.env.basefee)
            }
            other => Error::internal(other),
        })?;
        self.db.commit(executed.state);
        if account.nonce == u64::MAX && request.to.is_some() {
            self.begin_again(from)?;
        }
        self.gas_left = self.gas_left.saturating_sub(executed.result.tx_gas_used());
        done.add(tx, executed.result, watch.into_logs());
        Ok(())
    }

    /// The nonce is what is wrong first, whatever else is; then come the fees, then the money, and only then what revm looks
    /// at.
    fn check(
        &self,
        account: &AccountInfo,
        request: &Request,
        (nonce, gas): (u64, u64),
        env: &BlockEnv,
        unpaid: bool,
    ) -> Result<(), Error> {
        let (state, cap, tip) = (account.nonce, request.fee_cap(), request.tip_cap());
        let wanted = U256::from(gas).saturating_mul(U256::from(cap));
        let wanted = wanted.saturating_add(request.value).saturating_add(request.blob_cost());
        let why = match () {
            () if self.validation && nonce > state => InvalidTransaction::NonceTooHigh { tx: nonce, state },
            () if self.validation && nonce < state => InvalidTransaction::NonceTooLow { tx: nonce, state },
            () if self.validation && state == u64::MAX => InvalidTransaction::NonceOverflowInTransaction,
            () if !unpaid && cap < tip => InvalidTransaction::PriorityFeeGreaterThanMaxFee,
            () if !unpaid && cap < u128::from(env.basefee) => InvalidTransaction::GasPriceLessThanBasefee,
            () if account.balance < wanted => InvalidTransaction::LackOfFundForMaxFee {
                fee: Box::new(wanted),
                balance: Box::new(account.balance),
            },
            () => return Ok(()),
        };
        Err(invalid(&why, request.from.unwrap_or_default(), gas, U256::from(cap), env.basefee))
    }

    /// After the greatest nonce comes zero, where nobody looks at nonces.
    fn begin_again(&mut self, address: Address) -> Result<(), Error> {
        let mut info = self.db.load_account(address).map_err(Error::internal)?.info().unwrap_or_default();
        info.nonce = 0;
        self.db.insert_account_info(address, info);
        Ok(())
    }

    fn seal(
        &mut self,
        header: Header,
        done: Done,
        withdrawals: Option<Vec<Withdrawal>>,
    ) -> Result<Simulated, Error> {
        let encoded = done.receipts.iter().map(Encodable2718::encoded_2718).collect::<Vec<_>>();
        let transactions = done.transactions.iter().map(Transaction::encoded).collect::<Vec<_>>();
        let header = Header {
            state_root: self.root()?,
            transactions_root: ordered_trie_root_encoded(&transactions),
            receipts_root: ordered_trie_root_encoded(&encoded),
            logs_bloom: done
                .receipts
                .iter()
                .fold(Default::default(), |bloom, receipt| bloom | *receipt.logs_bloom()),
            gas_used: done.gas_used,
            blob_gas_used: header.blob_gas_used.map(|_| done.blob_gas_used()),
            ..header
        };
        let block = SealedBlock::new(header, done.transactions);
        self.parent = block.header().clone();
        self.parent_hash = block.id().hash;
        self.db.cache.block_hashes.insert(U256::from(block.id().number), block.id().hash);
        let block = ReceiptedBlock { block, receipts: done.receipts.into() };
        Ok(Simulated { block, withdrawals, calls: done.calls })
    }

    fn root(&self) -> Result<B256, Error> {
        let accounts = self.db.cache.accounts.iter().map(|(address, account)| {
            let mut info = account.info.clone();
            if info.code.is_none() {
                info.code = self.db.cache.contracts.get(&info.code_hash).cloned();
            }
            let slots = account.storage.iter().map(|(slot, value)| (*slot, *value)).collect();
            let cleared = account.account_state.is_storage_cleared();
            Pretended { address: *address, info, cleared, slots }
        });
        self.base.root_with(&accounts.collect::<Vec<_>>()).map_err(Error::internal)
    }
}

/// What the transactions of one block share.
struct Surroundings {
    cfg: CfgEnv,
    env: BlockEnv,
    precompiled: Precompiled,
}

/// What a block before the merge paid its miner, in wei.
fn block_reward(spec: SpecId) -> U256 {
    const ETHER: u64 = 1_000_000_000_000_000_000;
    let ether = match () {
        () if spec.is_enabled_in(SpecId::PETERSBURG) => 2,
        () if spec.is_enabled_in(SpecId::BYZANTIUM) => 3,
        () => 5,
    };
    U256::from(ether) * U256::from(ETHER)
}

fn invalid(why: &InvalidTransaction, from: Address, gas: u64, cap: U256, base_fee: u64) -> Error {
    let error = error::invalid(why, from, gas, cap, base_fee);
    wrong(code(why), format!("err: {} (supplied gas {gas})", error.message))
}

/// The codes that are specified for what is wrong with a simulated transaction.
const fn code(why: &InvalidTransaction) -> i32 {
    match why {
        InvalidTransaction::NonceTooLow { .. } => -38010,
        InvalidTransaction::NonceTooHigh { .. } => -38011,
        InvalidTransaction::GasPriceLessThanBasefee => -38012,
        InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
        | InvalidTransaction::GasFloorMoreThanGasLimit { .. } => -38013,
        InvalidTransaction::LackOfFundForMaxFee { .. } | InvalidTransaction::OverflowPaymentInTransaction => {
            -38014
        }
        InvalidTransaction::CallerGasLimitMoreThanBlock => -38015,
        InvalidTransaction::RejectCallerWithCode => -38024,
        InvalidTransaction::CreateInitCodeSizeLimit => -38025,
        InvalidTransaction::PriorityFeeGreaterThanMaxFee => crate::error::INVALID_PARAMS,
        _ => -32603,
    }
}
