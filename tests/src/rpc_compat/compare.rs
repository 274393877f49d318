//! One answer against the recorded one.

use harness::openrpc::Schemas;
use serde_json::Value;

/// How an answer compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Why it is not the same.
    pub exact: Result<(), String>,
    /// Why the specification does not allow it.
    pub schema: Result<(), String>,
}

/// Compares an answer to `request` with the recorded one.
pub fn judge(schemas: &Schemas, request: &str, recorded: &Value, answer: &Value) -> Verdict {
    let method = serde_json::from_str::<Value>(request).unwrap_or_default();
    let method = method["method"].as_str().unwrap_or_default();
    let difference = difference("", &without_words(recorded), &without_words(answer));
    let difference = match (kind(recorded), kind(answer)) {
        ("a result", "an error") => {
            Some(format!("an error where a result was recorded: {}", answer["error"]))
        }
        _ => difference,
    };
    let schema = match (kind(recorded), kind(answer)) {
        (recorded, answer) if recorded != answer => Err(format!("{answer} where {recorded} was recorded")),
        (_, "an error") => error_shape(&answer["error"]),
        _ => schemas.refuse(method, &answer["result"]).map_or(Ok(()), Err),
    };
    Verdict { exact: difference.map_or(Ok(()), Err), schema }
}

fn kind(answer: &Value) -> &'static str {
    match (answer.get("result"), answer.get("error")) {
        (Some(_), None) => "a result",
        (None, Some(_)) => "an error",
        _ => "neither result nor error",
    }
}

fn error_shape(error: &Value) -> Result<(), String> {
    match (error["code"].is_i64(), error["message"].is_string()) {
        (true, true) => Ok(()),
        _ => Err(format!("an error without code or message: {error}")),
    }
}

/// The words of an error do not count.
fn without_words(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("message");
    }
    answer
}

/// The first place where two values differ.
fn difference(path: &str, recorded: &Value, answer: &Value) -> Option<String> {
    match (recorded, answer) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = a.keys().find(|key| !b.contains_key(*key));
            let added = b.keys().find(|key| !a.contains_key(*key));
            match (missing, added) {
                (Some(key), _) => Some(format!("{path}.{key} is missing")),
                (None, Some(key)) => Some(format!("{path}.{key} was not recorded")),
                (None, None) => {
                    // A hash differs because something else does; that says more.
                    let mut fields = a.iter().collect::<Vec<_>>();
                    fields.sort_by_key(|(key, _)| key.to_lowercase().ends_with("hash"));
                    fields
                        .into_iter()
                        .find_map(|(key, value)| difference(&format!("{path}.{key}"), value, &b[key]))
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| difference(&format!("{path}[{index}]"), a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            Some(format!("{path}: {} items, recorded {}", b.len(), a.len()))
        }
        (a, b) if a == b => None,
        // One writer's 0 is another's 0.0.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (a, b) => Some(format!("{path}: {}, recorded {}", short(b), short(a))),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(90) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_words_of_errors_do_not_count_and_all_else_does() {
        let recorded = json!({ "id": 1, "error": { "code": 3, "message": "a", "data": "0x" } });
        let same = |answer: Value| difference("", &without_words(&recorded), &without_words(&answer));
        assert_eq!(same(json!({ "id": 1, "error": { "code": 3, "message": "b", "data": "0x" } })), None);
        for other in [
            json!({ "id": 1, "error": { "code": 4, "message": "a", "data": "0x" } }),
            json!({ "id": 1, "error": { "code": 3, "message": "a" } }),
            json!({ "id": 2, "error": { "code": 3, "message": "a", "data": "0x" } }),
            json!({ "id": 1, "result": null }),
        ] {
            assert!(same(other.clone()).is_some(), "{other}");
        }
    }
}
