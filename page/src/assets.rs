//! The files of the page. They are part of the program.

use super::{answer as reply, plain};
use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderValue},
};
use rpc::Body;
use std::sync::LazyLock;

/// The page may load its own parts and talk to its own node, and nothing else; nobody may put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file: where it is found, what it is, and its content.
pub(super) struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static str,
}

macro_rules! assets {
    ($($name:literal $kind:literal)+) => {
        &[$(Asset {
            path: concat!("/page/", $name),
            kind: $kind,
            content: include_str!(concat!("../assets/", $name)),
        }),+]
    };
}

const PAGE: Asset =
    Asset { path: "/", kind: "text/html; charset=utf-8", content: include_str!("../assets/index.html") };

const ASSETS: &[Asset] = assets! {
    "style.css" "text/css; charset=utf-8"
    "icon.svg" "image/svg+xml"
    "main.js" "text/javascript; charset=utf-8"
    "live.js" "text/javascript; charset=utf-8"
    "kept.js" "text/javascript; charset=utf-8"
    "dom.js" "text/javascript; charset=utf-8"
    "clock.js" "text/javascript; charset=utf-8"
    "figures.js" "text/javascript; charset=utf-8"
    "health.js" "text/javascript; charset=utf-8"
    "lanes.js" "text/javascript; charset=utf-8"
    "flights.js" "text/javascript; charset=utf-8"
    "cores.js" "text/javascript; charset=utf-8"
    "pool.js" "text/javascript; charset=utf-8"
    "sizes.js" "text/javascript; charset=utf-8"
    "log.js" "text/javascript; charset=utf-8"
    "detail.js" "text/javascript; charset=utf-8"
    "contents.js" "text/javascript; charset=utf-8"
    "accounts.js" "text/javascript; charset=utf-8"
    "faults.js" "text/javascript; charset=utf-8"
    "theme.js" "text/javascript; charset=utf-8"
};

/// Tells one state of the files from another: a page that hears another name than its own loads itself again.
pub(super) static BUILD: LazyLock<String> = LazyLock::new(|| {
    let contents = ASSETS.iter().chain([&PAGE]).map(|asset| asset.content);
    let joined = contents.collect::<String>();
    let hash = alloy_primitives::keccak256(joined.as_bytes());
    alloy_primitives::hex::encode(&hash[..8])
});

/// Whether the page is served at a path.
pub(super) fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with("/tx/") || path.starts_with("/bundle/")
}

/// The file at a path.
pub(super) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The file at a path, unless the browser has it.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Response<Body> {
    let Some(asset) = find(path).or_else(|| is_page(path).then_some(&PAGE)) else {
        return plain(StatusCode::NOT_FOUND, "there is nothing here\n");
    };
    let tag = format!("\"{}\"", *BUILD);
    let has_it = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match has_it {
        true => reply(StatusCode::NOT_MODIFIED, asset.kind, ""),
        false => reply(StatusCode::OK, asset.kind, asset.content),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
