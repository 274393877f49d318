//! A chain specification: everything that a node derives from it when it starts is derived, or there is a reason not to.
//!
//! Bytes that do not begin with a brace are the binary parts of one: parameters, first header, then keys and values of the
//! first state; what is hexadecimal in the file is easier to change this way.

use super::sections::{Sections, joined};
use alloy_primitives::hex;
use bytes::Bytes;
use devnet::genesis::{Genesis, params, service_of};
use harness::blocks;
use jam::{
    ChainSpec, Params, SlotClock,
    codec::Encode,
    follow::{Follower, Limits, Start},
};
use network::{
    Kind,
    offline::{Half, reread},
};
use serde_json::{Map, Value, json};

/// A seed has so much of a code.
const CODE_BYTES: usize = 1024;

pub(super) fn run(bytes: &[u8]) {
    let text = match bytes.first() {
        Some(b'{') => String::from_utf8_lossy(bytes).into_owned(),
        _ => from_parts(bytes),
    };
    match ChainSpec::from_json(&text) {
        Ok(spec) => start(&spec),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn from_parts(bytes: &[u8]) -> String {
    let mut parts = Sections(bytes);
    let (params, header) = (parts.take_or_empty(), parts.take_or_empty());
    let mut state = Map::new();
    while let Some(key) = parts.next() {
        state.insert(hex::encode(key), hex::encode(parts.take_or_empty()).into());
    }
    let file = json!({
        "id": "parts",
        "genesis_header": hex::encode(header),
        "genesis_state": Value::Object(state),
        "protocol_parameters": hex::encode(params),
    });
    file.to_string()
}

/// What a node makes of it.
fn start(spec: &ChainSpec) {
    assert_eq!(ChainSpec::from_json(&spec.to_json()).ok().as_ref(), Some(spec), "it does not come back");
    let _ = (spec.protocol_names(), spec.genesis_block().encode(), service_of(spec));
    let config = queue::Config::new(&spec.params, u64::from(spec.params.slot_secs) * 1000);
    assert!(config.cores > 0 && config.max_inflight > 0);
    let _ = SlotClock::common_era(&spec.params);
    // The sizes of messages follow from the parameters.
    let nothing = reread(&spec.params, Kind::Report, Half::Answer, Bytes::new());
    let nothing = futures_util::FutureExt::now_or_never(nothing);
    assert_eq!(nothing, Some(Ok(vec![])));
    if let Ok(start) = Start::from_state(&spec.params, spec.genesis_hash(), &spec.genesis_state) {
        let follower = Follower::new(spec.params, start, Limits::default());
        let view = follower.view();
        assert_eq!(view.head().hash, spec.genesis_hash());
        let _ = (view.core(0), view.guarantors(0, 1), follower.checkpoint().encode());
    }
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let first = service::genesis::Genesis::dev(&blocks::config()).id();
    let spec = Genesis::new(params(2), blocks::config(), first)
        .spec(&["127.0.0.1:40000".parse().expect("an address")]);
    // Of the service's code only what begins with its metadata: seeds are small.
    let cut = |value: &[u8]| value[..value.len().min(CODE_BYTES)].to_vec();
    let state = spec.genesis_state.iter().flat_map(|(key, value)| [key.to_vec(), cut(value)]);
    let parts = [spec.params.encode(), spec.genesis_header.encode()].into_iter().chain(state);
    let bare = ChainSpec { genesis_state: Default::default(), ..spec.clone() };
    let full = [Params::FULL.encode(), jam::Header::genesis(None).encode()];
    vec![
        ("bare-json".into(), bare.to_json().into_bytes()),
        ("dev-parts".into(), joined(parts)),
        ("full-parts".into(), joined(full)),
    ]
}
