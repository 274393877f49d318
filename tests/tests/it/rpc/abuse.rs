//! Whatever a client sends, the server answers and goes on.

use super::world;
use harness::rpc_world::World;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

/// One server for all cases: what one of them breaks the next one sees.
static WORLD: LazyLock<World> = LazyLock::new(world);

fn json(depth: u32) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("1e400".to_owned()),
        "\"0x[0-9a-f]{0,80}\"",
        "\"(latest|pending|safe|finalized|earliest|0x)\"",
        "\"[ -!#-\\[\\]-~]{0,20}\"",
    ];
    leaf.prop_recursive(depth, 40, 6, |inner| {
        let names =
            "\"(to|from|data|input|gas|value|topics|address|fromBlock|toBlock|blockHash|nonce|state)\"";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((names, inner), 0..6).prop_map(|fields| {
                let fields = fields.iter().map(|(name, value)| format!("{name}:{value}"));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

fn methods() -> Vec<&'static str> {
    let names = "eth_getBalance eth_getStorageAt eth_getTransactionCount eth_getCode eth_call eth_estimateGas \
        eth_createAccessList eth_fillTransaction eth_getLogs eth_newFilter eth_getFilterChanges eth_getProof \
        eth_getBlockByNumber eth_getBlockByHash eth_getBlockReceipts eth_getTransactionByHash eth_feeHistory \
        eth_getTransactionByBlockNumberAndIndex eth_getTransactionReceipt eth_sendRawTransaction \
        eth_getStorageValues debug_getRawBlock debug_getRawTransaction txpool_contentFrom web3_sha3 \
        builder_bundle builder_transaction builder_release eth_subscribe eth_getUncleByBlockNumberAndIndex";
    names.split_whitespace().collect()
}

fn answers(body: &[u8]) -> Result<(), TestCaseError> {
    let answer = WORLD.client().post(body).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(answer.status, 200);
    if !answer.body.is_empty() {
        let text = String::from_utf8_lossy(&answer.body);
        let answer: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        prop_assert!(answer.is_object() || answer.is_array());
        prop_assert_ne!(&answer["error"]["code"], &serde_json::json!(-32603), "{}", text);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn strange_parameters_are_answered(
        method in prop::sample::select(methods()),
        params in prop::collection::vec(json(3), 0..5),
    ) {
        let params = params.join(",");
        answers(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{params}]}}"#).as_bytes())?;
    }

    #[test]
    fn strange_bodies_are_answered(text in json(4), cut in 0..400_usize) {
        answers(text.as_bytes())?;
        let bytes = text.as_bytes();
        answers(&bytes[..cut.min(bytes.len())])?;
    }

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answers(&bytes)?;
    }
}

#[test]
fn deep_nesting_is_answered() {
    for open in ["[", "{\"a\":", "[[{\"params\":"] {
        answers(open.repeat(100_000).as_bytes()).unwrap();
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}"#, open.repeat(50_000));
        answers(text.as_bytes()).unwrap();
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    answers(nested.as_bytes()).unwrap();
    answers(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{nested}}}"#).as_bytes())
        .unwrap();
}
