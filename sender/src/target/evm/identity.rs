//! Which chain a provider is of. It is asked before its first question, and again after its connection broke or it said
//! something that cannot be: behind the same address there may be another node then, and its answers would be taken for
//! this chain's.

use super::{Chain, ask::Call, read};
use alloy_primitives::B256;
use sender_model::providers::{Failed, Question, Trouble};
use serde_json::json;

/// What is known about a provider's chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Identity {
    /// Nothing, or nothing any more.
    #[default]
    Unknown,
    /// It is the right one.
    Right,
}

impl Chain {
    /// Makes sure that a provider is of this chain and, once that is known, that the chain began with this block.
    pub(super) async fn recognise(&self, index: usize) -> Result<(), Failed> {
        let provider = &self.providers[index];
        if provider.identity() == Identity::Right {
            return Ok(());
        }
        let mut calls = vec![Call::new("eth_chainId", json!([]))];
        let genesis = self.genesis.get().copied();
        if genesis.is_some() {
            calls.push(first_block());
        }
        let mut answers = self.call(index, calls).await?.into_iter();
        let answer = answers.next().unwrap_or(Ok(serde_json::Value::Null));
        let answer = answer.map_err(|error| error.failed(Question::Read))?;
        let mut right = read::quantity(&answer) == Some(u128::from(self.chain_id));
        if let (Some(genesis), Some(block)) = (genesis, answers.next()) {
            // A provider that does not have the first block is taken at its word.
            let found = block.ok().as_ref().and_then(read::head).map(|head| head.hash);
            right &= found.is_none_or(|found| found == genesis);
        }
        if right {
            provider.set_identity(Identity::Right);
            return Ok(());
        }
        tracing::error!(
            chain_id = self.chain_id,
            provider = index,
            "Sender: the provider serves another chain"
        );
        Err(Trouble::OtherChain.into())
    }

    /// The hash of the first block, if a provider has it.
    pub(super) async fn first_block_at(&self, index: usize) -> Result<Option<B256>, Failed> {
        self.recognise(index).await?;
        let block = self.ask(index, first_block(), Question::Read).await?;
        Ok(read::head(&block).map(|head| head.hash))
    }
}

fn first_block() -> Call {
    Call::new("eth_getBlockByNumber", json!(["0x0", false]))
}
