//! A remote signer that speaks the HTTP interface of web3signer: it lists public keys, and signs what it is sent.

use crate::{
    http::{Client, HttpError, Request, Response},
    signer::{Keys, Signer, SignerError, Signing},
};
use alloy_primitives::{Address, Signature, hex, keccak256};
use bytes::Bytes;
use hyper::{
    HeaderMap, Method,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use serde_json::json;
use std::{fmt, sync::Arc, time::Duration};

/// How long a signature may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Words of a refusal that are repeated.
const WORDS_MAX: usize = 200;

/// The keys of a remote signer, as it listed them at the start.
#[derive(Debug)]
pub struct Web3Signer {
    signers: Vec<Arc<Remote>>,
}

/// One of them.
struct Remote {
    client: Client,
    /// Where to ask for a signature.
    url: String,
    address: Address,
}

impl fmt::Debug for Remote {
    /// The URL may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.address).finish()
    }
}

impl Web3Signer {
    /// Asks a remote signer which keys it has.
    pub async fn connect(url: &str, client: Client) -> Result<Self, SignerError> {
        let base = url.trim_end_matches('/');
        let list = Request {
            method: Method::GET,
            url: format!("{base}/api/v1/eth1/publicKeys"),
            headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]),
            body: Bytes::new(),
            timeout: TIMEOUT,
        };
        let answer = client.send(list).await.map_err(|why| unavailable(&why))?;
        if !answer.is_success() {
            return Err(SignerError::Unavailable(format!("it lists no keys (status {})", answer.status)));
        }
        let listed = serde_json::from_slice::<Vec<String>>(&answer.body)
            .map_err(|_| SignerError::Unavailable("its list of keys is none".into()))?;
        let signers = listed.iter().map(|key| {
            let address = address_of(key)?;
            let url = format!("{base}/api/v1/eth1/sign/{key}");
            Some(Arc::new(Remote { client: client.clone(), url, address }))
        });
        let signers = signers.collect::<Option<_>>();
        let signers =
            signers.ok_or_else(|| SignerError::Unavailable("one of its public keys is none".into()))?;
        Ok(Self { signers })
    }
}

fn unavailable(why: &HttpError) -> SignerError {
    SignerError::Unavailable(why.to_string())
}

/// The account of an uncompressed public key.
fn address_of(key: &str) -> Option<Address> {
    let bytes = hex::decode(key).ok()?;
    let point = match bytes.len() {
        64 => &bytes[..],
        65 => bytes.strip_prefix(&[4])?,
        _ => return None,
    };
    Some(Address::from_raw_public_key(point))
}

impl Keys for Web3Signer {
    fn addresses(&self) -> Vec<Address> {
        self.signers.iter().map(|signer| signer.address).collect()
    }

    fn signer(&self, address: Address) -> Option<Arc<dyn Signer>> {
        let found = self.signers.iter().find(|signer| signer.address == address)?;
        Some(found.clone())
    }

    fn create(&self) -> Signing<'_, Address> {
        let why = SignerError::ReadOnly("a remote signer has the keys that it was given".into());
        Box::pin(core::future::ready(Err(why)))
    }
}

impl Signer for Remote {
    fn address(&self) -> Address {
        self.address
    }

    fn sign<'a>(&'a self, preimage: &'a [u8]) -> Signing<'a, Signature> {
        Box::pin(async move {
            let request = Request {
                method: Method::POST,
                url: self.url.clone(),
                headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]),
                body: json!({ "data": hex::encode_prefixed(preimage) }).to_string().into(),
                timeout: TIMEOUT,
            };
            let answer = self.client.send(request).await.map_err(|why| unavailable(&why))?;
            self.read(&answer, preimage)
        })
    }
}

impl Remote {
    /// A signature, if it is the one that was asked for: with a wrong one the nonce would wait for nothing.
    fn read(&self, answer: &Response, preimage: &[u8]) -> Result<Signature, SignerError> {
        let words = String::from_utf8_lossy(&answer.body);
        let words = words.trim().chars().take(WORDS_MAX).collect::<String>();
        match answer.status {
            200 => {}
            404 => return Err(SignerError::NoKey(self.address)),
            400..=499 if answer.status != 429 => return Err(SignerError::Refused(words)),
            status => return Err(SignerError::Unavailable(format!("status {status}"))),
        }
        let text = words.trim_matches('"');
        let bytes = hex::decode_to_array::<_, 65>(text);
        let signature = bytes.ok().and_then(|bytes| Signature::from_raw_array(&bytes).ok());
        let signature = signature.map(|signature| signature.normalize_s().unwrap_or(signature));
        let by = signature.and_then(|it| it.recover_address_from_prehash(&keccak256(preimage)).ok());
        match (signature, by) {
            (Some(signature), Some(by)) if by == self.address => Ok(signature),
            _ => Err(SignerError::Refused("its signature is not one of this account for these bytes".into())),
        }
    }
}
