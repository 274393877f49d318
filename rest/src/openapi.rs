//! The OpenAPI document, made from the table of routes and the schemas.

use super::{
    routes::{ROUTES, Route},
    schemas,
};
use serde_json::{Map, Value, json};

/// The document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pectin: managed accounts",
            "version": "1",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            "description": "Hand over a transaction once, with an idempotency key; the node assigns the nonce, prices, \
                signs, sends, watches and tells by webhook. Amounts are in wei, as hexadecimal text; times are \
                milliseconds since 1970. Errors are problems (RFC 9457) with a code for programs.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token; a development network needs none.",
                },
            },
        },
    })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [route.tag],
        "summary": route.summary,
        "responses": responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": reference(body) } } });
    }
    operation
}

/// A name for programs: the method and the words of the path.
fn operation_id(route: &Route) -> String {
    let mut name = route.method.to_ascii_lowercase();
    let words = route.path.split(['/', '-', '{', '}']).filter(|word| !word.is_empty() && *word != "v1");
    for word in words {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

fn parameters(route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(
        |name| json!({ "name": name, "in": "path", "required": true, "schema": schemas::parameter(name) }),
    );
    let in_query = route
        .query
        .iter()
        .map(|name| json!({ "name": name, "in": "query", "schema": schemas::parameter(name) }));
    let key = route.idempotent.then(|| {
        json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The transaction's name. The same key and body give the same transaction; another body is refused (422). \
                The key stays used for 30 days after the transaction's end (sender-idempotency-days): once its record is removed, \
                the answer is 410 REQUEST_FORGOTTEN with the outcome, and nothing is sent.",
            "schema": schemas::parameter("key"),
        })
    });
    in_path.chain(in_query).chain(key).collect()
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    for (status, meaning, schema) in route.answers {
        let mut response = json!({ "description": meaning });
        if let Some(schema) = schema {
            response["content"] = json!({ "application/json": { "schema": reference(schema) } });
        }
        if *status == 200 && route.idempotent {
            response["headers"] = json!({ "Idempotency-Replayed": { "schema": { "const": "true" } } });
        }
        responses.insert(status.to_string(), response);
    }
    let problem = json!({
        "description": "A problem. Nothing was done, unless its code is UNKNOWN.",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    });
    responses.insert("default".to_owned(), problem);
    Value::Object(responses)
}
