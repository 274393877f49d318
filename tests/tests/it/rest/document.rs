//! The OpenAPI document in the repository is the one that is served.

use std::path::Path;

#[test]
fn the_document_in_the_repository_is_the_one_that_is_served() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../rest/openapi.json"));
    let made = format!("{:#}\n", rest::document());
    if std::env::var_os("PECTIN_BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == made, "rest/openapi.json is not what the routes say; PECTIN_BLESS=1 rewrites it");
}
