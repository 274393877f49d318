//! The Unified Binary Tree: `ubt_tree_vectors.json`, `ubt_embedding_vectors.json`, `witness_vectors.json`.
//!
//! Pectin's tree is the profile `tagged/blake2b-256` with keys of the version `eip7864-2026-03`. The rules are the same
//! in every profile, so all of them run, with the hash function they name (see [`profile`]).

mod embedding;
pub mod profile;
mod tree;
mod witness;

use super::{Cases, Family, File, Verdict};
use serde_json::Value as Json;
use state::{Key, Value};
use std::fmt::Debug;

/// The family.
pub const FAMILY: Family = Family { claims, run };

fn claims(file: &File<'_>) -> Option<String> {
    let name = match file.name() {
        "ubt_tree_vectors.json" => "ubt/tree",
        "ubt_embedding_vectors.json" => "ubt/embedding",
        "witness_vectors.json" => "ubt/witness",
        _ => return None,
    };
    Some(name.into())
}

fn run(file: &File<'_>) -> Cases {
    let json = match file.json() {
        Ok(json) => json,
        Err(why) => return vec![(String::new(), Err(why))],
    };
    match file.name() {
        "ubt_tree_vectors.json" => tree::cases(&json),
        "ubt_embedding_vectors.json" => embedding::cases(&json),
        _ => witness::cases(&json),
    }
}

/// The elements of a list, none if there is no such list.
fn list<'a>(json: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> {
    json[name].as_array().into_iter().flatten()
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().unwrap_or_default()
}

fn bytes(json: &Json) -> Result<Vec<u8>, String> {
    let text = json.as_str().ok_or_else(|| format!("{json} is not text"))?;
    hex::decode(text.trim_start_matches("0x")).map_err(|e| format!("{text}: {e}"))
}

fn array<const N: usize>(json: &Json) -> Result<[u8; N], String> {
    bytes(json)?.try_into().map_err(|_| format!("{json} has not {N} bytes"))
}

fn hash(json: &Json) -> Result<Value, String> {
    array(json).map(Value::from)
}

fn key(json: &Json) -> Result<Key, String> {
    array(json).map(Key::new)
}

/// Pairs of a key and a value, in the order of the file.
fn writes<'a>(pairs: impl Iterator<Item = &'a Json>) -> Result<Vec<(Key, Value)>, String> {
    pairs.map(|pair| Ok((key(&pair[0])?, hash(&pair[1])?))).collect()
}

fn same<T: PartialEq + Debug>(what: &str, got: &T, expected: &T) -> Verdict {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}
