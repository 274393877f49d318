//! `shuffle/*.json`: lists of a length, entropy, and the order that comes out.

use super::{Cases, Family, File, Verdict, hex_field};
use jam::{Hash, shuffle::shuffled};
use serde_json::Value;

pub(super) const FAMILY: Family = Family { claims, run };

fn claims(file: &File<'_>) -> Option<String> {
    file.after(&["shuffle"])?;
    file.ends_in("json").then(|| "shuffle".into())
}

fn run(file: &File<'_>) -> Cases {
    match file.json() {
        Ok(Value::Array(cases)) => {
            cases.iter().enumerate().map(|(i, case)| (format!("#{i}"), judge(case))).collect()
        }
        Ok(_) => vec![(String::new(), Err("not a list".into()))],
        Err(error) => vec![(String::new(), Err(error))],
    }
}

fn judge(case: &Value) -> Verdict {
    let len = case["input"].as_u64().ok_or("no input")?;
    let entropy = hex_field(&case["entropy"])?;
    let entropy = Hash::try_from(&entropy[..]).map_err(|e| e.to_string())?;
    let expected = case["output"].as_array().ok_or("no output")?;
    let ours = shuffled((0..len).collect(), entropy);
    match ours.iter().map(|n| Some(*n)).eq(expected.iter().map(Value::as_u64)) {
        true => Ok(()),
        false => Err("another order".into()),
    }
}
