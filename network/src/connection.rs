//! A connection to a peer: the client half.

use crate::{
    Kind,
    config::Limits,
    error::{Farewell, StreamError},
    frame::{Input, Message, Output},
    kind::BLOCKS_MAX,
    memory::Share,
    message::{
        AssuranceMessage, BlockRequest, Direction, Payload, Rules, SegmentRequest, ShardAnswer, ShardRequest,
        SharedBundle, SharedReport, StateRange, StateRequest,
    },
    patience::Patience,
    service::{Caller, Note, Service},
    submit::Submission,
};
use bytes::Bytes;
use jam::{Block, Ed25519Key, Guarantee, HeaderHash, bundle::Import};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, timeout},
};

/// What all connections of an endpoint share.
pub(crate) struct Shared {
    pub(crate) rules: Rules,
    pub(crate) limits: Limits,
    pub(crate) service: Arc<dyn Service>,
    /// Announcements on their way to all peers, encoded.
    pub(crate) announcements: broadcast::Sender<Bytes>,
    /// When the endpoint began; violations are forgiven by this clock.
    pub(crate) began: Instant,
}

/// A connection to a peer. Cheap to clone; it stays open until it is closed by either side.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    quic: quinn::Connection,
    caller: Caller,
    dialled: bool,
    shared: Arc<Shared>,
    memory: Share,
    patience: Mutex<Patience>,
    /// The newest stream for announcements that the peer opened.
    newest_announcements: watch::Sender<u64>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caller { key, addr, .. } = self.inner.caller;
        write!(f, "Connection({key} at {addr})")
    }
}

impl Connection {
    pub(crate) fn new(
        quic: quinn::Connection,
        caller: Caller,
        dialled: bool,
        shared: Arc<Shared>,
        memory: Share,
    ) -> Self {
        let patience = Mutex::new(Patience::new(shared.limits.violations_max, shared.limits.forgive_ms));
        let newest_announcements = watch::Sender::new(0);
        Self {
            inner: Arc::new(Inner { quic, caller, dialled, shared, memory, patience, newest_announcements }),
        }
    }

    /// The peer's key.
    pub fn peer(&self) -> Ed25519Key {
        self.inner.caller.key
    }

    /// Who is at the other end.
    pub fn caller(&self) -> &Caller {
        &self.inner.caller
    }

    /// Whether we opened it.
    pub fn is_dialled(&self) -> bool {
        self.inner.dialled
    }

    /// Whether it is open as far as we know.
    pub fn is_open(&self) -> bool {
        self.inner.quic.close_reason().is_none()
    }

    /// Why it was closed.
    pub(crate) fn why_closed(&self) -> String {
        self.inner.quic.close_reason().map_or_else(|| "still open".to_owned(), |why| why.to_string())
    }

    /// The time that a message takes to the peer and back.
    pub fn round_trip(&self) -> Duration {
        self.inner.quic.rtt()
    }

    /// Closes it.
    pub fn close(&self) {
        self.close_with(Farewell::Done);
    }

    /// Waits until it is closed, and says why.
    pub async fn closed(&self) -> String {
        self.inner.quic.closed().await.to_string()
    }

    /// Blocks (CE 128): the answer is checked to be the blocks asked for. At most `max`, and at most 256, are looked at.
    pub async fn blocks(
        &self,
        hash: HeaderHash,
        direction: Direction,
        max: u32,
    ) -> Result<Vec<Block>, StreamError> {
        let request = BlockRequest { hash, direction, max: max.min(BLOCKS_MAX) };
        let mut blocks = self.ask::<Vec<Block>>(Kind::Blocks, request.write()).await?;
        // Some nodes do not count the first one and send one more.
        blocks.truncate(request.max as usize);
        self.judged(Kind::Blocks, request.check(&blocks).map(|()| blocks))
    }

    /// A part of a state (CE 129). [`StateRange::root`] tells which state root it proves.
    pub async fn state(&self, request: StateRequest) -> Result<StateRange, StreamError> {
        self.ask(Kind::State, request.write()).await
    }

    /// Submits a package (CE 133) or a bundle (CE 146). `Ok` means that the guarantor took it.
    pub async fn submit(&self, submission: &Submission) -> Result<(), StreamError> {
        self.ask(submission.kind(), submission.messages()).await
    }

