//! Which chain a provider is of. It is asked before its first question, and again after its connection broke: behind the
//! same address there may be another node then, and its answers would be taken for this chain's.

use super::{ask::Failed, provider::Provider, read};
use alloy_primitives::B256;
use serde_json::json;

/// What is known about a provider's chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Identity {
    /// Nothing, or nothing any more.
    #[default]
    Unknown,
    /// It is the right one.
    Right,
    /// It was another one when it was asked last.
    Wrong,
}

impl Provider {
    /// Makes sure that it is of this chain, and, once that is known, that the chain began with this block.
    pub(super) async fn identify_itself(&self, chain_id: u64, genesis: Option<B256>) -> Result<(), Failed> {
        if self.identity() == Identity::Right {
            return Ok(());
        }
        let answer = self.call("eth_chainId", json!([])).await.map_err(unclear)?;
        let mut right = read::quantity(&answer) == Some(u128::from(chain_id));
        if let Some(genesis) = genesis.filter(|_| right) {
            right = self.genesis().await.map_err(unclear)?.is_none_or(|found| found == genesis);
        }
        self.set_identity(if right { Identity::Right } else { Identity::Wrong });
        if right {
            return Ok(());
        }
        tracing::error!(
            chain_id,
            provider = self.index,
            "Sender: the provider is of another chain and is not asked"
        );
        Err(Failed::OtherChain)
    }

    /// The hash of the first block, if it has it.
    pub(super) async fn genesis(&self) -> Result<Option<B256>, Failed> {
        let block = self.call("eth_getBlockByNumber", json!(["0x0", false])).await?;
        Ok(read::head(&block).map(|head| head.hash))
    }
}

/// A refusal to say which chain it is is not an answer to the question that comes after it.
fn unclear(failed: Failed) -> Failed {
    match failed {
        Failed::Refused(_) => Failed::Strange("it does not say which chain it is of"),
        other => other,
    }
}
