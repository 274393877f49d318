//! A running anvil, with the development accounts that `pectin dev` has too.

pub(super) use harness::anvil::Anvil;

/// Its chain id.
pub(super) const CHAIN_ID: u64 = 31337;

/// Final after two epochs of one block.
pub(super) fn start() -> Result<Anvil, String> {
    Anvil::start(CHAIN_ID, &["--slots-in-an-epoch", "1"])
}
