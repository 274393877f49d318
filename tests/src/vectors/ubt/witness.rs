//! Witnesses: good ones must prove, and be made, exactly so; malformed ones must be refused.

use super::{Cases, Json, Verdict, bytes, hash, key, list, same, text, writes};
use state::{Blake2b, Key, MemoryValues, PartialTree, Tree, Value, Witness, Writes};
use std::collections::BTreeSet;

pub(super) fn cases(json: &Json) -> Cases {
    let profile = text(&json["meta"], "profile");
    if !matches!(profile, "" | "tagged/blake2b-256") {
        return vec![(profile.into(), Err(format!("witnesses of the profile {profile} are unknown")))];
    }
    let good = list(json, "good").map(|case| (format!("good {}", text(case, "name")), good(case)));
    let bad = list(json, "bad").map(|case| (format!("bad {}", text(case, "name")), bad(case)));
    good.chain(bad).collect()
}

fn good(case: &Json) -> Verdict {
    let encoded = bytes(&case["witness"])?;
    let (pre_root, post_root) = (hash(&case["pre_root"])?, hash(&case["post_root"])?);
    let reads = list(case, "reads").map(read).collect::<Result<Vec<_>, _>>()?;
    let writes = Writes::from_iter(writes(list(case, "writes"))?);
    let touched = reads.iter().map(|read| read.0).chain(writes.keys().copied()).collect::<BTreeSet<_>>();

    let witness = Witness::decode(&encoded).map_err(|e| e.to_string())?;
    same("encoded again", &witness.encode(), &encoded)?;
    let mut partial: PartialTree = witness.verify(pre_root).map_err(|e| e.to_string())?;
    for (key, value) in reads {
        same(&format!("value of {key}"), &partial.get(&key), &Ok(value))?;
    }
    same("coverage", &partial.covers_exactly(touched.iter().copied()), &Ok(()))?;
    same("root after the writes", &partial.update(&writes), &Ok(post_root))?;
    made(case, &encoded, &touched, &writes)
}

fn read(pair: &Json) -> Result<(Key, Option<Value>), String> {
    let value = if pair[1].is_null() { None } else { Some(hash(&pair[1])?) };
    Ok((key(&pair[0])?, value))
}

/// Makes the same witness from the whole state, if the file has it.
fn made(case: &Json, encoded: &[u8], touched: &BTreeSet<Key>, writes: &Writes) -> Verdict {
    if !case["state"].is_array() {
        return Ok(());
    }
    let state = super::writes(list(case, "state"))?;
    let tree = Tree::<Blake2b>::default().extend(state.iter().copied());
    same("root of the state", &tree.root(), &hash(&case["pre_root"])?)?;
    let values = MemoryValues::from_iter(state);
    let witness = Witness::make(&tree, &values, touched).map_err(|e| e.to_string())?;
    same("witness made", &hex::encode(witness.encode()), &hex::encode(encoded))?;
    same("root of the state after", &tree.update(writes).root(), &hash(&case["post_root"])?)
}

fn bad(case: &Json) -> Verdict {
    let expected = hash(&case["expect_root"])?;
    match Witness::decode(&bytes(&case["witness"])?) {
        Err(_) => Ok(()),
        Ok(witness) => match witness.verify::<Blake2b>(expected) {
            Err(_) => Ok(()),
            Ok(_) => Err(format!("accepted, but it is {}", text(case, "error"))),
        },
    }
}
