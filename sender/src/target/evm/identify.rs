//! Who used a nonce? The blocks since it was bound are read for a transaction of the account with that nonce, and its
//! signature is verified: no provider can make one up. Nothing of it needs an old state; a provider that has old states
//! only makes the search shorter.

use super::{Chain, ask::Call, read};
use alloy_consensus::{Transaction as _, TxEnvelope, transaction::SignerRecoverable};
use alloy_primitives::Address;
use sender_model::{
    Head, Identified, Nonce,
    providers::{Failed, Question},
};
use serde_json::{Value, json};

/// Blocks that are read for one question.
const BLOCKS_MAX: u64 = 64;
/// Blocks in one request.
const BLOCKS_AT_ONCE: usize = 8;
/// Beyond so many blocks old states are asked for first.
const BISECT_ABOVE: u64 = 32;

impl Chain {
    pub(super) async fn identify_at(
        &self,
        index: usize,
        account: Address,
        nonce: Nonce,
        from: u64,
    ) -> Result<Identified, Failed> {
        let newest = self.fetch_newest(index).await?.head.number;
        if from > newest {
            return Ok(Identified::NotBelow(newest));
        }
        let from = self.narrow(index, account, nonce, (from, newest)).await?;
        let end = newest.min(from.saturating_add(BLOCKS_MAX - 1));
        let numbers: Vec<u64> = (from..=end).collect();
        for some in numbers.chunks(BLOCKS_AT_ONCE) {
            let call = |number: &u64| Call::new("eth_getBlockByNumber", json!([read::hex(*number), true]));
            let blocks = self.read(index, some.iter().map(call).collect()).await?;
            for block in &blocks {
                if let Some(found) = transaction_of(block, account, nonce) {
                    return Ok(found);
                }
            }
            if let Some(missing) = blocks.iter().position(Value::is_null) {
                return Ok(Identified::NotBelow(some[missing]));
            }
        }
        Ok(Identified::NotBelow(end + 1))
    }

    /// Shortens a long search by the counts at older blocks, as far as the provider has them.
    async fn narrow(
        &self,
        index: usize,
        account: Address,
        nonce: Nonce,
        (mut low, mut high): (u64, u64),
    ) -> Result<u64, Failed> {
        while high - low > BISECT_ABOVE {
            let middle = low + (high - low) / 2;
            let call = Call::new("eth_getTransactionCount", json!([account, read::hex(middle)]));
            match self.ask(index, call, Question::Read).await {
                Ok(count) => {
                    let count = read::number(&count).ok_or_else(|| self.implausible(index, "a count"))?;
                    if count > nonce { high = middle } else { low = middle + 1 }
                }
                Err(failed) if failed.trouble.is_a_lack() => break,
                Err(failed) => return Err(failed),
            }
        }
        Ok(low)
    }
}

/// The account's transaction with a nonce in a block with whole transactions, if the account has signed it.
fn transaction_of(block: &Value, account: Address, nonce: Nonce) -> Option<Identified> {
    let head: Head = read::head(block)?;
    let transactions = block.get("transactions")?.as_array()?;
    let candidate = transactions.iter().find(|tx| {
        let from = tx.get("from").and_then(|from| from.as_str()?.parse::<Address>().ok());
        from == Some(account) && tx.get("nonce").and_then(read::number) == Some(nonce)
    })?;
    let envelope: TxEnvelope = serde_json::from_value(candidate.clone()).ok()?;
    let signed = envelope.recover_signer().ok() == Some(account) && envelope.nonce() == nonce;
    signed.then(|| Identified::Found { hash: *envelope.tx_hash(), block: head })
}
