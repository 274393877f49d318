//! The stream that keeps pages live: server-sent events.
//!
//! While at least one page is open, a snapshot is made when something changed, a few times a second at most. It
//! consists of named parts; what is sent is the parts that changed. A page that is opened, or that was too slow, gets all
//! of them. So a page costs the same however much happens, and nothing at all while nobody looks.

use super::{Web, parts, plain, with_headers};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::{
    Response, StatusCode,
    body::Frame,
    header::{HeaderName, HeaderValue},
};
use parking_lot::Mutex;
use rpc::Body;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// Pages that may be open at once.
const VIEWERS_MAX: usize = 32;
/// A snapshot is made this often at most,
const PAINT_PAUSE: Duration = Duration::from_millis(200);
/// and, while nothing changes, this often, since sentences speak of time.
const REPAINT: Duration = Duration::from_secs(1);
/// A connection says something at least this often, so that both ends notice when it is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Frames that a slow page may be behind before it gets a whole snapshot instead.
const FRAMES_KEPT: usize = 16;

/// Asks proxies, nginx above all, to pass on what they get.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The newest snapshot.
#[derive(Default)]
struct Painted {
    parts: BTreeMap<String, Value>,
    /// The last line that was sent.
    line: u64,
}

/// See the [module](self).
pub(super) struct Live {
    painted: Mutex<Painted>,
    frames: broadcast::Sender<Bytes>,
    viewers: watch::Sender<usize>,
    stopped: watch::Sender<bool>,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            painted: Mutex::default(),
            frames: broadcast::Sender::new(FRAMES_KEPT),
            viewers: watch::Sender::new(0),
            stopped: watch::Sender::new(false),
        }
    }
}

impl Live {
    pub(super) fn viewers(&self) -> usize {
        *self.viewers.borrow()
    }

    pub(super) fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

/// Paints for as long as the node runs, while somebody looks.
pub(super) fn start(web: &Arc<Web>) {
    tokio::spawn(paint_on(Arc::downgrade(web), web.live.viewers.subscribe(), web.sources.feed.watch()));
}

async fn paint_on(
    web: Weak<Web>,
    mut viewers: watch::Receiver<usize>,
    mut snapshots: watch::Receiver<Arc<rpc::Snapshot>>,
) {
    loop {
        if viewers.wait_for(|count| *count > 0).await.is_err() {
            return;
        }
        // Whether something changed or not: it is painted again.
        let _ = tokio::time::timeout(REPAINT, snapshots.changed()).await;
        let Some(web) = web.upgrade() else { return };
        web.paint();
        drop(web);
        tokio::time::sleep(PAINT_PAUSE).await;
    }
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

impl Web {
    /// Paints, and tells whoever watches what changed.
    fn paint(&self) {
        let parts = parts::all(&self.sources, self.live.viewers());
        let mut painted = self.live.painted.lock();
        let changed = parts.iter().filter(|(name, part)| painted.parts.get(*name) != Some(part));
        let set = changed.map(|(name, part)| (name.clone(), part.clone())).collect::<serde_json::Map<_, _>>();
        let gone =
            painted.parts.keys().filter(|name| !parts.contains_key(*name)).cloned().collect::<Vec<_>>();
        let lines = self.sources.observer.lines_after(painted.line);
        if set.is_empty() && gone.is_empty() && lines.is_empty() {
            return;
        }
        painted.line = lines.last().map_or(painted.line, |line| line.number);
        painted.parts = parts;
        let at = self.sources.clock.now().as_millis();
        let lines = lines.iter().map(parts::line).collect::<Vec<_>>();
        let frame = event(&json!({ "at": at, "set": set, "gone": gone, "lines": lines }));
        // Nobody may be there any more.
        drop(self.live.frames.send(frame));
    }

    /// A whole snapshot, and the frames that follow it.
    fn whole(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        self.paint();
        let painted = self.live.painted.lock();
        let lines = self.sources.observer.lines_after(0);
        let lines = lines.iter().filter(|line| line.number <= painted.line).map(parts::line);
        let at = self.sources.clock.now().as_millis();
        let whole =
            json!({ "at": at, "whole": true, "set": painted.parts, "lines": lines.collect::<Vec<_>>() });
        (event(&whole), self.live.frames.subscribe())
    }
}

/// Somebody who watches, until the connection is gone.
struct Viewer {
    web: Arc<Web>,
    first: Option<Bytes>,
    frames: broadcast::Receiver<Bytes>,
    stopped: watch::Receiver<bool>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.web.live.viewers.send_modify(|count| *count -= 1);
    }
}

impl Viewer {
    /// What the page hears next; nothing when the node stops.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::select! {
            frame = self.frames.recv() => match frame {
                Ok(frame) => Some(frame),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let (whole, frames) = self.web.whole();
                    self.frames = frames;
                    Some(whole)
                }
                Err(broadcast::error::RecvError::Closed) => None,
            },
            () = tokio::time::sleep(HEARTBEAT) => Some(Bytes::from_static(b": still here\n\n")),
            _ = self.stopped.wait_for(|stopped| *stopped) => None,
        }
    }
}

/// A page opens its stream.
pub(super) fn join(web: &Arc<Web>) -> Response<Body> {
    let mut has_room = false;
    web.live.viewers.send_if_modified(|count| {
        has_room = *count < VIEWERS_MAX;
        *count += usize::from(has_room);
        has_room
    });
    if !has_room {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open\n");
    }
    let (whole, frames) = web.whole();
    let first = [b"retry: 1000\n".as_slice(), &whole].concat();
    let stopped = web.live.stopped.subscribe();
    let viewer = Viewer { web: web.clone(), first: Some(first.into()), frames, stopped };
    let frames = stream::unfold(viewer, |mut viewer| async move {
        let bytes = viewer.next().await?;
        Some((Ok(Frame::data(bytes)), viewer))
    });
    let mut response =
        with_headers(StatusCode::OK, "text/event-stream", StreamBody::new(frames).boxed_unsync());
    // A proxy that gathers an answer before it passes it on would keep the page waiting.
    response.headers_mut().insert(UNBUFFERED, HeaderValue::from_static("no"));
    response
}