    /// Gives a bundle to another guarantor of the core (CE 134), which answers with the report it came to.
    pub async fn share(&self, bundle: &SharedBundle) -> Result<SharedReport, StreamError> {
        let limits = &self.inner.shared.limits;
        let patience = limits.answer() + limits.handle();
        let answer = self.call(Kind::Share, bundle.write(), patience).await;
        self.judged(Kind::Share, answer)
    }

    /// Distributes a guaranteed report (CE 135).
    pub async fn report(&self, guarantee: &Guarantee) -> Result<(), StreamError> {
        self.ask(Kind::Report, guarantee.write()).await
    }

    /// An assurer's shards (CE 137).
    pub async fn shard(&self, request: ShardRequest) -> Result<ShardAnswer, StreamError> {
        self.ask(Kind::Shard, request.write()).await
    }

    /// Distributes an assurance (CE 141).
    pub async fn assurance(&self, assurance: &AssuranceMessage) -> Result<(), StreamError> {
        self.ask(Kind::Assurance, assurance.write()).await
    }

    /// Segments (CE 148): each is checked to be the one asked for.
    pub async fn segments(&self, request: &SegmentRequest) -> Result<Vec<Import>, StreamError> {
        let imports = self.ask::<Vec<Import>>(Kind::Segments, request.write()).await?;
        let checked = if imports.len() == request.segments().count() {
            request.check(&imports)
        } else {
            Err(StreamError::Wrong("another number of segments than was asked for"))
        };
        self.judged(Kind::Segments, checked.map(|()| imports))
    }

    async fn ask<A: Payload>(&self, kind: Kind, messages: Vec<Message>) -> Result<A, StreamError> {
        let answer = self.call(kind, messages, self.inner.shared.limits.answer()).await;
        self.judged(kind, answer)
    }

    async fn call<A: Payload>(
        &self,
        kind: Kind,
        messages: Vec<Message>,
        patience: Duration,
    ) -> Result<A, StreamError> {
        let exchange = async {
            let (send, recv) = self.inner.quic.open_bi().await?;
            let (mut output, mut input) = (Output::new(send), Input::new(recv, None));
            output.kind(kind).await?;
            for message in messages {
                output.message(message).await?;
            }
            output.finish()?;
            let answer = A::read(&mut input, &self.inner.shared.rules).await?;
            input.end().await?;
            Ok(answer)
        };
        let late = StreamError::Timeout { what: "an answer", ms: patience.as_millis() as u64 };
        timeout(patience, exchange).await.unwrap_or(Err(late))
    }

    /// Counts a violation against the peer.
    fn judged<T>(&self, kind: Kind, result: Result<T, StreamError>) -> Result<T, StreamError> {
        if let Err(error) = &result {
            self.blame(Some(kind), error);
        }
        result
    }

    /// Something that the peer sent turned out to be wrong later: counts against it like a violation of the protocol.
    pub fn misbehaved(&self, why: &'static str) {
        self.blame(None, &StreamError::Wrong(why));
    }

    pub(crate) fn blame(&self, kind: Option<Kind>, error: &StreamError) {
        if !error.is_violation() {
            return;
        }
        let shared = &self.inner.shared;
        let now_ms = shared.began.elapsed().as_millis() as u64;
        let spent = !self.inner.patience.lock().unwrap_or_else(PoisonError::into_inner).bears_another(now_ms);
        let peer = self.peer();
        tracing::debug!(%peer, ?kind, %error, "violation");
        shared.service.noted(Note::Violation { peer, kind, error: error.clone() });
        if spent && self.is_open() {
            tracing::warn!(%peer, "expelled: too many violations of the protocol");
            self.close_with(Farewell::Misbehaved);
            shared.service.noted(Note::Expelled { peer });
        }
    }

    pub(crate) fn close_with(&self, farewell: Farewell) {
        farewell.close(&self.inner.quic);
    }

    pub(crate) fn quic(&self) -> &quinn::Connection {
        &self.inner.quic
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    pub(crate) fn memory(&self) -> Share {
        self.inner.memory.clone()
    }

    pub(crate) fn newest_announcements(&self) -> &watch::Sender<u64> {
        &self.inner.newest_announcements
    }

    /// Whether both are the same connection, not only to the same peer.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}
