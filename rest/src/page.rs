//! The document as a page, for people. It is made once, needs nothing from elsewhere, and runs nothing.

use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
h2 { margin-top: 2.5rem; text-transform: capitalize } h3 { margin: 0 }
details { border: 1px solid #ddd; border-radius: .4rem; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer } code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { background: #f5f5f5; padding: .8rem; overflow: auto } .method { display: inline-block; width: 4.5rem; font-weight: bold }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2rem .6rem .2rem 0; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616 } pre { background: #222 } details { border-color: #444 } a { color: #8bf } }
";

/// The page.
pub(super) fn render(document: &Value) -> String {
    let mut page = String::new();
    let title = text(&document["info"]["title"]);
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><p>{}</p>\
         <p>The same as a file: <a href=/v1/openapi.json>openapi.json</a></p>",
        text(&document["info"]["description"])
    );
    operations(&mut page, document);
    page.push_str("<h2>Schemas</h2>");
    for (name, schema) in entries(&document["components"]["schemas"]) {
        let _ = write!(
            page,
            "<details id=\"{0}\"><summary><code>{0}</code> {1}</summary><pre>{2}</pre></details>",
            escape(name),
            text(&schema["description"]),
            escape(&format!("{schema:#}"))
        );
    }
    page.push_str("</html>\n");
    page
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn operations(page: &mut String, document: &Value) {
    let mut tag = String::new();
    let all = entries(&document["paths"]).flat_map(|(path, methods)| {
        entries(methods).map(move |(method, operation)| (path, method, operation))
    });
    let mut all = all.collect::<Vec<_>>();
    all.sort_by_key(|(path, _, operation)| (operation["tags"][0].to_string(), (*path).clone()));
    for (path, method, operation) in all {
        let current = text(&operation["tags"][0]);
        if current != tag {
            let _ = write!(page, "<h2>{current}</h2>");
            tag = current;
        }
        let _ = write!(
            page,
            "<details><summary><span class=method>{}</span> <code>{}</code></summary><p>{} {}</p>",
            escape(&method.to_uppercase()),
            escape(path),
            text(&operation["summary"]),
            text(&operation["description"])
        );
        parameters(page, operation);
        answers(page, operation);
        page.push_str("</details>");
    }
}

fn parameters(page: &mut String, operation: &Value) {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let rows = all.map(|parameter| {
        let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
        format!("<tr><td><code>{name}</code><td>{place}<td>{}", text(&parameter["description"]))
    });
    let rows = rows.collect::<String>();
    if !rows.is_empty() {
        let _ = write!(page, "<table><tr><th>parameter<th>in<th>what{rows}</table>");
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    if let Some(body) = body.as_str() {
        let _ = write!(page, "<p>Body: {}</p>", link(body));
    }
}

fn answers(page: &mut String, operation: &Value) {
    page.push_str("<table><tr><th>answer<th>what<th>schema");
    for (status, answer) in entries(&operation["responses"]) {
        let content = entries(&answer["content"]).next();
        let schema = content.map(|(_, content)| linked(&content["schema"])).unwrap_or_default();
        let _ = write!(page, "<tr><td>{}<td>{}<td>{schema}", escape(status), text(&answer["description"]));
    }
    page.push_str("</table>");
}

/// A schema by name, or a list of one.
fn linked(schema: &Value) -> String {
    match (schema["$ref"].as_str(), schema["items"]["$ref"].as_str()) {
        (Some(reference), _) => link(reference),
        (None, Some(items)) => format!("list of {}", link(items)),
        (None, None) => String::new(),
    }
}

fn link(reference: &str) -> String {
    let name = escape(reference.rsplit('/').next().unwrap_or_default());
    format!("<a href=\"#{name}\"><code>{name}</code></a>")
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
