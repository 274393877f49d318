//! Narrows the schemas that utoipa derives to what callers meet.
//!
//! utoipa makes one schema of a type: what it accepts. What the node answers is narrower: serde writes every field, those
//! that may be absent on input too, and no other field ever comes out. Tests hold every answer against the document, so
//! an undocumented field (a secret, say) does not go unnoticed.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Where schemas are in the document.
const PREFIX: &str = "#/components/schemas/";

/// Fields that are left out if there is nothing to say (`skip_serializing_if`). utoipa does not tell them from fields that
/// may be absent on input.
const OMITTED: [&str; 6] = ["receipt", "options", "simulate", "speed", "metadata", "webhooks"];

/// Narrows all schemas of a document. Those of request bodies and of problems stay as open as their types are.
pub(super) fn narrow(document: &mut Value) {
    let mut schemas = document["components"]["schemas"].take();
    let derived = schemas.clone();
    for schema in schemas.as_object_mut().into_iter().flat_map(Map::values_mut) {
        refer(schema, &derived);
    }
    let referred = schemas.clone();
    let mut inputs = BTreeSet::from(["Problem".to_owned()]);
    for operation in
        document["paths"].as_object().into_iter().flatten().filter_map(|(_, path)| path.get("post"))
    {
        references(&operation["requestBody"], &schemas, &mut inputs);
    }
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        flatten(schema, &referred);
        if !inputs.contains(name) {
            complete(schema);
        }
    }
    document["components"]["schemas"] = schemas;
}

/// Replaces copies of schemas in a schema by references. utoipa copies what stands for a generic parameter.
fn refer(schema: &mut Value, derived: &Value) {
    let parts: &mut dyn Iterator<Item = &mut Value> = match schema {
        Value::Object(object) => &mut object.values_mut(),
        Value::Array(values) => &mut values.iter_mut(),
        _ => return,
    };
    for part in parts {
        match derived.as_object().into_iter().flatten().find(|(_, whole)| *whole == part) {
            Some((name, _)) => *part = json!({ "$ref": format!("{PREFIX}{name}") }),
            None => refer(part, derived),
        }
    }
}

/// Collects the names of all schemas that a value leads to.
fn references(value: &Value, schemas: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(name) =
                object.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(PREFIX))
                && found.insert(name.to_owned())
            {
                references(&schemas[name], schemas, found);
            }
            object.values().for_each(|value| references(value, schemas, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, schemas, found)),
        _ => {}
    }
}

/// Makes one closed object of `allOf`, which utoipa writes for `serde(flatten)`: no part of it could be closed.
fn flatten(schema: &mut Value, all: &Value) {
    let Value::Object(object) = schema else { return };
    let Some(Value::Array(parts)) = object.remove("allOf") else { return };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for mut part in parts {
        // A flattened type that has a schema of its own is only named here.
        if let Some(name) = part["$ref"].as_str().and_then(|to| to.strip_prefix(PREFIX)) {
            part = all[name].clone();
        }
        flatten(&mut part, all);
        if let Value::Object(more) = part["properties"].take() {
            properties.extend(more);
        }
        if let Value::Array(more) = part["required"].take() {
            required.extend(more);
        }
    }
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), Value::Object(properties));
    object.insert("required".to_owned(), Value::Array(required));
    object.insert("additionalProperties".to_owned(), false.into());
}

/// Says of every object in a schema of answers that it has all its fields and no others.
fn complete(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(complete);
            let Some(Value::Object(properties)) = object.get("properties") else { return };
            let required = properties.keys().filter(|name| !OMITTED.contains(&name.as_str()));
            let required = required.map(|name| Value::from(name.as_str())).collect();
            object.insert("required".to_owned(), Value::Array(required));
            object.insert("additionalProperties".to_owned(), false.into());
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(complete),
        _ => {}
    }
}
