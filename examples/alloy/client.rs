//! A Rust client: pays somebody with alloy, and follows the payment until nothing can undo it.
//!
//! ```text
//!   cargo run -p tests --example alloy-client -- http://127.0.0.1:8545
//! ```
//!
//! The key is that of the first account of `pectin dev`; everybody knows it.

use alloy_network::{EthereumWallet, TransactionBuilder};
use alloy_primitives::{U256, address};
use alloy_provider::{Provider, ProviderBuilder};
use alloy_rpc_types_eth::{BlockNumberOrTag, TransactionRequest};
use alloy_signer_local::PrivateKeySigner;
use serde_json::Value;
use std::{error::Error, time::Duration};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8545".to_owned());
    let key =
        "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80".parse::<PrivateKeySigner>()?;
    let provider = ProviderBuilder::new().wallet(EthereumWallet::from(key)).connect_http(url.parse()?);
    let somebody = address!("00000000000000000000000000000000000000bb");

    // Nonce, gas and fees are asked of the node.
    let payment = TransactionRequest::default().with_to(somebody).with_value(U256::from(1_000_000_000));
    let pending = provider.send_transaction(payment).await?;
    println!("accepted   {}", pending.tx_hash());

    // The receipt comes with the block. The builder has executed it; nobody else has seen it yet.
    let receipt = pending.get_receipt().await?;
    let number = receipt.block_number.ok_or("a receipt has a block")?;
    println!("sealed     in block {number}, status {}", receipt.status());

    // `finalized` is what counts for money.
    while provider
        .get_block_by_number(BlockNumberOrTag::Finalized)
        .await?
        .is_none_or(|block| block.number() < number)
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let hash = receipt.transaction_hash;
    let way = provider.raw_request::<_, Value>("builder_transaction".into(), (hash,)).await?;
    println!("{}  in block {number}", way["status"].as_str().unwrap_or_default());
    let balance = provider.get_balance(somebody).block_id(BlockNumberOrTag::Finalized.into()).await?;
    println!("balance    {balance} wei");
    Ok(())
}
