//! Runs one request as often as needed, on the same state.

use super::precompiles::Precompiled;
use super::{BlockOverrides, Request, StateDb, StateOverrides, deadline::Deadline, error, overrides};
use crate::{Error, State, evm_chain_spec::EvmChainSpec};
use alloy_consensus::Header;
use alloy_primitives::U256;
use revm::{
    Context, DatabaseRef, InspectEvm, Inspector, MainBuilder, MainContext,
    context::{
        BlockEnv, CfgEnv,
        result::{EVMError, ResultAndState},
    },
    database::CacheDB,
    handler::MainnetContext,
    inspector::NoOpInspector,
    primitives::hardfork::SpecId,
    state::AccountInfo,
};
use std::{borrow::Cow, sync::Arc, time::Instant};

/// Runs requests on a state, each from the same start.
pub(crate) struct Simulator {
    pub(crate) db: CacheDB<StateDb>,
    pub(crate) block: BlockEnv,
    pub(crate) cfg: CfgEnv,
    precompiled: Precompiled,
    deadline: Instant,
}

impl Simulator {
    /// On a state, in the surroundings of the block that left it.
    pub(crate) fn new(
        chain: &EvmChainSpec,
        header: &Header,
        state: Arc<dyn State>,
        deadline: Instant,
    ) -> Self {
        let rules = chain.rules(header.number, header.timestamp);
        let mut cfg = rules.cfg();
        cfg.disable_nonce_check = true;
        cfg.disable_eip3607 = true;
        cfg.disable_block_gas_limit = true;
        cfg.tx_chain_id_check = false;
        cfg.tx_gas_limit_cap = Some(u64::MAX);
        cfg.max_blobs_per_tx = Some(u64::MAX);
        let precompiled = Precompiled::new(rules.spec);
        let db = CacheDB::new(StateDb(state));
        Self { db, block: rules.block(header), cfg, precompiled, deadline }
    }

    /// Pretends another state and another block.
    pub(crate) fn pretend(
        &mut self,
        state: Option<StateOverrides>,
        block: Option<BlockOverrides>,
    ) -> Result<(), Error> {
        if let Some(block) = block {
            block.check_for_call()?;
            block.apply(&mut self.block);
        }
        overrides::apply(&state.unwrap_or_default(), &mut self.db, &mut self.precompiled)
    }

    /// An account, as it is pretended to be.
    pub(crate) fn account(&self, address: alloy_primitives::Address) -> Result<AccountInfo, Error> {
        Ok(self.db.basic_ref(address).map_err(Error::internal)?.unwrap_or_default())
    }

    /// The fork.
    pub(crate) const fn spec(&self) -> SpecId {
        self.cfg.spec
    }

    /// Executes with so much gas.
    pub(crate) fn run(&mut self, request: &Request, gas: u64) -> Result<ResultAndState, Error> {
        Ok(self.run_watched(request, gas, NoOpInspector)?.0)
    }

    /// Executes with so much gas, while somebody watches.
    pub(crate) fn run_watched<W: Watch>(
        &mut self,
        request: &Request,
        gas: u64,
        watch: W,
    ) -> Result<(ResultAndState, W), Error> {
        let nonce = self.account(request.from.unwrap_or_default())?.nonce;
        let (mut cfg, mut block) = (self.cfg.clone(), self.block.clone());
        let request = surround(request, &mut cfg, &mut block);
        let tx = request.environment(gas, nonce, cfg.chain_id);
        let (caller, gas, cap) = (tx.caller, tx.gas_limit, tx.gas_price);
        let deadline = Deadline::new(self.deadline);
        let base_fee = block.basefee;
        let context = Context::mainnet().with_db(&mut self.db).with_block(block).with_cfg(cfg);
        let evm = context.build_mainnet_with_inspector((deadline, watch));
        let mut evm = evm.with_precompiles(self.precompiled.clone());
        let result = evm.inspect_tx(tx);
        let (deadline, watch) = evm.inspector;
        if deadline.is_over() || Instant::now() >= self.deadline {
            return Err(error::timeout());
        }
        let done = result.map_err(|failed| match failed {
            EVMError::Transaction(why) => error::invalid(&why, caller, gas, U256::from(cap), base_fee),
            EVMError::Database(why) => Error::internal(why),
            other => Error::internal(other),
        })?;
        Ok((done, watch))
    }
}

/// Sets prices as a request sees them that need not pay; gives it back as its fork understands it.
pub(super) fn surround<'a>(request: &'a Request, cfg: &mut CfgEnv, block: &mut BlockEnv) -> Cow<'a, Request> {
    let mut request = Cow::Borrowed(request);
    if !cfg.spec.is_enabled_in(SpecId::LONDON) {
        request.to_mut().before_london();
    }
    if request.fee_cap() == 0 && request.tip_cap() == 0 {
        // Who pays nothing does not see what gas costs either.
        cfg.disable_base_fee = true;
        block.basefee = 0;
    }
    let unpriced_blobs = request.max_blob_fee.map_or(request.blob_hashes.is_some(), |fee| fee == 0);
    if unpriced_blobs && let Some(price) = &mut block.blob_excess_gas_and_price {
        price.blob_gasprice = 0;
    }
    request
}

/// Whoever can watch an execution.
pub(crate) trait Watch: for<'a> Inspector<MainnetContext<&'a mut CacheDB<StateDb>>> {}

impl<W: for<'a> Inspector<MainnetContext<&'a mut CacheDB<StateDb>>>> Watch for W {}
