//! What wallets ask of a node that holds keys, over JSON-RPC.

use alloy_consensus::{Transaction as _, TxEnvelope, transaction::SignerRecoverable};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, eip191_hash_message};
use harness::{
    http::Client,
    process::{Pectin, call},
};
use serde_json::{Value, json};
use std::time::Duration;

const ALICE: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const BOB: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const CAROL: &str = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";

struct Wallet {
    client: Client,
    _pectin: Pectin,
}

impl Wallet {
    fn new() -> Self {
        let mut pectin = Pectin::start(["dev", "--http-port", "0", "--slot-ms", "400"]).unwrap();
        let line = pectin.wait_for("RPC ").unwrap();
        pectin.wait_for("ready in").unwrap();
        let client = Client::connect(line.split_whitespace().nth(1).unwrap()).unwrap();
        Self { client, _pectin: pectin }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is made on the spot")]
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        call(&mut self.client, method, &params)
    }

    fn ok(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|why| panic!("{method}: {why}"))
    }

    /// Waits until a transaction has a receipt.
    fn receipt(&mut self, hash: &Value) -> Value {
        for _ in 0..1_200 {
            let receipt = self.ok("eth_getTransactionReceipt", json!([hash]));
            if !receipt.is_null() {
                return receipt;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{hash} is not mined");
    }
}

#[test]
fn a_wallet_sends_by_the_node_and_finds_what_it_sent() {
    let mut wallet = Wallet::new();
    let accounts = wallet.ok("eth_accounts", json!([]));
    assert_eq!(accounts.as_array().unwrap().len(), 10);
    assert_eq!(accounts[0].as_str().unwrap().to_lowercase(), ALICE);
    let hash = wallet.ok("eth_sendTransaction", json!([{ "from": ALICE, "to": BOB, "value": "0x5" }]));
    let found = wallet.ok("eth_getTransactionByHash", json!([hash]));
    assert_eq!((&found["nonce"], &found["value"]), (&json!("0x0"), &json!("0x5")));
    let receipt = wallet.receipt(&hash);
    assert_eq!((&receipt["status"], &receipt["transactionHash"]), (&json!("0x1"), &hash));
    // A wallet that names the nonce, the price and the gas gets them.
    let exact =
        json!({ "from": ALICE, "to": BOB, "nonce": "0x1", "gasPrice": "0x77359400", "gas": "0x5208" });
    let hash = wallet.ok("eth_sendTransaction", json!([exact]));
    let found = wallet.ok("eth_getTransactionByHash", json!([hash]));
    assert_eq!((&found["type"], &found["gasPrice"]), (&json!("0x0"), &json!("0x77359400")));
    wallet.receipt(&hash);
}

#[test]
fn what_cannot_be_sent_is_refused_in_words_that_wallets_know() {
    let mut wallet = Wallet::new();
    let mut refused = |tx: Value| wallet.ask("eth_sendTransaction", json!([tx])).unwrap_err();
    let stranger = Address::repeat_byte(9);
    assert!(refused(json!({ "from": stranger, "to": BOB })).contains("unknown account"));
    let high = refused(json!({ "from": ALICE, "to": BOB, "nonce": "0x7" }));
    assert!(high.contains("nonce too high"), "{high}");
    assert!(refused(json!({ "from": ALICE })).contains("without any data"));
    let elsewhere = refused(json!({ "from": ALICE, "to": BOB, "chainId": "0x1" }));
    assert!(elsewhere.contains("another chain: it names 1, this one is 732846"), "{elsewhere}");
    let both = json!({ "from": ALICE, "to": BOB, "gasPrice": "0x1", "maxFeePerGas": "0x1" });
    assert!(refused(both).contains("both gasPrice"));
    // Code that reverts at once: no nonce is spent, and the data comes back.
    let reverts = refused(json!({ "from": ALICE, "data": "0x602a60005260206000fd" }));
    assert!(reverts.contains("execution reverted") && reverts.contains("000000002a"), "{reverts}");
    // More than the account has: it is withdrawn, and the others go on.
    let dear = json!({ "from": ALICE, "to": BOB, "value": "0xffffffffffffffffffffffff" });
    let held = refused(dear);
    assert!(held.contains("-32003") && held.contains("requestId"), "{held}");
    assert!(held.contains("insufficient funds for gas * price + value"), "{held}");
    let hash = wallet.ok("eth_sendTransaction", json!([{ "from": ALICE, "to": CAROL, "value": "0x1" }]));
    assert_eq!(wallet.receipt(&hash)["status"], "0x1");
}

#[test]
fn signatures_are_those_of_the_account() {
    let mut wallet = Wallet::new();
    let alice: Address = ALICE.parse().unwrap();
    let message = b"pectin";
    let signed = wallet.ok("personal_sign", json!([Bytes::from_static(message), ALICE]));
    let signature: Signature = signed.as_str().unwrap().parse().unwrap();
    let hash = eip191_hash_message(message);
    assert_eq!(signature.recover_address_from_prehash(&hash).unwrap(), alice);

    // The example of EIP-712, with its signing hash.
    let typed = json!({
        "types": {
            "EIP712Domain": [
                { "name": "name", "type": "string" }, { "name": "version", "type": "string" },
                { "name": "chainId", "type": "uint256" }, { "name": "verifyingContract", "type": "address" }
            ],
            "Person": [{ "name": "name", "type": "string" }, { "name": "wallet", "type": "address" }],
            "Mail": [
                { "name": "from", "type": "Person" }, { "name": "to", "type": "Person" },
                { "name": "contents", "type": "string" }
            ]
        },
        "primaryType": "Mail",
        "domain": {
            "name": "Ether Mail", "version": "1", "chainId": 1,
            "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"
        },
        "message": {
            "from": { "name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
            "to": { "name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
            "contents": "Hello, Bob!"
        }
    });
    let hash: B256 = "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2".parse().unwrap();
    for form in [typed.clone(), json!(typed.to_string())] {
        let signed = wallet.ok("eth_signTypedData_v4", json!([ALICE, form]));
        let signature: Signature = signed.as_str().unwrap().parse().unwrap();
        assert_eq!(signature.recover_address_from_prehash(&hash).unwrap(), alice);
    }
    assert!(wallet.ask("eth_signTypedData_v4", json!([ALICE, { "types": 1 }])).is_err());

    let tx = json!({ "from": ALICE, "to": BOB, "gas": "0x5208", "nonce": "0x9",
        "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1" });
    let signed = wallet.ok("eth_signTransaction", json!([tx]));
    let raw: Bytes = signed["raw"].as_str().unwrap().parse().unwrap();
    let envelope = TxEnvelope::decode_2718_exact(&raw).unwrap();
    assert_eq!((envelope.recover_signer().unwrap(), envelope.nonce()), (alice, 9));
    let missing = wallet.ask("eth_signTransaction", json!([{ "from": ALICE, "to": BOB }])).unwrap_err();
    assert!(missing.contains("gas not specified"), "{missing}");
}
