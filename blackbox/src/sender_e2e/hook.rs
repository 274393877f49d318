//! The webhook receiver. It verifies what comes with the crate `standardwebhooks`, which knows nothing of this project,
//! refuses some of it so that it comes again, and writes down what it has heard.

use super::server::{Reply, Server, serve};
use bytes::Bytes;
use harness::rng::Rng;
use hyper::HeaderMap;
use parking_lot::Mutex;
use serde_json::Value;
use standardwebhooks::Webhook;
use std::{collections::BTreeMap, io, sync::Arc};

/// How much of what comes is refused, in thousandths.
const REFUSED: u64 = 20;

/// What was heard.
#[derive(Default)]
pub(super) struct Heard {
    /// The numbers of each request's events, in the order of their first arrival.
    pub sequences: BTreeMap<String, Vec<u64>>,
    /// Events that were taken: what came under each name.
    pub names: BTreeMap<String, Bytes>,
    /// What could not be verified or read, or came under a name that does not fit.
    pub wrong: Vec<String>,
    /// How often the same came again.
    pub repeated: u64,
}

/// The receiver.
pub(super) struct Hook {
    server: Server,
    pub heard: Arc<Mutex<Heard>>,
    secret: Arc<Mutex<Option<String>>>,
}

impl Hook {
    pub(super) async fn start(seed: u64) -> io::Result<Self> {
        let (heard, secret) = (Arc::<Mutex<Heard>>::default(), Arc::<Mutex<Option<String>>>::default());
        let rng = Arc::new(Mutex::new(Rng::new(seed)));
        let (book, key) = (heard.clone(), secret.clone());
        let server = serve(move |headers, body| {
            let reply = receive(&book, &key, &rng, &headers, &body);
            async move { reply }
        });
        Ok(Self { server: server.await?, heard, secret })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.server.address)
    }

    /// What signatures are made with. Until it is known everything is refused.
    pub(super) fn set_secret(&self, secret: String) {
        *self.secret.lock() = Some(secret);
    }
}

fn receive(
    heard: &Mutex<Heard>,
    secret: &Mutex<Option<String>>,
    rng: &Mutex<Rng>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Reply {
    let Some(secret) = secret.lock().clone() else { return Some((503, Bytes::new())) };
    if rng.lock().chance(REFUSED) {
        return Some((500, Bytes::new()));
    }
    if let Err(why) = note(&mut heard.lock(), &secret, headers, body) {
        heard.lock().wrong.push(why);
        return Some((400, Bytes::new()));
    }
    Some((204, Bytes::new()))
}

fn note(heard: &mut Heard, secret: &str, headers: &HeaderMap, body: &Bytes) -> Result<(), String> {
    let webhook = Webhook::new(secret).map_err(|why| format!("the secret: {why}"))?;
    webhook.verify(body, headers).map_err(|why| format!("not verified: {why}"))?;
    let event: Value = serde_json::from_slice(body).map_err(|why| why.to_string())?;
    let name = headers.get("webhook-id").and_then(|id| id.to_str().ok()).ok_or("no webhook-id")?;
    let sequence = name.rsplit('_').next().and_then(|number| number.parse().ok());
    let sequence: u64 = sequence.ok_or("a name without a number")?;
    // Accounts have events of their own; nobody counts those here.
    let request = event["subject"]["request"].as_str();
    let kind = request.map_or("evt_a_".to_owned(), |request| format!("evt_r_{request}_"));
    if !name.starts_with(&kind) || event["id"] != name {
        return Err(format!("{name} is about {} and says it is {}", event["subject"], event["id"]));
    }
    if event["sequence"].as_u64() != Some(sequence) {
        return Err(format!("{name} says it is number {}", event["sequence"]));
    }
    if let Some(before) = heard.names.get(name) {
        heard.repeated += 1;
        // What comes again must be what came before, or a receiver that acts once has acted on something else.
        let same = before == body;
        return if same { Ok(()) } else { Err(format!("{name} came again with another body")) };
    }
    heard.names.insert(name.to_owned(), body.clone());
    if let Some(request) = request {
        heard.sequences.entry(request.to_owned()).or_default().push(sequence);
    }
    Ok(())
}
