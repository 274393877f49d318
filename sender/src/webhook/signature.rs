//! What proves that a webhook comes from us: the headers of Standard Webhooks, one signature for each secret that is in
//! force, and for those who ask for it the headers that receivers of thirdweb's engine-core verify.

use crate::endpoint::Secret;
use alloy_primitives::hex;
use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use hyper::{
    HeaderMap,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, InvalidHeaderValue},
};
use sha2::Sha256;
use types::Time;

const PREFIX: &str = "whsec_";
/// Bytes of a secret, as Standard Webhooks wants it.
const SECRET_BYTES: usize = 32;

/// The event's name.
pub const ID: HeaderName = HeaderName::from_static("webhook-id");
/// When this attempt was made, in seconds.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// One signature for each secret.
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// engine-core's form: the HMAC-SHA256 of `timestamp.body` in hexadecimal, with the secret's text as its key.
pub const LEGACY: HeaderName = HeaderName::from_static("x-signature-sha256");
/// The timestamp in it, in seconds.
pub const LEGACY_TIMESTAMP: HeaderName = HeaderName::from_static("x-request-timestamp");

/// A new secret.
pub fn fresh_secret() -> Result<Secret, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(Secret::new(format!("{PREFIX}{}", STANDARD.encode(bytes))))
}

/// The headers of a delivery.
pub fn headers<'a>(
    id: &str,
    at: Time,
    body: &[u8],
    secrets: impl Iterator<Item = &'a Secret>,
    legacy: bool,
) -> Result<HeaderMap, InvalidHeaderValue> {
    let seconds = (at.as_millis() / 1000).to_string();
    let secrets = secrets.collect::<Vec<_>>();
    let signatures = secrets.iter().map(|secret| {
        let signature = mac(&key(secret), &[id.as_bytes(), b".", seconds.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(signature))
    });
    let signatures = signatures.collect::<Vec<_>>().join(" ");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ID, HeaderValue::from_str(id)?);
    headers.insert(TIMESTAMP, HeaderValue::from_str(&seconds)?);
    headers.insert(SIGNATURE, HeaderValue::from_str(&signatures)?);
    if let (true, Some(newest)) = (legacy, secrets.first()) {
        let signed = [seconds.as_bytes(), b".", body];
        let signature = hex::encode(mac(newest.expose().as_bytes(), &signed));
        headers.insert(LEGACY, HeaderValue::from_str(&signature)?);
        headers.insert(LEGACY_TIMESTAMP, HeaderValue::from_str(&seconds)?);
    }
    Ok(headers)
}

/// The bytes of a secret. A text that is no base64 is taken as it is.
fn key(secret: &Secret) -> Vec<u8> {
    let text = secret.expose();
    let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
    STANDARD.decode(encoded).unwrap_or_else(|_| text.as_bytes().to_vec())
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}
