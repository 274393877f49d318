//! Submissions over QUIC against QUIC alone.

use super::{Ratio, cost, median_of_pairs};
use async_trait::async_trait;
use bytes::Bytes;
use harness::network::{PARAMS, bundle_of, config};
use jam::{HeaderHash, codec::Encode};
use network::{
    Caller, Connection, Endpoint, Limits, PackageSubmission, Refusal, Role, Service, Silent, Submission,
};
use quinn::{ClientConfig, ServerConfig};
use rustls::{
    RootCertStore,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{sync::Arc, time::Duration};
use tokio::runtime::{Builder, Runtime};

pub(super) const RATIOS: &[Ratio] =
    &[Ratio { name: "network-submit", target: 1.5, measure: submissions_against_plain_quinn }];

const PAIRS: usize = 5;
const SUBMISSIONS: usize = 100;
const SUBMISSION_BYTES: usize = 1 << 20;

/// Takes every package and looks at nothing.
struct Taker;

#[async_trait]
impl Service for Taker {
    async fn package(&self, _: &Caller, submission: PackageSubmission) -> Result<(), Refusal> {
        if submission.extrinsics.iter().map(|blob| blob.len()).sum::<usize>() == SUBMISSION_BYTES {
            Ok(())
        } else {
            Err(Refusal::Invalid)
        }
    }
}

/// The CPU time of 100 submissions of 1 MB, one after the other, both ends together, against that of the same bytes on
/// bare QUIC streams, each answered by an end.
fn submissions_against_plain_quinn() -> f64 {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let bundle = bundle_of(SUBMISSION_BYTES);
    let submission = Submission::new(0, &bundle, &Default::default(), &PARAMS).expect("it keeps the limits");
    let head = Bytes::from([0_u16.encode(), bundle.package.encode()].concat());
    let blob = bundle.extrinsics[0].0.clone();
    let (ours, _keep) = runtime.block_on(our_connection());
    let (plain, _server) = runtime.block_on(plain_connection());
    let per_mb = |time: Duration| time / SUBMISSIONS as u32;
    let our_cost = || submit_all(&runtime, &ours, &submission);
    let floor = || move_all(&runtime, &plain, &head, &blob);
    println!(
        "network-submit: {SUBMISSIONS} × {SUBMISSION_BYTES} bytes; ours {:?}, plain {:?} CPU each, before measuring",
        per_mb(our_cost()),
        per_mb(floor())
    );
    median_of_pairs(PAIRS, our_cost, floor)
}

async fn our_connection() -> (Connection, (Endpoint, Endpoint)) {
    let bind = |index, service: Arc<dyn Service>| {
        let config = config(index, Role::Builder, HeaderHash::ZERO, Limits::default());
        Endpoint::bind(&config, service).expect("a port is free")
    };
    let (server, client) = (bind(0, Arc::new(Taker)), bind(1, Arc::new(Silent)));
    let addr = server.local_addr().expect("it is bound");
    let connection = client.dial(server.key(), addr).await.expect("it listens");
    (connection, (server, client))
}

fn submit_all(runtime: &Runtime, connection: &Connection, submission: &Submission) -> Duration {
    let work = async {
        for _ in 0..SUBMISSIONS {
            connection.submit(submission).await.expect("it is taken");
        }
    };
    cost(|| runtime.block_on(work)).0
}

/// Two endpoints of quinn with what it comes with.
async fn plain_connection() -> (quinn::Connection, (quinn::Endpoint, quinn::Endpoint)) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key).expect("they fit");
    let server = quinn::Endpoint::server(config, ([127, 0, 0, 1], 0).into()).expect("a port is free");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("it is a certificate");
    let config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("there is a root");
    let client = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a port is free");
    let addr = server.local_addr().expect("it is bound");
    tokio::spawn(drain(server.clone()));
    let connecting = client.connect_with(config, addr, "localhost").expect("a name and an address");
    (connecting.await.expect("it listens"), (server, client))
}

/// Reads every stream to its end, and ends it.
async fn drain(server: quinn::Endpoint) {
    let Some(incoming) = server.accept().await else { return };
    let Ok(connection) = incoming.await else { return };
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        while let Ok(Some(_)) = recv.read_chunk(usize::MAX, true).await {}
        let _ = send.finish();
    }
}

fn move_all(runtime: &Runtime, connection: &quinn::Connection, head: &Bytes, blob: &Bytes) -> Duration {
    let work = async {
        for _ in 0..SUBMISSIONS {
            let (mut send, mut recv) = connection.open_bi().await.expect("it is open");
            let mut pieces = [head.clone(), blob.clone()];
            send.write_all_chunks(&mut pieces).await.expect("it is read");
            send.finish().expect("it is open");
            recv.read_to_end(0).await.expect("it is ended");
        }
    };
    cost(|| runtime.block_on(work)).0
}
