//! Where accounts, slots and code live, and how they are written there.

use super::{
    Cases, Json, Verdict, array, bytes, hash, key, list,
    profile::{Blake3, LittleEndian, Sha256, Tagged},
    same, text,
};
use alloy_primitives::{Address, U256};
use state::{AccountKeys, BasicData, Blake2b, Hasher, chunkify};

pub(super) fn cases(json: &Json) -> Cases {
    let mut cases = Cases::new();
    for entry in list(json, "embedding") {
        let [version, hash, address] = ["version", "hash", "address"].map(|name| text(entry, name));
        cases.push((format!("{version} {hash} {address}"), keys(version, hash, entry)));
    }
    for entry in list(json, "chunkify") {
        cases.push((format!("chunkify {}", text(entry, "name")), chunks(entry)));
    }
    for entry in list(json, "basic_data") {
        cases.push((format!("basic data {}", text(entry, "value")), basic_data(entry)));
    }
    cases
}

fn keys(version: &str, hash: &str, entry: &Json) -> Verdict {
    match (version, hash) {
        ("eip7864-2026-03", "blake2b-256") => keys_with::<Blake2b>(entry),
        ("eip7864-2026-03", "blake3") => keys_with::<Tagged<Blake3>>(entry),
        ("eip7864-2026-03", "sha256") => keys_with::<Tagged<Sha256>>(entry),
        ("eip7864-2025", "blake2b-256") => keys_with::<LittleEndian<Blake2b>>(entry),
        ("eip7864-2025", "blake3") => keys_with::<LittleEndian<Blake3>>(entry),
        ("eip7864-2025", "sha256") => keys_with::<LittleEndian<Sha256>>(entry),
        _ => Err(format!("the version {version} with {hash} is unknown")),
    }
}

fn keys_with<H: Hasher>(entry: &Json) -> Verdict {
    let keys = AccountKeys::<H>::new(Address::from(array(&entry["address"])?));
    same("basic data", &keys.basic_data(), &key(&entry["basic_data"])?)?;
    same("code hash", &keys.code_hash(), &key(&entry["code_hash"])?)?;
    for slot in list(entry, "slots") {
        let number = text(slot, "slot").parse::<U256>().map_err(|e| e.to_string())?;
        same(&format!("slot {number}"), &keys.slot(number), &key(&slot["key"])?)?;
    }
    for chunk in list(entry, "chunks") {
        let index = number(&chunk["chunk"])?;
        same(&format!("chunk {index}"), &keys.chunk(index), &key(&chunk["key"])?)?;
    }
    Ok(())
}

fn chunks(entry: &Json) -> Verdict {
    let expected = list(entry, "chunks").map(hash).collect::<Result<Vec<_>, _>>()?;
    same("chunks", &chunkify(&bytes(&entry["code"])?), &expected)
}

fn basic_data(entry: &Json) -> Verdict {
    let balance = match &entry["balance"] {
        Json::String(text) => text.parse::<U256>().map_err(|e| e.to_string())?,
        other => U256::from(number::<u64>(other)?),
    };
    let data = BasicData::new(number(&entry["code_size"])?, number(&entry["nonce"])?, balance)
        .map_err(|e| e.to_string())?;
    same("version", &data.version, &number(&entry["version"])?)?;
    same("value", &data.encode(), &hash(&entry["value"])?)?;
    same("read back", &BasicData::decode(&data.encode()), &Ok(data))
}

fn number<T: TryFrom<u64>>(json: &Json) -> Result<T, String> {
    json.as_u64().and_then(|n| T::try_from(n).ok()).ok_or_else(|| format!("{json} is not such a number"))
}
