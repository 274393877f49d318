//! Roots: of whole states, after each step of a sequence, and as others published them.

use super::{
    Cases, Json, Verdict, hash, list,
    profile::{Blake3, Plain, Sha256, Tagged},
    same, text, writes,
};
use state::{Blake2b, Hash, Hasher, Key, Tree, Value};

type Writes = Vec<(Key, Value)>;

pub(super) fn cases(json: &Json) -> Cases {
    let mut cases = Cases::new();
    for case in list(json, "cases") {
        for (profile, root) in case["roots"].as_object().into_iter().flatten() {
            let name = format!("{} {profile}", text(case, "name"));
            cases.push((name, whole(profile, case, root)));
        }
    }
    for sequence in list(json, "sequences") {
        for (profile, roots) in sequence["roots_after"].as_object().into_iter().flatten() {
            let verdict = stepwise(profile, sequence, roots);
            cases.push((format!("sequence {} {profile}", sequence["seed"]), verdict));
        }
    }
    for constant in list(json, "published_constants").filter(|c| c["reproduced_here"] != Json::Bool(false)) {
        let (profile, name) = (text(constant, "profile"), text(constant, "case"));
        let verdict = list(json, "cases")
            .find(|case| text(case, "name") == name)
            .ok_or_else(|| format!("there is no case {name}"))
            .and_then(|case| whole(profile, case, &constant["root"]));
        cases.push((format!("published {name} {profile}"), verdict));
    }
    cases
}

fn whole(profile: &str, case: &Json, root: &Json) -> Verdict {
    let roots = roots(profile, &writes(list(case, "ops"))?)?;
    same("root", &roots.at_once, &hash(root)?)?;
    same("root, key by key", roots.after.last().unwrap_or(&Hash::ZERO), &hash(root)?)
}

fn stepwise(profile: &str, sequence: &Json, expected: &Json) -> Verdict {
    let expected = expected.as_array().ok_or("no roots")?;
    let roots = roots(profile, &writes(list(sequence, "ops"))?)?;
    same("number of roots", &roots.after.len(), &expected.len())?;
    for (step, (root, expected)) in roots.after.iter().zip(expected).enumerate() {
        same(&format!("root after step {step}"), root, &hash(expected)?)?;
    }
    same("root, all at once", &Some(&roots.at_once), &roots.after.last())
}

struct Roots {
    at_once: Hash,
    after: Vec<Hash>,
}

fn roots(profile: &str, ops: &Writes) -> Result<Roots, String> {
    Ok(match profile {
        "tagged/blake2b-256" => roots_with::<Blake2b>(ops),
        "tagged/blake3" => roots_with::<Tagged<Blake3>>(ops),
        "tagged/sha256" => roots_with::<Tagged<Sha256>>(ops),
        "plain/blake2b-256" => roots_with::<Plain<Blake2b>>(ops),
        "plain/blake3" => roots_with::<Plain<Blake3>>(ops),
        "plain/sha256" => roots_with::<Plain<Sha256>>(ops),
        _ => return Err(format!("the profile {profile} is unknown")),
    })
}

fn roots_with<H: Hasher>(ops: &Writes) -> Roots {
    let mut tree = Tree::<H>::default();
    let after = ops.iter().map(|op| {
        tree = tree.extend([*op]);
        tree.root()
    });
    let after = after.collect();
    Roots { at_once: Tree::<H>::default().extend(ops.iter().copied()).root(), after }
}
