//! What the system does around the transactions of a block, where there are contracts for it.

use super::StateDb;
use crate::Error;
use alloy_consensus::Header;
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS,
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
};
use alloy_primitives::{Address, Bytes};
use revm::{
    Context, DatabaseCommit, DatabaseRef, MainBuilder, MainContext, SystemCallEvm,
    context::{BlockEnv, CfgEnv},
    database::CacheDB,
    primitives::hardfork::SpecId,
};

/// Stores the beacon root and the hash of the parent.
pub(super) fn before(
    db: &mut CacheDB<StateDb>,
    cfg: &CfgEnv,
    env: &BlockEnv,
    header: &Header,
) -> Result<(), Error> {
    if let Some(root) = header.parent_beacon_block_root {
        call(db, cfg, env, BEACON_ROOTS_ADDRESS, root.into())?;
    }
    if cfg.spec.is_enabled_in(SpecId::PRAGUE) {
        call(db, cfg, env, HISTORY_STORAGE_ADDRESS, header.parent_hash.into())?;
    }
    Ok(())
}

/// Takes requests out of their contracts.
pub(super) fn after(db: &mut CacheDB<StateDb>, cfg: &CfgEnv, env: &BlockEnv) -> Result<(), Error> {
    if cfg.spec.is_enabled_in(SpecId::PRAGUE) {
        call(db, cfg, env, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, Bytes::new())?;
        call(db, cfg, env, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, Bytes::new())?;
    }
    Ok(())
}

fn call(
    db: &mut CacheDB<StateDb>,
    cfg: &CfgEnv,
    env: &BlockEnv,
    contract: Address,
    data: Bytes,
) -> Result<(), Error> {
    let account = db.basic_ref(contract).map_err(Error::internal)?;
    if account.is_none_or(|account| account.is_empty_code_hash()) {
        return Ok(());
    }
    let context = Context::mainnet().with_db(&mut *db).with_block(env.clone()).with_cfg(cfg.clone());
    let done = context.build_mainnet().system_call(contract, data).map_err(Error::internal)?;
    db.commit(done.state);
    Ok(())
}
