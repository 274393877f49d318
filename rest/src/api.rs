//! The routes, and the OpenAPI document that utoipa makes of them.

use super::{Rest, accounts, chains, extract::admit, problem::Problem, schemas, transactions, webhooks};
use axum::{Router, middleware::from_fn_with_state};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt},
    routes,
};

/// What the document says besides paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Pectin: managed accounts",
        version = "1",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        description = "Submit a transaction once, with an idempotency key; the node assigns the nonce, sets the fees, signs, \
            sends, watches and notifies by webhook. Amounts are in wei, as hexadecimal text; times are milliseconds since 1970. \
            Errors are problems (RFC 9457) with a code for programs."
    ),
    servers((url = "/")),
    security(("token" = [])),
    components(schemas(Problem)),
)]
struct Api;

/// Every path with its handlers. `Allow` names methods in the order in which they are here.
fn routes() -> Vec<UtoipaMethodRouter<Arc<Rest>>> {
    vec![
        routes!(transactions::submit, transactions::list),
        routes!(transactions::submit_raw),
        routes!(transactions::get),
        routes!(transactions::by_hash),
        routes!(transactions::by_key),
        routes!(transactions::cancel),
        routes!(transactions::replace),
        routes!(accounts::list, accounts::create),
        routes!(accounts::health),
        routes!(accounts::pause),
        routes!(accounts::resume),
        routes!(accounts::nonce_health),
        routes!(accounts::reserve),
        routes!(accounts::release),
        routes!(accounts::reset),
        routes!(accounts::groups, accounts::create_group),
        routes!(accounts::group),
        routes!(accounts::grow_group),
        routes!(accounts::fees),
        routes!(chains::list),
        routes!(chains::get),
        routes!(chains::set),
        routes!(accounts::service_health),
        routes!(webhooks::list, webhooks::create),
        routes!(webhooks::remove),
        routes!(webhooks::rotate),
        routes!(webhooks::deliveries),
        routes!(webhooks::dead_letters),
        routes!(webhooks::replay),
        routes!(webhooks::replay_all),
    ]
}

/// The router. A path or a method that does not exist is answered without looking at the body.
pub(super) fn router(rest: &Arc<Rest>) -> Router {
    let admission = from_fn_with_state(rest.clone(), admit);
    let admitted =
        routes().into_iter().map(|route| route.map(|methods| methods.route_layer(admission.clone())));
    let (router, _) = admitted.fold(OpenApiRouter::new(), OpenApiRouter::routes).split_for_parts();
    router.fallback(async || Problem::no_route()).with_state(rest.clone())
}

/// The OpenAPI document.
pub fn document() -> Value {
    let api = routes().into_iter().fold(OpenApiRouter::with_openapi(Api::openapi()), OpenApiRouter::routes);
    let mut document = serde_json::to_value(api.into_openapi()).expect("its keys are texts");
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, (method, operation)) in paths.flat_map(|(path, methods)| {
        methods.as_object_mut().into_iter().flatten().map(move |operation| (path, operation))
    }) {
        operation["operationId"] = operation_id(method, path).into();
        operation["responses"]["default"] = json!({
            "description": "A problem. Nothing was done, unless its code is UNKNOWN.",
            "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
        });
    }
    document["components"]["securitySchemes"] = json!({ "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The operator's token; a development network needs none.",
    } });
    schemas::narrow(&mut document);
    document
}

/// A name for programs: the method and the words of the path.
fn operation_id(method: &str, path: &str) -> String {
    let mut name = method.to_owned();
    let words = path.split(['/', '-', '{', '}']).filter(|word| !word.is_empty() && *word != "v1");
    for word in words {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything under a key, anywhere in a value.
    fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get(key));
                object.values().for_each(|value| all(value, key, found));
            }
            Value::Array(values) => values.iter().for_each(|value| all(value, key, found)),
            _ => {}
        }
    }

    #[test]
    fn the_document_in_the_repository_is_the_one_that_is_served() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
        let made = format!("{:#}\n", document());
        if std::env::var_os("PECTIN_BLESS").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(kept == made, "rest/openapi.json is not what the routes say; PECTIN_BLESS=1 rewrites it");
    }

    #[test]
    fn references_lead_somewhere_and_every_schema_is_used() {
        let document = document();
        let mut references = Vec::new();
        all(&document, "$ref", &mut references);
        let referred = references.iter().map(|to| {
            let name = to.as_str().unwrap().strip_prefix("#/components/schemas/").unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
            name
        });
        let referred = referred.collect::<std::collections::BTreeSet<_>>();
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(referred.contains(name.as_str()), "{name}");
        }
    }

    #[test]
    fn objects_are_closed_and_answers_are_complete() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let mut objects = Vec::new();
        all(schemas, "allOf", &mut objects);
        assert_eq!(objects, Vec::<&Value>::new());
        for (name, schema) in schemas.as_object().unwrap() {
            assert!(schema.get("properties").is_none() || schema["additionalProperties"] == false, "{name}");
        }
        let transaction = &schemas["Transaction"];
        let (properties, required) = (&transaction["properties"], &transaction["required"]);
        // `options` are left out if nothing is out of the ordinary.
        assert_eq!(properties.as_object().unwrap().len(), required.as_array().unwrap().len() + 1);
        assert!(properties["options"].is_object());
        for field in ["status", "hash", "id", "expiresAt", "attempts"] {
            assert!(
                properties[field].is_object() && required.as_array().unwrap().contains(&field.into()),
                "{field}"
            );
        }
        assert_eq!(
            schemas["Page_Transaction"]["properties"]["items"]["items"],
            json!({ "$ref": "#/components/schemas/Transaction" })
        );
        assert_eq!(schemas["NewGroup"]["required"], json!(["name", "chainId"]));
        assert!(!schemas["Inclusion"]["required"].as_array().unwrap().contains(&"receipt".into()));
    }
}
